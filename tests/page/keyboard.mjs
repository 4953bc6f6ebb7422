// A thread by the keyboard alone, what can be done with its report, and the page in each language of the page, and by readers who want no motion.
import { readFileSync } from "node:fs";
import { accessible, assert, base, story } from "./story.mjs";

/** Goes on with Tab until such an element, with that text, has the focus. */
async function tabTo(page, selector, text = "", key = "Tab") {
  const isThere = () => page.evaluate(([wanted, words]) => document.activeElement.matches(wanted) && document.activeElement.textContent.includes(words), [selector, text]);
  for (let steps = 0; steps < 120; steps += 1) {
    if (await isThere()) return;
    await page.keyboard.press(key);
  }
  throw new Error(`the keyboard does not come to ${selector}`);
}

/** What has the focus is marked, and in sight. */
async function isSeen(page, what) {
  const seen = await page.evaluate(() => {
    const { top, bottom } = document.activeElement.getBoundingClientRect();
    return getComputedStyle(document.activeElement).outlineStyle !== "none" && bottom > 0 && top < innerHeight;
  });
  assert(seen, `${what} is marked and in sight`);
}

async function aThread(page) {
  await page.goto(base);
  await page.waitForSelector(".depth");
  await page.keyboard.type("How does it pay?");
  await tabTo(page, ".collections > summary");
  await page.keyboard.press("Enter");
  await tabTo(page, ".new-one > input");
  await page.keyboard.type("Papers");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".opened");
  await tabTo(page, ".collections li input");
  await page.keyboard.press("Space");
  assert(!await page.isChecked(".collections li input"), "Space takes it out again");
  await tabTo(page, ".depth input");
  await page.keyboard.press("ArrowUp");
  assert(await page.isChecked(".depth:has-text('Quick') input"), "arrows choose a depth");
  await tabTo(page, "form > .main");
  await isSeen(page, "the start");
  await page.keyboard.press("Enter");

  // With its end a report gets its tools, and its citations their passages.
  await page.waitForSelector(".tools:not([hidden])");
  await tabTo(page, ".report a.cite");
  await isSeen(page, "a citation");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog[open] mark");
  await tabTo(page, "dialog summary");
  await page.keyboard.press("Enter");
  assert(await page.isVisible("dialog .snapshot mark"), "the whole text opens at the passage");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  assert(await page.evaluate(() => document.activeElement.matches("a.cite")), "a closed card gives the focus back");

  await tabTo(page, ".tools button", "Replay", "Shift+Tab");
  await page.keyboard.press("Enter");
  // It has been played to its end.
  await page.waitForSelector("dialog .controls .main:has-text('Play')");
  await tabTo(page, "dialog input[type=range]");
  await page.keyboard.press("Home");
  await page.waitForFunction(() => document.querySelector("dialog input[type=range]").value === "0");
  const slider = await page.evaluate(() => {
    const { step, max, ariaValueText } = document.querySelector("dialog input[type=range]");
    return { steps: Number(max) / Number(step), says: ariaValueText, clock: document.querySelector("dialog output").textContent };
  });
  assert(Math.round(slider.steps) === 200 && slider.says === slider.clock, `keys move it, and it says the time: ${JSON.stringify(slider)}`);
  await page.keyboard.press("End");
  await page.waitForSelector("dialog .phase:has-text('done')");
  await page.keyboard.press("Escape");

  await tabTo(page, ".reply textarea");
  await page.keyboard.type("And who decides about it?");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".tools:not([hidden])").length === 2);
  const place = new URL(page.url());

  await page.keyboard.press("Control+k");
  await page.keyboard.press("Tab");
  await tabTo(page, ".entry-tools button:nth-child(2)");
  await isSeen(page, "the tools of a thread");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("The dues");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".threads a:has-text('The dues')");
  await page.waitForFunction(() => document.activeElement.matches(".entry-tools button:nth-child(2)"));
  await tabTo(page, ".entry-tools button:nth-child(3)");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => !document.querySelector(".threads li"));
  await page.keyboard.press("Enter");
  await page.waitForSelector(".threads a:has-text('The dues')");
  return place.hash;
}

/** The address of a run leads to it. */
async function aLink(page, thread) {
  await page.goto(`${base}/${thread}`);
  await page.waitForFunction(() => document.querySelectorAll(".tools:not([hidden])").length === 2);
  assert(await moves(page) === "pulse", "what is at work shows it");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.locator(".run").last().locator("button:has-text('Copy link')").click();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  assert(/\/r\/[0-9a-f-]{36}$/.test(link), `a run has an address: ${link}`);
  await page.goto("about:blank");
  await page.goto(link);
  await page.waitForFunction((id) => {
    const { top, bottom } = document.getElementById(`run-${id}`)?.getBoundingClientRect() ?? { top: -1, bottom: 0 };
    return bottom > 0 && top >= 0 && top < innerHeight / 2;
  }, link.slice(-36));
}

