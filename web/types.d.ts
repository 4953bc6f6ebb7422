// The shapes of the API that the page reads, as openapi.yaml has them. Only for the type checker: nothing of it is served.

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
