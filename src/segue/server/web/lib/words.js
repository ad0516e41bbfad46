// Translations: one catalogue per language, chosen by the browser. A test finds missing entries.

import { words } from "../words/en.js";

const STORED = "segue.language";
/** The languages of the page, each called by its own name. */
export const LANGUAGES = { en: "English", de: "Deutsch", zh: "中文" };

/** early.js has chosen it, and requests its catalogue. */
export const language = document.documentElement.lang.split("-")[0];
const plurals = new Intl.PluralRules(language);
const { words: catalogue } = (await window.early.get("words")) ?? { words };

/** `t("runs", { count: 3 })`; an entry with plural forms is chosen by `count`. */
export function t(name, values = {}) {
  let entry = catalogue[name] ?? words[name];
  if (typeof entry === "object") entry = entry[plurals.select(values.count)] ?? entry.other;
  return entry.replace(/\{(\w+)\}/g, (_, key) => formatValue(values[key]));
}

function formatValue(value) {
  return typeof value === "number" ? value.toLocaleString(language) : (value ?? "");
}

export function changeLanguage(to) {
  localStorage.setItem(STORED, to);
  location.reload();
}
