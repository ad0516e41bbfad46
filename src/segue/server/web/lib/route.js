// Which conversation is shown: its key is the fragment of the address, so links and Back work. Also drafts.

import { newId } from "./live.js";

export const currentKey = () => decodeURIComponent(location.hash.slice(1)) || null;

export function go(key) {
  location.hash = encodeURIComponent(key ?? "");
}

const created = new Set();

export function newKey() {
  const key = `websocket:${newId()}`;
  created.add(key);
  return key;
}

/** Whether this page made the key, so that the server need not be asked for the conversation. */
export const isNewKey = (key) => created.has(key);
export const markUsed = (key) => created.delete(key);

/** Text that was typed but not sent, stored on this device. */
export const draft = {
  of: (key) => localStorage.getItem(`segue.draft.${key}`) ?? "",
  keep(key, text) {
    if (text) localStorage.setItem(`segue.draft.${key}`, text);
    else localStorage.removeItem(`segue.draft.${key}`);
  },
};
