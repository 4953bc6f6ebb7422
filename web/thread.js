// A thread: its runs in order, and the box below them for the next message.
import * as api from "./api.js";
import { openCard } from "./card.js";
import { Documents } from "./documents.js";
import { closeDialogs, el, say, sendOnEnter } from "./dom.js";
import { noteList } from "./notes.js";
import { empty, isOver, recall, recallSources, take } from "./picture.js";
import { openReplay } from "./replay.js";
import { phase, RunView } from "./run.js";
import { forget, remember } from "./session.js";
import { openShares } from "./share.js";
import { sourceList } from "./sources.js";
import { openVersions } from "./versions.js";
import { word } from "./words.js";

/** What an address says of a place that is not in the thread. */
const absent = () => new api.Problem(404, "not_found", "");

/** The longest the page may work on events at a stretch, in ms. */
const SLICE = 8;

/** Where a source stands in the addresses of its thread. @param {string} run @param {number} source @param {import("./card.js").At} at */
const placeOf = (run, source, { passage }) => `/r/${run}/s/${source}${passage ? `/${passage.start}-${passage.end}` : ""}`;

export class ThreadView {
  /** @param {string} id @param {{failed: (error: unknown) => void, nothing: (error: unknown) => void, speak: (text: string) => void, changed: () => void}} page */
  constructor(id, page) {
    this.id = id;
    this.page = page;
    this.picture = empty();
    /** @type {Map<string, RunView>} */
    this.views = new Map();
    /** @type {import("./types").Envelope[]} */
    this.waiting = [];
    this.drawing = this.isAsked = this.isRecalling = this.isClosed = false;
    /** How far the reader's clock is ahead of the service's, in ms: as far as with the event that came the fastest. */
    this.ahead = Infinity;
    /** What was opened last. */
    this.opening = {};
    /** Events up to this one were there before the page was: nothing of them is read aloud. */
    this.known = Infinity;
    this.title = el("h1", { dir: "auto" });
    this.share = el("button", { type: "button", hidden: true, onclick: () => this.opened(async () => openShares(id, page.failed)) }, word("share"));
    this.documents = new Documents(`threads/${id}`, page.failed);
    this.line = el("p", { class: "line", role: "status", hidden: true });
    this.runs = el("div", { class: "runs" });
    this.key = api.newKey();
    /** What was sent and is not known to have come. */
    this.sent = "";
    this.box = el("textarea", { rows: "2", onkeydown: sendOnEnter, oninput: () => { this.key = api.newKey(); } });
    remember(this.box, id);
    this.send = el("button", { class: "main" }, word("send"));
    this.form = el("form", { class: "reply", hidden: true, onsubmit: (/** @type {Event} */ event) => this.reply(event) }, this.box, this.send);
    this.element = el("div", { class: "thread" }, el("header", {}, this.title, this.share), this.line, this.runs, this.documents.element, this.form);
    this.documents.dropOn(this.element);
    // A page that nobody looks at gets no frames.
    this.clock = setInterval(() => { if (document.hidden && this.waiting.length) this.work(); else this.draw(); this.rest(); }, 1_000);
    this.seen = () => this.rest();
    document.addEventListener("visibilitychange", this.seen);
    /** @type {api.Following | null} */
    this.following = null;
  }

  async open() {
    const thread = await api.thread(this.id);
    if (this.isClosed) return;
    say(this.title, thread.title);
    this.known = thread.last_seq;
    this.draw();
    void this.documents.open().catch(this.page.failed);
    this.following = new api.Following(this.id, {
      event: (envelope) => this.came(envelope),
      state: (state) => this.connection(state === "open"),
      refused: (problem) => problem.status === 404 ? this.gone() : this.page.nothing(problem),
    });
  }

  /** @param {import("./types").Envelope} envelope */
  came(envelope) {
    if (envelope.type === "stream.rewound") return this.restart();
    this.waiting.push(envelope);
    if (envelope.seq > this.known) this.ahead = Math.min(this.ahead, Date.now() - Date.parse(envelope.ts));
    this.soon();
  }

  /** The service has lost events that are shown here: the picture is made from the start of the log. */
  restart() {
    for (const view of this.views.values()) {
      view.close();
      view.element.remove();
    }
    this.views.clear();
    this.picture = empty();
    this.waiting = [];
    this.following?.restart();
  }

  /**
   * Leaves its connection to other tabs, of which a browser has six to a service over plain HTTP: where nobody looks, one is
   * needed only while something is at work.
   */
  rest() {
    const isAtWork = [...this.picture.runs.values()].some((run) => !isOver(run)) || this.picture.seq < this.known || this.isAsked;
    this.following?.rest(document.hidden && !isAtWork && !this.waiting.length);
  }

  /** It was deleted, here or elsewhere: what is read stays. */
  gone() {
    this.picture.gone = true;
    this.following?.end();
    this.connection(true);
    this.draw();
  }

  close() {
    this.isClosed = true;
    clearInterval(this.clock);
    document.removeEventListener("visibilitychange", this.seen);
    this.following?.end();
    closeDialogs();
    for (const view of this.views.values()) view.close();
  }

