// Citations in a table with more cells than columns and behind it: each opens its own passage, also from a replay, and what
// cannot be opened leaves no address.
import { assert, base, story } from "./story.mjs";

await story(async (page, context) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`${base}/?q=How%20does%20it%20pay%3F`);
  await page.waitForSelector(".depth");
  await page.focus("#q");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".tools:not([hidden])");
  const run = await page.$eval(".run", ({ id }) => id.slice("run-".length));
  const { citations } = await (await page.request.get(`${base}/api/v1/runs/${run}/report`, { headers: { accept: "application/json" } })).json();
  const links = page.locator(".report a.cite[href^='#source-']");
  assert(await links.count() === citations.length && citations.length === 3, `${await links.count()} links of ${citations.length} citations`);
  assert((await page.textContent(".report td:last-child")).includes("Weed"), "a cell beyond the columns stays");

  const opened = async (within) => {
    await page.waitForSelector("dialog[open] .source-title");
    const source = await page.textContent("dialog[open]:last-of-type .source-title");
    await page.locator("dialog[open]").last().locator("button:has-text('Copy link')").last().click();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    await page.keyboard.press("Escape");
    assert(copied.includes(`/r/${run}/s/`), `${within}: the copied address is that of the source: ${copied}`);
    return source;
  };
  const wanted = ["Dues", "Weed", "Dues"];
  for (const [i, title] of wanted.entries()) {
    await links.nth(i).click();
    const source = await opened("report");
    assert(source.includes(title), `citation ${i} opens ${source}`);
    await page.waitForSelector("dialog", { state: "detached" });
  }

  await page.click(".tools:not([hidden]) button:has-text('Replay')");
  await page.waitForSelector("dialog .controls");
  const jump = page.locator("dialog select[aria-label='Jump to']");
  const names = await jump.locator("option").allTextContents();
  await jump.selectOption({ index: names.length - 1 });
  await page.locator("dialog .report a.cite[href^='#source-']").last().click();
  assert((await opened("replay")).includes("Dues"), "a replay opens it, too");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });

  await page.route(/\/sources\//, (route) => route.abort());
  await links.first().click();
  await page.waitForSelector("#notices p");
  assert(!page.url().includes("/s/"), `what did not open has no address: ${page.url()}`);
}, { expected: [/ERR_FAILED/] });
