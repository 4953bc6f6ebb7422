// The list of threads on a slow line: what was asked for comes, what was changed stays changed.
import { assert, base, story } from "./story.mjs";

/** How late the next lists are, in ms. */
let late = 0, isPinned = false, isDeleted = false;

const entry = (i) => ({
  id: `019aa56a-5c1b-7a3e-9f0e-6a1d2f3b${4000 + i}`, status: "idle", title: `Number ${i}`, last_seq: 1, latest_run_id: null,
  created_at: new Date(Date.UTC(2026, 1, 1) - i * 3_600_000).toISOString(), metadata: i === 3 && isPinned ? { pinned: true } : {},
});
const entries = (from, to) => Array.from({ length: to - from }, (_, i) => entry(from + i));

/** Answers as it is when the question comes. */
function answer(route) {
  const asked = new URL(route.request().url()).searchParams;
  let json = asked.has("cursor") ? { data: entries(50, 60), next_cursor: null } : { data: entries(0, isDeleted ? 51 : 50).filter((_, i) => !isDeleted || i !== 5), next_cursor: "next" };
  if (asked.has("metadata.pinned")) json = { data: [], next_cursor: null };
  setTimeout(() => void route.fulfill({ json }).catch(() => {}), late);
}

const length = (page, n) => page.waitForFunction((wanted) => document.querySelectorAll(".threads li").length === wanted, n);
const isList = (response) => /\/threads\?/.test(response.url()) && !response.url().includes("pinned");

await story(async (page, context) => {
  await page.route(/\/api\/v1\/threads\?/, answer);
  await page.route(/\/api\/v1\/threads\/[0-9a-f-]+$/, (route) => {
    isPinned = true;
    return route.fulfill({ json: entry(3) });
  });
  await page.clock.install();
  await page.goto(base);
  await length(page, 50);

  late = 500;
  await page.focus("#side > button:has-text('Show more')");
  await page.keyboard.press("Enter");
  // The page asks for the list again by itself.
  await page.clock.runFor(16_000);
  await length(page, 60);
  assert(await page.evaluate(() => document.activeElement.matches(".threads a")), "the keyboard is in the list when nothing more is to be shown");
  const again = page.waitForResponse(isList);
  await page.clock.runFor(16_000);
  await again;
  await page.clock.runFor(1_000);
  assert(await page.locator(".threads li").count() === 60, "a list that was made longer stays so");

  isDeleted = true;
  const shorter = page.waitForResponse(isList);
  await page.clock.runFor(16_000);
  await shorter;
  await page.clock.runFor(1_000);
  await length(page, 59);
  assert(await page.locator(".threads li:has-text('Number 5')").filter({ hasNotText: /Number 5\d/ }).count() === 0, "but for what was deleted elsewhere");

  const old = page.waitForResponse(isList), asked = page.waitForRequest(isList);
  await page.clock.runFor(16_000);
  await asked;
  await page.locator(".threads button[title=Pin]").nth(3).click();
  const isOnTop = () => page.evaluate(() => document.querySelector(".threads section").textContent.includes("Pinned"));
  await page.waitForSelector(".threads h2:has-text('Pinned')");
  await old;
  for (let tries = 0; tries < 20; tries += 1) {
    await page.clock.runFor(50);
    assert(await isOnTop(), "a list from before does not undo a change");
  }

  late = 0;
  // The service is away, and was when nobody asked.
  await page.route(/\/api\/v1\/threads\?/, (route) => route.abort());
  await page.clock.runFor(16_000);
  await page.waitForSelector("#notices p:has-text('cannot be reached')");
  await page.clock.runFor(9_000);
  assert(await page.locator("#notices p:has-text('cannot be reached')").count() === 0, "it is said for a while");
  await page.fill("#find", "zzzz");
  await page.clock.runFor(1_000);
  await page.waitForSelector("#notices p:has-text('cannot be reached')");
  assert(await page.locator(".threads li").count() === 0 && (await page.textContent(".threads")).includes("cannot be reached"), "other threads are no answer");

  const touched = await (await context.browser().newContext({ viewport: { width: 1024, height: 768 }, hasTouch: true, isMobile: true })).newPage();
  await touched.route(/\/api\/v1\/threads\?/, answer);
  await touched.goto(base);
  await length(touched, 50);
  const [opacity, link, tools] = await touched.evaluate(() => {
    const tools = document.querySelector(".entry-tools");
    return [getComputedStyle(tools).opacity, tools.previousElementSibling.getBoundingClientRect().right, tools.getBoundingClientRect().left];
  });
  assert(opacity === "1" && link <= tools, `what is touched is seen: ${opacity}, ${link} beside ${tools}`);
}, { expected: [/ERR_FAILED/] });
