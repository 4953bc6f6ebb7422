// Collections: made in the question box, filled, picked for a question, cited, and deleted with their documents.
import { accessible, assert, base, fits, story } from "./story.mjs";

const file = (name, text) => ({ name, mimeType: "application/octet-stream", buffer: Buffer.from(text) });

/** Holds what is read of collections back, so that it comes after what was done meanwhile. */
const late = (route) => setTimeout(() => void route.continue().catch(() => {}), route.request().method() === "GET" ? 400 : 0);

await story(async (page) => {
  await page.route("**/api/v1/collections**", late);
  await page.goto(base);
  await page.waitForSelector(".depth");
  await page.click(".collections > summary");
  await page.fill(".new-one > input", "Harbour papers");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".collections .opened");
  assert(page.url() === `${base}/`, "Enter makes the collection and asks nothing");
  assert(await page.isChecked(".collections li input[type=checkbox]"), "what was just made is picked");
  await page.setInputFiles(".opened input[type=file]", [
    file("ledger.md", "# Ledger of the gate\n\nThe tide gate is paid by dues of 4 crowns a barge."),
    file("broken.pdf", "%PDF-1.7 nothing"),
  ]);
  await page.waitForSelector(".opened li:has-text('broken.pdf') .problem");
  await page.waitForSelector(".collections > ul li:has-text('Documents: 1')");
  await page.unroute("**/api/v1/collections**", late);
  await accessible(page, "a collection");
  await page.click("button[aria-label='Remove broken.pdf']");
  await page.setViewportSize({ width: 360, height: 740 });
  await fits(page, "a phone");
  // High enough that the button at the lower edge covers nothing.
  await page.setViewportSize({ width: 360, height: 2400 });
  await accessible(page, "a collection on a phone");
  await page.setViewportSize({ width: 1280, height: 900 });

  const asked = page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/api/v1/threads"));
  await page.fill("#q", "How does the gate pay?");
  await page.focus("#q");
  await page.keyboard.press("Enter");
  const { options } = (await asked).postDataJSON();
  assert(options.collections.length === 1, JSON.stringify(options));
  await page.waitForSelector(".report a.cite");
  const run = await (await page.request.get(`${base}/api/v1/runs`)).json();
  assert(run.data[0].options.collections[0] === options.collections[0], "the run searches it");

  await page.goto(base);
  await page.waitForSelector(".depth");
  await page.click(".collections > summary");
  await page.waitForSelector(".collections > ul li:has-text('Harbour papers')");
  assert(!await page.isChecked(".collections li input[type=checkbox]"), "the next question picks none");
  // One that was picked is deleted elsewhere.
  const gone = await (await page.request.post(`${base}/api/v1/collections`, { data: { name: "Gone soon" } })).json();
  await page.click(".collections > summary");
  await page.click(".collections > summary");
  await page.check(".collections li:has-text('Gone soon') input");
  await page.request.delete(`${base}/api/v1/collections/${gone.id}`);
  await page.fill("#q", "What is gone?");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#notices p:has-text('has been deleted')");
  assert(!(await page.textContent(".collections")).includes("Gone soon") && await page.textContent(".collections > summary") === "Collections of documents", "and is picked no longer");
  await page.fill("#q", "");

  await page.click("button:has-text('Documents: 1')");
  await page.waitForSelector(".opened li:has-text('ledger.md')");
  await page.click(".opened button:has-text('Rename')");
  assert(await page.inputValue("dialog input") === "Harbour papers", "its name stands in the box");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("The ledger");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".collections > ul li:has-text('The ledger')");
  const { data } = await (await page.request.get(`${base}/api/v1/collections`)).json();
  assert(data[0].name === "The ledger" && page.url() === `${base}/`, `it has the other name: ${JSON.stringify(data)}`);
  assert(await page.isVisible(".opened li:has-text('ledger.md')"), "its documents stay in sight");
  await page.focus(".collections li input[type=checkbox]");
  await page.keyboard.press("Space");
  assert(await page.evaluate(() => document.activeElement?.type === "checkbox"), "the focus stays on what was picked");
  await page.click(".collections > summary");
  await page.click(".collections > summary");
  await page.waitForFunction(() => !document.querySelector(".opened"));
  await page.click("button:has-text('Documents: 1')");
  await page.waitForSelector(".opened li:has-text('ledger.md')");
  await page.click(".opened button:has-text('Delete')");
  assert(await page.locator(".collections > ul li").count() === 1, "the first press only asks");
  await page.click(".opened button:has-text('Delete it with its documents')");
  await page.waitForFunction(() => !document.querySelector(".collections > ul li"));
  assert((await (await page.request.get(`${base}/api/v1/collections`)).json()).data.length === 0, "it is gone");
}, { expected: [/422/] });
