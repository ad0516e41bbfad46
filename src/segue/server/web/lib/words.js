// Translations: one catalogue per language, chosen by the browser. A test finds missing entries.

import en from "../words/en.js";

const STORED = "segue.language";
/** The languages of the page, each called by its own name. */
export const LANGUAGES = { en: "English", de: "Deutsch", zh: "中文" };

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

/** The first language of the browser that the page has, unless another one was chosen. */
export async function chooseLanguage() {
  const wanted = [localStorage.getItem(STORED) ?? [], navigator.languages].flat();
  const short = (tag) => tag.toLowerCase().split("-")[0];
  language = wanted.map(short).find((each) => each in LANGUAGES) ?? "en";
  if (language === "zh") catalogue = (await import("../words/zh.js")).default;
  if (language === "de") catalogue = (await import("../words/de.js")).default;
  plurals = new Intl.PluralRules(language);
  const tag = wanted.find((each) => short(each) === language) ?? "en";
  document.documentElement.lang = language === "zh" ? "zh-Hans" : tag;
}

export function changeLanguage(to) {
  localStorage.setItem(STORED, to);
  location.reload();
}
