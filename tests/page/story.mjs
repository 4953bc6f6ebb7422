// What the stories share: a browser, a page that may not complain, the accessibility checker, and a hand with the test.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { argv, env, exit, stdin } from "node:process";

const require = createRequire(`${env.PAGE_TOOLS}/`);
const { chromium } = require("playwright-core");
const axe = require("axe-core");

export const base = argv[2];
const lines = createInterface({ input: stdin })[Symbol.asyncIterator]();

/** Tells the test that this point is reached, and waits until it has done its part. */
export async function reached(point) {
  console.log(`REACHED ${point}`);
  await lines.next();
}

export function assert(condition, what) {
  if (!condition) throw new Error(what);
}

/** Nothing that the checker calls a violation, in this state of the page. */
export async function accessible(page, state) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document));
  const complaints = violations.map((violation) => `${violation.id}: ${violation.nodes.map((node) => node.target.join(" ")).slice(0, 3)}`);
  assert(!complaints.length, `${state}: ${complaints.join("; ")}`);
}

/** Nothing is wider than the window. */
export async function fits(page, state) {
  const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert(wide <= window, `${state}: ${wide} pixels in a window of ${window}`);
}

/** Runs a story; complaints of the page fail it, but for those that it expects. */
export async function story(tell, { expected = [], ...options } = {}) {
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
  });
  const complaints = [];
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: "en-GB", ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => { complaints.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
    });
    page.on("response", (response) => { if (response.status() >= 500) complaints.push(`${response.status()} ${response.url()}`); });
    page.on("request", (request) => { if (!request.url().startsWith(base) && !/^(data|blob):/.test(request.url())) complaints.push(`asked ${request.url()}`); });
    await tell(page, context);
    const bad = complaints.filter((complaint) => !expected.some((pattern) => pattern.test(complaint)));
    assert(!bad.length, bad.join(" | "));
    console.log("DONE");
  } catch (error) {
    const shown = await browser.contexts()[0]?.pages()[0]?.evaluate(() => document.body.innerText).catch(() => "");
    console.log(`FAILED ${error.stack}\n${complaints.join("\n")}\nThe page: ${String(shown).slice(0, 2_000)}`);
    await browser.close();
    exit(1);
  }
  await browser.close();
  exit(0);
}
