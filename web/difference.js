// Two texts side by side, line by line. The longest common run of lines stays, everything else is gone or new.

/** @typedef {{left: string | null, right: string | null}} Row */

/** Beyond this many pairs of lines the middle is shown as replaced, so that no text stops the page. */
const MOST = 4_000_000;

/** @param {string} before @param {string} after @returns {Row[]} */
export function difference(before, after) {
  const a = before.split("\n"), b = after.split("\n");
  let head = 0, tail = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const same = (/** @type {string} */ line) => ({ left: line, right: line });
  const middle = between(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  return [...a.slice(0, head).map(same), ...paired(middle), ...(tail ? a.slice(-tail) : []).map(same)];
}

/** @param {string[]} a @param {string[]} b @returns {Row[]} */
function between(a, b) {
  const gone = a.map((left) => ({ left, right: null })), come = b.map((right) => ({ left: null, right }));
  if (a.length * b.length > MOST) return [...gone, ...come];
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1] + 1 : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
  }
  /** @type {Row[]} */
  const rows = [];
  let i = 0, j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) { rows.push({ left: a[i], right: b[j] }); i += 1; j += 1; }
    else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) { rows.push(gone[i]); i += 1; }
    else { rows.push(come[j]); j += 1; }
  }
  return [...rows, ...gone.slice(i), ...come.slice(j)];
}

/** A line that is gone stands beside the one that has come in its place. @param {Row[]} rows @returns {Row[]} */
function paired(rows) {
  /** @type {Row[]} */
  const out = [];
  for (let i = 0; i < rows.length;) {
    let j = i;
    while (j < rows.length && (rows[j].left === null || rows[j].right === null)) j += 1;
    const lefts = rows.slice(i, j).flatMap((row) => row.left ?? []), rights = rows.slice(i, j).flatMap((row) => row.right ?? []);
    for (let k = 0; k < Math.max(lefts.length, rights.length); k += 1) out.push({ left: lefts[k] ?? null, right: rights[k] ?? null });
    if (j < rows.length) out.push(rows[j]);
    i = j + 1;
  }
  return out;
}
