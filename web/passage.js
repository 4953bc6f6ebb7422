// Finds the passage of a source that a sentence of a report rests on: the stretch that shares most of its words, figures
// counting most. One pass over the text.

/** @param {string} text */
const words = (text) => text.toLowerCase().match(/\p{N}[\p{N}.,:]*\p{N}|\p{N}|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|[\p{L}]{3,}/gu) ?? [];

/** @param {string} word */
const weight = (word) => /\p{N}/u.test(word) ? 4 : Math.min(word.length, 8) / 4;

/**
 * @param {string} snapshot @param {string} claim
 * @returns {{start: number, end: number} | null} offsets into the snapshot; null when nothing fits
 */
export function passage(snapshot, claim) {
  const wanted = new Set(words(claim));
  if (!wanted.size) return null;
  let best = { start: 0, end: 0, score: 0 };
  for (const { index, 0: sentence } of snapshot.matchAll(/[^.!?。！？\n]+(?:[.!?](?!\s)[^.!?。！？\n]+)*[.!?。！？]?/gu)) {
    const score = [...new Set(words(sentence))].reduce((sum, word) => sum + (wanted.has(word) ? weight(word) : 0), 0);
    const perLength = score / (1 + sentence.length / 400);
    if (perLength > best.score) best = { start: index, end: index + sentence.length, score: perLength };
  }
  return best.score > 1.5 ? trimmed(snapshot, best.start, best.end) : null;
}

/** @param {string} text @param {number} start @param {number} end */
function trimmed(text, start, end) {
  while (start < end && /\s/.test(text[start])) start += 1;
  while (end > start && /\s/.test(text[end - 1])) end -= 1;
  return { start, end };
}

/**
 * A stretch counted in Unicode scalar values, as the units that strings here have.
 * @param {string} text @param {{start: number, end: number}} place @returns {{start: number, end: number} | null} null when it is none of the text
 */
export function unitsOf(text, { start, end }) {
  let at = 0, scalars = 0;
  const go = (/** @type {number} */ to) => {
    for (; scalars < to && at < text.length; scalars += 1) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
    return at;
  };
  const found = { start: go(start), end: go(end) };
  return found.end > found.start ? found : null;
}

/** The sentence of a report around one of its citations. @param {Element} mark */
export function claimOf(mark) {
  const block = mark.closest("p, li, td, th, h1, h2, h3, h4, blockquote") ?? mark.parentElement;
  if (!block) return "";
  const range = document.createRange();
  range.setStart(block, 0);
  range.setEndBefore(mark);
  const before = range.toString().replace(/(\[\d+\]\s*)+$/u, "").trimEnd();
  const sentence = before.slice(0, -1).split(/(?<=[.!?。！？])\s*/u).at(-1) ?? "";
  return sentence + before.slice(-1);
}
