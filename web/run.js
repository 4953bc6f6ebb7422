// One run of a thread: question, where it stands, its research, what it wrote. Fed with the picture, live or in a replay.
import * as api from "./api.js";
import { el, fill, outward, say } from "./dom.js";
import { Lanes } from "./lanes.js";
import { isOver } from "./picture.js";
import { ReportView } from "./report.js";
import { count, hour, money, named, percent, span, word } from "./words.js";

/** @typedef {{link?: () => string, replay?: (run: string) => void, retry?: (run: string) => Promise<unknown>, versions?: () => void, isFirst?: () => boolean, failed: (error: unknown) => void, card: (run: string, source: number, at: import("./card.js").At) => void}} Actions */

export class RunView {
  /** @param {string} id @param {Actions} actions @param {boolean} [isReplay] */
  constructor(id, actions, isReplay = false) {
    this.id = id;
    this.actions = actions;
    this.isReplay = isReplay;
    this.shown = -1;
    /** The keyboard was on the button that stops the run when it was pressed. */
    this.isStopping = false;
    /** @type {HTMLElement | null} */
    this.notes = null;
    /** @type {HTMLElement | null} */
    this.sources = null;
    /** @type {import("./types").Run | null} */
    this.run = null;
    this.question = el("p", { class: "question text", dir: "auto" });
    this.phase = el("strong", { class: "phase" });
    this.figures = el("dl", { class: "figures" });
    this.stop = el("button", { type: "button", onclick: () => this.act(() => api.cancel(id), this.stop) }, word("cancel"));
    this.again = el("button", { type: "button", onclick: () => this.act(async () => actions.retry?.(id), this.again) }, word("retry"));
    this.problem = el("p", { class: "problem text", role: "alert", hidden: true });
    this.brief = el("div", { class: "text", dir: "auto" });
    this.briefBox = el("details", { hidden: true }, el("summary", {}, word("briefTitle")), this.brief);
    this.questions = el("ul", { class: "questions" });
    this.questionsTitle = el("summary", {});
    this.questionsBox = el("details", { hidden: true, open: true }, this.questionsTitle, this.questions);
    this.plan = el("ol", { class: "plan" });
    this.planBox = el("details", { hidden: true }, el("summary", {}, word("plan")), this.plan);
    this.lanes = new Lanes();
    this.lanesTitle = el("summary", {});
    this.work = el("details", { class: "work", hidden: true, open: true }, this.lanesTitle, this.lanes.element);
    this.warned = el("summary", {});
    this.warnings = el("ul", { class: "warnings" });
    this.warningBox = el("details", { hidden: true }, this.warned, this.warnings);
    this.signIns = el("ul");
    this.signInBox = el("div", { class: "sign-ins", hidden: true }, el("h2", {}, word("signInNeeded")), this.signIns);
    this.asked = el("div", { class: "asked", hidden: true });
    this.report = new ReportView(id, actions, isReplay);
    const status = el("div", { class: "status" }, this.phase, this.stop, this.again, this.figures);
    const how = el("div", { class: "how" }, this.briefBox, this.questionsBox, this.planBox, this.work, this.warningBox);
    this.element = el("section", { class: "run", id: `run-${id}` }, this.question, status, this.problem, this.signInBox, how, this.asked, this.report.element);
  }

  close() {
    this.report.close();
  }

  /** @param {() => Promise<unknown>} act @param {HTMLButtonElement} button */
  async act(act, button) {
    const isFocused = document.activeElement === button;
    this.isStopping = isFocused && button === this.stop;
    button.disabled = true;
    if (button === this.stop) say(button, word("cancelling"));
    try { await act(); } catch (error) {
      this.actions.failed(error);
      button.disabled = false;
      say(button, word(button === this.stop ? "cancel" : "retry"));
      if (isFocused) button.focus();
    }
  }

  /** The keyboard goes on where it was, though the button is gone. */
  stopped() {
    this.isStopping = false;
    if (document.activeElement?.matches("body, :disabled")) (this.again.hidden ? this : this.again).focus();
  }

  focus() {
    this.element.tabIndex = -1;
    this.element.focus();
  }

  /** @param {import("./types").Run} run @param {{isLast: boolean, now: number, title?: string}} at */
  update(run, at) {
    this.run = run;
    const changed = this.shown !== run.changed;
    this.shown = run.changed;
    this.showFigures(run, at.now);
    this.stop.hidden = this.isReplay || isOver(run);
    this.again.hidden = this.isReplay || !at.isLast || !["failed", "cancelled"].includes(run.status);
    // What the heading says already is not said again.
    this.question.hidden = Boolean(run.retryOf) || !run.question || run.question === at.title;
    if (this.stop.hidden && this.isStopping) this.stopped();
    say(this.phase, phase(run, at.isLast));
    if (!changed) return;
    this.element.dataset.status = run.status;
    say(this.question, run.retryOf ? "" : run.question);
    this.problem.hidden = !run.problem;
    say(this.problem, run.problem);
    this.showResearch(run);
    // Of a run whose events are gone nothing is known here, or too little.
    if (this.notes) this.notes.hidden = run.seq !== 0 && ![...run.lanes.values()].some((lane) => lane.note);
    if (this.sources) this.sources.hidden = run.sources.size === 0 && (run.seq !== 0 || !run.written);
    this.showAsked(run);
    this.report.update(run);
  }

