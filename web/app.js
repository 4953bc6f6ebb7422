// The page: which view is shown, and what all views share. Addresses: #/ asks, #/t/ID is a thread, /r/RUN a run in it,
// /r/RUN/s/N a source of that run, /e/SEQ an event.
import { onSilence, Problem } from "./api.js";
import { AskView } from "./ask.js";
import { el, fill, say } from "./dom.js";
import { ThreadList } from "./list.js";
import { inWords } from "./problems.js";
import { comeBack, watch } from "./session.js";
import { language, word } from "./words.js";

const place = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const main = place("main"), side = place("side"), menu = place("menu"), notices = place("notices"), spoken = place("spoken");

/** The least time between two things that are read aloud, in ms. */
const PAUSE = 2_000;

/** @type {import("./thread.js").ThreadView | null} */
let open = null;

/** The question that is not asked yet, with its files and choices, whatever is looked at. @type {AskView | null} */
let question = null;

document.documentElement.lang = language;
for (const element of document.querySelectorAll("[data-word]")) say(element, word(/** @type {"skip"} */ (element.getAttribute("data-word"))));
side.setAttribute("aria-label", word("threads"));

/** Says something for a while, with something that can be done about it. @param {string} text @param {[string, () => void]} [action] @param {number} [ms] */
function notice(text, action, ms = 8_000) {
  const box = el("p", { dir: "auto" }, text);
  const end = () => { const isHere = box.contains(document.activeElement); box.remove(); if (isHere) main.focus({ preventScroll: true }); };
  const button = action && el("button", { type: "button", onclick: () => { end(); action[1](); } }, action[0]);
  box.append(" ", button ?? "");
  // Below an open dialog it would be neither seen nor read aloud.
  ([...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body).append(notices);
  notices.append(box);
  // What asked for it may be gone from the page, and the keyboard has little time to come here.
  button?.focus({ preventScroll: true });
  setTimeout(end, ms);
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let speaking;
let unspoken = "";

/** Says something to those who listen, the newest only when much happens at once. @param {string} text */
function speak(text) {
  unspoken = text;
  speaking ??= setTimeout(() => { speaking = undefined; say(spoken, unspoken); }, PAUSE);
}

/** @param {unknown} error */
function failed(error) {
  if (error instanceof Problem && error.status === 401) return void signIn(error.login).catch(failed);
  notice(inWords(error));
}

/** A view that cannot be shown leaves a way on. @param {unknown} error */
function nothing(error) {
  if (error instanceof Problem && error.status === 401) return failed(error);
  open?.close();
  open = null;
  document.title = "Fathom";
  const again = el("button", { type: "button", class: "main", onclick: () => route().catch(failed) }, word("tryAgain"));
  fill(main, el("div", { class: "sign-in" }, el("p", { role: "alert", dir: "auto" }, inWords(error, word("notFound"))), again));
}

/** The page begins again once somebody has signed in: whatever was shown is another's. @param {string} login where a browser may sign in without a key; empty: nowhere */
async function signIn(login) {
  const { SignInView } = await import("./sign-in.js");
  if (main.querySelector(".sign-in .brand")) return;
  open?.close();
  open = null;
  document.title = "Fathom";
  fill(side);
  fill(main, new SignInView(() => location.reload(), login).element);
  main.querySelector("input")?.focus();
}

const list = new ThreadList(side, { failed, notice });

async function route() {
  const [, kind = "", id = "", ...rest] = location.hash.split("/");
  showSide(false);
  if (kind === "t" && open?.id === id) return open.show(rest);
  open?.close();
  open = null;
  list.select(kind === "t" ? id : "");
  if (kind !== "t") return ask();
  const { ThreadView } = await threads();
  if (location.hash.split("/")[2] !== id || open) return;
  const view = open = new ThreadView(id, { failed, nothing, speak, changed: () => void list.load() });
  fill(main, view.element);
  try { await view.open(); } catch (error) { if (open === view) nothing(error); return; }
  if (open !== view) return;
  // Who types already stays where they are.
  if (!document.activeElement?.matches("input, textarea")) main.focus({ preventScroll: true });
  await view.show(rest);
}

/** What shows threads is not needed to ask, and comes by itself. */
const threads = () => import("./thread.js");

async function ask() {
  const given = new URLSearchParams(location.search).get("q") ?? "";
  // Once it is in the box, it is the reader's.
  if (given) history.replaceState(null, "", location.pathname + location.hash);
  const view = question ??= new AskView({ failed, asked });
  if (given) view.write(given);
  fill(main, view.element);
  try { await view.open(); } catch (error) { if (view.element.isConnected) nothing(error); }
  void threads();
}

/** The question has been asked. @param {string} thread @param {boolean} isHere who asked still looks at it */
function asked(thread, isHere) {
  question = null;
  void list.load();
  if (!isHere) return;
  history.pushState(null, "", `${location.pathname}#/t/${thread}`);
  route().catch(failed);
}

/** @param {boolean} isShown */
function showSide(isShown) {
  document.body.dataset.side = isShown ? "open" : "";
  menu.setAttribute("aria-expanded", String(isShown));
}

menu.addEventListener("click", () => showSide(document.body.dataset.side !== "open"));
// What follows "#" is the place of a view, which stays: it says what is shown.
document.querySelector(".skip")?.addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
addEventListener("hashchange", () => route().catch(failed));
addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    showSide(true);
    list.search.focus();
  }
  if (event.key === "Escape" && document.body.dataset.side === "open") { showSide(false); menu.focus(); }
});
main.addEventListener("click", () => document.body.dataset.side === "open" && showSide(false));

comeBack();
onSilence(() => notice(word("silence"), undefined, 20_000));
watch(failed);
void list.load();
route().catch(failed);
