// Elements. Text goes in as text, always; the only HTML that is parsed is what the server has rendered (see `rendered`).

import { word } from "./words.js";

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * An element with attributes, properties that begin with `on` as listeners, and children.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown>} [given]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, given = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (name === "value" || name === "checked") Object.assign(element, { [name]: value });
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
  return element;
}

/** @param {(Child | Child[])[]} children @returns {(Node | string)[]} */
function nodes(children) {
  return children.flat().filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => child instanceof Node ? child : String(child));
}

/** Replaces the children of an element. @param {Element} element @param {...(Child | Child[])} children */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/** The same, where the focus stays on what has the same `data-focus`. @param {Element} element @param {...(Child | Child[])} children */
export function refill(element, ...children) {
  const focused = document.activeElement instanceof HTMLElement && element.contains(document.activeElement) && document.activeElement.dataset.focus;
  fill(element, ...children);
  if (focused) /** @type {HTMLElement | null} */ (element.querySelector(`[data-focus="${CSS.escape(focused)}"]`))?.focus();
}

/** Sets a text only when it differs, so that nothing is laid out or read aloud again. @param {Element} element @param {string} text */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Puts HTML into an element that this service has rendered and cleaned. What it begins with already stays as it is, with what
 * is marked in it and where one reads.
 * @param {Element} element @param {string} html @param {(content: DocumentFragment) => void} prepare
 */
export function rendered(element, html, prepare) {
  const template = document.createElement("template");
  template.innerHTML = html;
  prepare(template.content);
  const old = [...element.childNodes], fresh = [...template.content.childNodes];
  const first = fresh.findIndex((node, i) => !old[i]?.isEqualNode(node)), same = first < 0 ? fresh.length : first;
  old.slice(same).forEach((node) => node.remove());
  element.append(...fresh.slice(same));
}

/** A link to a place outside, or its text where it is none. @param {string} url @param {string} text */
export function outward(url, text) {
  if (!/^https?:\/\//i.test(url)) return el("span", {}, text);
  return el("a", { href: url, rel: "noopener noreferrer nofollow", target: "_blank" }, text);
}

/** Asks the browser to keep a text as a file. @param {string} name @param {string} type @param {string} text */
export function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Copies a text, which a browser does over plain HTTP only with what is marked. Is it copied? @param {string} text */
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text).then(() => true, () => false);
  const had = /** @type {HTMLElement | null} */ (document.activeElement), box = el("textarea", { class: "unseen", value: text });
  (had?.closest("dialog") ?? document.body).append(box);
  box.select();
  const isCopied = document.execCommand("copy");
  box.remove();
  had?.focus();
  return isCopied;
}

/** A button that copies, and says so; where the browser does not let it, nothing happens. @param {"copy" | "copyLink"} name @param {() => string | Promise<string>} text @param {(error: unknown) => void} [failed] */
export function copyButton(name, text, failed = () => {}) {
  const button = el("button", { type: "button", onclick: async () => {
    try { if (!await copy(await text())) return; } catch (error) { return failed(error); }
    say(button, word("copied"));
    setTimeout(() => say(button, word(name)), 2_000);
  } }, word(name));
  return button;
}

/** A modal dialog that is gone when it is closed. @param {string} title @param {...Child} children */
export function dialog(title, ...children) {
  const id = `d${Math.random().toString(36).slice(2)}`;
  const close = el("button", { type: "button", class: "quiet close", "aria-label": word("close") }, "×");
  const box = el("dialog", { "aria-labelledby": id }, el("header", {}, el("h2", { id }, title), close), ...children);
  close.addEventListener("click", () => box.close());
  box.addEventListener("close", () => { document.body.append(...box.querySelectorAll("#notices")); box.remove(); });
  box.addEventListener("click", (event) => event.target === box && box.close());
  document.body.append(box);
  box.showModal();
  return box;
}

/** Closes what was opened from a view that is left. */
export const closeDialogs = () => document.querySelectorAll("dialog").forEach((box) => box.close());

/** Asks for another name of something. @param {string} label @param {string} name @param {(name: string) => void} renamed */
export function rename(label, name, renamed) {
  const input = el("input", { value: name, maxlength: "200", required: true, autofocus: true, "aria-label": label, dir: "auto" });
  const given = () => { const other = input.value.trim(); if (other) renamed(other); };
  dialog(word("rename"), el("form", { method: "dialog", class: "reply", onsubmit: given }, input, el("button", { class: "main" }, word("save"))));
  input.select();
}

/** Not the Enter that ends what an input method composes; in Safari only its code tells. @param {KeyboardEvent} event */
export const isEnter = (event) => event.key === "Enter" && !event.isComposing && event.keyCode !== 229;

/** Enter sends, with Shift it begins a line; not while an input method composes. @param {KeyboardEvent} event */
export function sendOnEnter(event) {
  if (event.shiftKey || !isEnter(event)) return;
  event.preventDefault();
  /** @type {HTMLTextAreaElement} */ (event.currentTarget).form?.requestSubmit();
}
