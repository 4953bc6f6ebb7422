// The parts of the page that need no browser: the picture, the difference, the passage.
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { difference } from "../../web/difference.js";
import { passage, unitsOf } from "../../web/passage.js";
import { empty, recall, recallSources, take } from "../../web/picture.js";
import words from "../../web/words/en.js";

const event = (seq, type, data, id) => ({ seq, ts: new Date((seq ?? 0) * 1000).toISOString(), run_id: "r", scope: id ? { agent: "researcher", id } : { agent: "root" }, type, data });
const log = [
  event(1, "run.created", { question: "Q", options: {} }), event(2, "run.started", { attempt: 1 }),
  event(3, "researcher.started", { topic: "T" }, "r1"), event(4, "tool.started", { tool_call_id: "c", name: "search_web", args: { queries: ["a", "b"] } }, "r1"),
  event(5, "source.found", { source_id: 1001, url: "https://a.test", title: "A" }, "r1"), event(6, "tool.finished", { tool_call_id: "c", name: "search_web", results: [{}] }, "r1"),
  event(7, "report.started", { attempt: 1 }), event(8, "report.delta", { attempt: 1, text: "old" }), event(9, "report.started", { attempt: 2 }),
  event(10, "report.delta", { attempt: 1, text: "late" }), event(11, "report.delta", { attempt: 2, text: "new" }),
  event(12, "usage", { input_tokens: 3, output_tokens: 4 }), event(13, "no.such.type", {}), event(14, "brief.created", { brief: "B", sub_questions: ["A?", "B?"] }),
  event(15, "sub_questions.decided", { sub_questions: [{ question: "A?", status: "partly" }] }), event(16, "run.completed", { outcome: "report" }),
];
const picture = empty();
for (const one of log) take(picture, one);
const run = picture.runs.get("r");
assert.equal(run.text, "new");
assert.equal(run.status, "completed");
assert.deepEqual(run.questions, [{ question: "A?", status: "partly" }]);
assert.deepEqual([run.calls, run.input, run.output], [1, 3, 4]);
assert.deepEqual(run.lanes.get("r1").steps, [{ id: "c", text: "a · b", links: 1, isRead: false, done: true, problem: "" }]);
for (const one of log) take(picture, one);
assert.equal(run.calls, 1, "what comes twice counts once");

const called = empty();
const calls = [
  event(1, "run.created", { question: "Q", options: {} }), event(2, "researcher.started", { topic: "T" }, "r1"),
  event(3, "tool.started", { tool_call_id: "a", name: "currency", kind: "external", args: { amount: 7, to: "EUR" } }, "r1"),
  event(4, "tool.started", { tool_call_id: "b", name: "tell", kind: "mcp", server: "register", args: { text: "x" } }, "r1"),
  event(5, "tool.started", { tool_call_id: "c", name: "read_page", kind: "read", args: { address: "https://a.test" } }, "r1"),
];
const doing = calls.map((one) => take(called, one).lanes.get("r1")?.doing);
assert.deepEqual(doing.slice(2), [
  { what: "calling", text: "currency 7 · EUR" }, { what: "calling", text: "register: tell x" }, { what: "reading", text: "https://a.test" },
]);
assert.deepEqual(called.runs.get("r").lanes.get("r1").steps.map((step) => step.isRead), [true, true, true]);

const met = empty();
take(met, event(1, "run.created", { question: "Q" }));
for (const [seq, id] of [[2, 1001], [3, 2001]]) take(met, event(seq, "source.found", { source_id: id, url: "https://a.test", title: "A" }, `r${id}`));
take(met, event(4, "report.citation", { source_id: 1001, number: 1, url: "https://a.test", title: "A" }));
take(met, event(5, "report.citation", { source_id: 1002, number: 2, url: "https://b.test", title: "B" }));
assert.deepEqual([...met.runs.get("r").sources.values()].map(({ id, number }) => [id, number]), [["1001", 1], ["1002", 2]], "what two met is one source");
take(met, event(6, "report.started", { attempt: 2 }));
take(met, event(7, "report.citation", { source_id: 1002, number: 1, url: "https://b.test", title: "B" }));
assert.deepEqual([...met.runs.get("r").sources.values()].map(({ number }) => number), [null, 1], "another attempt has other numbers");

