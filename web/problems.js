// What went wrong, in the reader's words.
import { Problem } from "./api.js";
import { word } from "./words.js";

/** @param {unknown} error @param {string} [absent] what to say where nothing is */
export function inWords(error, absent = word("absent")) {
  if (!(error instanceof Problem)) return word("failedToLoad", { text: error instanceof Error ? error.message : String(error) });
  if (error.status === 0) return word("unreachable");
  if (error.status === 404) return absent;
  return error.code === "queue_full" ? word("tooMany") : word("failedToLoad", { text: error.message });
}
