// Every source of a run: those the report cites first, with the places where it does.
import * as api from "./api.js";
import { el, fill, outward } from "./dom.js";
import { count, day, word } from "./words.js";

/** @param {string} run @param {(source: number) => void} open @param {() => Element} report @param {(error: unknown) => void} failed */
export function sourceList(run, open, report, failed) {
  const list = el("ol", { class: "sources" });
  const title = el("summary", {}, word("allSources"));
  const box = el("details", { class: "all-sources" }, title, list);
  const load = async () => {
    const { data } = await api.sources(run);
    const order = data.sort((a, b) => (a.cited_as ?? 1e9) - (b.cited_as ?? 1e9));
    title.textContent = `${word("allSources")} (${count(order.length)})`;
    fill(list, ...order.map((source) => entry(source, open, report())));
  };
  box.addEventListener("toggle", () => { if (box.open) load().catch(failed); });
  return box;
}

/** @param {import("./types").Source} source @param {(source: number) => void} open @param {Element} report */
function entry(source, open, report) {
  const marks = source.cited_as ? [...report.querySelectorAll(`a[href="#source-${source.cited_as}"]`)] : [];
  const cited = source.cited_as ? word("cited", { n: marks.length }) : word("notCited");
  const go = (/** @type {Element} */ mark) => { mark.scrollIntoView({ block: "center" }); /** @type {HTMLElement} */ (mark).focus(); };
  const facts = [source.author, source.site, source.section, source.engine, source.published && day(source.published), cited].filter(Boolean).join(" · ");
  const shown = source.cited_as ? `[${source.cited_as}]` : word("text");
  return el("li", {},
    el("button", { type: "button", class: "link", "aria-label": `${shown} ${word("snapshot")}: ${source.title || source.url}`, onclick: () => open(source.id) }, shown), " ",
    el("span", { dir: "auto" }, outward(source.url, source.title || source.url)),
    el("p", { class: "dim" }, facts, " ", marks.slice(0, 20).map((mark, i) => [" ", el("button", { type: "button", class: "link", title: word("goTo", { n: i + 1 }), "aria-label": word("goTo", { n: i + 1 }), onclick: () => go(mark) }, `↑${i + 1}`)]).flat()));
}
