// A report to be read: the server's HTML, a list of contents, and citations that open what they rest on.
import * as api from "./api.js";
import { copyButton, el, fill, rendered, save, say } from "./dom.js";
import { isOver } from "./picture.js";
import { claimOf } from "./passage.js";
import { count, word } from "./words.js";

/** The least time between two looks at a report that is being written, in ms. */
const PACE = 1_200;
/** The same at a long one: each look brings all of it. */
const SLOWEST = 10_000;
/** The longest pause after looks that failed, in ms. */
const LONGEST_PAUSE = 30_000;

export class ReportView {
  /** @param {string} id @param {import("./run.js").Actions} actions @param {boolean} isReplay */
  constructor(id, actions, isReplay) {
    this.id = id;
    this.actions = actions;
    this.isReplay = isReplay;
    /** What of it is shown. */
    this.have = { attempt: 0, chars: 0, complete: false };
    this.loading = false;
    this.looked = 0;
    /** Looks that failed since the last one that did not. */
    this.failures = 0;
    this.isClosed = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    /** @type {Promise<import("./types").Citation[]> | undefined} */
    this.citations = undefined;
    /** @type {import("./types").Run | null} */
    this.run = null;
    this.tools = el("div", { class: "tools", role: "toolbar", "aria-label": word("reportTools"), hidden: true });
    this.contents = el("nav", { class: "contents", "aria-label": word("contents"), hidden: true });
    this.note = el("p", { hidden: true });
    this.body = el("article", { class: "report", dir: "auto", onclick: (/** @type {MouseEvent} */ event) => this.follow(event) });
    this.element = el("div", { class: "read", hidden: true }, this.tools, this.contents, this.note, this.body);
  }

  /** @param {import("./types").Run} run */
  update(run) {
    this.run = run;
    this.element.hidden = run.attempt === 0;
    if (run.attempt === 0) return;
    const complete = isOver(run) && run.status === "completed";
    this.note.hidden = complete;
    this.note.className = isOver(run) ? "problem" : "dim";
    say(this.note, word(isOver(run) ? "unfinished" : "writing"));
    const behind = run.attempt !== this.have.attempt || run.text.length !== this.have.chars || complete !== this.have.complete;
    if (behind) this.look(complete);
  }

  /** Is all of it shown that will be? */
  isWhole() { return this.run?.status !== "completed" || this.run.attempt === 0 || this.have.complete; }

