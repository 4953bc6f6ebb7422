// The question box: how deep to go, with which model and engine, and every option with its range.
import * as api from "./api.js";
import { Collections } from "./collections.js";
import { Documents } from "./documents.js";
import { el, fill, say, sendOnEnter } from "./dom.js";
import { forget, remember } from "./session.js";
import { count, exactly, money, named, word } from "./words.js";
/** @import {Estimate, OptionSchema, Preset} from "./types" */

/** @typedef {{name: string, schema: OptionSchema, byDefault: unknown, input: HTMLInputElement | HTMLSelectElement, picks?: HTMLElement}} Field */

/** The models that are the picked one's where nothing else is chosen for them. */
const ROLES = ["summarization_model", "compression_model", "final_report_model"];

export class AskView {
  /** @param {{failed: (error: unknown) => void, asked: (thread: string, isHere: boolean) => void}} page */
  constructor(page) {
    this.page = page;
    this.key = api.newKey();
    /** @type {Field[]} */
    this.fields = [];
    /** @type {Preset[]} */
    this.presets = [];
    this.box = el("textarea", { id: "q", rows: "4", required: true, "aria-describedby": "ask-hint", dir: "auto", onkeydown: sendOnEnter, oninput: () => { this.key = api.newKey(); } });
    remember(this.box, "");
    this.depths = el("fieldset", { class: "depths", hidden: true });
    this.estimate = el("p", { id: "estimate", class: "dim" });
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.documents = new Documents("", page.failed);
    this.collections = new Collections({ failed: page.failed, picked: () => { this.key = api.newKey(); this.estimateSoon(); } });
    this.pickers = el("div", { class: "pickers" });
    this.advanced = el("div", { class: "fields" });
    this.drawer = el("details", { hidden: true }, el("summary", {}, word("advanced")), this.advanced);
    this.start = el("button", { class: "main" }, word("start"));
    this.form = el("form", { onsubmit: (/** @type {Event} */ event) => this.ask(event), onchange: (/** @type {Event} */ { target }) => this.change(target) },
      el("label", { for: "q" }, el("h1", {}, word("ask"))), this.box,
      el("p", { id: "ask-hint", class: "dim" }, word("askHint")), this.documents.element, this.collections.element, this.depths, this.estimate, this.pickers, this.start, this.drawer);
    this.documents.dropOn(this.form);
    // A field that the browser complains about is shown.
    this.form.addEventListener("invalid", () => { this.drawer.open = true; }, true);
    this.element = el("div", { class: "ask" }, this.form);
  }

  /** Another choice is another question. The box says so by its input; it also changes when a question that was sent is left. @param {EventTarget | null} target */
  change(target) {
    if (target !== this.box) this.key = api.newKey();
    this.showDefaults();
    this.estimateSoon();
  }

  /** The fields show what counts where nothing is set: what the depth sets, else the server's choice. */
  showDefaults() {
    const set = { ...this.presets.find(({ name }) => name === this.depth())?.options };
    const model = this.fields.find(({ name }) => name === "research_model"), picked = model && valueOf(model);
    if (picked) for (const role of ROLES) set[role] ??= picked;
    for (const { name, byDefault, input, picks } of this.fields) {
      const value = set[name] ?? byDefault;
      if (picks) say(/** @type {Element} */ (picks.querySelector(".standard")), input.value ? "" : word(name in set ? "byDefault" : "serverDefault", { value: inWords(value) }));
      else if (input instanceof HTMLSelectElement) say(input.options[0], word(name in set ? "byDefault" : "serverDefault", { value: inWords(value) }));
      else input.placeholder = String(value ?? "");
    }
  }

  /** Puts a question into the box. @param {string} question */
  write(question) {
    this.box.value = question;
    this.box.dispatchEvent(new Event("input"));
  }

  /** Shows it for the first time, or as it was left. */
  async open() {
    document.title = "Fathom";
    if (!document.activeElement?.closest("#notices")) this.box.focus();
    if (!this.fields.length) await this.load();
  }

