// A finished run once more, from its event log, at the speed one likes.
import * as api from "./api.js";
import { openCard } from "./card.js";
import { copyButton, dialog, el, say } from "./dom.js";
import { empty, take } from "./picture.js";
import { inWords } from "./problems.js";
import { RunView } from "./run.js";
import { span, word } from "./words.js";

/** Events that one may want to jump to, in words. @type {Record<string, (e: import("./types").Envelope) => string>} */
const MARKS = {
  "run.created": () => word("question"),
  "brief.created": () => word("briefTitle"),
  "supervisor.iteration": ({ data }) => word("round", data),
  "researcher.started": ({ scope, data }) => word("startedLane", { n: scope.id }) + (data.topic ? `: ${data.topic.slice(0, 60)}` : ""),
  "researcher.finished": ({ scope }) => `${scope.id} ${word("completed")}`,
  "researcher.failed": ({ scope }) => `${scope.id} ${word("failed")}`,
  "warning": ({ scope, data }) => `${scope.id ?? ""} ${data.detail.slice(0, 60)}`.trim(),
  "report.started": () => word("report"),
  "report.finished": () => word("reportDone"),
  "run.completed": () => word("completed"),
  "run.failed": () => word("failed"),
  "run.cancelled": () => word("cancelled"),
};

/** @typedef {{seq?: number, moved: (seq: number | null) => void, link: (run: string, source: number, at: import("./card.js").At) => string}} Given `link` is the address of a source */

class Replay {
  /** @param {string} run @param {import("./types").Envelope[]} log @param {(error: unknown) => void} failed @param {Pick<Given, "moved" | "link">} given */
  constructor(run, log, failed, { moved, link }) {
    this.run = run;
    this.moved = moved;
    this.link = link;
    this.log = log;
    this.failed = failed;
    this.begin = Date.parse(log[0].ts);
    this.length = Math.max(1, Date.parse(log[log.length - 1].ts) - this.begin);
    /** Milliseconds of the run that are shown. */
    this.at = 0;
    this.next = 0;
    this.before = 0;
    this.playing = false;
    /** @type {RunView | undefined} */
    this.view = undefined;
    this.stage = el("div", { class: "stage" });
    this.bar = el("input", { type: "range", min: "0", max: String(this.length), step: String(this.length / 200), value: "0", "aria-label": word("time"), oninput: () => { this.go(Number(this.bar.value)); this.tell(); } });
    this.clock = el("output", {});
    this.button = el("button", { type: "button", class: "main", onclick: () => this.toggle() });
    this.speed = el("select", { "aria-label": word("speed") }, [1, 10, 60].map((n) => el("option", { value: String(n) }, `${n}×`)));
    this.speed.value = "10";
    this.jump = el("select", { "aria-label": word("jump"), onchange: () => this.goTo(Number(this.jump.value)) },
      el("option", { value: "" }, word("jump")), this.marks());
    this.controls = el("div", { class: "controls" }, this.button, this.bar, this.clock, this.speed, this.jump, copyButton("copyLink", () => location.href));
    this.restart();
    this.toggle(false);
  }

  marks() {
    return this.log.filter((e) => e.type in MARKS).slice(0, 500).map((e) =>
      el("option", { value: String(e.seq) }, `${span(Date.parse(e.ts) - this.begin)} · ${MARKS[e.type](e)}`));
  }

  restart() {
    this.picture = empty();
    this.next = 0;
    this.close();
    this.view = new RunView(this.run, { failed: this.failed, card: (run, source, at) => void openCard(run, source, at, this.link(run, source, at)).then((box) => this.stage.isConnected || box.close()).catch(this.failed) }, true);
    this.stage.replaceChildren(this.view.element);
  }

  close() {
    this.view?.close();
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

  /** The event that is shown has an address. */
  tell() {
    const shown = this.log[this.next - 1];
    if (shown) this.moved(shown.seq);
  }

  /** Shows the run right after one event, and stops there. @param {number} seq */
  goTo(seq) {
    const index = this.log.findIndex((e) => e.seq === seq);
    if (index < 0) return;
    this.restart();
    while (this.next <= index) this.take();
    this.at = Date.parse(this.log[index].ts) - this.begin;
    this.draw();
    this.toggle(false);
  }

  draw() {
    const run = this.picture?.runs.get(this.run);
    if (run) this.view?.update(run, { isLast: true, now: this.begin + this.at });
    this.bar.value = String(this.at);
    const time = `${span(this.at)} / ${span(this.length)}`;
    say(this.clock, time);
    this.bar.setAttribute("aria-valuetext", time);
  }

  /** @param {boolean} [playing] */
  toggle(playing = !this.playing) {
    this.playing = playing;
    say(this.button, word(playing ? "pause" : "play"));
    if (!playing) return this.tell();
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
 * Opens the replay of a run, at an event if one is given; tells which event is shown, and `null` when it is closed.
 * @param {string} run @param {Given} given
 * @returns {Promise<HTMLDialogElement | null>} null when the run has no such event
 */
export async function openReplay(run, { seq, moved, link }) {
  const log = await api.log(run);
  if (!log.length || (seq !== undefined && !log.some((e) => e.seq === seq))) return null;
  const box = dialog(word("replay"));
  const failed = (/** @type {unknown} */ error) => { box.append(el("p", { class: "problem" }, inWords(error))); };
  const replay = new Replay(run, log, failed, { moved, link });
  box.classList.add("large");
  box.append(replay.controls, replay.stage);
  box.addEventListener("close", () => { replay.toggle(false); replay.close(); moved(null); });
  if (seq === undefined) replay.toggle(true);
  else replay.goTo(seq);
  return box;
}
