// A thread is shared by a link, which a browser without a key can read until it is revoked.
import { argv } from "node:process";
import { accessible, assert, base, fits, story } from "./story.mjs";

await story(async (page, context) => {
  await page.goto(base);
  await page.fill("#key", argv[3]);
  await page.keyboard.press("Enter");
  await page.waitForSelector(".depth");
  await page.fill("#q", "How does it pay?");
  await page.focus("#q");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".report a.cite");
  await page.click("button:has-text('Share')");
  await page.click("dialog button:has-text('Make a link')");
  await page.waitForSelector("dialog .made input");
  await accessible(page, "a link");
  const link = await page.inputValue("dialog .made input");
  assert(link.startsWith(base), link);
  const made = await page.textContent("dialog .shares li");
  assert(/^Link of .*\d\d:\d\d:\d\d, valid until /.test(made), `a link is known by when it was made: ${made}`);

  const guest = await (await context.browser().newContext()).newPage();
  await guest.goto(link);
  const cited = await page.locator(".report p:has(a.cite)").first().textContent();
  const read = (text) => text.replace(/\[\d+\]/g, "").replace(/\s+/g, " ").trim();
  assert(read(await guest.textContent("main")).includes(read(cited)), `a guest reads the report: ${cited}`);
  await accessible(guest, "a shared report");
  await fits(guest, "a shared report");
  const refused = await guest.request.get(`${base}/api/v1/threads`);
  assert(refused.status() === 401, `and nothing else: ${refused.status()}`);

  const busy = (route) => route.fulfill({ status: 429, contentType: "application/problem+json", body: JSON.stringify({ code: "rate_limited", detail: "Too many." }) });
  await page.route("**/shares/*", busy);
  await page.click("dialog button:has-text('Revoke')");
  await page.waitForSelector("dialog #notices p:has-text('Too many.')");
  await page.unroute("**/shares/*", busy);
  await page.click("dialog button:has-text('Revoke')");
  await page.waitForFunction(() => !document.querySelector("dialog .shares li"));
  assert(await page.locator("dialog .made input").count() === 0, "its address is not offered any more");
  const gone = await guest.goto(link);
  assert(gone.status() === 404, `a revoked link shows nothing: ${gone.status()}`);
  assert((await guest.textContent("h1")) === "Nothing here", "and says so to a person");
  await accessible(guest, "a link that has ended");
}, { expected: [/401/, /404/, /429/] });
