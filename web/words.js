// The words of the page in the reader's language, which is the only one that is loaded. A further language is a file in
// words/ and its name here.
/** @typedef {typeof import("./words/en.js").default} Words */

const LANGUAGES = ["en", "de", "zh"];

/** The first language of the reader that there are words in. */
export const language = navigator.languages.map((name) => name.split("-")[0]).find((name) => LANGUAGES.includes(name)) ?? "en";

/** @type {Words} */
const words = (await import(`./words/${language}.js`)).default;

/** The same with the reader's country: it decides how dates and numbers are written. */
const locale = navigator.languages.find((name) => name.split("-")[0] === language) ?? language;

/** @param {keyof Words} name @param {Record<string, unknown>} [values] */
export function word(name, values = {}) {
  return words[name].replace(/\{(\w+)\}/g, (_, key) => String(values[key] ?? ""));
}

/** A word for a name that the service gave, or the name itself. @param {string} name */
export const named = (name) => name in words ? word(/** @type {keyof Words} */ (name)) : name;

const whole = new Intl.NumberFormat(locale, { notation: "standard" });
const short = new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 });
const dollars = new Intl.NumberFormat(locale, { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol", maximumFractionDigits: 2 });
const cents = new Intl.NumberFormat(locale, { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol", maximumSignificantDigits: 2 });
const parts = new Intl.NumberFormat(locale, { style: "percent" });
const days = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });
/** A day without an hour is the same everywhere. */
const dates = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeZone: "UTC" });
const moments = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat(locale, { timeStyle: "short" });

/** @param {number} n */
export const count = (n) => n < 10_000 ? whole.format(n) : short.format(n);
/** @param {number} n */
export const money = (n) => (n > 0 && n < 0.1 ? cents : dollars).format(n);
/** @param {number} part of 1 */
export const percent = (part) => parts.format(part);
/** @param {number} n every digit of it */
export const exactly = (n) => whole.format(n);
/** @param {string | number | Date} time */
export const day = (time) => isNaN(+new Date(time)) ? String(time) : (/^[\d-]+$/.test(String(time)) ? dates : days).format(new Date(time));
/** @param {string} time */
export const hour = (time) => clock.format(new Date(time));
/** The day and the second. @param {string} time */
export const moment = (time) => moments.format(new Date(time));
/** Hours, minutes and seconds. @param {number} ms */
export function span(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const shown = parts[0] ? parts : parts.slice(1);
  return shown.map((part, i) => i ? String(part).padStart(2, "0") : String(part)).join(":");
}
