// Two reports of a thread side by side, as a difference: lines that are gone, come or changed, and in those the words.
import * as api from "./api.js";
import { difference } from "./difference.js";
import { dialog, el, fill } from "./dom.js";
import { count, hour, word } from "./words.js";

/** Equal lines that are shown around those that differ. */
const AROUND = 2;

/** @typedef {{id: string, question: string, ended: string | null}} Version */

/** @param {Version[]} versions two at least, the oldest first @param {(error: unknown) => void} failed */
export async function openVersions(versions, failed) {
  const choice = (/** @type {"older" | "newer"} */ name, /** @type {number} */ at) => {
    const select = el("select", { "aria-label": word(name), onchange: () => show().catch(failed) }, versions.map((version, i) =>
      el("option", { value: i }, `${count(i + 1)} · ${version.ended ? hour(version.ended) : ""} · ${version.question.slice(0, 60)}`)));
    select.value = String(at);
    return select;
  };
  const older = choice("older", versions.length - 2), newer = choice("newer", versions.length - 1);
  const body = el("tbody", {});
  let asked = 0;
  const show = async () => {
    const mine = asked += 1;
    // Nothing stands under the names of others.
    fill(body);
    const [before, after] = await Promise.all([older, newer].map((select) => api.report(versions[Number(select.value)].id, "text/markdown")));
    if (mine === asked) fill(body, ...folded(difference(before, after)).map(row));
  };
  await show();
  const head = el("thead", {}, el("tr", {}, el("th", {}, word("older"), " ", older), el("th", {}, word("newer"), " ", newer)));
  const box = dialog(word("versions"), el("div", { class: "wide", tabindex: "0" }, el("table", { class: "versions" }, head, body)));
  box.classList.add("large");
  return box;
}

/** Long stretches that are the same stand as their number of lines. @param {import("./difference.js").Row[]} rows @returns {(import("./difference.js").Row | number)[]} */
function folded(rows) {
  const near = rows.map((_, i) => rows.slice(Math.max(0, i - AROUND), i + AROUND + 1).some((row) => row.left !== row.right));
  /** @type {(import("./difference.js").Row | number)[]} */
  const out = [];
  rows.forEach((row, i) => {
    const last = out.at(-1);
    if (near[i] || (near[i - 1] && near[i + 1])) out.push(row);
    else if (typeof last === "number") out[out.length - 1] = last + 1;
    else out.push(1);
  });
  return out;
}

/** @param {import("./difference.js").Row | number} row */
function row(row) {
  if (typeof row === "number") return el("tr", {}, el("td", { colspan: 2, class: "dim" }, word("sameLines", { n: count(row) })));
  const { left, right } = row;
  if (left === right) return el("tr", {}, cell(left), cell(right));
  const [gone, come] = left === null || right === null ? [[left], [right]] : changed(left, right);
  return el("tr", { class: "differs" }, cell(left, gone, "del"), cell(right, come, "ins"));
}

/** @param {string | null} line @param {(Node | string | null)[]} [shown] @param {"del" | "ins"} [mark] */
function cell(line, shown = [line], mark) {
  const whole = mark && line !== null && shown.length === 1 && shown[0] === line;
  return el("td", { class: line === null ? "none" : "", dir: "auto" }, whole ? el(mark, {}, line) : shown);
}

/** The words of two lines, marked where they differ. @param {string} left @param {string} right @returns {(Node | string)[][]} */
function changed(left, right) {
  const words = (/** @type {string} */ line) => line.match(/\s+|[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) ?? [];
  // A line break is in no line, so it parts words as lines are parted.
  const rows = difference(words(left).join("\n"), words(right).join("\n"));
  // What shares few words is another sentence.
  const same = rows.filter((row) => row.left === row.right && /[\p{L}\p{N}]/u.test(row.left ?? "")).length;
  if (same * 5 < words(left + right).filter((word) => /[\p{L}\p{N}]/u.test(word)).length) return [[left], [right]];
  const side = (/** @type {"left" | "right"} */ side, /** @type {"del" | "ins"} */ mark) => {
    /** @type {{text: string, differs: boolean}[]} */
    const pieces = [];
    for (const row of rows) {
      const text = row[side] ?? "", differs = row.left !== row.right, last = pieces.at(-1);
      if (last?.differs === differs) last.text += text;
      else pieces.push({ text, differs });
    }
    return pieces.map(({ text, differs }) => differs && text ? el(mark, {}, text) : text);
  };
  return [side("left", "del"), side("right", "ins")];
}
