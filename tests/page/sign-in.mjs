// A service that asks for keys: nothing is shown before one is given, a wrong one is refused, and signing out ends it.
import { argv } from "node:process";
import { accessible, assert, base, fits, story } from "./story.mjs";

await story(async (page, context) => {
  await page.goto(base);
  await page.waitForSelector(".sign-in");
  await accessible(page, "sign in");
  assert(await page.locator(".sign-in a").count() === 0, "there is no other way in here");
  assert(await page.locator("#q").count() === 0, "there is no question box before");
  await page.fill("#key", "fathom_wrong");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".sign-in .problem:not([hidden])");
  await fits(page, "sign in");
  await page.route("**/api/v1/session", (route) => route.abort());
  await page.keyboard.press("Enter");
  await page.waitForSelector(".sign-in .problem:has-text('The service cannot be reached')");
  await page.unroute("**/api/v1/session");
  await page.fill("#key", argv[3]);
  await page.keyboard.press("Enter");
  await page.waitForSelector("#q");
  await page.waitForSelector("footer .owner:has-text('ann')");
  const [cookie] = await context.cookies();
  assert(cookie.httpOnly && cookie.sameSite === "Strict", "the cookie is out of reach");
  assert(!(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).includes("fathom"), "the key is kept nowhere");

  await page.waitForSelector(".depth");
  assert(await page.isChecked(".depth:has-text('Quick') input"), "the depth is the service's own");
  await page.fill("#q", "How does it pay?");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".report a.cite");
  await accessible(page, "signed in");
  await page.hover(".threads li");
  await page.click(".threads button[title=Delete]");
  await page.waitForSelector("#notices button");
  await page.click("footer button:has-text('Sign out')");
  await page.waitForSelector(".sign-in");
  assert(await page.locator(".threads li").count() === 0, "nothing is left of what was shown");
  assert((await context.cookies()).length === 0, "the cookie is gone");
  await page.fill("#key", argv[3]);
  await page.keyboard.press("Enter");
  await page.waitForSelector(".threads .dim:has-text('Nothing here yet')");
}, { expected: [/401/, /422/, /ERR_FAILED/] });