  /** @param {import("./types").Run} run @param {number} now */
  showFigures(run, now) {
    const end = run.ended ? Date.parse(run.ended) : now;
    const most = run.options.max_cost_usd;
    const rows = [
      [word("elapsed"), span(end - Date.parse(run.started ?? run.created))], [word("calls"), count(run.calls)],
      [word("tokens"), count(run.input + run.output)], [word("found"), count(run.sources.size)],
      ...(run.cost === null ? [] : [[word("cost"), most ? word("ofMost", { used: money(run.cost), most: money(most) }) : money(run.cost)]]),
      ...(run.left === null || isOver(run) ? [] : [[word("contextLeft"), percent(run.left)]]),
    ];
    const text = rows.map((row) => row.join(" ")).join("|");
    if (this.figures.dataset.text === text) return;
    this.figures.dataset.text = text;
    fill(this.figures, ...rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
  }

  /** @param {import("./types").Run} run */
  showResearch(run) {
    this.briefBox.hidden = !run.brief;
    say(this.brief, run.brief);
    this.showQuestions(run);
    this.planBox.hidden = !run.lead.length;
    while (this.plan.childElementCount < run.lead.length) this.plan.append(lead(run.lead[this.plan.childElementCount]));
    const states = [...run.lanes.values()];
    this.work.hidden = !states.length;
    say(this.questionsTitle, `${word("subQuestions")} (${count(run.questions.filter(({ status }) => status === "answered").length)}/${count(run.questions.length)})`);
    say(this.lanesTitle, `${word("researchers")}: ${states.filter((lane) => lane.state !== "running").length} / ${states.length}`);
    // Once it is over, the report is what is read.
    if (isOver(run) && this.work.dataset.closed !== "yes" && run.outcome) {
      this.work.open = this.questionsBox.open = false;
      this.work.dataset.closed = "yes";
    }
    this.lanes.update(run);
    // Nothing needs it any more once the run is over.
    this.signInBox.hidden = !run.signIns.length || isOver(run);
    while (this.signIns.childElementCount < run.signIns.length) this.signIns.append(signIn(run.signIns[this.signIns.childElementCount]));
    this.warningBox.hidden = !run.warnings.length;
    say(this.warned, word("warnings", { n: run.warnings.length }));
    while (this.warnings.childElementCount < run.warnings.length) this.warnings.append(warning(run.warnings[this.warnings.childElementCount]));
  }

  /** One question is the user's own, and is there already. @param {import("./types").Run} run */
  showQuestions(run) {
    const text = run.questions.map(({ question, status }) => status + question).join("|");
    if (this.questions.dataset.text === text) return;
    this.questions.dataset.text = text;
    this.questionsBox.hidden = run.questions.length < 2;
    fill(this.questions, run.questions.map(({ question, status }) => el("li", {},
      el("span", { dir: "auto" }, question), status !== "open" && el("span", { class: `chip ${status}` }, answers(status)))));
  }

  /** @param {import("./types").Run} run */
  showAsked(run) {
    this.asked.hidden = !run.asked;
    if (run.asked && !this.asked.childElementCount) fill(this.asked, el("h2", {}, word("asked")), el("p", { class: "text", dir: "auto" }, run.asked));
  }
}

/** @param {"answered" | "partly" | "not_found"} status */
const answers = (status) => word(/** @type {const} */ ({ answered: "fullyAnswered", partly: "partlyAnswered", not_found: "notAnswered" })[status]);

/** Where a run stands, in words. @param {import("./types").Run} run @param {boolean} [isLast] nothing in the thread follows it */
export function phase(run, isLast = true) {
  const lives = run.lives > 1 ? ` · ${word("lives", { n: run.lives - 1 })}` : "";
  if (run.status === "queued") return run.position ? word("queuedAt", { n: run.position }) : word("queued");
  if (run.status === "running") {
    if (run.waiting) return word("waitingFor", { name: run.waiting.name, time: hour(run.waiting.until) }) + lives;
    return (run.phase ? named(run.phase) : word("running")) + lives;
  }
  if (run.outcome === "clarification") return word(isLast ? "awaiting_input" : "asked") + lives;
  const decided = { answer: word("answered"), revise: word("revised"), research: word("researched") }[run.decision];
  return named(run.status) + (decided && run.status === "completed" ? ` · ${decided}` : "") + lives;
}

/** @param {import("./types").Lead} entry */
function lead(entry) {
  if (entry.kind === "round") return el("li", { class: "round" }, word("round", { n: entry.n, max: entry.max }));
  return el("li", { class: "text", dir: "auto" }, entry.text);
}

/** What somebody has to do for a tool. @param {import("./types").SignIn} asked */
function signIn({ server, message, url }) {
  return el("li", { class: "text", dir: "auto" }, `${server}: ${message} `, outward(url, url));
}

/** @param {import("./types").Warned} warned */
function warning(warned) {
  return el("li", { dir: "auto" }, warned.lane && el("span", { class: "who" }, warned.lane), " ", el("code", {}, warned.code), " ", warned.detail);
}
