// The public API and nothing else: whatever the page does, any client can do.
/** @import {Citation, Collection, Document, Envelope, Estimate, Fragment, Message, Note, Options, RunDetails, Session, Share, Source, Thread} from "./types" */

/** A refusal or failure, with the stable code of its problem document. */
export class Problem extends Error {
  /** @param {number} status 0 where nobody answers @param {string} code @param {string} detail @param {string} [login] where a browser may sign in, a path of the service */
  constructor(status, code, detail, login = "") {
    super(detail);
    this.status = status;
    this.code = code;
    this.login = login;
  }
}

/** After so many ms without an answer something is said. */
const SILENCE = 10_000;
let isSaid = false, silent = () => {};

/** Hears when a request has no answer for long, once until the next answer comes. @param {() => void} hear */
export const onSilence = (hear) => { silent = hear; };

/** Waits for an answer. A file may be long on its way. @param {Promise<Response>} answer @param {boolean} isFile */
async function answered(answer, isFile) {
  const timer = isFile ? undefined : setTimeout(() => { if (!isSaid) silent(); isSaid = true; }, SILENCE);
  try { return await answer; } catch (error) { throw new Problem(0, "unreachable", String(error)); } finally { clearTimeout(timer); isSaid = false; }
}

/** @type {(isMissing: boolean) => Promise<void> | undefined} */
let doubt = () => undefined;

/** Is asked before something is changed, and when something is not there: it may be another one's page by now. @param {typeof doubt} ask */
export const onDoubt = (ask) => { doubt = ask; };

/**
 * @param {string} path below /api/v1/
 * @param {{method?: string, body?: unknown, file?: File, accept?: string, key?: string, keepalive?: boolean}} [given]
 * @returns {Promise<Response>}
 */
async function send(path, given = {}) {
  /** @type {Record<string, string>} */
  const headers = { accept: given.accept ?? "application/json" };
  if (given.body !== undefined) headers["content-type"] = "application/json";
  if (given.key) headers["idempotency-key"] = given.key;
  if (given.file) headers["content-type"] = "application/octet-stream";
  const body = given.file ?? (given.body === undefined ? undefined : JSON.stringify(given.body));
  const request = { method: given.method ?? "GET", headers, body, keepalive: given.keepalive };
  // A doubt asks this itself, so that cannot wait for it; and a page that goes has no time to.
  const isSession = path === "session";
  if (given.method && !isSession && !given.keepalive) await doubt(false)?.catch(() => {});
  const answer = await answered(fetch(`api/v1/${path}`, request), Boolean(given.file));
  if (answer.ok) return answer;
  if (answer.status === 404 && !isSession) await doubt(true)?.catch(() => {});
  // What stands before the service answers in its own way.
  const problem = Object(await answer.json().catch(() => ({})));
  const login = /login_uri="\/([^"]+)"/.exec(answer.headers.get("www-authenticate") ?? "")?.[1];
  throw new Problem(answer.status, problem.code ?? "unknown", problem.detail ?? problem.title ?? `HTTP ${answer.status}`, login);
}

/** @param {string} path @param {Parameters<typeof send>[1]} [given] @returns {Promise<any>} */
const json = async (path, given) => (await send(path, given)).json();

/** @param {string} run @param {string} accept */
export const report = async (run, accept) => (await send(`runs/${run}/report`, { accept })).text();

/** The citations of a report, as they follow one another. @param {string} run @returns {Promise<Citation[]>} */
export const citations = async (run) => (await json(`runs/${run}/report`)).citations;

/** @param {string} run @returns {Promise<Note[]>} */
export const notes = async (run) => (await json(`runs/${run}/notes`)).data;

/** What is complete of a report, as HTML; or was when an event had come. @param {string} run @param {number} [until] @returns {Promise<Fragment>} */
export const fragment = (run, until) => json(`runs/${run}/report/fragment${until === undefined ? "" : `?until=${until}`}`);

/** @returns {Promise<Options>} */
export const options = () => json("options");

/** What a run would take. @param {object} chosen @returns {Promise<Estimate>} */
export const estimate = (chosen) => json("estimate", { method: "POST", body: { options: chosen } });

/** @param {Record<string, string | undefined>} by what is not empty selects @returns {Promise<{data: Thread[], next_cursor: string | null}>} */
export const threads = (by) => {
  const given = Object.entries(by).flatMap(([name, value]) => value ? [[name, value]] : []);
  return json(`threads?${new URLSearchParams([["limit", "50"], ...given])}`);
};

/** @param {string} id @returns {Promise<Thread>} */
export const thread = (id) => json(`threads/${id}`);

/** @param {string} message @param {object} chosen @param {string} key @returns {Promise<{thread: Thread}>} */
export const ask = (message, chosen, key) => json("threads", { method: "POST", body: { message, options: chosen }, key });

/** @param {string} id @param {string} message @param {string} key @param {object} [chosen] */
export const reply = (id, message, key, chosen) => json(`threads/${id}/messages`, { method: "POST", body: { content: message, options: chosen }, key });

/** Every page of a list. @param {string} path @returns {Promise<any[]>} */
async function all(path) {
  const found = [];
  for (let cursor = ""; ;) {
    const page = await json(`${path}?${new URLSearchParams({ limit: "100", ...(cursor && { cursor }) })}`);
    found.push(...page.data);
    if (!page.next_cursor) return found;
    cursor = page.next_cursor;
  }
}

/** The newest first. @param {string} thread @returns {Promise<RunDetails[]>} */
export const runs = (thread) => all(`threads/${thread}/runs`);

