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
  // Letters twice as large.
  await page.setViewportSize({ width: 320, height: 640 });
  const enlarge = () => page.evaluate(() => { document.documentElement.style.fontSize = "200%"; });
  await enlarge();
  await fits(page, "a thread in large letters");
  for (const name of ["Share", "Replay"]) {
    await page.locator(`button:has-text('${name}')`).first().click();
    await page.waitForSelector(name === "Share" ? "dialog[open] form" : "dialog[open] .controls");
    assert(await cut(page, "dialog[open]") <= 0, `${name} in large letters`);
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
  }
  const thread = page.url();
  await page.goto(`${base}/#/`);
  await page.waitForSelector(".depth");
  await page.$$eval(".ask details", (all) => all.forEach((one) => { one.open = true; }));
  await fits(page, "a question in large letters");
  assert(await cut(page, ".ask form") <= 0, "no field is cut");
  await page.goto(thread);
  await page.waitForSelector(".tools:not([hidden])");
  await page.evaluate(() => { document.documentElement.style.fontSize = ""; });
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
