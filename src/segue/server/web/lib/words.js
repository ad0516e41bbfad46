// The page's words: one catalogue a language. A missing word is a fault that a test finds.

import en from "../words/en.js";

const KEPT = "segue.language";

let catalogue = en;
let plurals = new Intl.PluralRules("en");
export let language = "en";

/** `t("runs", { count: 3 })`; an entry with forms is chosen by `count`. */
export function t(name, values = {}) {
  let words = catalogue[name] ?? en[name];
  if (typeof words === "object") words = words[plurals.select(values.count)] ?? words.other;
  const said = (value) => (typeof value === "number" ? value.toLocaleString(language) : value ?? "");
  return words.replace(/\{(\w+)\}/g, (_, key) => said(values[key]));
}

export async function chooseLanguage() {
  const wanted = localStorage.getItem(KEPT) ?? navigator.language;
  language = wanted.toLowerCase().startsWith("zh") ? "zh" : "en";
  if (language === "zh") catalogue = (await import("../words/zh.js")).default;
  plurals = new Intl.PluralRules(language);
  document.documentElement.lang = language === "zh" ? "zh-Hans" : navigator.language.startsWith("en") ? navigator.language : "en";
}

export function changeLanguage(to) {
  localStorage.setItem(KEPT, to);
  location.reload();
}