const queued = empty();
take(queued, event(1, "run.created", { question: "Q", position: 3 }));
take(queued, event(undefined, "run.queued", { position: 2 }));
assert.deepEqual([queued.runs.get("r").position, queued.seq], [2, 1], "a place in the queue is no event of the log");
take(queued, event(2, "run.started", { attempt: 1 }));
take(queued, event(3, "warning", { code: "waiting", detail: "busy", wait: { for: "openai", until: "2031-01-01T00:00:00Z" } }));
assert.deepEqual([queued.runs.get("r").position, queued.runs.get("r").waiting.name], [null, "openai"]);
take(queued, event(4, "wait.ended", {}));
take(queued, event(5, "input.required", { question: "Which gate?" }));
take(queued, event(6, "run.completed", { outcome: "clarification" }));
const asked = queued.runs.get("r");
assert.deepEqual([asked.waiting, asked.asked, asked.outcome, asked.ended !== null], [null, "Which gate?", "clarification", true]);

const agent = empty();
const turn = [
  event(1, "run.created", { question: "Q", options: {} }), event(2, "researcher.started", { topic: "T" }, "r1"),
  event(3, "model.started", { model: "m", role: "research", window: 1_000 }, "r1"), event(4, "usage", { role: "research", input_tokens: 200, output_tokens: 50 }, "r1"),
  event(5, "model.started", { model: "s", role: "summarization", window: 400 }, "r1"), event(6, "usage", { role: "summarization", input_tokens: 300, output_tokens: 0 }, "r1"),
  event(7, "warning", { code: "search_failed", detail: "no" }, "r1"), event(8, "usage", { role: "research", input_tokens: 9, output_tokens: 0 }),
];
for (const one of turn) take(agent, one);
const lane = agent.runs.get("r").lanes.get("r1");
assert.deepEqual([lane.left, agent.runs.get("r").left], [0.75, null], "what is left of the researcher's own conversation; of the lead nothing is known");
assert.deepEqual(lane.warnings, ["no"]);

for (const [end, data] of [["failed", { problem: { message: "no" } }], ["cancelled", {}]]) {
  const ended = empty();
  for (const id of ["r1", "r2"]) take(ended, event(ended.seq + 1, "researcher.started", { topic: "T" }, id));
  take(ended, event(3, "model.started", { model: "m", role: "research" }, "r1"));
  take(ended, event(4, "researcher.finished", { turns: 1 }, "r2"));
  const { lanes, changed, status } = take(ended, event(5, `run.${end}`, data));
  const state = (id) => { const { state, doing, changed } = lanes.get(id); return [state, doing.what, changed]; };
  assert.deepEqual([status, state("r1"), state("r2")], [end, ["cancelled", "", changed], ["finished", "", changed - 1]], "nobody works on what has ended");
}

const old = empty();
assert.deepEqual([take(old, event(9, "stream.gap", { from: 1, to: 9 })), old.seq], [null, 9]);
const kept = { id: "r0", status: "completed", outcome: "report", error: null, options: {}, created_at: "a", started_at: "b", finished_at: "c", retry_of: null, usage: { calls: 2, input_tokens: 3, output_tokens: 4 } };
const said = [{ role: "user", content: "Q", run_id: "r0" }, { role: "assistant", content: "Which?", run_id: "r1" }];
recallSources(recall(old, kept, said), [{ id: 1001, url: "https://a.test", title: "A", site: null, published: null, cited_as: 1 }]);
recall(old, { ...kept, id: "r1", outcome: "clarification" }, said);
recall(old, { ...kept, id: "r2", status: "failed", outcome: null, error: { message: "no" } }, said);
take(old, event(10, "run.created", { question: "Next" }));
assert.deepEqual([...old.runs.values()].map((one) => [one.id, one.question, one.asked, one.status, one.attempt, one.written, one.problem, one.seq]), [
  ["r0", "Q", "", "completed", 1, true, "", 0], ["r1", "", "Which?", "completed", 0, false, "", 0], ["r2", "", "", "failed", 0, false, "no", 0], ["r", "Next", "", "queued", 0, false, "", 10],
]);
assert.deepEqual([...old.runs.get("r0").sources.values()].map(({ id, number }) => [id, number]), [["1001", 1]]);
assert.deepEqual([old.gap, old.seq, old.runs.get("r0").ended], [true, 10, "c"]);

