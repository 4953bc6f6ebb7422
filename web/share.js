// Links by which anybody may read a thread's reports: made, copied, listed and revoked.
import * as api from "./api.js";
import { copy, dialog, el, fill } from "./dom.js";
import { day, moment, word } from "./words.js";

/** Days that a link may live. */
const DAYS = [7, 30, 365];

/** @param {string} thread @param {(error: unknown) => void} failed */
export function openShares(thread, failed) {
  const choice = el("select", { id: "share-days" }, DAYS.map((n) => el("option", { value: n }, word("days", { n }))), el("option", { value: "" }, word("never")));
  choice.value = "30";
  const made = el("div", { class: "made", role: "status" });
  const list = el("ul", { class: "shares" });
  /** The link whose address is shown. */
  let shown = "";
  const revoke = async (/** @type {string} */ id) => {
    try {
      await api.revokeShare(thread, id);
      if (id === shown) fill(made);
      await load();
    } catch (error) { failed(error); }
  };
  const load = async () => {
    const { data } = await api.shares(thread);
    const valid = data.filter((share) => !share.revoked_at && !(share.expires_at && Date.parse(share.expires_at) < Date.now()));
    fill(list, valid.map((share) => el("li", {}, el("span", {}, described(share)),
      el("button", { type: "button", "aria-label": `${word("revoke")}: ${described(share)}`, onclick: () => revoke(share.id) }, word("revoke")))));
  };
  const create = async (/** @type {Event} */ event) => {
    event.preventDefault();
    // The address of a link is shown once.
    make.disabled = true;
    try {
      const { id, url } = await api.share(thread, Number(choice.value) || null);
      shown = id;
      fill(made, address(new URL(url.slice(1), document.baseURI).href));
      await load();
    } catch (error) { failed(error); } finally { make.disabled = false; }
  };
  const make = el("button", { class: "main" }, word("makeLink"));
  const form = el("form", { onsubmit: create }, el("label", { for: "share-days" }, word("validFor")), choice, make);
  const box = dialog(word("share"), el("div", { class: "share" }, el("p", { class: "dim" }, word("shareHint")), form, made, list));
  load().catch(failed);
  return box;
}

/** The new link, which is shown this once. @param {string} url */
function address(url) {
  const field = el("input", { readonly: true, value: url, "aria-label": word("share"), onfocus: () => field.select() });
  // Where the browser has no clipboard for the page, the address is marked.
  const write = async () => await copy(url) ? fill(button, word("copied")) : field.focus();
  const button = el("button", { type: "button", onclick: write }, word("copyLink"));
  return el("div", {}, field, button);
}

/** @param {import("./types").Share} share */
const described = (share) => word(share.expires_at ? "linkUntil" : "linkForever", { made: moment(share.created_at), date: day(share.expires_at ?? "") });