  /** @param {boolean} isOpen */
  connection(isOpen) {
    this.line.hidden = isOpen && !this.picture.gone && !this.picture.gap;
    say(this.line, isOpen ? (this.picture.gone ? word("gone") : this.picture.gap ? word("gap") : "") : word("reconnecting"));
    this.line.classList.toggle("over", !isOpen);
    this.element.dataset.live = isOpen ? "yes" : "no";
  }

  soon() {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => this.work());
  }

  /** Takes in what has come, a slice at a time, and draws once. */
  work() {
    if (this.isClosed) return;
    const until = performance.now() + SLICE;
    let taken = 0;
    while (taken < this.waiting.length && !this.isRecalling && performance.now() < until) this.take(this.waiting[taken++]);
    this.waiting.splice(0, taken);
    this.drawing = false;
    if (this.waiting.length && !this.isRecalling) this.soon();
    else this.draw();
  }

  /** @param {import("./types").Envelope} envelope */
  take(envelope) {
    const run = take(this.picture, envelope);
    if (this.picture.gone) this.gone();
    if (this.picture.gap) this.connection(true);
    if (envelope.type === "stream.gap") void this.recall(envelope);
    if (!run || envelope.seq <= this.known) return;
    if (envelope.type === "run.created" && envelope.data.question === this.sent) this.arrived();
    if (envelope.type === "phase.started" || envelope.type === "report.started" || isOver(run)) this.page.speak(phase(run));
    if (envelope.type === "sign_in.required") this.page.speak(word("signInNeeded"));
    if (isOver(run)) this.page.changed();
  }

  /** What became of the runs whose events were removed. What comes after them waits. @param {import("./types").Envelope} gap */
  async recall({ run_id }) {
    this.isRecalling = true;
    /** @type {import("./types").Run[]} */
    let recalled = [];
    try {
      const [runs, messages] = await Promise.all([api.runs(this.id), api.messages(this.id)]);
      const removed = runs.reverse().slice(0, runs.findIndex(({ id }) => id === run_id) + 1);
      const over = [...this.picture.runs.values()].filter(isOver).map((run) => run.id);
      recalled = removed.filter(({ id }) => !over.includes(id)).map((run) => recall(this.picture, run, messages));
    } catch (error) { if (!this.isClosed) this.page.nothing(error); }
    this.isRecalling = false;
    this.work();
    await this.recallSources(recalled);
  }

  /** What those runs found, one after the other; said once where it is not to be had. @param {import("./types").Run[]} runs */
  async recallSources(runs) {
    let failed = this.page.failed;
    for (const run of runs) {
      if (this.isClosed) return;
      try { recallSources(run, (await api.sources(run.id)).data); } catch (error) { if (!this.isClosed) failed(error); failed = () => {}; }
      this.soon();
    }
  }

  draw() {
    const runs = [...this.picture.runs.values()], now = Date.now() - (Number.isFinite(this.ahead) ? this.ahead : 0);
    runs.forEach((run, i) => this.view(run).update(run, { isLast: i === runs.length - 1, now, title: i === 0 ? this.title.textContent ?? "" : "" }));
    const last = runs.at(-1), isAtWork = last && !isOver(last);
    // Seen from another tab, too.
    document.title = `${isAtWork ? "● " : ""}${this.title.textContent} · Fathom`;
    this.share.hidden = this.picture.gone || !runs.some((run) => run.written);
    // A thread may have documents before it is asked anything.
    this.form.hidden = this.documents.add.hidden = this.picture.gone || (last ? !isOver(last) : this.known > 0);
    this.box.placeholder = this.box.ariaLabel = word(!last ? "ask" : last.outcome === "clarification" ? "reply" : "followUp");
  }

  /** @param {import("./types").Run} run */
  view(run) {
    const found = this.views.get(run.id);
    if (found) return found;
    const { failed } = this.page;
    const card = (/** @type {string} */ id, /** @type {number} */ source, /** @type {import("./card.js").At} */ at) => void this.card(id, source, at).catch(failed);
    const view = new RunView(run.id, {
      link: () => this.link(`/r/${run.id}`),
      failed, card, replay: (id) => void this.replay(id).catch(failed), retry: (id) => this.begin(() => api.retry(id, api.newKey())), versions: () => void this.compare().catch(failed), isFirst: () => this.written().findIndex(({ id }) => id === run.id) < 1,
    });
    const open = (/** @type {number} */ source, /** @type {import("./card.js").At} */ at) => card(run.id, source, at);
    view.element.append(view.notes = noteList(run.id, open, failed),
      view.sources = sourceList(run.id, (source) => open(source, {}), () => view.report.body, failed));
    this.views.set(run.id, view);
    this.runs.append(view.element);
    if (this.isAsked) this.goOn(view);
    return view;
  }

  /** Begins a run, and goes to it: it may be here before the answer is. @param {() => Promise<unknown>} ask */
  async begin(ask) {
    this.isAsked = true;
    try { await ask(); } catch (error) { this.isAsked = false; throw error; }
  }

  /** To the run that was just asked for: the box or the button is gone. @param {RunView} run */
  goOn(run) {
    this.isAsked = false;
    run.focus();
    run.element.scrollIntoView();
  }

  /** The whole address of a place in the thread. @param {string} place */
  link(place) { return new URL(`#/t/${this.id}${place}`, location.href).href; }

  /** Shows the address of a place in the thread, without the page going there. @param {string} [place] */
  address(place = "") {
    if (!this.isClosed && location.hash.startsWith(`#/t/${this.id}`)) history.replaceState(null, "", `#/t/${this.id}${place}`);
  }

  /** @param {string} run @param {number} source @param {import("./card.js").At} at */
  async card(run, source, at) {
    await this.opened(async (place) => {
      place(placeOf(run, source, at));
      try {
        const box = await openCard(run, source, at, this.link(placeOf(run, source, at)));
        box.addEventListener("close", () => place(""));
        return box;
      } catch (error) { place(""); throw error; }
    });
  }

  /** @param {string} run @param {number} [seq] */
  replay(run, seq) {
    const link = (/** @type {Parameters<typeof placeOf>} */ ...where) => this.link(placeOf(...where));
    return this.opened((place) => openReplay(run, { seq, link, moved: (at) => place(at === null ? "" : `/e/${at}`) }));
  }

  /**
   * Opens something in place of what is open. Over another view, and over what was opened since, it does not open.
   * @template {HTMLDialogElement | null} T
   * @param {(place: (place: string) => void) => Promise<T>} open hears how to say its place in the address
   * @returns {Promise<T>}
   */
  async opened(open) {
    if (!this.isClosed) closeDialogs();
    const mine = this.opening = {}, isNewest = () => this.opening === mine;
    const box = await open((place) => isNewest() && this.address(place));
    if (this.isClosed || !isNewest() || document.querySelectorAll("dialog[open]").length > 1) box?.close();
    return box;
  }

  /** @param {Event} event */
  async reply(event) {
    event.preventDefault();
    const text = this.box.value.trim();
    if (!text || this.send.disabled) return;
    this.send.disabled = true;
    try {
      this.sent = text;
      await this.begin(() => api.reply(this.id, text, this.key));
      this.arrived();
    } catch (error) { if (this.sent) this.page.failed(error); } finally { this.send.disabled = false; }
  }

  /** What was sent has come, by its answer or by its event: an answer may be lost. */
  arrived() {
    if (!this.sent) return;
    this.key = api.newKey();
    // What is typed since is the next message.
    if (this.box.value.trim() === this.sent) { this.box.value = ""; forget(this.box); }
    this.sent = "";
  }

  /** The runs that wrote a version of the report, in order. */
  written() {
    return [...this.picture.runs.values()].filter((run) => run.written && run.status === "completed" && run.outcome === "report");
  }

  /** Two of the thread's reports, the newest beside the one before it at first. */
  async compare() {
    const written = this.written();
    if (written.length > 1) await this.opened(() => openVersions(written, this.page.failed));
  }

  /** Goes to a run, a source or an event named by the address. @param {string[]} place */
  async show(place) {
    const [kind, id, , source, stretch] = place;
    if (kind === "e") return this.showEvent(Number(id));
    if (kind !== "r") return;
    if (!await this.until(() => this.views.has(id))) return;
    if (!this.views.has(id)) throw absent();
    const acting = new AbortController();
    for (const act of ["wheel", "touchmove", "keydown", "pointerdown"]) addEventListener(act, () => acting.abort(), acting);
    const go = () => acting.signal.aborted || this.views.get(id)?.element.scrollIntoView();
    go();
    const [start, end] = (stretch ?? "").split("-").map(Number);
    if (source) return acting.abort(), this.card(id, Number(source), end > start ? { passage: { start, end } } : {});
    // The reports above it push it down as they come.
    const areWhole = () => {
      const views = [...this.views], above = views.slice(0, views.findIndex(([run]) => run === id));
      return above.every(([, { report }]) => report.isWhole());
    };
    if (await this.until(() => this.picture.seq >= this.known && areWhole())) go();
    acting.abort();
  }

  /** @param {number} seq */
  async showEvent(seq) {
    if (!await this.until(() => this.picture.seq >= seq)) return;
    // One run follows the other; of one whose first events were removed the last ones may be left.
    const runs = [...this.picture.runs.values()], at = runs.findIndex((run) => run.seq >= seq);
    for (const run of [runs[at], runs[at - 1]]) if (run && await this.replay(run.id, seq)) return;
    if (!this.isClosed) throw absent();
  }

  /** Waits for something, five seconds at most, and a minute for what was there before the page; is the view still open then? @param {() => boolean} test */
  async until(test) {
    for (let tries = 0; tries < (this.picture.seq < this.known ? 1_200 : 100) && !this.isClosed && !test(); tries += 1) await new Promise((done) => setTimeout(done, 50));
    return !this.isClosed;
  }
}
