// A thread that is left, before it has opened or with a source above it, and one in a tab that nobody looks at.
import { assert, base, story } from "./story.mjs";

/** Holds what goes to such an address; the answer lets it go. */
async function hold(page, address) {
  let release;
  const held = new Promise((done) => { release = done; });
  await page.route(address, async (route) => { await held; await route.continue(); });
  return async () => {
    const answered = page.waitForResponse(address);
    release();
    await answered;
    // Whatever follows from the answer has come; the clock of a thread ticks once a second.
    await page.waitForTimeout(1_500);
    await page.unroute(address);
  };
}

/** A question that is not asked yet outlives a look at a thread, and the way to the content. */
async function whatIsChosenStays(page, id) {
  await page.fill("#q", "And the bell?");
  await page.check(".depth:has-text('Deep') input");
  await page.setInputFiles("input[type=file]", { name: "bell.txt", mimeType: "text/plain", buffer: Buffer.from("The bell is rung at high water.") });
  await page.waitForSelector(".documents li:has-text('bell.txt')");
  await page.focus(".skip");
  await page.keyboard.press("Enter");
  assert(await page.evaluate(() => document.activeElement.id) === "main", "the keyboard is at the content");
  await page.click(`.threads a[href="#/t/${id}"]`);
  await page.waitForSelector(".report a.cite");
  await page.focus(".skip");
  await page.keyboard.press("Enter");
  assert(page.url().endsWith(`#/t/${id}`) && await page.evaluate(() => document.activeElement.id) === "main", `the thread stays: ${page.url()}`);
  await page.goBack();
  await page.waitForSelector(".documents li:has-text('bell.txt')");
  assert(await page.isChecked(".depth:has-text('Deep') input") && await page.inputValue("#q") === "And the bell?", "what was chosen stays");
  await page.click("button[aria-label='Remove bell.txt']");
  await page.fill("#q", "");
}

/** Of two sources that are asked for, the one asked for first opens no more, whenever it comes. */
async function onlyTheNewestOpens(page, id) {
  await page.click(`.threads a[href="#/t/${id}"]`);
  await page.waitForSelector(".report a.cite");
  const run = await page.$eval(".run", (run) => run.id.slice("run-".length));
  const [one, other] = (await (await page.request.get(`${base}/api/v1/runs/${run}/sources`)).json()).data.map((source) => source.id);
  const late = await hold(page, new RegExp(`/sources/${one}$`));
  await page.goto(`${base}/#/t/${id}/r/${run}/s/${one}`);
  await page.waitForTimeout(300);
  await page.goto(`${base}/#/t/${id}/r/${run}/s/${other}`);
  await page.waitForSelector("dialog[open] .source-title");
  await late();
  assert(await page.locator("dialog").count() === 1 && page.url().endsWith(`/s/${other}`), `one source is open: ${page.url()}`);
  await page.goto(`${base}/#/t/${id}/r/${run}/s/${one}`);
  await page.waitForTimeout(1_000);
  assert(await page.locator("dialog").count() === 1 && page.url().endsWith(`/s/${one}`), `and another in its place: ${page.url()}`);
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  assert(page.url().endsWith(`#/t/${id}`), `a closed source leaves the address: ${page.url()}`);
}

/** An address of something that is not in the thread is answered in words. */
async function addressesThatLeadNowhere(page, id) {
  const run = await page.$eval(".run", (run) => run.id.slice("run-".length));
  for (const [n, place] of [`r/${run}/s/9999`, "e/99999", `r/${id}`].entries()) {
    await page.goto(`${base}/#/t/${id}/${place}`);
    const said = page.locator("#notices p:has-text('That is not there, or not any more')");
    await said.waitFor();
    assert(!(await page.textContent("#notices")).includes("thread"), `the thread is there: ${place}`);
    // The first one goes by itself.
    if (n > 0) await page.evaluate(() => document.querySelector("#notices").replaceChildren());
    await said.waitFor({ state: "detached" });
  }
}

