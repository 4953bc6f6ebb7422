// The threads at the side: newest first, grouped by day, pinned ones on top.
import * as api from "./api.js";
import { el, fill, refill, rename, say } from "./dom.js";
import { inWords } from "./problems.js";
import { changed, clear, mine } from "./session.js";
import { day, named, word } from "./words.js";
/** @import {Thread} from "./types" */

/** How long a deletion can be taken back, in ms. */
const UNDO = 10_000;
/** How often the list is read again while it is looked at, in ms. */
const REFRESH = 15_000;

export class ThreadList {
  /** @param {Element} side @param {{failed: (error: unknown) => void, notice: (text: string, action?: [string, () => void], ms?: number) => void}} page */
  constructor(side, page) {
    this.page = page;
    this.current = "";
    /** Deleted here, not yet on the server. @type {Map<string, ReturnType<typeof setTimeout>>} */
    this.leaving = new Map();
    /** @type {Thread[]} */
    this.threads = [];
    /** @type {string | null} */
    this.cursor = null;
    /** What the list was last searched for. */
    this.q = "";
    this.asked = this.changes = 0;
    this.drawn = "";
    this.search = el("input", { type: "search", id: "find", "aria-label": word("find"), placeholder: word("findHint"), maxlength: "200", oninput: () => this.later() });
    this.list = el("div", { class: "threads" });
    this.more = el("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.load(this.cursor ?? undefined) }, word("more"));
    fill(side, el("a", { class: "brand", href: "#/" }, "Fathom"), el("a", { class: "new", href: "#/" }, word("newQuestion")), this.search, this.list, this.more,
      this.footer = el("footer", { class: "dim" }, el("a", { href: "docs/" }, word("api"))));
    void this.person();
    setInterval(() => document.visibilityState === "visible" && this.load(), REFRESH);
    addEventListener("pagehide", () => this.leaving.forEach((_, id) => void api.remove(id, true)));
    this.isLonger = false;
    /** Why it could not be read last. */
    this.away = "";
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /** Who is signed in, where the service asks. */
  async person() {
    const { authentication, owner } = await mine;
    if (authentication === "none") return;
    const leave = async () => {
      try {
        // Nobody else may do it afterwards.
        await Promise.all([...this.leaving.keys()].map((id) => this.erase(id)));
        await api.signOut();
      } catch (error) { this.page.failed(error); return void this.load(); }
      clear();
      changed();
      location.reload();
    };
    this.footer.append(" · ", el("span", { class: "owner", dir: "auto" }, word("signedInAs", { owner })), " ", el("button", { type: "button", class: "quiet", onclick: leave }, word("signOut")));
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), 200);
  }

  /** The newest threads, or with a cursor those that follow. @param {string} [cursor] @returns {Promise<void>} */
  async load(cursor) {
    const q = cursor ? this.q : this.search.value.trim(), mine = cursor ? 0 : this.asked += 1, { changes } = this;
    const isOld = () => cursor ? q !== this.q : mine !== this.asked;
    try {
      // What is pinned stands on top, also where the first page does not reach it.
      const [page, pinned] = await Promise.all([api.threads({ q, cursor }), cursor ? [] : api.threads({ q, "metadata.pinned": "true" }).then(({ data }) => data)]);
      if (isOld()) return;
      // It may be from before the change.
      if (changes !== this.changes) return this.load(cursor);
      const stays = cursor || (this.isLonger && q === this.q && page.next_cursor), last = page.data.at(-1)?.created_at ?? "";
      const fresh = new Map([...pinned, ...page.data].map((thread) => [thread.id, thread]));
      // Of a list that was made longer the rest stays: what would stand in the fresh part and does not is gone.
      const rest = stays ? this.threads.filter((thread) => !fresh.has(thread.id) && (cursor || (thread.created_at <= last && thread.metadata.pinned !== true))) : [];
      this.threads = [...fresh.values(), ...rest];
      if (cursor || !stays) this.cursor = page.next_cursor;
      this.isLonger = Boolean(stays);
      this.q = q;
      this.away = "";
      this.draw();
      this.title();
    } catch (error) {
      if (isOld()) return;
      const isOther = q !== this.q;
      // Where nobody has asked for it again, it is said once.
      if (!this.away || cursor || isOther) this.page.failed(error);
      this.away = inWords(error);
      if (!isOther) return;
      // What was found for something else is no answer.
      Object.assign(this, { q, threads: [], cursor: null, isLonger: false });
      this.draw();
    }
  }

