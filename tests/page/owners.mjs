// Two people in one browser, one after the other: a tab of the first becomes the second's at once, and nothing that the
// first has typed stays.
import { argv } from "node:process";
import { assert, base, story } from "./story.mjs";

const [, , , ann, bob] = argv;

async function signIn(page, key) {
  await page.waitForSelector("#key");
  assert(await page.title() === "Fathom", `nothing is named before: ${await page.title()}`);
  await page.fill("#key", key);
  await page.keyboard.press("Enter");
  await page.waitForSelector(".owner");
}
const owner = (page, name) => page.waitForSelector(`.owner:has-text('${name}')`);

await story(async (page, context) => {
  await page.goto(base);
  await signIn(page, ann);
  await page.fill("#q", "How does it pay?");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".report a.cite");
  const thread = page.url();
  await page.fill(".reply textarea", "A secret of ann");
  await page.reload();
  await page.waitForFunction(() => document.querySelector(".reply textarea")?.value === "A secret of ann");

  // Nobody signs out in this tab.
  const other = await context.newPage();
  await other.goto(base);
  await other.click("footer button:has-text('Sign out')");
  await page.waitForSelector("#key");
  const late = await context.newPage();
  await late.goto(base);
  await late.waitForSelector("#key");
  await signIn(other, bob);
  await owner(late, "bob");
  await late.close();
  await owner(page, "bob");
  await page.waitForSelector("main .sign-in p:has-text('There is no such thread')");
  assert(await page.title() === "Fathom", `the thread is named no more: ${await page.title()}`);
  assert(!(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).includes("secret"), "what was typed is gone");

  // A session that ends without a word, and another one's begins.
  await page.goto(`${base}/#/`);
  await page.waitForSelector(".depth");
  await page.fill("#q", "A secret of bob");
  const change = (key) => other.evaluate(async (key) => {
    await fetch("api/v1/session", { method: "DELETE" });
    await fetch("api/v1/session", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ key }) });
  }, key);
  await change(ann);
  await page.evaluate(() => dispatchEvent(new Event("focus")));
  await owner(page, "ann");
  await page.waitForSelector(".depth");
  assert(await page.inputValue("#q") === "", "the next one finds an empty box");

  // What is not there is another's, not deleted; and nothing is asked for in another's name.
  await page.goto(thread);
  await page.waitForSelector(".report a.cite");
  await change(bob);
  let asked = 0;
  await page.route("**/messages", (route) => { asked += 1; return route.continue(); });
  await page.evaluate(() => {
    dispatchEvent(new Event("focus"));
    document.querySelector(".reply textarea").value = "Who decides?";
    document.querySelector(".reply").requestSubmit();
  });
  await owner(page, "bob");
  assert(asked === 0, "a question of ann is not bob's");
  await change(ann);
  await page.evaluate(() => void import("/web/api.js").then((api) => api.thread("019aa56a-5c1b-7a3e-9f0e-6a1d2f3b4c5d")));
  await owner(page, "ann");

  // For a moment there is no service behind the proxy; what is asked afterwards goes out.
  await page.waitForSelector(".report a.cite");
  const session = /\/api\/v1\/session$/;
  await page.route(session, (route) => route.fulfill({ status: 404, body: "404 page not found" }));
  const away = page.waitForResponse(session);
  await page.evaluate(() => dispatchEvent(new Event("focus")));
  await away;
  await page.unroute(session);
  await page.fill(".reply textarea", "Who decides?");
  await page.click(".reply button");
  await page.waitForFunction(() => document.querySelectorAll(".run").length === 2);

  // A page that goes while it asks who is signed in takes its deletion with it.
  await page.route(session, () => {});
  await page.evaluate(() => dispatchEvent(new Event("focus")));
  await page.click(".threads button[title=Delete]");
  await page.goto("about:blank");
  const left = async () => (await context.request.get(`${base}/api/v1/threads/${thread.split("/t/")[1]}`)).status();
  for (let tries = 0; await left() !== 404; tries += 1) {
    assert(tries < 100, "what was deleted is there still");
    await new Promise((done) => setTimeout(done, 50));
  }
}, { expected: [/401/, /404/, /ERR_ABORTED/] });
