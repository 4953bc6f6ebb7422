// A thread whose events were removed because of their age: what they made is shown, and the thread goes on.
import { accessible, assert, base, reached, story } from "./story.mjs";

const written = (page, runs) => page.waitForFunction((n) => document.querySelectorAll(".run .tools:not([hidden])").length === n, runs);
const state = (page) => page.evaluate(() => [...document.querySelectorAll(".run")].map((run) =>
  [".question", ".figures", ".report"].map((part) => run.querySelector(part).textContent)));

await story(async (page) => {
  await page.goto(base);
  await page.waitForSelector(".depth");
  await page.fill("#q", "How does it pay?");
  await page.keyboard.press("Enter");
  await written(page, 1);
  await page.locator(".reply textarea").fill("And who decides about it?");
  await page.click(".reply button");
  await written(page, 2);
  const before = await state(page);

  await reached("written");
  await page.reload();
  await page.waitForSelector(".line:has-text('Older events were removed')");
  await written(page, 2);
  assert(JSON.stringify(await state(page)) === JSON.stringify(before), `${JSON.stringify(await state(page))} and before ${JSON.stringify(before)}`);
  assert(await page.locator(".tools button:has-text('Replay')").count() === 0, "there is nothing to replay");
  await accessible(page, "events removed");
  await page.screenshot({ path: "old.png" });
  await page.locator(".report a.cite").first().click();
  await page.waitForSelector("dialog[open] .source-title");
  await page.keyboard.press("Escape");
  await page.locator(".all-sources summary").first().click();
  await page.waitForSelector(".all-sources li");

  await page.locator(".reply textarea").fill("And since when?");
  await page.click(".reply button");
  await written(page, 3);
  const questions = (await state(page)).map(([question]) => question);
  assert(questions.slice(1).join() === "And who decides about it?,And since when?", questions.join());
});
