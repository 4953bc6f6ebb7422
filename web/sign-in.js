// Where the service asks for keys: a key is exchanged for a session's cookie, and not kept.
import * as api from "./api.js";
import { el, say } from "./dom.js";
import { inWords } from "./problems.js";
import { leave } from "./session.js";
import { word } from "./words.js";

export class SignInView {
  /** @param {() => void} done @param {string} login where a browser may sign in without a key; empty: nowhere */
  constructor(done, login) {
    this.done = done;
    this.key = el("input", { id: "key", type: "password", required: true, autocomplete: "current-password", "aria-describedby": "key-hint" });
    this.problem = el("p", { class: "problem", role: "alert", hidden: true });
    this.send = el("button", { class: "main" }, word("signIn"));
    this.element = el("form", { class: "sign-in", onsubmit: (/** @type {Event} */ event) => this.submit(event) },
      el("p", { class: "brand" }, "Fathom"), el("h1", {}, word("signIn")), login && el("a", { class: "new", href: login, onclick: leave }, word("signInThrough")), el("label", { for: "key" }, word("key")), this.key,
      el("p", { id: "key-hint", class: "dim" }, word("keyHint")), this.problem, this.send);
  }

  /** @param {Event} event */
  async submit(event) {
    event.preventDefault();
    this.send.disabled = true;
    this.problem.hidden = true;
    try {
      await api.signIn(this.key.value.trim());
      this.done();
    } catch (error) {
      say(this.problem, error instanceof api.Problem && error.status === 422 ? word("keyRefused") : inWords(error));
      this.problem.hidden = false;
      this.send.disabled = false;
      this.key.select();
    }
  }
}
