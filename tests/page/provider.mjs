// A service whose users sign in at a provider: the page leads there, and a key is still taken.
import { argv } from "node:process";
import { accessible, assert, base, story } from "./story.mjs";

await story(async (page) => {
  const place = "#/somewhere";
  await page.goto(`${base}/${place}`);
  await page.waitForSelector(".sign-in a");
  assert(await page.isVisible("#key"), "a key is taken as well");
  await accessible(page, "sign in at a provider");
  await page.click(".sign-in a");
  await page.waitForURL((url) => url.href.startsWith(argv[3]));
  await page.waitForSelector("input[name=login]");
  // What the provider's own page asks for is its business. Who comes back is where they were, and once only.
  await page.goto(`${base}/`);
  await page.waitForSelector(".sign-in a");
  assert(page.url() === `${base}/${place}`, `the place is kept: ${page.url()}`);
  await page.goto(`${base}/`);
  await page.waitForSelector(".sign-in a");
  assert(page.url() === `${base}/`, `and forgotten: ${page.url()}`);
}, { expected: [/401/, /^asked/, /NAME_NOT_RESOLVED/, /404/] });
