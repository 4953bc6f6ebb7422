// The parts of the page that need no browser: the picture, the difference, the passage.
import { strict as assert } from "node:assert";
import { difference } from "../../web/difference.js";
import { passage, unitsOf } from "../../web/passage.js";
import { empty, take } from "../../web/picture.js";

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
console.log("DONE");
