// Which conversation is shown. It stands behind the # of the address, so that a link and Back lead to it.

import { newId } from "./api.js";

export const here = () => decodeURIComponent(location.hash.slice(1)) || null;

export function go(key) {
  location.hash = encodeURIComponent(key ?? "");
}

export const newKey = () => `websocket:${newId()}`;

/** Kept on this device: what was typed and not sent, and how the page was left. */
export const draft = {
  of: (key) => localStorage.getItem(`segue.draft.${key}`) ?? "",
  keep: (key, text) => localStorage[text ? "setItem" : "removeItem"](`segue.draft.${key}`, text),
};
