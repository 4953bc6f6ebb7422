// More tabs than a browser has connections to a service: those that nobody looks at give theirs back, and go on later.
import { assert, base, story } from "./story.mjs";

/** As many connections a browser opens to a service over plain HTTP. */
const CONNECTIONS = 6;

/** A tab that can be hidden. */
async function tab(context) {
  const opened = await context.newPage();
  opened.setDefaultTimeout(20_000);
  await opened.addInitScript(() => Object.defineProperty(document, "hidden", { get: () => globalThis.isHidden ?? false }));
  return opened;
}

const hide = (page, isHidden) => page.evaluate((value) => {
  globalThis.isHidden = value;
  document.dispatchEvent(new Event("visibilitychange"));
}, isHidden);

await story(async (page, context) => {
  await page.goto(base);
  await page.waitForSelector(".depth");
  await page.fill("#q", "How does it pay?");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".tools:not([hidden])");
  const address = page.url();
  await page.goto("about:blank");

  const tabs = [];
  for (let n = 0; n < CONNECTIONS; n += 1) {
    const one = await tab(context);
    await one.goto(address);
    await one.waitForSelector(".report a.cite");
    await hide(one, true);
    tabs.push(one);
  }
  const last = await tab(context);
  await last.goto(address);
  await last.waitForSelector(".report a.cite");
  await last.fill(".reply textarea", "And who decides about it?");
  await last.click(".reply button");
  await last.waitForFunction(() => document.querySelectorAll(".tools:not([hidden])").length === 2);
  assert(await tabs[0].locator(".run").count() === 1, "a tab that nobody looks at rests");
  await hide(tabs[0], false);
  await tabs[0].waitForFunction(() => document.querySelectorAll(".tools:not([hidden])").length === 2);
  assert(await tabs[0].locator(".run").count() === 2, "and goes on with what came since, once");

  const thread = address.split("/t/")[1];
  await last.request.delete(`${base}/api/v1/threads/${thread}`);
  const shown = await tabs[1].textContent(".report");
  for (const one of [last, tabs[1]]) {
    await hide(one, false);
    await one.waitForSelector(".line:has-text('This thread has been deleted')");
    assert(await one.isHidden(".reply") && await one.isHidden(".thread > header button"), "nothing can be asked of it");
  }
  assert(await tabs[1].textContent(".report") === shown, "what is read stays");

  await last.clock.install();
  await last.goto(`${base}/`);
  await last.waitForSelector(".depth");
  await last.route("**/api/v1/threads?**", () => {});
  await last.clock.runFor(26_000);
  await last.waitForSelector("#notices p:has-text('no answer for a while')");
  assert(await last.locator("#notices p").count() === 1, "it is said once");
});
