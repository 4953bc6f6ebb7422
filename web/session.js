// Whose page this is. A browser has one session for all its tabs, and what one person sees and types is not another's.
import * as api from "./api.js";
/** @import {Session} from "./types" */

/** When it is asked again who is signed in, as long as there was no answer, in ms. */
const AGAIN = 5_000;

const channel = channelOfTabs();
/** Who it was when the page first heard of somebody. @type {Session | undefined} */
let first;
/** @type {(session: Session) => void} */
let begin;
/** Comes once it is known. @type {Promise<Session>} */
export const mine = new Promise((done) => { begin = done; });

/** A browser that keeps nothing for the page may have no channel either. */
function channelOfTabs() {
  try { return new BroadcastChannel("session"); } catch { return null; }
}

/** Something of this tab's storage, which a browser may refuse. @template T @param {(kept: Storage) => T} act @returns {T | undefined} */
function stored(act) {
  try { return act(sessionStorage); } catch { return undefined; }
}

/** Says to the other tabs that somebody has signed in or out. */
export const changed = () => channel?.postMessage("changed");

/** Forgets what was typed. */
export const clear = () => stored((kept) => kept.clear());

/** Keeps which view is shown while the browser is away to sign in: it comes back to the page without it. */
export const leave = () => stored((kept) => kept.setItem("place", location.hash));

/** Goes back to that view, unless another one is asked for. */
export function comeBack() {
  const place = stored((kept) => kept.getItem("place"));
  stored((kept) => kept.removeItem("place"));
  if (place && !location.hash) history.replaceState(null, "", location.pathname + location.search + place);
}

/** Asks who is signed in; for another one the page begins again, and nothing else happens in it. @returns {Promise<void>} */
async function ask() {
  const now = await api.session();
  const isOut = document.querySelector(".sign-in #key");
  if (!first && !isOut) known(now);
  if (now.owner === first?.owner && !isOut) return;
  location.reload();
  return new Promise(() => {});
}

/** @param {Session} session */
function known(session) {
  first = session;
  const before = stored((kept) => kept.getItem("owner"));
  if (before !== session.owner) {
    if (before) clear();
    stored((kept) => kept.setItem("owner", session.owner));
  }
  if (session.authentication !== "none") changed();
  begin(session);
}

/** What asks at the moment. @type {Promise<void> | undefined} */
let asking;

/** Asks again, once at a time. @returns {Promise<void>} */
export function check() {
  if (first?.authentication === "none") return Promise.resolve();
  return asking ??= ask().finally(() => { asking = undefined; });
}

/** Looks whether it is still the same one whenever that may have changed. @param {(error: unknown) => void} out hears that nobody is signed in */
export function watch(out) {
  const look = () => void check().catch((error) => {
    if (error instanceof api.Problem && error.status === 401) out(error);
    else if (!first) setTimeout(look, AGAIN);
  });
  if (channel) channel.onmessage = look;
  addEventListener("focus", look);
  document.addEventListener("visibilitychange", () => document.hidden || look());
  // Nothing is done in another's name meanwhile, and nothing of another's is taken for deleted.
  api.onDoubt((isMissing) => isMissing ? check() : asking);
  look();
}

/** Keeps what is typed into a box in this tab, until it is sent; it is there again for whom it was. @param {HTMLTextAreaElement} box @param {string} name */
export function remember(box, name) {
  const key = box.dataset.draft = `draft-${name}`;
  void mine.then(() => { box.value ||= stored((kept) => kept.getItem(key)) ?? ""; });
  box.addEventListener("input", () => stored((kept) => kept.setItem(key, box.value)));
}

/** @param {HTMLTextAreaElement} box */
export const forget = (box) => stored((kept) => kept.removeItem(box.dataset.draft ?? ""));
