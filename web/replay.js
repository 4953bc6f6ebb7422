// A finished run once more, from its event log, at the speed one likes.
import * as api from "./api.js";
import { openCard } from "./card.js";
import { dialog, el, say } from "./dom.js";
import { empty, take } from "./picture.js";
import { RunView } from "./run.js";
import { span, word } from "./words.js";

/** Events that one may want to jump to. */
const MARKS = ["run.created", "brief.created", "supervisor.iteration", "researcher.started", "researcher.finished", "researcher.failed", "warning", "report.started", "report.finished", "run.completed", "run.failed", "run.cancelled"];

class Replay {
  /** @param {string} run @param {import("./types").Envelope[]} log @param {(error: unknown) => void} failed */
  constructor(run, log, failed) {
    this.run = run;
    this.log = log;
    this.failed = failed;
    this.begin = Date.parse(log[0].ts);
    this.length = Math.max(1, Date.parse(log[log.length - 1].ts) - this.begin);
    /** Milliseconds of the run that are shown. */
    this.at = 0;
    this.next = 0;
    this.before = 0;
    this.playing = false;
    this.stage = el("div", { class: "stage" });
    this.bar = el("input", { type: "range", min: "0", max: String(this.length), value: "0", "aria-label": word("time"), oninput: () => this.go(Number(this.bar.value)) });
    this.clock = el("output", {});
    this.button = el("button", { type: "button", class: "main", onclick: () => this.toggle() });
    this.speed = el("select", { "aria-label": word("speed") }, [1, 10, 60].map((n) => el("option", { value: String(n) }, `${n}×`)));
    this.speed.value = "10";
    this.jump = el("select", { "aria-label": word("jump"), onchange: () => this.goTo(Number(this.jump.value)) },
      el("option", { value: "" }, word("jump")), this.marks());
    this.controls = el("div", { class: "controls" }, this.button, this.bar, this.clock, this.speed, this.jump);
    this.restart();
    this.toggle(false);
  }

  marks() {
    return this.log.filter((e) => MARKS.includes(e.type)).slice(0, 500).map((e) =>
      el("option", { value: String(e.seq) }, `${span(Date.parse(e.ts) - this.begin)} ${e.scope.id ?? ""} ${e.type}`));
  }

  restart() {
    this.picture = empty();
    this.next = 0;
    this.view = new RunView(this.run, { failed: this.failed, card: (run, source, claim) => void openCard(run, source, claim).catch(this.failed) }, true);
    this.stage.replaceChildren(this.view.element);
  }

  /** Shows the run as it was after so many milliseconds. @param {number} ms */
  go(ms) {
    if (ms < this.at) this.restart();
    this.at = Math.min(ms, this.length);
    while (this.next < this.log.length && Date.parse(this.log[this.next].ts) - this.begin <= this.at) this.take();
    this.draw();
  }

  take() {
    if (this.picture) take(this.picture, this.log[this.next]);
    this.next += 1;
  }

  /** Shows the run right after one event. @param {number} seq */
  goTo(seq) {
    const index = this.log.findIndex((e) => e.seq === seq);
    if (index < 0) return;
    this.restart();
    while (this.next <= index) this.take();
    this.at = Date.parse(this.log[index].ts) - this.begin;
    this.draw();
  }

  draw() {
    const run = this.picture?.runs.get(this.run);
    if (run) this.view?.update(run, { isLast: false, now: this.begin + this.at });
    this.bar.value = String(this.at);
    say(this.clock, `${span(this.at)} / ${span(this.length)}`);
  }

  /** @param {boolean} [playing] */
  toggle(playing = !this.playing) {
    this.playing = playing;
    say(this.button, word(playing ? "pause" : "play"));
    if (!playing) return;
    if (this.at >= this.length) this.go(0);
    this.before = performance.now();
    requestAnimationFrame((now) => this.tick(now));
  }

  /** @param {number} now */
  tick(now) {
    if (!this.playing) return;
    this.go(this.at + (now - this.before) * Number(this.speed.value));
    this.before = now;
    if (this.at >= this.length) this.toggle(false);
    else requestAnimationFrame((next) => this.tick(next));
  }
}

/**
 * Opens the replay of a run, at an event if one is given.
 * @param {string} run @param {number} [seq]
 * @returns {Promise<boolean>} false when the run has no such event
 */
export async function openReplay(run, seq) {
  const log = await api.log(run);
  if (!log.length || (seq !== undefined && !log.some((e) => e.seq === seq))) return false;
  const box = dialog(word("replay"));
  const failed = (/** @type {unknown} */ error) => { box.append(el("p", { class: "problem" }, String(error))); };
  const replay = new Replay(run, log, failed);
  box.classList.add("large");
  box.append(replay.controls, replay.stage);
  box.addEventListener("close", () => replay.toggle(false));
  if (seq === undefined) replay.toggle(true);
  else replay.goTo(seq);
  return true;
}
