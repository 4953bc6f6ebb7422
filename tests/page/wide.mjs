// A report with a table and code that are wider than its column, on a screen, on a phone and on paper.
import { assert, base, fits, story } from "./story.mjs";

/** How many lines the longest word of the table's head takes. */
const linesOfAWord = (page) => page.$eval(".report th:nth-child(4)", (cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
});

/** By how many pixels what such a selector finds is cut. */
const cut = (page, selector) => page.$$eval(selector, (all) => Math.max(...all.map((one) => one.scrollWidth - one.clientWidth)));

await story(async (page) => {
  await page.goto(base);
  await page.waitForSelector(".depth");
  await page.fill("#q", "How do the gates compare?");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".tools:not([hidden])");
  for (const size of [{ width: 1280, height: 900 }, { width: 360, height: 740 }]) {
    await page.setViewportSize(size);
    assert(await linesOfAWord(page) === 1, `a word stays whole at ${size.width} pixels`);
    assert(await cut(page, ".report .wide") > 100, "the table scrolls");
    await fits(page, `${size.width} pixels`);
  }
  const paper = { width: 700, height: 1_000 };
  await page.setViewportSize(paper);
  await page.emulateMedia({ media: "print" });
  assert(await cut(page, ".report .wide, .report pre") <= 0, "nothing is cut on paper");
  await fits(page, "a printed report");
});
