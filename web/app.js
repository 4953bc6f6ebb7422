// The page: which view is shown, and what all views share. Addresses: #/ asks, #/t/ID is a thread, /r/RUN a run in it,
// /r/RUN/s/N a source of that run, /e/SEQ an event.
import { Problem } from "./api.js";
import { AskView } from "./ask.js";
import { el, fill, say } from "./dom.js";
import { ThreadList } from "./list.js";
import { SignInView } from "./sign-in.js";
import { ThreadView } from "./thread.js";
import { language, word } from "./words.js";

const place = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const main = place("main"), side = place("side"), menu = place("menu"), notices = place("notices"), spoken = place("spoken");

/** @type {ThreadView | null} */
let open = null;

document.documentElement.lang = language;
for (const element of document.querySelectorAll("[data-word]")) say(element, word(/** @type {"skip"} */ (element.getAttribute("data-word"))));
side.setAttribute("aria-label", word("threads"));

/** Says something for a while, with something that can be done about it. @param {string} text @param {[string, () => void]} [action] @param {number} [ms] */
function notice(text, action, ms = 8_000) {
  const box = el("p", { dir: "auto" }, text);
  if (action) box.append(" ", el("button", { type: "button", onclick: () => { action[1](); box.remove(); } }, action[0]));
  notices.append(box);
  setTimeout(() => box.remove(), ms);
}

/** @param {unknown} error */
function failed(error) {
  if (error instanceof Problem && error.status === 401) return void signIn(error.login);
  const text = error instanceof Problem && error.code === "queue_full" ? word("tooMany") : error instanceof Error ? error.message : String(error);
  notice(error instanceof Problem && error.status === 404 ? word("notFound") : word("failedToLoad", { text }));
}

/** The page begins again once somebody has signed in: whatever was shown is another's. @param {string} login where a browser may sign in without a key; empty: nowhere */
function signIn(login) {
  if (main.querySelector(".sign-in")) return;
  open?.close();
  open = null;
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
  const view = open = new ThreadView(id, { failed, speak: (text) => say(spoken, text), changed: () => void list.load() });
  fill(main, view.element);
  try { await view.open(); } catch (error) { failed(error); return; }
  main.focus({ preventScroll: true });
  await view.show(rest);
}

async function ask() {
  const view = new AskView({ failed, asked }, new URLSearchParams(location.search).get("q") ?? "");
  fill(main, view.element);
  await view.open();
}

/** The question in the address has been asked. @param {string} thread */
function asked(thread) {
  history.pushState(null, "", `${location.pathname}#/t/${thread}`);
  void list.load();
  route().catch(failed);
}

/** @param {boolean} isShown */
function showSide(isShown) {
  document.body.dataset.side = isShown ? "open" : "";
  menu.setAttribute("aria-expanded", String(isShown));
}

menu.addEventListener("click", () => showSide(document.body.dataset.side !== "open"));
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

void list.load();
route().catch(failed);
