// Documents of a thread, chosen before it is asked or added below it, or of a collection: listed, and removed again.
import * as api from "./api.js";
import { el, fill, say } from "./dom.js";
import { inWords } from "./problems.js";
import { count, word } from "./words.js";

/** For the dialog that chooses files: what the service reads. It looks at the bytes. */
const KINDS = ".txt,.text,.md,.markdown,.html,.htm,.xhtml,.pdf,.docx,.docm,.dotx,.pptx,.pptm,.ppsx,.xlsx,.xlsm,.odt,.ods,.odp,.epub,.csv,.tsv,.tab,.json,.jsonl,.ndjson,.xml,.rst,.rest";

/** @typedef {{name: string, file?: File, given?: import("./types").Document, problem?: string}} Entry */

export class Documents {
  /** @param {string} of `threads/ID` or `collections/ID`; empty as long as there is no thread: then files wait for `send` @param {(error: unknown) => void} failed */
  constructor(of, failed) {
    this.of = of;
    this.failed = failed;
    /** @type {Entry[]} */
    this.entries = [];
    this.opened = Promise.resolve();
    this.sending = Promise.resolve("");
    /** Hears of each change. */
    this.changed = () => {};
    this.list = el("ul", { "aria-label": word("documents"), hidden: true });
    this.state = el("span", { class: "dim", role: "status" });
    this.input = el("input", { type: "file", multiple: true, accept: KINDS, hidden: true, onchange: () => this.choose(this.input.files) });
    this.add = el("button", { type: "button", onclick: () => this.input.click() }, word("attach"));
    this.element = el("div", { class: "documents" }, this.list, el("div", {}, this.add, " ", this.state), this.input);
  }

  /** The documents as the service has them. What is chosen meanwhile waits, or it would be lost. */
  open() {
    const opening = api.documents(this.of).then(({ data }) => {
      this.entries = data.map((given) => ({ name: given.name, given }));
      this.draw();
    });
    this.opened = opening.catch(() => {});
    return opening;
  }

  /** Files may be dropped on an element instead. @param {HTMLElement} element */
  dropOn(element) {
    element.addEventListener("dragover", (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault());
    element.addEventListener("drop", (event) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      void this.choose(event.dataTransfer.files);
    });
  }

  /** @param {FileList | null} files */
  async choose(files) {
    // Emptying the input empties its list of files.
    const chosen = [...files ?? []].map((file) => ({ name: file.name, file }));
    this.input.value = "";
    await this.opened;
    this.entries.push(...chosen);
    this.draw();
    // What is wrong with a file stands beside it.
    if (this.of) await this.send().catch(() => {});
  }

  /** Gives the waiting files away, once each; a thread begins with the first of them. @returns {Promise<string>} the thread's id; empty without files */
  send() {
    return this.sending = this.sending.catch(() => "").then(() => this.sendAll());
  }

  /** Those behind one that is refused are given, too. */
  async sendAll() {
    /** @type {unknown[]} */
    const problems = [];
    this.add.disabled = true;
    for (const entry of this.entries) {
      if (!entry.file || entry.given || !this.entries.includes(entry)) continue;
      say(this.state, word("readingFile", { name: entry.name }));
      await this.give(entry, entry.file).catch((error) => problems.push(error));
      this.draw();
    }
    this.add.disabled = false;
    say(this.state, "");
    if (problems.length) throw problems[0];
    return this.of.split("/")[1] ?? "";
  }

  /** Where the thread that its first file began is gone, all of them wait again. */
  begin() {
    this.of = "";
    for (const entry of this.entries) entry.given = undefined;
    this.draw();
  }

  /** @param {Entry} entry @param {File} file */
  async give(entry, file) {
    entry.problem = "";
    try {
      if (this.of) entry.given = await api.addDocument(this.of, file);
      else {
        const { thread, document } = await api.beginWith(file);
        this.of = `threads/${thread.id}`;
        entry.given = document;
      }
      // It was taken off the list while it was on its way.
      if (!this.entries.includes(entry)) await api.removeDocument(this.of, entry.given.id);
    } catch (error) {
      entry.problem = inWords(error);
      throw error;
    }
  }

  /** @param {Entry} entry */
  async remove(entry) {
    try {
      if (entry.given) await api.removeDocument(this.of, entry.given.id);
      this.entries = this.entries.filter((other) => other !== entry);
      this.draw();
      this.add.focus();
    } catch (error) { this.failed(error); }
  }

  draw() {
    this.changed();
    this.list.hidden = !this.entries.length;
    fill(this.list, this.entries.map((entry) => el("li", {},
      el("span", { dir: "auto" }, entry.name),
      entry.given && el("span", { class: "dim" }, word("characters", { n: count(entry.given.characters) })),
      el("button", { type: "button", class: "quiet", "aria-label": word("removeFile", { name: entry.name }), onclick: () => this.remove(entry) }, "×"),
      (entry.problem || entry.given?.missing) && el("span", { class: "problem text" }, entry.problem || entry.given?.missing))));
  }
}