/** A thread that is renamed in another tab has its new name above it, too. */
async function aNameGivenElsewhere(page, id) {
  await page.goto(`${base}/#/t/${id}`);
  await page.waitForSelector(".report a.cite");
  await page.request.patch(`${base}/api/v1/threads/${id}`, { data: { title: "What pays" } });
  await page.fill("#find", "pays");
  await page.waitForSelector(".thread > header h1:has-text('What pays')");
  await page.fill("#find", "");
  // It is not what the heading says any more.
  await page.waitForSelector(".question:has-text('How does it pay?')");
}

await story(async (page, context) => {
  await page.goto(base);
  await page.waitForSelector(".depth");
  await page.fill("#q", "How does it pay?");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".report a.cite");
  const id = page.url().split("/t/")[1];

  await page.locator(".report a.cite").first().click();
  await page.waitForSelector("dialog[open] .source-title");
  await page.goBack();
  await page.waitForSelector("#q");
  assert(await page.locator("dialog").count() === 0, "a source closes with the thread it is of");
  await page.click(`.threads a[href="#/t/${id}"]`);
  await page.waitForSelector(".report a.cite");
  await page.focus(".skip");
  await page.keyboard.press("Enter");
  assert(page.url().endsWith(`#/t/${id}`) && await page.evaluate(() => document.activeElement.id) === "main", `the thread stays: ${page.url()}`);
  const openSource = await hold(page, /\/sources\/\d+$/);
  await page.locator(".report a.cite").first().click();
  await page.waitForFunction(() => location.hash.includes("/s/"));
  await page.goBack();
  await page.waitForSelector("#q");
  await page.hover(".threads li");
  await page.click(".threads button[title=Rename]");
  await openSource();
  assert(await page.locator("dialog").count() === 1, "nor does it open after that");
  assert(await page.locator("dialog input").count() === 1, "and what was opened meanwhile stays");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await whatIsChosenStays(page, id);
  await onlyTheNewestOpens(page, id);
  await addressesThatLeadNowhere(page, id);
  await aNameGivenElsewhere(page, id);
  await page.goto(`${base}/#/`);
  await page.waitForSelector("#q");

  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  const openThread = await hold(page, new RegExp(`/threads/${id}$`));
  await page.click(`.threads a[href="#/t/${id}"]`);
  await page.waitForSelector(".thread", { state: "attached" });
  await page.click("a.new");
  await page.waitForSelector("#q");
  await page.focus("#q");
  await page.keyboard.type("Something");
  await openThread();
  await page.keyboard.type(" else");
  assert(await page.evaluate(() => document.activeElement.id) === "q", "the keyboard stays in the box");
  assert((await page.inputValue("#q")).endsWith("Something else"), await page.inputValue("#q"));
  assert(asked.some((path) => path.endsWith(id)) && !asked.some((path) => path.endsWith("/events")), asked.join(" "));
  assert(await page.title() === "Fathom", await page.title());

  const askLate = await hold(page, /\/api\/v1\/threads$/);
  await page.fill("#q", "Who decides about it?");
  await page.keyboard.press("Enter");
  await page.click(`.threads a[href="#/t/${id}"]`);
  await page.waitForSelector(".report a.cite");
  await page.fill(".reply textarea", "Not yet sent");
  await askLate();
  assert(page.url().endsWith(`#/t/${id}`), `a question that starts late leads nobody away: ${page.url()}`);
  assert(await page.inputValue(".reply textarea") === "Not yet sent", "what is typed meanwhile stays");
  await page.waitForSelector(".threads a:has-text('Who decides about it?')");

  const replyLate = await hold(page, /\/messages$/);
  await page.fill(".reply textarea", "And since when?");
  await page.focus(".reply textarea");
  await page.keyboard.press("Enter");
  await page.keyboard.type(" Typed since");
  await page.keyboard.press("Enter");
  await replyLate();
  assert(await page.inputValue(".reply textarea") === "And since when? Typed since", "so does what is typed after a message was sent");
  assert(await page.locator("#notices p").count() === 0, "and it is not sent on top of it");

  const unseen = await context.newPage();
  await unseen.addInitScript(() => {
    Object.defineProperty(document, "hidden", { get: () => true });
    globalThis.requestAnimationFrame = () => 0;
  });
  await unseen.goto(`${base}/#/t/${id}`);
  await unseen.waitForSelector(".report a.cite", { timeout: 30_000 });
}, { expected: [/404/] });
