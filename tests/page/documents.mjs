// Documents: chosen before the question, one of them unreadable; removed, added below the thread, and cited.
import { accessible, assert, base, fits, story } from "./story.mjs";

const file = (name, text) => ({ name, mimeType: "application/octet-stream", buffer: Buffer.from(text) });

await story(async (page) => {
  await page.goto(base);
  await page.waitForSelector(".depth");
  await page.setInputFiles("input[type=file]", [
    file("ledger.md", "# Ledger of the gate\n\nThe tide gate is paid by dues of 4 crowns a barge."),
    file("broken.pdf", "%PDF-1.7 nothing"),
    file("tides.txt", "High water comes twice a day."),
  ]);
  assert(await page.locator(".documents li").count() === 3, "all are listed");
  await page.fill("#q", "How does the gate pay?");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".documents li .problem");
  assert((await page.textContent(".documents li:has(.problem)")).includes("broken.pdf"), "the problem stands beside its file");
  assert(await page.isVisible(".documents li:has-text('tides.txt') .dim"), "those behind it are given, too");
  await accessible(page, "an unreadable document");
  await page.click("button[aria-label='Remove tides.txt']");
  await page.waitForFunction(() => !document.body.textContent.includes("tides.txt"));
  await page.click("button[aria-label='Remove broken.pdf']");
  // The thread that the files began may be deleted before anything is asked.
  const [{ id }] = (await (await page.request.get(`${base}/api/v1/threads`)).json()).data;
  await page.request.delete(`${base}/api/v1/threads/${id}`);
  await page.focus("#q");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#notices p:has-text('That is not there')");
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
  let given = 0;
  await page.route("**/documents?**", (route) => { given += 1; setTimeout(() => void route.continue(), 500); });
  await page.setInputFiles("input[type=file]", [file("first.txt", "Weed on the first gate.")]);
  await page.evaluate(() => {
    // The button waits, and files can be dropped all the same.
    const dropped = new DataTransfer();
    dropped.items.add(new File(["Weed on the second gate."], "second.txt"));
    document.querySelector(".thread").dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, cancelable: true }));
  });
  const removed = page.waitForResponse((response) => response.request().method() === "DELETE");
  await page.click("button[aria-label='Remove first.txt']");
  assert((await removed).status() === 204, "what is taken away while it is on its way does not stay");
  await page.waitForSelector(".documents li:has-text('second.txt') .dim");
  assert(given === 2, `each is given once: ${given}`);
  await page.unroute("**/documents?**");
  await page.click("button[aria-label='Remove second.txt']");
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
}, { expected: [/404/, /422/] });