  async load() {
    const options = await api.options();
    this.zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (this.zone) options.defaults.timezone = this.zone;
    this.presets = options.presets ?? [];
    fill(this.depths, el("legend", {}, word("depth")), this.presets.map((preset) => depth(preset, options.defaults.effort)));
    this.depths.hidden = !this.presets.length;
    // Collections have a picker of their own; no field holds an object.
    this.fields = Object.entries(options.schema.properties).filter(([name, { type }]) => name !== "collections" && ![type].flat().includes("object")).map(([name, schema]) => field(name, schema, options.defaults[name]));
    const [models, engines] = ["research_model", "search_api"].map((name) => this.fields.find((field) => field.name === name));
    fill(this.pickers, models && labelled(word("model"), models, true), engines && labelled(word("engine"), engines, true),
      engines && listed(engines.schema)?.examples?.includes("local") && engines.byDefault !== "local" && el("p", { class: "dim" }, word("attached")),
      String(models?.byDefault).startsWith("offline:") && el("p", { class: "dim" }, word("noModel")));
    fill(this.advanced, this.fields.filter((field) => field !== models && field !== engines).map((field) => labelled(field.name, field, false)));
    this.drawer.hidden = false;
    this.showDefaults();
    void this.showEstimates();
  }

  /** The name of the chosen depth. */
  depth() { return new FormData(this.form).get("depth"); }

  /** Once nothing has changed for a while. */
  estimateSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.showEstimates(), 300);
  }

  /** What each depth would take with what else is chosen; what the service refuses, the start says. */
  async showEstimates() {
    if (this.fields.some(({ input }) => !input.validity.valid)) return;
    const asked = this.asked = {};
    const ask = (/** @type {Preset} */ { name }) => api.estimate(this.chosen(name)).catch(() => null);
    const estimates = await Promise.all(this.presets.map(ask));
    if (this.asked !== asked) return;
    const shown = this.depths.querySelectorAll(".depth .dim");
    estimates.forEach((estimate, place) => { if (estimate) shown[place].textContent = usual(estimate); });
    const at = this.presets.findIndex(({ name }) => name === this.depth()), chosen = estimates[at];
    this.estimate.textContent = chosen ? range(chosen) : "";
  }

  /** What differs from the server's choice. The model picker sets all roles. @param {unknown} [name] a depth @returns {Record<string, unknown>} */
  chosen(name = this.depth()) {
    /** @type {Record<string, unknown>} */
    const chosen = { timezone: this.zone, ...this.presets.find((preset) => preset.name === name)?.options };
    for (const field of this.fields) {
      const value = valueOf(field);
      if (value !== undefined) chosen[field.name] = value;
    }
    const collections = this.collections.chosen();
    if (collections.length) chosen.collections = collections;
    const model = chosen.research_model;
    if (model) for (const role of ROLES) chosen[role] ??= model;
    return chosen;
  }

  /** @param {Event} event */
  async ask(event) {
    event.preventDefault();
    const question = this.box.value.trim();
    if (!question || this.start.disabled) return;
    this.start.disabled = true;
    try {
      const begun = await this.documents.send();
      if (begun) await api.reply(begun, question, this.key, this.chosen());
      const thread = begun || (await api.ask(question, this.chosen(), this.key)).thread.id;
      // What is typed since is the next question.
      if (this.box.value.trim() === question) forget(this.box);
      this.page.asked(thread, this.element.isConnected);
    } catch (error) {
      const isGone = error instanceof api.Problem && error.status === 422 && await this.collections.areGone();
      this.page.failed(isGone ? new Error(word("collectionGone")) : error);
      if (!(error instanceof api.Problem) || error.status !== 404) return;
      this.key = api.newKey();
      this.documents.begin();
    } finally { this.start.disabled = false; }
  }
}

/** @param {Preset} preset @param {unknown} byDefault the server's effort */
function depth({ name, expected: { model_calls, tokens, minutes } }, byDefault) {
  const expected = word("expected", { calls: count(model_calls), tokens: count(tokens), minutes: count(minutes) });
  return el("label", { class: "depth" },
    el("input", { type: "radio", name: "depth", value: name, checked: name === byDefault }),
    el("strong", {}, named(name)), el("span", { class: "dim" }, expected));
}

/** What a depth is expected to take. @param {Estimate} estimate */
function usual({ model_calls, input_tokens, output_tokens, minutes, cost_usd }) {
  const tokens = count(input_tokens.expected + output_tokens.expected);
  const expected = word("expected", { calls: count(model_calls.expected), tokens, minutes: count(Math.max(1, Math.round(minutes.expected))) });
  return cost_usd ? `${expected} · ${cost_usd.high ? word("money", { money: money(cost_usd.expected) }) : word("free")}` : expected;
}

