// Watching a run through a cut connection and a restart of the service, cancelling another.
import { assert, base, reached, story } from "./story.mjs";

await story(async (page, context) => {
  await page.goto(base);
  await page.waitForSelector(".depth");
  await page.fill("#q", "How does the harbour of Skelderwick pay for its tide gate?");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".lane");
  await reached("watching");
  await page.waitForSelector(".line:has-text('Reconnecting')", { state: "attached" });
  await reached("cut");
  await page.waitForSelector(".thread[data-live=yes]");
  await reached("back");
  await page.waitForSelector(".tools:not([hidden])", { timeout: 120_000 });
  assert(await page.locator(".report a.cite").count() > 0, "the report has its citations");
  const shown = await page.textContent(".report");
  await page.reload();
  await page.waitForSelector(".tools:not([hidden])");
  assert(await page.textContent(".report") === shown, "the same report after a reload");

  await page.click("a.new");
  await page.waitForSelector(".depth");
  await page.fill("#q", "How does the harbour of Skelderwick pay for its tide gate?");
  await page.click("button:has-text('Start research')");
  await page.waitForSelector(".lane");
  await page.focus("button:has-text('Stop')");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".run[data-status=cancelled]");
  await page.waitForFunction(() => document.activeElement.textContent === "Go on from here");
  const retries = /\/retry$/;
  await page.route(retries, (route) => route.fulfill({ status: 429, contentType: "application/problem+json", body: JSON.stringify({ code: "queue_full", detail: "Full." }) }));
  await page.keyboard.press("Enter");
  await page.waitForSelector("#notices p:has-text('The queue is full')");
  await page.waitForFunction(() => document.activeElement.textContent === "Go on from here");
  await page.unroute(retries);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement === document.querySelectorAll(".run")[1]);

  // Its clock is an hour ahead of the service's.
  const ahead = await context.newPage();
  await ahead.clock.install({ time: Date.now() + 3_600_000 });
  await ahead.goto(base);
  await ahead.waitForSelector(".depth");
  await ahead.fill("#q", "How does the harbour of Skelderwick pay for its tide gate?");
  await ahead.keyboard.press("Enter");
  await ahead.waitForFunction(() => /^[0-5]:\d\d$/.test(document.querySelector(".run[data-status=running] .figures dd")?.textContent));
}, { expected: [/ERR_|Failed to load resource/] });
