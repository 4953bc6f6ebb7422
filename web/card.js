// What a citation rests on: the source, and the passage that the check of the report has found; where it found none, the
// stretch of the text that was read which is closest to the claim.
import * as api from "./api.js";
import { copyButton, dialog, el, outward } from "./dom.js";
import { passage, unitsOf } from "./passage.js";
import { day, named, word } from "./words.js";

/** Characters around a passage that are shown with it. */
const AROUND = 240;

/**
 * Where a source is looked at. Offsets of a passage count Unicode scalar values, as the API does.
 * @typedef {{claim?: string, passage?: {start: number, end: number}, verdict?: string}} At
 */

/** @param {string} run @param {number} id @param {At} at @param {string} link its address @returns {Promise<HTMLDialogElement>} */
export async function openCard(run, id, at, link) {
  const source = await api.source(run, id);
  const text = source.snapshot ?? "";
  const exact = at.passage && unitsOf(text, at.passage);
  const place = exact ?? (at.claim ? passage(text, at.claim) : null);
  const facts = [
    source.author, source.site, source.section, source.published && word("published", { date: day(source.published) }),
    word("fetched", { date: day(source.fetched_at) }), word("foundWith", { engine: source.engine }),
  ].filter(Boolean).join(" · ");
  const box = dialog(word("sourceOf", { n: source.cited_as ?? id }),
    el("p", { class: "source-title", dir: "auto" }, outward(source.url, source.title || source.url)),
    el("p", { class: "dim", dir: "auto" }, source.url), el("p", { class: "dim", dir: "auto" }, facts),
    source.addresses.length > 0 && el("details", {}, el("summary", {}, word("addresses", { n: source.addresses.length })),
      el("ul", {}, ...source.addresses.map((url) => el("li", { dir: "auto" }, outward(url, url))))),
    at.verdict && el("p", {}, el("span", { class: `chip ${at.verdict}` }, named(at.verdict))),
    (exact || at.claim) && el("h3", {}, word(exact ? "passage" : "nearest")),
    place ? excerpt(text, place) : at.claim && el("p", {}, word("noPassage")),
    whole(text, place), el("p", { class: "tools" }, copyButton("copyLink", () => link)));
  box.classList.add("card");
  return box;
}

/** @param {string} text @param {{start: number, end: number}} place */
function excerpt(text, { start, end }) {
  // Whole words, where the script has any.
  const far = text.slice(Math.max(0, start - AROUND), start), near = text.slice(end, end + AROUND);
  const from = start > AROUND ? start - far.length + Math.max(0, far.slice(0, 40).search(/\s/)) : 0;
  const to = end + AROUND < text.length ? end + (near.slice(-40).match(/\s\S*$/)?.index ?? 40) + near.length - 40 : text.length;
  return el("blockquote", { class: "text", dir: "auto" }, from > 0 && "…", text.slice(from, start), el("mark", {}, text.slice(start, end)), text.slice(end, to), to < text.length && "…");
}

/** The snapshot, open at the passage. @param {string} text @param {{start: number, end: number} | null} place */
function whole(text, place) {
  const mark = place && el("mark", {}, text.slice(place.start, place.end));
  const body = el("div", { class: "snapshot text", dir: "auto", tabindex: "0" }, ...(place ? [text.slice(0, place.start), mark, text.slice(place.end)] : [text]));
  const box = el("details", {}, el("summary", {}, word(place ? "snapshotAt" : "snapshot")), body);
  box.addEventListener("toggle", () => box.open && mark?.scrollIntoView({ block: "center" }));
  return box;
}
