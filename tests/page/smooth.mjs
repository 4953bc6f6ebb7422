// A wide run: 64 researchers, 2,000 events at once. The page takes them in slices, and what comes then changes one lane.
import { assert, base, fits, story } from "./story.mjs";

const RUN = "019aa56a-5c1c-7d21-8c47-0b9a8e7f6d5c", THREAD = "019aa56a-5c1b-7a3e-9f0e-6a1d2f3b4c5d";
/** The longest that the page may keep its thread, ms. The aim is 50; the machines that run this are busy. */
const LONGEST = 1_000;

let seq = 0;
function event(type, data, id) {
  const scope = id ? { agent: "researcher", id } : { agent: "supervisor" };
  return { seq: ++seq, ts: new Date(1.76e12 + seq * 20).toISOString(), run_id: RUN, scope, type, data };
}
const source = (id) => event("source.found", { source_id: seq, url: `https://a.test/${seq}`, title: `Source ${seq}`, query: "q", site: "a.test" }, id);

const log = [event("run.created", { question: "Q", options: {} }), event("run.started", { attempt: 1 })];
for (let r = 1; r <= 64; r += 1) log.push(event("researcher.started", { topic: `Topic ${r} of a wide question`, tool_call_id: `c${r}` }, `r${r}`));
while (log.length < 2_000) log.push(source(`r${1 + (seq % 64)}`));
const stream = (events) => `retry: 500\n\n${events.map((one) => `id: ${one.seq}\ndata: ${JSON.stringify(one)}\n\n`).join("")}`;
const thread = { id: THREAD, status: "busy", title: "T", created_at: log[0].ts, last_seq: 0, latest_run_id: RUN, metadata: {} };

await story(async (page) => {
  await page.addInitScript(() => {
    globalThis.long = [0];
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => globalThis.long.push(entry.duration))).observe({ type: "longtask", buffered: true });
  });
  let asked = 0;
  /** @type {(value?: unknown) => void} */
  let release;
  const held = new Promise((done) => { release = done; });
  await page.route(/threads\/[^/?]+$/, (route) => route.fulfill({ json: thread }));
  await page.route(/\/events/, async (route) => {
    asked += 1;
    if (asked > 1) await held;
    await route.fulfill({ contentType: "text/event-stream", body: stream(asked === 1 ? log : asked === 2 ? [source("r7")] : []) });
  });
  await page.goto(`${base}/#/t/${THREAD}`);
  await page.waitForFunction(() => document.querySelectorAll(".lane").length === 64);
  await fits(page, "64 researchers");
  const longest = await page.evaluate(() => Math.round(Math.max(...globalThis.long)));
  assert(longest < LONGEST, `the page kept its thread for ${longest} ms`);

  await page.evaluate(() => {
    globalThis.changed = new Set();
    const observer = new MutationObserver((records) => records.forEach(({ target }) => {
      const lane = (target instanceof Element ? target : target.parentElement)?.closest(".lane");
      if (lane) globalThis.changed.add(lane.querySelector(".who").textContent);
    }));
    observer.observe(document.querySelector(".lanes"), { subtree: true, childList: true, characterData: true });
  });
  release();
  await page.waitForFunction(() => globalThis.changed.size > 0);
  const changed = await page.evaluate(() => [...globalThis.changed].join());
  assert(changed === "r7", `one event of r7 changed ${changed}`);
}, { expected: [/Failed to load/] });
