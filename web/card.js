// What a citation rests on: the source, and the passage of the text that was read which is closest to the claim.
import * as api from "./api.js";
import { dialog, el, outward } from "./dom.js";
import { passage } from "./passage.js";
import { day, word } from "./words.js";

/** Characters around a passage that are shown with it. */
const AROUND = 240;

/** @param {string} run @param {number} id @param {string} claim the sentence that cites it; may be empty */
export async function openCard(run, id, claim) {
  const source = await api.source(run, id);
  const text = source.snapshot ?? "";
  const place = claim ? passage(text, claim) : null;
  const facts = [
    source.author, source.site, source.section, source.published && word("published", { date: day(source.published) }),
    word("fetched", { date: day(source.fetched_at) }), word("foundWith", { engine: source.engine }),
  ].filter(Boolean).join(" · ");
  const box = dialog(word("sourceOf", { n: source.cited_as ?? id }),
    el("p", { class: "source-title", dir: "auto" }, outward(source.url, source.title || source.url)),
    el("p", { class: "dim", dir: "auto" }, source.url), el("p", { class: "dim", dir: "auto" }, facts),
    source.addresses.length > 0 && el("details", {}, el("summary", {}, word("addresses", { n: source.addresses.length })),
      el("ul", {}, ...source.addresses.map((url) => el("li", { dir: "auto" }, outward(url, url))))),
    claim && el("h3", {}, word("nearest")),
    claim && (place ? excerpt(text, place) : el("p", {}, word("noPassage"))),
    whole(text, place));
  box.classList.add("card");
}

/** @param {string} text @param {{start: number, end: number}} place */
function excerpt(text, { start, end }) {
  const from = Math.max(0, start - AROUND), to = Math.min(text.length, end + AROUND);
  return el("blockquote", { class: "text", dir: "auto" }, from > 0 && "…", text.slice(from, start), el("mark", {}, text.slice(start, end)), text.slice(end, to), to < text.length && "…");
}

/** The snapshot, open at the passage. @param {string} text @param {{start: number, end: number} | null} place */
function whole(text, place) {
  const mark = place && el("mark", {}, text.slice(place.start, place.end));
  const body = el("div", { class: "snapshot text", dir: "auto", tabindex: "0" }, ...(place ? [text.slice(0, place.start), mark, text.slice(place.end)] : [text]));
  const box = el("details", {}, el("summary", {}, word("snapshot")), body);
  box.addEventListener("toggle", () => box.open && mark?.scrollIntoView({ block: "center" }));
  return box;
}
