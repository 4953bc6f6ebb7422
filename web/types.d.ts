// The shapes of the API that the page reads, as openapi.yaml has them, and at the end those of the picture that the page
// makes of it. Only for the type checker: nothing of it is served.

export interface Envelope {
  seq: number;
  ts: string;
  run_id: string;
  scope: { agent: "root" | "supervisor" | "researcher"; id?: string };
  type: string;
  data: any;
}
export interface Thread {
  id: string;
  status: string;
  title: string;
  created_at: string;
  last_seq: number;
  latest_run_id: string | null;
  metadata: Record<string, unknown>;
}
export interface RunDetails {
  id: string;
  status: string;
  outcome: "report" | "clarification" | "answer" | null;
  error: { message: string } | null;
  options: Record<string, unknown>;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  retry_of: string | null;
  usage: { calls: number; input_tokens: number; output_tokens: number; cost?: number };
}
export interface Message {
  role: "user" | "assistant";
  content: string;
  run_id: string | null;
}
export interface Source {
  id: number;
  aliases: number[];
  url: string;
  title: string;
  section: string | null;
  engine: string;
  published: string | null;
  author: string | null;
  site: string | null;
  addresses: string[];
  fetched_at: string;
  cited_as: number | null;
  snapshot?: string;
}
export interface Citation {
  number: number;
  source_id: number;
  start: number;
  verdict?: "supported" | "partly" | "not_supported" | "not_checkable";
  passage?: { start: number; end: number };
}
export interface Note {
  researcher: number;
  topic: string;
  text: string;
  statements: Statement[];
}
export interface Statement {
  text: string;
  verdict: string;
  missing: string[];
  sources: { source_id: number; verdict: string; passage: { text: string; start: number; end: number } | null }[];
}
export interface Document {
  id: string;
  name: string;
  characters: number;
  missing: string | null;
}
export interface Collection {
  id: string;
  name: string;
  documents: number;
}
export interface Share {
  id: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
}
export interface Fragment { attempt: number; complete: boolean; chars: number; language: string | null; html: string }
export interface OptionSchema {
  type?: string | string[];
  minimum?: number;
  maximum?: number;
  enum?: string[];
  examples?: string[];
  items?: { examples?: string[] };
  oneOf?: OptionSchema[];
  exclusiveMinimum?: number;
  description?: string;
  default?: unknown;
}
export interface Preset {
  name: string;
  options: Record<string, unknown>;
  expected: { model_calls: number; tokens: number; searches: number; minutes: number };
}
export interface Range {
  low: number;
  expected: number;
  high: number;
}
export interface Estimate {
  basis: { from: "runs" | "preset"; runs: number; effort: string };
  model_calls: Range;
  searches: Range;
  pages: Range;
  researchers: Range;
  input_tokens: Range;
  output_tokens: Range;
  minutes: Range;
  cost_usd: Range | null;
  limited_by: { option: string; at: string } | null;
}
export interface Options {
  schema: { properties: Record<string, OptionSchema> };
  defaults: Record<string, unknown>;
  presets: Preset[];
}

export interface Session {
  authentication: "none" | "keys";
  owner: string;
  key: { id: string; name: string; scope: "read" | "write" | "admin" } | null;
  expires_at: string | null;
}

// The picture of a thread (picture.js).

export interface Found {
  id: string;
  url: string;
  title: string;
  site: string;
  published: string;
  number: number | null;
}

export interface Step {
  id: string;
  text: string;
  links: number | null;
  isRead: boolean;
  done: boolean;
  problem: string;
}

export interface Lane {
  id: string;
  topic: string;
  state: "running" | "finished" | "failed" | "cancelled";
  doing: Doing;
  steps: Step[];
  sources: Found[];
  thoughts: string[];
  warnings: string[];
  note: string;
  problem: string;
  turns: number;
  left: number | null;
  changed: number;
}

export interface Doing {
  what: "asking" | "searching" | "reading" | "calling" | "compressing" | "thinking" | "";
  text: string;
}

export interface Lead {
  kind: "round" | "thought";
  text: string;
  n: number;
  max: number;
}

export interface SignIn {
  server: string;
  message: string;
  url: string;
}

export interface Warned {
  code: string;
  detail: string;
  lane: string;
}

export interface Run {
  id: string;
  question: string;
  retryOf: string | null;
  status: string;
  phase: string;
  position: number | null;
  options: Record<string, any>;
  created: string;
  started: string | null;
  ended: string | null;
  brief: string;
  lead: Lead[];
  lanes: Map<string, Lane>;
  sources: Map<string, Found>;
  warnings: Warned[];
  signIns: SignIn[];
  decision: string;
  asked: string;
  verification: string;
  questions: {question: string, status: "open" | "answered" | "partly" | "not_found"}[];
  attempt: number;
  text: string;
  written: boolean;
  outcome: string;
  problem: string;
  calls: number;
  input: number;
  output: number;
  cost: number | null;
  waiting: {name: string, until: string} | null;
  lives: number;
  windows: Map<string, number>;
  left: number | null;
  seq: number;
  changed: number;
}
