// What a thread's event log says, as a picture: a fold over events, without a clock and without the page. The same log
// gives the same picture, live, after a reload, and in a replay.
/** @import {Envelope, Lane, Run, Step} from "./types" */

/** Steps and sources of a lane that are kept; a lane shows its newest ones. */
const KEPT = 60;

/** @returns {{runs: Map<string, Run>, seq: number, gone: boolean, gap: boolean}} */
export const empty = () => ({ runs: new Map(), seq: 0, gone: false, gap: false });

/** @param {string} id @param {string} created @returns {Run} */
function begun(id, created) {
  return {
    id, question: "", retryOf: null, status: "queued", phase: "", position: null, options: {}, created,
    started: null, ended: null, brief: "", lead: [], lanes: new Map(), sources: new Map(), warnings: [], signIns: [], decision: "",
    asked: "", verification: "", questions: [], attempt: 0, text: "", written: false, outcome: "", problem: "", calls: 0, input: 0,
    output: 0, cost: null, waiting: null, lives: 1, windows: new Map(), left: null, seq: 0, changed: 0,
  };
}

/** @param {Run} run @param {string} id @returns {Lane} */
function lane(run, id) {
  let found = run.lanes.get(id);
  if (!found) {
    found = { id, topic: "", state: "running", doing: { what: "", text: "" }, steps: [], sources: [], thoughts: [], warnings: [], note: "", problem: "", turns: 0, left: null, changed: 0 };
    run.lanes.set(id, found);
  }
  return found;
}

/** Whose conversation it is. @param {Envelope} e */
const agent = ({ scope }) => scope.id ?? scope.agent;

/** What a call is about, in one line. @param {any} args */
function about(args) {
  if (!args || typeof args !== "object") return String(args ?? "");
  const texts = Object.values(args).flat().filter((value) => typeof value === "string" || typeof value === "number");
  return texts.join(" · ").slice(0, 400);
}

/**
 * Takes one event into the picture.
 * @param {ReturnType<typeof empty>} picture @param {Envelope} e
 * @returns {Run | null} the run that has changed
 */
export function take(picture, e) {
  if (e.type === "thread.deleted") picture.gone = true;
  if (e.type === "stream.gap") Object.assign(picture, { gap: true, seq: e.seq });
  if (["thread.deleted", "stream.gap", "stream.rewound"].includes(e.type)) return null;
  const isNumbered = e.type !== "run.queued";
  if (isNumbered && e.seq && e.seq <= picture.seq) return null;
  if (isNumbered && e.seq) picture.seq = e.seq;
  let run = picture.runs.get(e.run_id);
  // A run that was recalled counts already what comes after its end.
  if (run && isOver(run)) return null;
  if (!run) picture.runs.set(e.run_id, run = begun(e.run_id, e.ts));
  run.changed += 1;
  if (isNumbered && e.seq) run.seq = e.seq;
  const researcher = e.scope.agent === "researcher" && e.scope.id ? lane(run, e.scope.id) : null;
  if (researcher) researcher.changed = run.changed;
  const change = ofRun[e.type] ?? ofWork[e.type];
  change?.(run, e.data, e, researcher);
  return run;
}

/** @typedef {(run: Run, data: any, e: Envelope, lane: Lane | null) => void} Change */

