// A thread whose first run asked back, and whose second one failed in the middle of its report while a tool waited for a
// sign-in: what is shown says so.
import { accessible, assert, base, story } from "./story.mjs";

const THREAD = "019aa56a-5c1b-7a3e-9f0e-6a1d2f3b4c5d", RUNS = [1, 2].map((n) => `019aa56a-5c1c-7d21-8c47-0b9a8e7f6d5${n}`);
const event = (seq, run, type, data) => ({ seq, ts: new Date(1.76e12 + seq * 1_000).toISOString(), run_id: RUNS[run - 1], scope: { agent: "root" }, type, data });

await story(async (page) => {
  await page.addInitScript(() => {
    globalThis.EventSource = class {
      constructor() { globalThis.stream = this; setTimeout(() => this.onopen(), 0); }
      close() {}
    };
  });
  const answer = (address, json) => page.route(address, (route) => route.fulfill({ json }));
  await answer(new RegExp(`/threads/${THREAD}$`), { id: THREAD, status: "busy", title: "T", created_at: new Date().toISOString(), last_seq: 0, latest_run_id: RUNS[0], metadata: {} });
  await answer(/\/documents$/, { data: [], next_cursor: null });
  await answer(/\/report\/fragment/, { attempt: 1, complete: false, chars: 5, language: "en", html: "<p>Dues.</p>" });
  await page.goto(`${base}/#/t/${THREAD}`);
  await page.waitForFunction(() => globalThis.stream?.onmessage);
  const send = (...events) => page.evaluate((all) => all.forEach((one) => globalThis.stream.onmessage({ data: JSON.stringify(one) })), events);
  const phases = () => page.$$eval(".phase", (all) => all.map((one) => one.textContent).join("; "));

  await send(event(1, 1, "run.created", { question: "Q", options: {} }), event(2, 1, "run.started", {}), event(3, 1, "input.required", { question: "Which?" }), event(4, 1, "run.completed", { outcome: "clarification" }));
  await page.waitForSelector(".asked p");
  assert(await phases() === "waits for a reply", await phases());

  const signIn = { server: "register", message: "Sign in to read it.", url: "https://register.test/sign-in?x=1" };
  await send(event(5, 2, "run.created", { question: "That one", options: {} }), event(6, 2, "run.started", {}), event(7, 2, "sign_in.required", signIn));
  await page.waitForFunction(() => document.querySelector("#spoken").textContent === "A tool needs somebody to sign in");
  await send(event(8, 2, "report.started", { attempt: 1 }), event(9, 2, "report.delta", { attempt: 1, offset: 0, text: "Dues.\n\nAnd" }));
  await page.waitForSelector(".report p");
  assert(!(await phases()).includes("waits for a reply"), `it has its reply: ${await phases()}`);
  const link = page.locator(".sign-ins a");
  assert(await link.isVisible() && await link.getAttribute("href") === signIn.url && (await link.getAttribute("rel")).includes("noopener"), "where to sign in is a link in sight");
  assert(await page.getByRole("heading", { name: "A tool needs somebody to sign in" }).isVisible(), "it says what the link is for");
  assert((await page.locator(".read > p").last().textContent()).includes("being written"), "it is being written");

  await send(event(10, 2, "run.failed", { problem: { message: "Lost." } }));
  await page.waitForSelector(".run[data-status=failed]");
  const note = page.locator(".run[data-status=failed] .read > p");
  assert(await note.isVisible() && (await note.textContent()).includes("Not finished and not checked"), "what is left is no report");
  assert(!await link.isVisible(), "nothing needs the sign-in any more");
  await accessible(page, "a failed run");
});
