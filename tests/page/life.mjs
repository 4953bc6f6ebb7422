// A thread from its question to a deleted end, with the keyboard where a keyboard will do.
import { accessible, assert, base, fits, story } from "./story.mjs";

await story(async (page) => {
  await page.goto(`${base}/?q=How%20does%20it%20pay%3F`);
  await page.waitForSelector(".depth");
  assert(await page.inputValue("#q") === "How does it pay?", "?q= fills the box");
  await accessible(page, "ask");
  await page.screenshot({ path: "ask.png" });
  await page.waitForFunction(() => document.querySelector("#estimate").textContent.includes("from the usual size of this depth"));
  await page.check(".depth:has-text('Quick') input");
  await page.click("summary:has-text('All options')");
  await page.fill("#option-max_searches", "1");
  await page.waitForFunction(() => document.querySelector("#estimate").textContent.includes("max_searches ends a run early"));
  await page.fill("#option-max_searches", "");
  await page.check(".depth:has-text('Standard') input");
  await page.click("summary:has-text('All options')");
  await page.click("summary:has-text('All options')");
  const fields = await page.locator(".fields label").count();
  assert(fields > 15, `all options have a field: ${fields}`);
  await accessible(page, "all options");
  await page.click("summary:has-text('All options')");
  await page.focus("#q");
  await page.keyboard.press("Enter");

  await page.waitForSelector(".asked");
  assert((await page.textContent(".asked")).includes("Which harbour"), "the question back is shown");
  await accessible(page, "clarification");
  await page.locator(".reply textarea").focus();
  await page.keyboard.type("The one of Skelderwick.");
  await page.keyboard.press("Enter");

  await page.waitForSelector(".tools:not([hidden])");
  await page.waitForSelector(".report a.cite");
  assert(await page.locator(".lane").count() > 0, "there were researchers");
  await accessible(page, "report");
  await page.screenshot({ path: "report.png" });
  await page.locator(".report a.cite").first().focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog[open] .source-title");
  assert(/\/s\/\d+\/\d+-\d+$/.test(page.url()), `the passage has an address: ${page.url()}`);
  assert((await page.textContent("dialog[open]")).includes("The passage it rests on"), "the checked passage is shown");
  const passage = await page.textContent("dialog[open] blockquote mark");
  const place = page.url();
  await accessible(page, "source");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });

  const picture = () => page.evaluate(() => [...document.querySelectorAll(".lane")].map((lane) => lane.textContent).join("|")
    + document.querySelector(".report").textContent + document.querySelectorAll(".plan li").length);
  const before = await picture();
  assert(!page.url().includes("/s/"), "a closed source leaves the address");
  await page.goto("about:blank");
  await page.goto(place);
  assert(await page.textContent("dialog[open] blockquote mark") === passage, "the address opens the same passage");
  await page.keyboard.press("Escape");
  const thread = page.url().split("/t/")[1].split("/")[0];
  await page.goto(`${base}/#/t/${thread}`);
  await page.reload();
  await page.waitForSelector(".tools:not([hidden])");
  await page.waitForSelector(".report a.cite");
  assert(await picture() === before, "a reload shows the same picture");

  await page.locator(".reply textarea").fill("And who decides about it?");
  await page.click(".reply button");
  await page.waitForFunction(() => document.querySelectorAll(".run").length === 3 && document.querySelectorAll(".tools:not([hidden])").length === 2);

  await page.locator(".tools:not([hidden]) button:has-text('Compare versions')").last().click();
  await page.waitForSelector("dialog .versions tbody tr");
  assert(await page.locator("dialog .versions ins, dialog .versions del").count() > 0, "what differs is marked");
  await accessible(page, "versions");
  await page.keyboard.press("Escape");

  await page.locator(".tools:not([hidden]) button:has-text('Replay')").first().click();
  await page.waitForSelector("dialog .lane", { state: "attached" });
  await page.locator("dialog select[aria-label=Speed]").selectOption("1");
  const jumps = await page.locator("dialog select[aria-label='Jump to'] option").allTextContents();
  await page.locator("dialog select[aria-label='Jump to']").selectOption({ index: jumps.findIndex((name) => name.includes("has begun")) });
  await page.waitForFunction(() => /\/e\/\d+$/.test(location.hash));
  assert(await page.locator("dialog .lane[data-state=running]").count() === 1, "the moment at which a researcher begins");
  await page.locator("dialog input[type=range]").fill("0");
  await accessible(page, "replay");
  await page.keyboard.press("Escape");
  await page.goto(`${base}/#/t/${thread}/e/2`);
  await page.waitForSelector("dialog output");
  await page.keyboard.press("Escape");

  await page.keyboard.press("Control+k");
  assert(await page.evaluate(() => document.activeElement?.id) === "find", "Ctrl-K goes to the search");
  await page.keyboard.type("no such words");
  await page.waitForSelector(".threads .dim:has-text('No thread fits')");
  await page.fill("#find", "");
  await page.waitForSelector(".threads li");
  await page.hover(".threads li");
  await page.click(".threads button[title=Pin]");
  await page.waitForSelector(".threads h2:has-text('Pinned')");
  await page.click(".threads button[title=Rename]");
  await page.fill("dialog input", "The dues");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".threads a:has-text('The dues')");
  await page.click(".threads button[title=Delete]");
  await page.waitForSelector("#notices button");
  assert(await page.locator(".threads li").count() === 0, "it is off the list");
  await page.click("#notices button");
  await page.waitForSelector(".threads a:has-text('The dues')");

  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto(`${base}/#/t/${thread}`);
  await page.waitForSelector(".report a.cite");
  await fits(page, "a phone");
  await accessible(page, "a phone");
  await page.screenshot({ path: "phone.png" });
  await page.click("#menu");
  assert(await page.isVisible("#find"), "the list opens");
  await page.keyboard.press("Escape");
  assert(!await page.isVisible("#find"), "and closes");
  await page.emulateMedia({ colorScheme: "dark" });
  await accessible(page, "a phone in the dark");

  await page.click("#menu");
  const deleted = page.waitForResponse((response) => response.request().method() === "DELETE", { timeout: 15_000 });
  const begun = Date.now();
  await page.click(".threads button[title=Delete]");
  await page.waitForSelector("#notices button");
  assert((await deleted).status() === 204 && Date.now() - begun > 9_000, "it is deleted when ten seconds are over");
});
