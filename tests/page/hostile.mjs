// Text that wants to be more than text, everywhere: nothing of it runs, loads, or breaks the layout.
import { assert, base, fits, story } from "./story.mjs";

await story(async (page) => {
  await page.goto(base);
  await page.waitForSelector(".depth");
  await page.fill("#q", `<img src=x onerror=alert(1)> javascript:alert(2) \u202Eevil ${"w".repeat(9_000)}`);
  await page.click("button:has-text('Start research')");
  await page.waitForSelector(".run[data-status=completed]");
  await page.waitForSelector(".report a.cite");
  // All at once: what one of them brings when it is opened stands before the next ones, and holds more of them.
  const openAll = () => page.$$eval("details", (all) => all.forEach((details) => { details.open = true; }));
  await openAll();
  await page.waitForSelector(".all-sources li");
  await page.waitForSelector(".notes > details");
  await openAll();
  await fits(page, "wide");
  await page.setViewportSize({ width: 360, height: 740 });
  await fits(page, "a phone");
  assert(await page.locator("main script, main img, main iframe, main [onerror], main [onclick]").count() === 0, "no foreign element");
  const links = await page.$$eval("main a[href]", (all) => all.map((link) => link.getAttribute("href")));
  assert(links.every((link) => /^(#|https?:)/.test(link)), links.join(" "));
  await page.locator(".report a.cite").first().click();
  await page.waitForSelector("dialog[open] .source-title");
  await fits(page, "a source");
});