  /** Asks for what is complete: at once when it all is, else by the pace, and less and less often while that fails. @param {boolean} complete */
  look(complete) {
    if (this.loading || this.isClosed) return;
    const pace = Math.min(PACE * (1 + this.have.chars / 20_000), SLOWEST);
    const pause = complete && !this.failures ? 0 : Math.min(pace * 2 ** Math.max(0, this.failures - 1), LONGEST_PAUSE);
    const looked = () => { this.failures = complete && !this.have.complete ? this.failures + 1 : 0; };
    // The end of a run is not waited for until the next look is due.
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.loading = true;
      this.load().then(looked, (error) => this.missed(error)).finally(() => {
        this.looked = Date.now();
        this.loading = false;
        if (this.run && !this.isClosed) this.update(this.run);
      });
    }, Math.max(0, this.looked + pause - Date.now()));
  }

  /** Says once that it fails, however often it does. @param {unknown} error */
  missed(error) {
    this.failures += 1;
    if (this.failures === 1 && !this.isClosed) this.actions.failed(error);
  }

  /** Nobody looks at it any more. */
  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  async load() {
    const asked = this.run && { attempt: this.run.attempt, chars: this.run.text.length };
    const fragment = await api.fragment(this.id, this.isReplay && this.run && !isOver(this.run) ? this.run.seq : undefined);
    this.have = { attempt: asked?.attempt ?? 0, chars: asked?.chars ?? 0, complete: fragment.complete };
    this.body.lang = fragment.language ?? "";
    if (fragment.html || this.isReplay) rendered(this.body, fragment.html, (content) => this.turn(content));
    if (fragment.complete) this.finish();
    else this.contents.hidden = this.tools.hidden = true;
  }

  /** A few letters of another script turn neither a report round nor a paragraph of it. @param {DocumentFragment} content */
  turn(content) {
    this.body.dir = direction(content.textContent ?? "");
    for (const block of content.querySelectorAll("h1, h2, h3, h4, p, li, th, td")) {
      if (/\p{L}/u.test(block.textContent ?? "") && direction(block.textContent ?? "") !== this.body.dir) block.classList.add("turned");
    }
  }

  finish() {
    this.listContents();
    const tool = (/** @type {Parameters<typeof word>[0]} */ name, /** @type {() => void} */ act) => el("button", { type: "button", onclick: act }, word(name));
    const file = (/** @type {Parameters<typeof word>[0]} */ name, /** @type {() => void} */ act) =>
      el("button", { type: "button", title: word("saveAs", { name: word(name) }), onclick: act }, `${word(name)} ↓`);
    const keep = (/** @type {string} */ type, /** @type {string} */ ending) => () =>
      api.report(this.id, type).then((text) => save(`report-${this.id.slice(0, 8)}.${ending}`, type, text), this.actions.failed);
    fill(this.tools,
      copyButton("copy", () => api.report(this.id, "text/markdown"), this.actions.failed), file("markdown", keep("text/markdown", "md")), file("html", keep("text/html", "html")),
      file("json", keep("application/json", "json")), tool("print", () => this.print()), this.actions.link && copyButton("copyLink", this.actions.link),
      // Without events there is nothing to play.
      this.actions.replay && this.run?.seq !== 0 && tool("replay", () => this.actions.replay?.(this.id)),
      this.actions.versions && !this.actions.isFirst?.() && tool("versions", () => this.actions.versions?.()));
    this.tools.hidden = this.isReplay;
  }

  /** Only this report, not the page around it. */
  print() {
    document.body.dataset.print = this.id;
    this.element.classList.add("printed");
    // Phones draw the page only after the call has returned.
    addEventListener("afterprint", () => {
      this.element.classList.remove("printed");
      delete document.body.dataset.print;
    }, { once: true });
    window.print();
  }

  listContents() {
    // The title stands above them all.
    const headings = [...this.body.querySelectorAll("h1, h2, h3")].slice(this.body.firstElementChild?.tagName === "H1" ? 1 : 0);
    this.contents.hidden = headings.length < 3;
    // Each of several is called something else.
    const place = [...document.querySelectorAll(".contents")].indexOf(this.contents);
    this.contents.ariaLabel = word("contents") + (place > 0 ? ` ${count(place + 1)}` : "");
    fill(this.contents, el("details", { open: matchMedia("(min-width: 68rem)").matches }, el("summary", {}, word("contents")), el("ul", { dir: this.body.dir }, headings.map((heading) => {
      const text = (heading.textContent ?? "").replace(/\s*\[\d+\]/g, "");
      const go = () => { heading.setAttribute("tabindex", "-1"); /** @type {HTMLElement} */ (heading).focus(); heading.scrollIntoView(); };
      return el("li", { class: heading.tagName.toLowerCase() }, el("button", { type: "button", class: "link", onclick: go }, text));
    }))));
  }

  /** Links inside the report: a citation opens its source, one in the list goes back to the text. @param {MouseEvent} event */
  follow(event) {
    const link = event.target instanceof Element ? event.target.closest("a[href^='#']") : null;
    if (!link) return;
    event.preventDefault();
    const name = (link.getAttribute("href") ?? "").slice(1);
    const [kind, number] = name.split("-");
    const target = this.body.querySelector(`[id="${CSS.escape(name)}"]`);
    if (kind !== "source") return target?.scrollIntoView({ block: "center" });
    const found = [...this.run?.sources.values() ?? []].find((source) => source.number === Number(number));
    if (found) this.open(link, Number(found.id)).catch(this.actions.failed);
    else target?.scrollIntoView({ block: "center" });
  }

  /** Opens what a citation rests on, as the check of the report has found it. @param {Element} link @param {number} source */
  async open(link, source) {
    const start = Number(link.getAttribute("data-start") ?? NaN);
    // Before it is complete there is no check of it.
    if (this.have.complete) this.citations ??= api.citations(this.id).catch(() => { this.citations = undefined; return []; });
    const known = (await this.citations)?.find((citation) => citation.start === start);
    this.actions.card(this.id, known?.source_id ?? source, { claim: claimOf(link), passage: known?.passage, verdict: known?.verdict });
  }
}

/** Which way most letters of a text run. @param {string} text @returns {"ltr" | "rtl"} */
function direction(text) {
  const turned = text.match(/[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/gu)?.length ?? 0;
  return turned > (text.match(/\p{L}/gu)?.length ?? 0) / 2 ? "rtl" : "ltr";
}
