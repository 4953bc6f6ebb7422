// A report with a table and code that are wider than its column, on a screen, on a phone and on paper.
import { accessible, assert, base, fits, story } from "./story.mjs";

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
    await accessible(page, `a wide report at ${size.width} pixels`);
  }
  for (const selector of [".report .wide", ".report pre"]) {
    await page.focus(selector);
    assert(await page.evaluate((wanted) => document.activeElement.matches(wanted), selector), `the keyboard scrolls ${selector}`);
  }
  const run = await page.$eval(".run", ({ id }) => id.slice("run-".length));
  const paper = { width: 700, height: 1_000 };
  await page.setViewportSize(paper);
  await page.emulateMedia({ media: "print" });
  assert(await cut(page, ".report .wide, .report pre") <= 0, "nothing is cut on paper");
  await fits(page, "a printed report");
  await page.goto(`${base}/api/v1/runs/${run}/report`);
  assert(await cut(page, ".wide, pre") <= 0, "nor where the report is a page of its own");
  await fits(page, "a printed page");
});
