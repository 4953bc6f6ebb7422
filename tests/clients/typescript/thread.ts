// A whole thread through the client that openapi-typescript makes of the contract. Takes the address of the service;
// prints what it saw as JSON. tests/it/contract/clients.rs generates the types, compiles this strictly and compares.

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Schemas = components["schemas"];
type Event = Schemas["Envelope"];

declare const process: { argv: string[] };

const QUESTION = "Why did the turbine Petrel stop in November 2030, and what did it cost?";

// Events can be written down, and nothing has to be set.
const example: Event = {
  seq: 2,
  ts: "2026-11-21T09:03:01.131Z",
  run_id: "019aa56a-5c1c-7d21-8c47-0b9a8e7f6d5c",
  scope: { agent: "root" },
  type: "run.started",
  data: { attempt: 1 },
};
const nothing: Schemas["NewThread"] = { message: QUESTION, options: {} };

const client = createClient<paths>({ baseUrl: process.argv[2] ?? "" });

type Answer<T> = { data?: T; error?: Schemas["Problem"] };

/** The answer of one operation, which has to be no problem. */
function expect<T>(answer: Answer<T>): T {
  if (answer.data === undefined) throw new Error(`${answer.error?.code}: ${answer.error?.detail}`);
  return answer.data;
}

/** The same where an operation can give a report as text too, when asked for it. */
function expectJson<T>(answer: Answer<T>): Exclude<T, string> {
  const data = expect(answer);
  if (typeof data === "string") throw new Error("nobody asked for text");
  return data as Exclude<T, string>;
}

function ensure(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

/** The events of a run, typed, to its end. */
async function* follow(id: string): AsyncGenerator<Event> {
  const answer = await client.GET("/api/v1/runs/{id}/events", {
    params: { path: { id } },
    headers: { Accept: "text/event-stream" },
    parseAs: "stream",
  });
  const reader = expect(answer)!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const lines = (text + piece.value).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data: ")) yield JSON.parse(line.slice("data: ".length)) as Event;
    }
  }
}

/** What a run's events tell: their types, the sources' titles, the report, how it ended. */
async function watch(run: Schemas["Run"]) {
  const types: string[] = [];
  const sources: string[] = [];
  let report = "";
  let outcome: Schemas["Outcome"] | null = null;
  for await (const event of follow(run.id)) {
    types.push(event.type);
    switch (event.type) {
      case "source.found":
        sources.push(event.data.title);
        break;
      case "report.started":
        report = "";
        break;
      case "report.delta":
        report += event.data.text;
        break;
      case "run.completed":
        outcome = event.data.outcome;
        break;
    }
  }
  return { types, sources, report, outcome };
}

ensure(example.type === "run.started" && nothing.metadata === undefined, "literals are what they say");
const { defaults } = expect(await client.GET("/api/v1/options"));
const body: Schemas["NewThread"] = { message: QUESTION, options: { max_researcher_iterations: 2 } };
const created = expectJson(await client.POST("/api/v1/threads", { body }));
ensure(Object.keys(created.thread.options).join() === "max_researcher_iterations", "only what was set is sent");
ensure(
  JSON.stringify(created.run.options) === JSON.stringify({ ...defaults, max_researcher_iterations: 2 }),
  "the rest is as the operator wants it",
);

const research = await watch(created.run);
const path = { id: created.run.id };
const report = await client.GET("/api/v1/runs/{id}/report", { params: { path }, parseAs: "text" });
const run = expect(await client.GET("/api/v1/runs/{id}", { params: { path } }));
ensure(run.status === "completed" && run.outcome === "report", "it is completed");

const bad = await client.POST("/api/v1/threads", { body: { ...body, options: { max_researcher_iterations: 99 } } });
ensure(bad.error?.code === "validation_failed", "a bad option is a problem");

const again: Schemas["NewMessage"] = { content: "What did the repair of Petrel cost?" };
const thread = { id: created.thread.id };
const accepted = expectJson(await client.POST("/api/v1/threads/{id}/messages", { params: { path: thread }, body: again }));
const followUp = await watch(accepted.run);

console.log(
  JSON.stringify({
    run: created.run.id,
    research: { ...research, by_client: expect(report) },
    problem: bad.error?.errors?.[0]?.pointer,
    follow_up: { run: accepted.run.id, types: followUp.types, outcome: followUp.outcome },
  }),
);
