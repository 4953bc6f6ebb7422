// A report in Arabic reads from the right: text, lists, tables and the list of contents; code and what is in another
// script read as they are written, and a citation stands behind its sentence.
import { accessible, assert, base, fits, story } from "./story.mjs";

await story(async (page) => {
  await page.goto(base);
  await page.waitForSelector(".depth");
  await page.fill("#q", "كيف يدفع ميناء سكلدرويك ثمن بوابة المد؟");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".tools:not([hidden])");
  await page.waitForSelector(".report table");
  /** How an element is laid out, and where the first and the last letter of its text stand. */
  const look = (selector) => page.locator(selector).first().evaluate((element) => {
    const range = document.createRange(), walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), texts = [];
    while (walker.nextNode()) if (walker.currentNode.textContent.trim()) texts.push(walker.currentNode);
    const x = (node, at) => { range.setStart(node, at); range.setEnd(node, at + 1); return range.getBoundingClientRect().x; };
    const box = element.getBoundingClientRect(), style = getComputedStyle(element), last = texts.at(-1);
    return { direction: style.direction, left: box.left, right: box.right, first: x(texts[0], 0), last: x(last, last.length - 1) };
  });
  for (const selector of [".report", ".report h1", ".report p:not(.turned)", ".report ul", ".report ul li", ".report table", ".report td", ".contents ul"]) {
    const { direction } = await look(selector);
    assert(direction === "rtl", `${selector} is ${direction}`);
  }
  const item = await look(".report ul li");
  assert(item.right - item.first < 40, `a list item begins at the right: ${JSON.stringify(item)}`);
  const [head, second] = await page.locator(".report th").evaluateAll((cells) => cells.map((cell) => cell.getBoundingClientRect().x));
  assert(head > second, "the first column is the right one");
  const [sentence, mark] = await page.locator(".report p:has(a.cite)").first().evaluate((p) => {
    const range = document.createRange();
    range.setStart(p.firstChild, 0);
    range.setEnd(p.firstChild, 1);
    return [range.getBoundingClientRect(), p.querySelector("a.cite").getBoundingClientRect()].map((box) => box.x);
  });
  assert(mark < sentence, "a citation stands behind its sentence");
  assert(await page.locator(".report a.cite").first().textContent() === "[1]", "and keeps its brackets");
  const code = await look(".report pre code");
  assert(code.direction === "ltr" && code.first < code.last, `code reads from the left: ${JSON.stringify(code)}`);
  const english = await look(".report p.turned");
  assert(english.first < english.last, `a paragraph in English reads from the left, to its full stop: ${JSON.stringify(english)}`);
  for (const width of [1600, 1120, 1000, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    await fits(page, `${width} pixels`);
    const { left, right } = await look(".contents ul");
    const text = await look(".report");
    assert(right - left > 150 && text.right - text.left > 450, `at ${width} the contents have ${right - left}, the text ${text.right - text.left}`);
  }
  await accessible(page, "right to left");
  await page.setViewportSize({ width: 390, height: 844 });
  await fits(page, "a phone");
  await page.locator(".report a.cite").first().click();
  await page.waitForSelector("dialog[open] mark");
  const passage = await page.locator("dialog blockquote").evaluate((quote) => getComputedStyle(quote).direction);
  assert(passage === "rtl", `the passage is ${passage}`);
  await fits(page, "a source");
  const run = (await page.locator(".run").first().getAttribute("id")).replace("run-", "");
  await page.goto(`${base}/api/v1/runs/${run}/report`);
  const alone = await look("pre");
  assert((await look("p")).direction === "rtl" && alone.direction === "ltr" && alone.first - alone.left < 40, `code in the page of a report, too: ${JSON.stringify(alone)}`);
});
