// Collections of documents in the question box: picked for a run, made, filled, renamed and deleted.
import * as api from "./api.js";
import { Documents } from "./documents.js";
import { el, fill, isEnter, refill, rename, say } from "./dom.js";
import { count, word } from "./words.js";
/** @import {Collection} from "./types" */

export class Collections {
  /** @param {{failed: (error: unknown) => void, picked: () => void}} page */
  constructor(page) {
    this.page = page;
    /** @type {Collection[]} */
    this.all = [];
    /** @type {Set<string>} */
    this.picked = new Set();
    this.done = Promise.resolve();
    /** The one whose documents are shown. */
    this.open = "";
    this.summary = el("summary", {}, word("collections"));
    this.list = el("ul", { "aria-label": word("collections") });
    this.inside = el("div", {});
    /** @type {HTMLInputElement} */
    this.name = el("input", { maxlength: "200", "aria-label": word("collectionName"), placeholder: word("collectionName"), autocomplete: "off", onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (!isEnter(event)) return;
      // Nothing is asked yet.
      event.preventDefault();
      void this.make();
    } });
    this.element = el("details", { class: "documents collections", ontoggle: () => this.element.open && this.load() },
      this.summary, this.list, this.inside,
      el("div", { class: "new-one" }, this.name, el("button", { type: "button", onclick: () => this.make() }, word("makeCollection"))));
  }

  /** The ids of those that are to be searched. */
  chosen() { return [...this.picked]; }

  async load() {
    await this.do(async () => {
      this.all = (await api.collections()).data;
      const there = new Set(this.all.map(({ id }) => id));
      this.picked = new Set([...this.picked].filter((id) => there.has(id)));
      // What is open belongs to the list of before.
      this.open = "";
      fill(this.inside);
    });
  }

  /** Looks whether some that are picked are there no more: these are picked no longer. */
  async areGone() {
    const { size } = this.picked;
    if (size) await this.load();
    const areGone = this.picked.size < size;
    if (areGone) this.page.picked();
    return areGone;
  }

  /** One after the other: a list that comes late would undo what was done since. @param {() => Promise<void>} work */
  do(work) {
    return this.done = this.done.then(work).catch(this.page.failed).then(() => this.draw());
  }

  /** A second press finds the name gone. */
  make() {
    return this.do(async () => {
      const name = this.name.value.trim();
      if (!name) return this.name.focus();
      const made = await api.makeCollection(name);
      this.name.value = "";
      this.all.unshift(made);
      this.pick(made.id, true);
      this.show(made);
    });
  }

  /** @param {string} id @param {boolean} isPicked */
  pick(id, isPicked) {
    if (isPicked) this.picked.add(id);
    else this.picked.delete(id);
    this.page.picked();
    this.draw();
  }

  /** Opens a collection, or closes it again. @param {Collection} collection */
  show(collection) {
    this.open = this.open === collection.id ? "" : collection.id;
    fill(this.inside, this.open && this.opened(collection));
    this.draw();
  }

  /** Its documents, its name, and its end. @param {Collection} collection */
  opened(collection) {
    const documents = new Documents(`collections/${collection.id}`, this.page.failed);
    documents.changed = () => { collection.documents = documents.entries.filter(({ given }) => given).length; this.draw(); };
    void documents.open().catch(this.page.failed);
    const remove = el("button", { type: "button", onclick: () => {
      if (remove.dataset.sure) return void this.remove(collection);
      remove.dataset.sure = "yes";
      say(remove, word("removeWhole"));
    } }, word("remove"));
    const name = el("button", { type: "button", onclick: () => rename(word("collectionName"), collection.name, (other) => void this.rename(collection, other)) }, word("rename"));
    return el("div", { class: "opened" }, documents.element, el("div", {}, name, " ", remove));
  }

  /** @param {Collection} collection @param {string} name */
  rename(collection, name) {
    return this.do(async () => { collection.name = (await api.renameCollection(collection.id, name)).name; });
  }

  /** @param {Collection} collection */
  remove(collection) {
    return this.do(async () => {
      await api.removeCollection(collection.id);
      this.all = this.all.filter(({ id }) => id !== collection.id);
      this.show(collection);
      this.pick(collection.id, false);
      this.summary.focus();
    });
  }

  draw() {
    say(this.summary, this.picked.size ? word("collectionsPicked", { n: count(this.picked.size) }) : word("collections"));
    refill(this.list, this.all.map((collection) => this.row(collection)));
  }

  /** @param {Collection} collection */
  row(collection) {
    const { id, name, documents } = collection;
    const picked = el("input", { type: "checkbox", checked: this.picked.has(id), "data-focus": `pick-${id}`, onchange: () => this.pick(id, picked.checked) });
    return el("li", {},
      el("label", {}, picked, " ", el("span", { dir: "auto" }, name)),
      el("button", { type: "button", class: "link", "data-focus": `open-${id}`, "aria-expanded": String(this.open === id), onclick: () => this.show(collection) },
        word("documents"), ": ", count(documents), el("span", { class: "unseen" }, ` (${name})`)));
  }
}
