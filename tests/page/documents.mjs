// Documents: chosen before the question, one of them unreadable; removed, added below the thread, and cited.
import { accessible, assert, base, fits, story } from "./story.mjs";

const file = (name, text) => ({ name, mimeType: "application/octet-stream", buffer: Buffer.from(text) });

await story(async (page) => {
  await page.goto(base);
  await page.waitForSelector(".depth");
  await page.setInputFiles("input[type=file]", [
    file("ledger.md", "# Ledger of the gate\n\nThe tide gate is paid by dues of 4 crowns a barge."),
    file("broken.pdf", "%PDF-1.7 nothing"),
  ]);
  assert(await page.locator(".documents li").count() === 2, "both are listed");
  await page.fill("#q", "How does the gate pay?");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".documents li .problem");
  assert((await page.textContent(".documents li:has(.problem)")).includes("broken.pdf"), "the problem stands beside its file");
  await accessible(page, "an unreadable document");
  await page.click("button[aria-label='Remove broken.pdf']");
  await page.focus("#q");
  await page.keyboard.press("Enter");

  await page.waitForSelector(".report a.cite");
  assert(await page.locator(".documents li").count() === 1, "the thread has one document");
  assert((await page.textContent(".thread > header h1")).includes("How does the gate pay?"), "the thread is named by its question");
  await page.setInputFiles("input[type=file]", [file("minutes.txt", "The council met in spring and talked of the gate.")]);
  await page.waitForSelector(".documents li:has-text('minutes.txt') .dim");
  await accessible(page, "documents of a thread");
  await page.setViewportSize({ width: 360, height: 740 });
  await fits(page, "a phone");
  await page.click("button[aria-label='Remove minutes.txt']");
  await page.waitForFunction(() => document.querySelectorAll(".documents li").length === 1);
  await page.reload();
  await page.waitForSelector(".documents li");
  assert(await page.locator(".documents li").count() === 1, "it is gone for good");

  const { thread } = await page.evaluate(async () => {
    const file = { method: "POST", headers: { "content-type": "application/octet-stream" }, body: "Dues of 4 crowns a barge pay for the tide gate." };
    return (await fetch("api/v1/documents?name=dues.txt", file)).json();
  });
  await page.goto(`${base}/#/t/${thread.id}`);
  await page.waitForSelector(".reply textarea[placeholder='What should be researched?']");
  await accessible(page, "a thread that has documents alone");
  await page.fill(".reply textarea", "What pays for the tide gate?");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".report a.cite");
}, { expected: [/422/] });
