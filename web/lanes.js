// Researchers side by side: one lane each, changed only where its researcher has done something.
import { el, fill, outward, say } from "./dom.js";
import { count, named, percent, word } from "./words.js";

/** Steps and sources that a lane shows; the rest is behind their number. */
const SHOWN = 4;

/** The lanes of one run. */
export class Lanes {
  constructor() {
    this.element = el("ol", { class: "lanes" });
    /** @type {Map<string, LaneView>} */
    this.views = new Map();
  }

  /** @param {import("./types").Run} run */
  update(run) {
    for (const lane of run.lanes.values()) {
      let view = this.views.get(lane.id);
      if (!view) {
        this.views.set(lane.id, view = new LaneView(lane.id));
        this.element.append(view.element);
      }
      if (view.shown !== lane.changed) view.update(lane);
    }
    this.element.hidden = run.lanes.size === 0;
  }
}

class LaneView {
  /** @param {string} id */
  constructor(id) {
    this.shown = -1;
    this.topic = el("h2", { dir: "auto" });
    this.state = el("span", { class: "chip" });
    this.doing = el("p", { class: "doing", dir: "auto" });
    this.steps = el("ul", { class: "steps" });
    this.sources = el("ul", { class: "found" });
    this.warnings = el("ul", { class: "bad" });
    this.left = el("span", { class: "dim" });
    this.note = el("div", { class: "text", dir: "auto", tabindex: "0" });
    this.notes = el("details", { hidden: true }, el("summary", {}, word("notes")), this.note);
    this.element = el("li", { class: "lane" }, el("header", {}, el("span", { class: "who" }, id), this.topic, this.state), this.doing, this.steps, this.warnings, this.sources, this.left, this.notes);
  }

  /** @param {import("./types").Lane} lane */
  update(lane) {
    this.shown = lane.changed;
    this.element.dataset.state = lane.state;
    say(this.topic, lane.topic);
    this.topic.title = lane.topic;
    say(this.state, named(lane.state === "finished" ? "completed" : lane.state));
    say(this.doing, doing(lane));
    fill(this.steps, ...lane.steps.slice(-SHOWN).map(step));
    const more = lane.sources.length - SHOWN;
    fill(this.sources, ...lane.sources.slice(-SHOWN).reverse().map(source), more > 0 && el("li", { class: "dim" }, word("sourcesOf", { n: count(lane.sources.length) })));
    fill(this.warnings, ...lane.warnings.slice(-2).map((text) => el("li", { dir: "auto" }, text)));
    say(this.left, lane.left === null || lane.state !== "running" ? "" : `${word("contextLeft")} ${percent(lane.left)}`);
    if (lane.note) say(this.note, lane.note);
    this.notes.hidden = !lane.note;
  }
}

/** @param {import("./types").Lane} lane */
function doing(lane) {
  if (lane.state === "failed") return word("laneFailed", { text: lane.problem });
  if (lane.state === "finished" || !lane.doing.what) return "";
  return word(lane.doing.what, { text: lane.doing.text });
}

/** @param {import("./types").Step} step */
function step(step) {
  const end = step.problem ? word("laneFailed", { text: step.problem }) : !step.done ? "…" : step.isRead && !step.links ? word("wasRead") : word("results", { n: step.links ?? 0 });
  return el("li", { class: step.problem ? "bad" : "" }, el("span", { dir: "auto" }, step.text), " ", el("span", { class: "dim" }, end));
}

/** @param {import("./types").Found} found */
function source(found) {
  return el("li", { dir: "auto" }, outward(found.url, found.title), " ", el("span", { class: "dim" }, found.site));
}
