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
});
