// A thread whose events were removed because of their age: what they made is shown, and the thread goes on.
import { accessible, assert, base, reached, story } from "./story.mjs";

const written = (page, runs) => page.waitForFunction((n) => document.querySelectorAll(".run .tools:not([hidden])").length === n, runs);
const state = (page) => page.evaluate(() => [...document.querySelectorAll(".run")].map((run) =>
  [".question", ".figures", ".report"].map((part) => run.querySelector(part).textContent)));

/** What is chosen last is what is compared, also when the choice before it is answered later. */
async function versionsInOrder(page) {
  await page.locator(".tools button:has-text('Compare versions')").last().click();
  const older = page.locator("dialog .versions select").first(), table = () => page.textContent("dialog .versions tbody");
  await page.waitForSelector("dialog .versions tbody tr");
  const second = await table();
  const late = /\/report$/;
  let first = true;
  await page.route(late, (route) => { setTimeout(() => void route.continue(), first ? 600 : 0); first = false; });
  const answered = page.waitForResponse(late);
  await older.selectOption("0");
  await older.selectOption("1");
  await answered;
  await page.waitForTimeout(1_000);
  assert(await table() === second, "the table is of what is chosen");
  await page.unroute(late);
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
}

await story(async (page) => {
  let asked = 0, most = 0;
  const isSources = (request) => request.url().endsWith("/sources");
  page.on("request", (request) => { if (isSources(request)) most = Math.max(most, asked += 1); });
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => { if (isSources(request)) asked -= 1; });

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
  // What was found comes after the rest.
  for (let tries = 0; tries < 200 && JSON.stringify(await state(page)) !== JSON.stringify(before); tries += 1) await page.waitForTimeout(50);
  assert(most === 1, `${most} requests for sources at once`);
  assert(JSON.stringify(await state(page)) === JSON.stringify(before), `${JSON.stringify(await state(page))} and before ${JSON.stringify(before)}`);
  assert(await page.locator(".tools button:has-text('Replay')").count() === 0, "there is nothing to replay");
  const versions = page.locator(".tools button:has-text('Compare versions')");
  assert(await versions.count() === 1, "the second report is compared with the first");
  await versions.click();
  await page.waitForSelector("dialog .versions tbody tr");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
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
  await versionsInOrder(page);
  const questions = (await state(page)).map(([question]) => question);
  assert(questions.slice(1).join() === "And who decides about it?,And since when?", questions.join());

  const [first] = await page.$$eval(".run", (runs) => runs.map((run) => run.id.slice("run-".length)));
  const refused = `**/runs/${first}/sources`;
  await page.route(refused, (route) => route.fulfill({ status: 429, contentType: "application/problem+json", body: JSON.stringify({ code: "rate_limited", detail: "Too many." }) }));
  await page.reload();
  await page.waitForSelector("#notices p:has-text('Too many.')");
  await page.waitForFunction((found) => document.querySelectorAll(".run")[1]?.querySelector(".figures").textContent === found, before[1][1]);
  // The report is there without its sources.
  await page.waitForFunction((report) => document.querySelector(".run .report").textContent === report, before[0][2]);
  await page.unroute(refused);
  await page.locator(".all-sources summary").first().click();
  await page.waitForSelector(".all-sources li");
}, { expected: [/429/] });