/** @param {string} thread @returns {Promise<Message[]>} */
export const messages = (thread) => all(`threads/${thread}/messages`);

/** @param {string} of `threads/ID` or `collections/ID` @returns {Promise<{data: Document[]}>} */
export const documents = (of) => json(`${of}/documents`);

/** Begins a thread with a file. @param {File} file @returns {Promise<{thread: Thread, document: Document}>} */
export const beginWith = (file) => json(`documents?${named(file)}`, { method: "POST", file });

/** @param {string} of @param {File} file @returns {Promise<Document>} */
export const addDocument = (of, file) => json(`${of}/documents?${named(file)}`, { method: "POST", file });

/** @param {string} of @param {string} id */
export const removeDocument = (of, id) => send(`${of}/documents/${id}`, { method: "DELETE" });

/** As many as one may have of one's own. @returns {Promise<{data: Collection[]}>} */
export const collections = () => json("collections?limit=100");

/** @param {string} name @returns {Promise<Collection>} */
export const makeCollection = (name) => json("collections", { method: "POST", body: { name } });

/** @param {string} id @param {string} name @returns {Promise<Collection>} */
export const renameCollection = (id, name) => json(`collections/${id}`, { method: "PATCH", body: { name } });

/** With its documents. @param {string} id */
export const removeCollection = (id) => send(`collections/${id}`, { method: "DELETE" });

/** @param {File} file */
const named = (file) => new URLSearchParams({ name: file.name });

/** @param {string} thread @returns {Promise<{data: Share[]}>} */
export const shares = (thread) => json(`threads/${thread}/shares`);

/** @param {string} thread @param {number | null} days null: for ever @returns {Promise<Share & {url: string}>} */
export const share = (thread, days) => json(`threads/${thread}/shares`, { method: "POST", body: { expires_in_days: days } });

/** @param {string} thread @param {string} id */
export const revokeShare = (thread, id) => send(`threads/${thread}/shares/${id}`, { method: "DELETE" });

/** @param {string} id @param {object} change */
export const change = (id, change) => json(`threads/${id}`, { method: "PATCH", body: change });

/** @param {string} id @param {boolean} [leaving] the page is about to go */
export const remove = (id, leaving) => send(`threads/${id}`, { method: "DELETE", keepalive: leaving });

/** @param {string} run */
export const cancel = (run) => json(`runs/${run}/cancel`, { method: "POST" });

/** @param {string} run @param {string} key */
export const retry = (run, key) => json(`runs/${run}/retry`, { method: "POST", body: {}, key });

/** @param {string} run @returns {Promise<{data: Source[]}>} */
export const sources = (run) => json(`runs/${run}/sources`);

/** @param {string} run @param {number} id @returns {Promise<Source>} */
export const source = (run, id) => json(`runs/${run}/sources/${id}`);

/** The whole log of a run. @param {string} run @returns {Promise<Envelope[]>} */
export async function log(run) {
  /** @type {Envelope[]} */
  const all = [];
  for (let after = 0; ;) {
    const page = await json(`runs/${run}/events?after=${after}&limit=1000`);
    all.push(...page.data);
    if (!page.data.length || page.next_after <= after) return all;
    after = page.next_after;
  }
}

/** Who is signed in. @returns {Promise<Session>} */
export const session = () => json("session");

/** @param {string} key @returns {Promise<Session>} */
export const signIn = (key) => json("session", { method: "POST", body: { key } });

export const signOut = () => send("session", { method: "DELETE" });

/** A key for a request that may be sent twice and shall act once. */
export const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

/**
 * Follows a thread's events. The browser comes back by itself after a cut connection; what it gives up on (an error status
 * while the service restarts) is begun again here, after the last event seen. Where the thread is not to be had any more,
 * that is the end.
 */
export class Following {
  /**
   * @param {string} thread
   * @param {{event: (envelope: Envelope) => void, state: (state: "open" | "lost") => void, refused: (problem: Problem) => void}} to
   */
  constructor(thread, to) {
    this.thread = thread;
    this.to = to;
    this.last = 0;
    this.wait = 1_000;
    /** @type {EventSource | null} */
    this.source = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.isResting = this.isOver = false;
    this.open();
  }

  open() {
    if (this.isOver || this.isResting || this.source) return;
    const source = this.source = new EventSource(`api/v1/threads/${this.thread}/events?event=message&after=${this.last}`);
    source.onopen = () => { this.wait = 1_000; this.to.state("open"); };
    source.onmessage = (message) => {
      const envelope = JSON.parse(message.data);
      if (envelope.seq > this.last) this.last = envelope.seq;
      this.to.event(envelope);
    };
    source.onerror = () => {
      if (source !== this.source) return;
      this.to.state("lost");
      if (source.readyState !== EventSource.CLOSED) return;
      this.close();
      this.timer = setTimeout(() => this.again(), this.wait);
      this.wait = Math.min(this.wait * 2, 20_000);
    };
  }

  /** An event source does not tell why it was refused. */
  async again() {
    try { await send(`threads/${this.thread}`); } catch (error) {
      if (error instanceof Problem && [401, 404].includes(error.status)) return this.isOver || this.to.refused(error);
    }
    this.open();
  }

  /** Gives the connection back, or goes on after the last event seen. @param {boolean} isResting */
  rest(isResting) {
    if (isResting === this.isResting) return;
    this.isResting = isResting;
    this.close();
    this.open();
  }

  /** Begins at the start of the log. */
  restart() {
    this.last = 0;
    this.close();
    this.open();
  }

  end() {
    this.isOver = true;
    this.close();
  }

  close() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }
}
