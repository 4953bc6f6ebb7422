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

/** Sets a text only when it differs, so that nothing is laid out or read aloud again. @param {Element} element @param {string} text */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Puts HTML into an element that this service has rendered and cleaned. @param {Element} element @param {string} html */
export function rendered(element, html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  element.replaceChildren(template.content);
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

/** Copies an address; where the browser has no clipboard for the page, nothing happens. @param {() => string} address */
export function copyButton(address) {
  const button = el("button", { type: "button", onclick: async () => {
    try { await navigator.clipboard.writeText(address()); } catch { return; }
    say(button, word("copied"));
    setTimeout(() => say(button, word("copyLink")), 2_000);
  } }, word("copyLink"));
  return button;
}

/** A modal dialog that is gone when it is closed. @param {string} title @param {...Child} children */
export function dialog(title, ...children) {
  const id = `d${Math.random().toString(36).slice(2)}`;
  const close = el("button", { type: "button", class: "quiet close", "aria-label": word("close") }, "×");
  const box = el("dialog", { "aria-labelledby": id }, el("header", {}, el("h2", { id }, title), close), ...children);
  close.addEventListener("click", () => box.close());
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (event) => event.target === box && box.close());
  document.body.append(box);
  box.showModal();
  return box;
}
