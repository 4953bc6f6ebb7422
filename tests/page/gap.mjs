// A page that was away for long: events were removed in the middle of a run that it knows, up to the middle of the next.
import { assert, base, story } from "./story.mjs";

const THREAD = "019aa56a-5c1b-7a3e-9f0e-6a1d2f3b4c5d", RUNS = [1, 2, 3].map((n) => `019aa56a-5c1c-7d21-8c47-0b9a8e7f6d5${n}`);
const time = (seq) => new Date(1.76e12 + seq * 1_000).toISOString();
const event = (seq, run, type, data) => ({ seq, ts: time(seq), run_id: RUNS[run - 1], scope: { agent: "root" }, type, data });
const usage = { role: "research", input_tokens: 30, output_tokens: 4 };
const details = (run, at, status, calls) => ({
  id: RUNS[run - 1], status, outcome: status === "completed" ? "report" : null, error: null, options: {}, created_at: time(at), started_at: time(at),
  finished_at: status === "completed" ? time(20) : null, retry_of: null, usage: { calls, input_tokens: 30 * calls, output_tokens: 4 * calls },
});

await story(async (page) => {
  await page.addInitScript(() => {
    globalThis.EventSource = class {
      constructor(address) { this.before = globalThis.stream; globalThis.stream = this; this.address = address; setTimeout(() => this.onopen(), 0); }
      close() {}
    };
  });
  const answer = (address, json) => page.route(address, (route) => route.fulfill({ json }));
  const list = (data) => ({ data, next_cursor: null });
  await answer(new RegExp(`/threads/${THREAD}$`), { id: THREAD, status: "busy", title: "T", created_at: time(1), last_seq: 3, latest_run_id: RUNS[0], metadata: {} });
  await answer(/\/documents$/, list([]));
  await answer(/\/sources$/, list([]));
  await answer(/\/report\/fragment/, { attempt: 1, complete: true, chars: 4, language: "en", html: "<p>Dues.</p>" });
  // The third was created in the moment in which the second ended.
  await answer(/\/runs\?/, list([details(3, 20, "running", 9), details(2, 15, "completed", 7), details(1, 1, "completed", 5)]));
  await answer(/\/messages\?/, list([1, 2, 3].map((n) => ({ role: "user", content: `Question ${n}`, run_id: RUNS[n - 1] }))));
  await page.goto(`${base}/#/t/${THREAD}`);
  await page.waitForFunction(() => globalThis.stream?.onmessage);
  const send = (...events) => page.evaluate((all) => all.forEach((one) => globalThis.stream.onmessage({ data: JSON.stringify(one) })), events);
  await send(event(1, 1, "run.created", { question: "Question 1", options: {} }), event(2, 1, "run.started", {}), event(3, 1, "usage", usage));
  await page.waitForSelector(".run[data-status=running]");

  await send(
    event(20, 2, "stream.gap", { from: 4, to: 20 }), event(21, 2, "usage", usage), event(22, 2, "run.completed", { outcome: "report" }),
    event(23, 3, "run.created", { question: "Question 3", options: {} }), event(24, 3, "run.started", {}), event(25, 3, "usage", usage),
  );
  await page.waitForFunction(() => document.querySelectorAll(".run").length === 3);
  await page.waitForSelector(".run[data-status=running]");
  await page.waitForFunction(() => document.querySelectorAll(".tools:not([hidden])").length === 2);
  const shown = await page.$$eval(".run", (runs) => runs.map((run) =>
    [run.dataset.status, run.querySelector(".question").textContent, run.querySelectorAll(".figures dd")[1].textContent].join()));
  assert(shown.join("; ") === "completed,Question 1,5; completed,Question 2,7; running,Question 3,1", shown.join("; "));

  // A database that took over without the newest events: what was shown of them goes.
  await send(event(22, 2, "stream.rewound", { to: 22 }));
  await page.waitForFunction(() => globalThis.stream.before && globalThis.stream.address.endsWith("after=0") && globalThis.stream.onmessage);
  await send(event(1, 1, "run.created", { question: "Question 1", options: {} }), event(2, 1, "run.failed", { problem: { message: "Lost." } }));
  await page.waitForFunction(() => document.querySelectorAll(".run").length === 1);
  await page.waitForSelector(".run[data-status=failed]");
});
