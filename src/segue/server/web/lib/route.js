// Which conversation is shown: its key is the fragment of the address, so links and Back work. Also drafts.

import { newId } from "./api.js";

export const currentKey = () => decodeURIComponent(location.hash.slice(1)) || null;

export function go(key) {
  location.hash = encodeURIComponent(key ?? "");
}

export const newKey = () => `websocket:${newId()}`;

/** Text that was typed but not sent, stored on this device. */
export const draft = {
  of: (key) => localStorage.getItem(`segue.draft.${key}`) ?? "",
  keep(key, text) {
    if (text) localStorage.setItem(`segue.draft.${key}`, text);
    else localStorage.removeItem(`segue.draft.${key}`);
  },
};