  draw() {
    const shown = this.threads.filter((thread) => !this.leaving.has(thread.id)).sort((a, b) => b.created_at.localeCompare(a.created_at));
    const wasMore = document.activeElement === this.more;
    this.more.hidden = !this.cursor;
    // What has not changed stays, so that nothing moves under a finger.
    const state = JSON.stringify([shown.map(({ id, title, status, metadata }) => [id, title, status, metadata.pinned]), this.search.value, this.away, this.current, new Date().toDateString()]);
    if (state !== this.drawn) this.redraw(shown);
    this.drawn = state;
    if (wasMore && this.more.hidden) /** @type {HTMLElement | undefined} */ ([...this.list.querySelectorAll("a")].at(-1))?.focus();
  }

  /** @param {Thread[]} shown */
  redraw(shown) {
    const pinned = shown.filter((thread) => thread.metadata.pinned === true);
    /** @type {Map<string, Thread[]>} */
    const groups = new Map(pinned.length ? [[word("pinned"), pinned]] : []);
    for (const thread of shown.filter((thread) => thread.metadata.pinned !== true)) {
      const name = dayName(thread.created_at);
      groups.set(name, [...(groups.get(name) ?? []), thread]);
    }
    refill(this.list, ...[...groups].map(([name, threads]) => el("section", {}, el("h2", {}, name), el("ul", {}, threads.map((thread) => this.entry(thread))))),
      !shown.length && el("p", { class: "dim" }, this.away || word(this.search.value ? "nothingFound" : "noThreads")));
  }

  /** @param {Thread} thread */
  entry(thread) {
    const isPinned = thread.metadata.pinned === true, name = thread.title;
    const tool = (/** @type {Parameters<typeof word>[0]} */ what, /** @type {string} */ sign, /** @type {() => void} */ act) =>
      el("button", { type: "button", class: "quiet", title: word(what), "aria-label": `${word(what)}: ${name}`, "data-focus": `${what}-${thread.id}`, onclick: act }, sign);
    return el("li", { "data-status": thread.status },
      el("a", { href: `#/t/${thread.id}`, dir: "auto", "data-focus": thread.id, "aria-current": thread.id === this.current && "page" }, el("span", { class: "name" }, name),
        thread.status !== "idle" && el("span", { class: "chip" }, named(thread.status))),
      el("span", { class: "entry-tools" }, tool(isPinned ? "unpin" : "pin", "⚑", () => this.change(thread, { metadata: { pinned: isPinned ? null : true } })),
        tool("rename", "✎", () => rename(word("title"), name, (title) => void this.change(thread, { title }))), tool("remove", "✕", () => this.remove(thread))));
  }

  /** @param {string} id */
  select(id) {
    this.current = id;
    for (const link of this.list.querySelectorAll("a")) link.toggleAttribute("aria-current", link.getAttribute("href") === `#/t/${id}`);
    for (const link of this.list.querySelectorAll("a[aria-current]")) link.setAttribute("aria-current", "page");
  }

  /** The open thread is called what it is called here. */
  title() {
    const open = this.threads.find(({ id }) => id === this.current);
    if (open) for (const title of document.querySelectorAll(".thread > header h1")) say(title, open.title);
  }

  /** @param {Thread} thread @param {object} change */
  async change(thread, change) {
    try {
      const now = await api.change(thread.id, change);
      this.changes += 1;
      this.threads = this.threads.map((other) => other.id === thread.id ? now : other);
      this.draw();
      this.title();
    } catch (error) { this.page.failed(error); }
  }

  /** Takes it off the server. @param {string} id */
  async erase(id) {
    clearTimeout(this.leaving.get(id));
    try { await api.remove(id); } catch (error) { if (!(error instanceof api.Problem) || error.status !== 404) throw error; } finally { this.leaving.delete(id); }
    this.threads = this.threads.filter((thread) => thread.id !== id);
  }

  /** Takes it off the list at once, and off the server when it can no longer be taken back. @param {Thread} thread */
  remove(thread) {
    const end = () => void this.erase(thread.id).catch(this.page.failed).finally(() => this.load());
    this.leaving.set(thread.id, setTimeout(end, UNDO));
    this.draw();
    const isShown = thread.id === this.current;
    if (isShown) location.hash = "#/";
    const undo = () => {
      clearTimeout(this.leaving.get(thread.id));
      this.leaving.delete(thread.id);
      this.draw();
      if (isShown) location.hash = `#/t/${thread.id}`;
    };
    this.page.notice(word("removed", { title: thread.title.slice(0, 60) }), [word("undo"), undo], UNDO);
  }
}

/** @param {string} time */
function dayName(time) {
  const today = new Date(), yesterday = new Date(Date.now() - 86_400_000), date = new Date(time);
  if (date.toDateString() === today.toDateString()) return word("today");
  return date.toDateString() === yesterday.toDateString() ? word("yesterday") : day(date);
}