/** The life of a run. @type {Record<string, Change>} */
const ofRun = {
  "run.created": (run, d, e) => Object.assign(run, { question: d.question, options: d.options ?? {}, position: d.position ?? null, retryOf: d.retry_of ?? null, created: e.ts }),
  "run.queued": (run, d) => { run.position = d.position ?? null; },
  "run.started": (run, _, e) => Object.assign(run, { status: "running", started: run.started ?? e.ts, position: null, waiting: null }),
  "run.resumed": (run, _, e) => Object.assign(run, { status: "running", started: run.started ?? e.ts, lives: run.lives + 1, waiting: null }),
  "phase.started": (run, d) => { run.phase = d.phase; },
  "follow_up.decided": (run, d) => { run.decision = d.action; },
  "clarification.skipped": (run, d) => { run.verification = d.verification; },
  "input.required": (run, d) => { run.asked = d.question; },
  "brief.created": (run, d) => {
    run.brief = d.brief;
    run.questions = (d.sub_questions ?? []).map((/** @type {string} */ question) => ({ question, status: "open" }));
  },
  "sub_questions.decided": (run, d) => { run.questions = d.sub_questions; },
  "supervisor.iteration": (run, d) => { run.lead.push({ kind: "round", text: "", n: d.n, max: d.max }); },
  "report.started": (run, d) => {
    Object.assign(run, { attempt: d.attempt, text: "", written: false });
    // Each attempt numbers its sources itself.
    for (const source of run.sources.values()) source.number = null;
  },
  "report.delta": (run, d) => { if (d.attempt === run.attempt) run.text += d.text; },
  "report.citation": (run, d) => cited(run, d),
  "report.finished": (run) => { run.written = true; },
  usage: (run, d, e, lane) => {
    run.calls += 1;
    run.input += d.input_tokens;
    run.output += d.output_tokens;
    if (d.cost !== undefined) run.cost = (run.cost ?? 0) + d.cost;
    // Of an agent's own conversation: a page's summary is another one.
    const window = run.windows.get(agent(e));
    if (!window || d.role !== "research") return;
    (lane ?? run).left = Math.max(0, 1 - (d.input_tokens + d.output_tokens) / window);
  },
  "run.completed": (run, d, e) => Object.assign(run, { status: "completed", outcome: d.outcome, ended: e.ts, waiting: null }),
  "run.failed": (run, d, e) => stopped(run, { status: "failed", problem: d.problem?.message ?? "", ended: e.ts }),
  "run.cancelled": (run, d, e) => stopped(run, { status: "cancelled", problem: d.reason ?? "", ended: e.ts }),
};

/** Ends a run, and with it what its researchers were at. @param {Run} run @param {Partial<Run>} end */
function stopped(run, end) {
  Object.assign(run, end, { waiting: null });
  for (const lane of run.lanes.values()) {
    if (lane.state === "running") Object.assign(lane, { state: "cancelled", doing: { what: "", text: "" }, changed: run.changed });
  }
}