// A run that was seen in part, and whose last events were not removed yet.
const halves = empty();
for (const one of [event(1, "run.created", { question: "Q" }), event(2, "usage", { input_tokens: 3, output_tokens: 4 })]) take(halves, one);
const seen = halves.runs.get("r").changed;
take(halves, event(8, "stream.gap", { from: 3, to: 8 }));
recall(halves, { ...kept, id: "r" }, said);
for (const one of [event(9, "usage", { input_tokens: 3, output_tokens: 4 }), event(10, "run.completed", { outcome: "report" })]) assert.equal(take(halves, one), null);
const whole = halves.runs.get("r");
assert.deepEqual([whole.calls, whole.input, whole.output, whole.seq, whole.changed, halves.seq], [2, 3, 4, 0, seen + 1, 10], "its figures are those of all of it");

// What the contract calls a state is a word on the page. `waiting` is no phase that a run begins.
const contract = readFileSync(new URL("../../openapi.yaml", import.meta.url), "utf8");
for (const name of ["ThreadStatus", "RunStatus", "Phase"]) {
  const values = new RegExp(`^    ${name}:\n(?:      .*\n)*?      enum: \\[(.*)\\]`, "m").exec(contract)[1].split(", ");
  const missing = values.filter((value) => value !== "waiting" && value !== "idle" && !(value in words));
  assert.deepEqual(missing, [], `${name} has words`);
}

const rows = difference("a\nb\nc\nd", "a\nx\nc\nd\ne");
assert.deepEqual(rows.map((row) => [row.left, row.right]), [["a", "a"], ["b", "x"], ["c", "c"], ["d", "d"], [null, "e"]]);
assert.deepEqual(difference("same", "same"), [{ left: "same", right: "same" }]);
const long = Array.from({ length: 5_000 }, (_, i) => `line ${i}`).join("\n");
assert.ok(difference(long, long.replaceAll("line", "row")).length >= 5_000);

const text = "The gate opened in 1998. Dues of 4 crowns pay for it. Nobody knows the rest.";
const found = passage(text, "Dues of 4 crowns pay the gate.");
assert.equal(text.slice(found.start, found.end), "Dues of 4 crowns pay for it.");
assert.equal(passage(text, "Completely different matters"), null);
// The API counts characters beyond the basic plane once, strings here twice.
const wide = "𝄞𝄞 Dues pay. 𝄞";
const place = unitsOf(wide, { start: 3, end: 12 });
assert.equal(wide.slice(place.start, place.end), "Dues pay.");
assert.equal(unitsOf(wide, { start: 40, end: 50 }), null);
const begin = performance.now();
passage("word 12 ".repeat(100_000), "word 12");
assert.ok(performance.now() - begin < 5_000);

process.env.TZ = "America/New_York";
globalThis.navigator ??= { languages: ["en-GB"] };
const { day } = await import("../../web/words.js");
for (const [date, shown] of [["2026-11-21", "21"], ["2026-11-21T02:00:00Z", "20"]]) {
  assert.match(day(date), new RegExp(`\\b${shown}\\b`), `${date}: a day without an hour is the same everywhere`);
}
console.log("DONE");
