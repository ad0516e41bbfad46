// The page's connection to its server.

import { address, get } from "./api.js";
import { Live } from "./live.js";
import { zone } from "./times.js";

export const live = new Live({
  url: address("."),
  zone,
  storage: localStorage,
  // A refused socket does not say why. A request does, and a 401 leads to the login.
  onRefused: () => get("auth/session").catch(() => {}),
});

// Logging in reloads the page.
addEventListener("segue-unauthorized", () => live.close());