/** What the lead and the researchers do. @type {Record<string, Change>} */
const ofWork = {
  thought: (run, d, _, lane) => {
    if (!lane) run.lead.push({ kind: "thought", text: d.text, n: 0, max: 0 });
    else { lane.thoughts.push(d.text); lane.doing = { what: "thinking", text: d.text }; }
  },
  "researcher.started": (run, d, _, lane) => { if (lane) Object.assign(lane, { topic: d.topic, state: "running" }); },
  "researcher.finished": (run, d, _, lane) => {
    if (lane) Object.assign(lane, { state: "finished", note: d.note ?? "", turns: d.turns, doing: { what: "", text: "" } });
  },
  "researcher.failed": (run, d, _, lane) => {
    if (lane) Object.assign(lane, { state: "failed", problem: d.problem?.message ?? "", doing: { what: "", text: "" } });
  },
  "model.started": (run, d, e, lane) => {
    if (d.window && d.role === "research") run.windows.set(agent(e), d.window);
    if (lane) lane.doing = { what: d.role === "summarization" ? "reading" : "asking", text: d.model };
  },
  "tool.started": (run, d, _, lane) => {
    if (!lane) return;
    const text = about(d.args);
    const isCall = d.kind === "mcp" || d.kind === "external";
    const named = isCall ? `${d.server ? `${d.server}: ` : ""}${d.name} ${text}`.trim() : text;
    lane.doing = { what: isCall ? "calling" : d.kind === "read" ? "reading" : "searching", text: named };
    lane.steps.push({ id: d.tool_call_id, text: named || d.name, links: null, isRead: d.kind === "read" || isCall, done: false, problem: "" });
    if (lane.steps.length > KEPT) lane.steps.shift();
  },
  "tool.progress": (run, d, _, lane) => {
    if (lane) lane.doing = { what: "calling", text: `${d.name} ${d.progress}${d.total ? `/${d.total}` : ""} ${d.message ?? ""}`.trim() };
  },
  "sign_in.required": (run, d) => { if (!run.signIns.some(({ url }) => url === d.url)) run.signIns.push({ server: d.server, message: d.message, url: d.url }); },
  "tool.finished": (run, d, _, lane) => { step(lane, d.tool_call_id, (s) => { s.links = d.results?.length ?? 0; s.done = true; }); },
  "tool.failed": (run, d, _, lane) => { step(lane, d.tool_call_id, (s) => { s.problem = d.problem; }); },
  "source.found": (run, d, _, lane) => {
    const found = { id: String(d.source_id), url: d.url, title: d.title || d.url, site: d.site ?? "", published: d.published ?? "", number: null };
    // By its address: who meets it again has another number for it.
    if (!run.sources.has(d.url)) run.sources.set(d.url, found);
    if (!lane) return;
    lane.sources.push(found);
    if (lane.sources.length > KEPT) lane.sources.shift();
  },
  "summary.finished": (run, d, _, lane) => { if (lane) lane.doing = { what: "reading", text: d.url }; },
  "compress.started": (run, _, __, lane) => { if (lane) lane.doing = { what: "compressing", text: "" }; },
  warning: (run, d, e, lane) => {
    lane?.warnings.push(d.detail);
    if (lane && lane.warnings.length > KEPT) lane.warnings.shift();
    run.warnings.push({ code: d.code, detail: d.detail, lane: e.scope.id ?? "" });
    if (d.wait) run.waiting = { name: d.wait.for, until: d.wait.until };
  },
  "wait.ended": (run) => { run.waiting = null; },
};

/** @param {Lane | null} lane @param {string} id @param {(step: Step) => void} change */
function step(lane, id, change) {
  const found = lane?.steps.findLast((step) => step.id === id);
  if (found) change(found);
  if (lane) lane.doing = { what: "thinking", text: "" };
}

/** @param {Run} run @param {any} d */
function cited(run, d) {
  const found = run.sources.get(d.url) ?? { url: d.url, title: d.title || d.url, site: "", published: "" };
  run.sources.set(d.url, { ...found, id: String(d.source_id), number: d.number });
}

/**
 * Takes a run into the picture that is over and whose events were removed, from what is kept beside them. It
 * has no number of an event.
 * @param {ReturnType<typeof empty>} picture @param {import("./types").RunDetails} given @param {import("./types").Message[]} messages
 */
export function recall(picture, given, messages) {
  const { outcome, usage } = given;
  const text = (/** @type {string} */ role) => messages.find((message) => message.role === role && message.run_id === given.id)?.content ?? "";
  const run = Object.assign(begun(given.id, given.created_at), {
    question: text("user"), retryOf: given.retry_of, status: given.status, options: given.options, started: given.started_at, ended: given.finished_at,
    problem: given.error?.message ?? "", asked: outcome === "clarification" ? text("assistant") : "", outcome: outcome ?? "",
    calls: usage.calls, input: usage.input_tokens, output: usage.output_tokens, cost: usage.cost ?? null, changed: (picture.runs.get(given.id)?.changed ?? 0) + 1,
  });
  if (outcome === "report" || outcome === "answer") Object.assign(run, { attempt: 1, written: true });
  picture.runs.set(run.id, run);
  return run;
}

/** Takes the sources of such a run in. @param {Run} run @param {import("./types").Source[]} sources */
export function recallSources(run, sources) {
  for (const { id, url, title, site, published, cited_as } of sources) {
    run.sources.set(url, { id: String(id), url, title: title || url, site: site ?? "", published: published ?? "", number: cited_as });
  }
  run.changed += 1;
}

/** @param {Run} run */
export const isOver = (run) => ["completed", "failed", "cancelled"].includes(run.status);