/** Its report is copied, kept as files, and printed without the page around it. */
async function aReport(page) {
  const tools = page.locator(".run").first().locator(".tools");
  for (const [name, begin] of [["Markdown", "# "], ["HTML", "<!doctype html>"], ["JSON", "{"]]) {
    const kept = page.waitForEvent("download");
    await tools.locator(`button:has-text('${name}')`).press("Enter");
    const text = readFileSync(await (await kept).path(), "utf8");
    assert(text.startsWith(begin), `${name}: ${text.slice(0, 80)}`);
  }
  await tools.locator("button:has-text('Copy')").first().press("Enter");
  await page.waitForSelector(".tools button:has-text('Copied')");
  assert((await page.evaluate(() => navigator.clipboard.readText())).startsWith("# "), "the copy is Markdown");
  // Over plain HTTP there is no clipboard but for what is marked.
  await page.evaluate(async () => {
    await navigator.clipboard.writeText("");
    Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true });
  });
  await page.waitForSelector(".tools button:text-is('Copy')");
  await tools.locator("button:text-is('Copy')").press("Enter");
  await page.waitForSelector(".tools button:has-text('Copied')");
  const copied = await page.evaluate(() => { delete navigator.clipboard; return navigator.clipboard.readText(); });
  assert(copied.startsWith("# "), `the copy is Markdown there, too: ${copied}`);
  // On a phone the call returns before anything is drawn.
  await page.evaluate(() => { globalThis.print = () => {}; });
  await tools.locator("button:has-text('Print')").press("Enter");
  assert(await page.evaluate(() => document.querySelector(".run").id === `run-${document.body.dataset.print}`), "the report is printed");
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert(await page.evaluate(() => document.body.dataset.print === undefined && !document.querySelector(".printed")), "then all is as before");
  await page.emulateMedia({ media: "print" });
  const shown = (selector) => page.locator(selector).first().isVisible();
  assert(await shown(".report") && !await shown("#side") && !await shown(".tools") && !await shown(".reply"), "and nothing around it");
  await page.emulateMedia({ media: "screen" });
}

/** A pinned thread stands on top, though fifty newer ones came. */
async function aPin(page, thread) {
  const id = thread.split("/")[2];
  await page.request.patch(`${base}/api/v1/threads/${id}`, { data: { metadata: { pinned: true } } });
  const newer = (_, i) => ({ id: `019aa56a-5c1b-7a3e-9f0e-6a1d2f3b${4000 + i}`, status: "idle", title: `Newer ${i}`, created_at: "2099-01-01T00:00:00Z", last_seq: 1, latest_run_id: null, metadata: {} });
  await page.route(/\/threads\?limit=50$/, (route) => route.fulfill({ json: { data: Array.from({ length: 50 }, newer), next_cursor: "next" } }));
  await page.goto(base);
  await page.reload();
  await page.waitForFunction(() => document.querySelectorAll(".threads li").length === 51);
  assert((await page.textContent(".threads section:first-child")).includes("The dues"), "what is pinned is the first");
  await page.unroute(/\/threads\?limit=50$/);
}

/** How the mark of a run at work moves. */
const moves = (page) => page.evaluate(() => {
  document.querySelector(".run").dataset.status = "running";
  return getComputedStyle(document.querySelector(".phase"), "::before").animationName;
});

/** The words, of which no other language's are loaded. */
async function aLanguage(context, locale, name, title, thread) {
  const reader = await (await context.browser().newContext({ locale, reducedMotion: "reduce" })).newPage();
  const loaded = [];
  reader.on("request", (request) => { if (request.url().includes("/words/")) loaded.push(request.url().split("/").at(-1)); });
  await reader.goto(base);
  await reader.waitForSelector(".depth");
  assert(await reader.getAttribute("html", "lang") === name && await reader.textContent("h1") === title, `${locale} is shown ${await reader.textContent("h1")}`);
  assert(loaded.join() === `${name}.js`, `${locale} loads ${loaded}`);
  await accessible(reader, locale);
  await reader.goto(`${base}/${thread}`);
  await reader.waitForSelector(".report a.cite");
  await accessible(reader, `a report in ${locale}`);
  assert(await moves(reader) === "none", "nothing moves");
  await reader.context().close();
}

await story(async (page, context) => {
  const thread = await aThread(page);
  await aLink(page, thread);
  await aReport(page);
  await aPin(page, thread);
  for (const [locale, name, title] of [["de-AT", "de", "Was soll recherchiert werden?"], ["zh-CN", "zh", "要研究什么？"], ["fr-FR", "en", "What should be researched?"]]) {
    await aLanguage(context, locale, name, title, thread);
  }
});
