// Translations: one catalogue per language. A test finds missing entries.

import en from "../words/en.js";

const STORED = "segue.language";

let catalogue = en;
let plurals = new Intl.PluralRules("en");
export let language = "en";

/** `t("runs", { count: 3 })`; an entry with plural forms is chosen by `count`. */
export function t(name, values = {}) {
  let words = catalogue[name] ?? en[name];
  if (typeof words === "object") words = words[plurals.select(values.count)] ?? words.other;
  return words.replace(/\{(\w+)\}/g, (_, key) => formatValue(values[key]));
}

function formatValue(value) {
  return typeof value === "number" ? value.toLocaleString(language) : (value ?? "");
}

export async function chooseLanguage() {
  const wanted = localStorage.getItem(STORED) ?? navigator.language;
  language = wanted.toLowerCase().startsWith("zh") ? "zh" : "en";
  if (language === "zh") catalogue = (await import("../words/zh.js")).default;
  plurals = new Intl.PluralRules(language);
  const english = navigator.language.startsWith("en") ? navigator.language : "en";
  document.documentElement.lang = language === "zh" ? "zh-Hans" : english;
}

export function changeLanguage(to) {
  localStorage.setItem(STORED, to);
  location.reload();
}
