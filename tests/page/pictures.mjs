// Makes the pictures of docs/images from a service on the example library; docs/testing.md has the commands.
// node tests/page/pictures.mjs http://127.0.0.1:8080 docs/images
import { mkdirSync } from "node:fs";
import { argv } from "node:process";
import { base, story } from "./story.mjs";

const folder = argv[3];
const QUESTION = "How much energy will the Saltbox battery store, and what will it cost?";
const WIDE = { width: 1120, height: 760 }, PHONE = { width: 390, height: 780 };

mkdirSync(folder, { recursive: true });

await story(async (page) => {
  const picture = (name) => page.screenshot({ path: `${folder}/${name}.png`, animations: "disabled", caret: "hide" });
  const sizes = async (name, before = async () => {}) => {
    for (const [size, suffix] of [[WIDE, ""], [PHONE, "-phone"]]) {
      await page.setViewportSize(size);
      await before();
      await page.waitForTimeout(400);
      await picture(name + suffix);
    }
  };
  await page.goto(`${base}/?q=${encodeURIComponent(QUESTION)}`);
  await page.waitForSelector(".depth");
  await page.waitForFunction(() => document.querySelector("#estimate").textContent);
  await page.locator("h1").click();
  await sizes("ask");
  await page.setViewportSize(WIDE);
  await page.focus("#q");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".tools:not([hidden])");
  const thread = page.url();
  await sizes("read", () => page.evaluate(() => scrollTo(0, 0)));
  await page.locator(".report a.cite").first().click();
  await page.waitForSelector("dialog[open] mark");
  await sizes("source");
  await page.keyboard.press("Escape");
  // The run at work, as its events tell it.
  await page.goto(thread);
  await page.locator(".tools:not([hidden]) button:has-text('Replay')").click();
  const jump = page.locator("dialog select[aria-label='Jump to']");
  await jump.waitFor();
  const marks = await jump.locator("option").allTextContents();
  await jump.selectOption({ index: marks.findIndex((mark) => mark.includes("Writing the report")) });
  await sizes("watch");
});
