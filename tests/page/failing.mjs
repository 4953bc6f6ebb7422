// A service that refuses what the page asks for: it is asked again, less and less often, it is said once, and a view that
// was left asks for nothing.
import { accessible, assert, base, story } from "./story.mjs";

await story(async (page, context) => {
  await page.goto(`${base}/?q=How%20does%20it%20pay%3F`);
  await page.waitForSelector(".depth");
  // The answer to a question is lost: sent once more, by the button this time, it is the same one.
  const keys = [];
  await page.route("**/api/v1/threads", async (route) => {
    if (route.request().method() !== "POST") return route.fallback();
    keys.push(await route.request().headerValue("idempotency-key"));
    if (keys.length > 1) return route.fallback();
    await route.fetch();
    return route.abort();
  });
  await page.focus("#q");
  await page.keyboard.press("End");
  await page.keyboard.type(" And when?");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#notices p");
  await page.click(".ask .main");
  await page.waitForSelector(".report a.cite");
  await page.unroute("**/api/v1/threads");
  assert(keys.length === 2 && keys[0] === keys[1], `one question, one key: ${keys}`);
  const thread = page.url();
  await page.locator(".reply textarea").fill("And who decides about it?");
  await page.click(".reply button");
  await page.waitForFunction(() => document.querySelectorAll(".tools:not([hidden])").length === 2);

  await accessible(page, "two reports");

  let asked = 0;
  const refuse = (route) => { asked += 1; return route.fulfill({ status: 429, contentType: "application/problem+json", body: JSON.stringify({ code: "rate_limited", detail: "Too many." }) }); };
  const notices = () => page.locator("#notices p:has-text('Too many.')").count();
  const quiet = () => page.waitForFunction(() => !document.querySelector("#notices p"));

  await page.route("**/sources", refuse);
  await page.locator(".all-sources summary").first().click();
  await page.waitForSelector("#notices p:has-text('Too many.')");
  await page.evaluate(() => document.querySelector("#notices").replaceChildren());
  await page.locator(".tools:not([hidden]) button:has-text('Compare versions')").last().click();
  await page.waitForSelector("dialog .versions tbody tr");
  await page.route("**/report", refuse);
  await page.locator("dialog .versions select").first().selectOption({ index: 1 });
  await page.waitForSelector("#notices p:has-text('Too many.')");
  await page.keyboard.press("Escape");
  await quiet();

  await page.route("**/report/fragment*", refuse);
  asked = 0;
  await page.reload();
  await page.waitForSelector("#notices p:has-text('Too many.')");
  const before = Date.now();
  await page.waitForTimeout(5_000);
  // Two reports, each at once and after 1.2 and 2.4 seconds, and once more on a slow machine.
  assert(asked >= 4 && asked <= 8, `${asked} requests in ${Date.now() - before} ms`);
  assert(await notices() === 2, `each failure is said once: ${await notices()}`);
  await page.goto(`${base}/#/`);
  await page.waitForSelector(".depth");
  asked = 0;
  await page.waitForTimeout(6_000);
  assert(asked === 0, `${asked} requests of a view that is closed`);

  await page.goto(thread);
  await page.waitForSelector("#notices p:has-text('Too many.')");
  await page.unroute("**/report/fragment*");
  await page.waitForSelector(".report a.cite");

  // What a report rests on is checked once it is complete.
  await page.route("**/report/fragment*", async (route) => route.fulfill({ json: { ...await (await route.fetch()).json(), complete: false } }));
  await page.reload();
  await page.waitForSelector(".report a.cite");
  const isChecked = async () => {
    await page.locator(".report a.cite").first().click();
    await page.waitForSelector("dialog[open] .source-title");
    const isChecked = (await page.textContent("dialog[open]")).includes("The passage it rests on");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
    return isChecked;
  };
  asked = 0;
  assert(!await isChecked() && asked === 0, `a report that is not complete was asked for ${asked} times`);
  await page.unroute("**/report/fragment*");
  await page.waitForFunction(() => document.querySelectorAll(".tools:not([hidden])").length === 2);
  assert(!await isChecked() && asked > 0, "its citations were refused");
  await page.unroute("**/report");
  assert(await isChecked(), "and are asked for again");

  // The answer to a reply is lost on its way, and the reply has come.
  await page.route(/\/messages$/, async (route) => { await route.fetch(); await route.abort(); });
  await page.fill(".reply textarea", "Is there more?");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".tools:not([hidden])").length === 3);
  assert(await page.inputValue(".reply textarea") === "", "what has come is not left to be sent");
  await page.unroute(/\/messages$/);

  // What stands before the service says nothing in its way.
  await page.goto(`${base}/#/`);
  await page.waitForSelector(".depth");
  const isThread = /\/api\/v1\/threads$/;
  for (const [status, said] of [[413, "too large"], [504, "does not answer at the moment"], [418, "HTTP 418"]]) {
    await page.route(isThread, (route) => route.fulfill({ status, contentType: "text/html", body: "<h1>No</h1>" }));
    await page.fill("#q", `And ${status}?`);
    await page.keyboard.press("Enter");
    await page.waitForSelector(`#notices p:has-text('${said}')`);
    await page.unroute(isThread);
  }

  // A question that is too long is refused, not cut.
  await page.fill("#q", `${"word ".repeat(24_000)}What does it cost?`);
  const sent = page.waitForRequest(isThread);
  await page.focus("#q");
  await page.keyboard.press("Enter");
  assert((await sent).postDataJSON().message.endsWith("What does it cost?"), "all of it is sent");
  await page.waitForSelector("#notices p:has-text('100000')");

  // A browser that keeps nothing for the page.
  const blocked = await context.newPage();
  await blocked.addInitScript(() => {
    const refuse = () => { throw new DOMException("denied", "SecurityError"); };
    Object.defineProperty(globalThis, "sessionStorage", { get: refuse });
    globalThis.BroadcastChannel = class { constructor() { refuse(); } };
  });
  await blocked.goto(`${base}/?q=How%20does%20it%20pay%3F`);
  await blocked.waitForSelector(".depth");
  await blocked.focus("#q");
  await blocked.keyboard.press("Enter");
  await blocked.waitForSelector(".report a.cite");
}, { expected: [/429/, /ERR_FAILED/, /4\d\d/, /504/] });
