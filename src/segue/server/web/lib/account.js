// Who uses the page and which model answers, as the server says.

import { get } from "./api.js";

export const account = new (class extends EventTarget {
  user = null;
  /** Null until the server has answered. */
  role = null;
  /** The name of the model; `offline` for the rules, null if the application has an agent of its own. */
  model = null;

  get isAdmin() {
    return this.role === "admin";
  }

  async load() {
    const loaded = await get("auth/session").catch(() => null);
    if (!loaded) return;
    Object.assign(this, loaded);
    this.dispatchEvent(new Event("change"));
  }
})();
