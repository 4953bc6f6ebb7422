// What the notes of a run state, and what that rests on: asked for when somebody wants to see it.
import * as api from "./api.js";
import { el, fill } from "./dom.js";
import { count, named, word } from "./words.js";

/** @typedef {(source: number, at: import("./card.js").At) => void} Open */

/** @param {string} run @param {Open} open @param {(error: unknown) => void} failed */
export function noteList(run, open, failed) {
  const list = el("div", { class: "notes" });
  const box = el("details", { hidden: true }, el("summary", {}, word("statements")), list);
  const load = async () => fill(list, ...(await api.notes(run)).map((note) => entry(note, open)));
  // There are more of them as long as the run goes on.
  box.addEventListener("toggle", () => { if (box.open) load().catch(failed); });
  return box;
}

/** @param {import("./types").Note} note @param {Open} open */
function entry({ researcher, topic, text, statements }, open) {
  return el("details", {},
    el("summary", {}, `${count(researcher)}. `, el("bdi", {}, topic), " ", el("span", { class: "dim" }, `(${count(statements.length)})`)),
    statements.length ? el("ul", {}, ...statements.map((one) => statement(one, open))) : el("p", { class: "text", dir: "auto" }, text));
}

/** @param {import("./types").Statement} one @param {Open} open */
function statement({ text, verdict, missing, sources }, open) {
  return el("li", {},
    el("span", { dir: "auto" }, text), " ", el("span", { class: `chip ${verdict}` }, named(verdict)),
    missing.length > 0 && el("p", { class: "dim" }, word("lacking", { text: missing.join("; ") })),
    ...sources.map(({ source_id, passage, verdict }) => el("p", { class: "dim" },
      el("button", { type: "button", class: "link", onclick: () => open(source_id, { claim: text, passage: passage ?? undefined, verdict }) }, word("sourceOf", { n: source_id })),
      " ", passage ? el("q", { dir: "auto" }, passage.text) : named(verdict))));
}