/** From small to large, what that rests on, and which limit ends it. @param {Estimate} estimate */
function range({ basis, model_calls, minutes, cost_usd, limited_by }) {
  const between = (/** @type {string} */ low, /** @type {string} */ high) => low === high ? low : `${low}–${high}`;
  const whole = (/** @type {number} */ number) => count(Math.max(1, Math.round(number)));
  const calls = between(count(model_calls.low), count(model_calls.high));
  const parts = [word("range", { calls, minutes: between(whole(minutes.low), whole(minutes.high)) })];
  if (cost_usd?.high) parts.push(between(money(cost_usd.low), money(cost_usd.high)));
  parts.push(basis.from === "runs" ? word("fromRuns", { count: count(basis.runs) }) : word("fromPreset"));
  if (limited_by) parts.push(word(model_calls.high ? "endedBy" : "nothingLeft", { option: limited_by.option }));
  return parts.join(" · ");
}

/** @param {string} name @param {OptionSchema} schema @param {unknown} byDefault @returns {Field} */
function field(name, schema, byDefault) {
  const none = el("option", { value: "" }, word("serverDefault", { value: inWords(byDefault) }));
  const choices = schema.enum?.filter((choice) => choice !== null) ?? (schema.type === "boolean" ? ["true", "false"] : null);
  const id = `option-${name}`;
  const known = listed(schema)?.examples;
  if (known) return several(name, schema, byDefault, known);
  if (choices) {
    return { name, schema, byDefault, input: el("select", { id }, none, choices.map((choice) => el("option", { value: choice }, inWords(choice)))) };
  }
  const isNumber = [schema.type].flat().includes("integer") || [schema.type].flat().includes("number");
  const input = el("input", { id, type: isNumber ? "number" : "text", min: schema.minimum, max: schema.maximum, step: [schema.type].flat().includes("number") ? "any" : undefined, placeholder: byDefault ?? "", autocomplete: "off", list: schema.examples && `${id}-known` });
  return { name, schema, byDefault, input };
}

/** What a list of the option holds, where it may be one. @param {OptionSchema} schema */
const listed = (schema) => schema.items ?? schema.oneOf?.find(({ items }) => items)?.items;

/** Several of these names, in the order in which they are picked. @param {string} name @param {OptionSchema} schema @param {unknown} byDefault @param {string[]} names @returns {Field} */
function several(name, schema, byDefault, names) {
  const input = el("input", { id: `option-${name}`, type: "hidden" }), shown = el("span", {});
  /** @type {Set<string>} */
  const picked = new Set();
  const pick = (/** @type {HTMLInputElement} */ box) => {
    if (box.checked) picked.add(box.value);
    else picked.delete(box.value);
    input.value = [...picked].join(",");
    say(shown, [...picked].join(", "));
  };
  const box = (/** @type {string} */ value) => el("input", { type: "checkbox", value, onchange: (/** @type {Event} */ { target }) => { if (target instanceof HTMLInputElement) pick(target); } });
  const list = el("ul", {}, names.map((value) => el("li", {}, el("label", {}, box(value), " ", value))));
  return { name, schema, byDefault, input, picks: el("details", { class: "picks" }, el("summary", {}, shown, el("span", { class: "standard" })), list) };
}

/** @param {unknown} value */
function inWords(value) {
  if (value === null || value === undefined || value === "") return "–";
  return String(value) === "true" ? word("yes") : String(value) === "false" ? word("no") : String(value);
}

/** @param {string} title @param {Field} field @param {boolean} isShort */
function labelled(title, field, isShort) {
  const { minimum, exclusiveMinimum, maximum, description, examples } = field.schema;
  const low = minimum ?? exclusiveMinimum;
  const range = low !== undefined && maximum !== undefined ? word(minimum === undefined ? "above" : "from", { low: exactly(low), high: exactly(maximum) }) : "";
  const known = examples && el("datalist", { id: `${field.input.id}-known` }, examples.map((value) => el("option", { value })));
  const hint = isShort ? "" : [description, range].filter(Boolean).join(" · ");
  if (field.picks) return el("div", { class: "field", role: "group", "aria-label": title }, isShort ? el("span", {}, title) : el("code", {}, title), field.picks, field.input, hint && el("span", { class: "dim" }, hint));
  return el("label", { class: "field" }, isShort ? el("span", {}, title) : el("code", {}, title), field.input, known, hint && el("span", { class: "dim" }, hint));
}

/** @param {Field} field @returns {unknown} undefined for the server's choice */
function valueOf({ input, schema }) {
  const text = input.value.trim();
  if (!text) return undefined;
  if (listed(schema)) return text.split(",");
  if (schema.type === "boolean") return text === "true";
  return input.type === "number" ? Number(text) : text;
}
