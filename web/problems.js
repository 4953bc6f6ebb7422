// What went wrong, in the reader's words.
import { Problem } from "./api.js";
import { word } from "./words.js";

/** What a proxy says that stands before the service, by its status: HTTP/2 has no other words for it. @type {Record<number, Parameters<typeof word>[0]>} */
const SAID = { 413: "tooLarge", 429: "tooOften", 502: "away", 503: "away", 504: "away" };

/** @param {unknown} error @param {string} [absent] what to say where nothing is */
export function inWords(error, absent = word("absent")) {
  if (!(error instanceof Problem)) return word("failedToLoad", { text: error instanceof Error ? error.message : String(error) });
  if (error.status === 0) return word("unreachable");
  if (error.status === 404) return absent;
  if (error.code === "unknown" && SAID[error.status]) return word(SAID[error.status]);
  return error.code === "queue_full" ? word("tooMany") : word("failedToLoad", { text: error.message });
}
