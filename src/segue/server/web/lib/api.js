// The server's routes. Addresses are relative to the page, which may be mounted anywhere.

import { t } from "./words.js";

const { early } = window;
export const address = (path) => new URL(path, document.baseURI);
export const inPath = encodeURIComponent;

/** What the server refused, or that it could not be reached (status 0). */
export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

async function call(method, path, body, headers = {}) {
  // What is taken away is taken away also when the page is closed meanwhile.
  const asked = { method, headers, keepalive: method === "DELETE" };
  if (body !== undefined) {
    asked.body = JSON.stringify(body);
    headers["Content-Type"] = "application/json";
  }
  // Whoever is first gets what was asked for before this script was here.
  const begun = method === "GET" && early.get(path);
  early.delete(path);
  const answer = await (begun || fetch(path, asked)).catch(() => {
    throw new Problem(0, t("unreachable"));
  });
  if (answer.ok) return answer.status === 204 ? null : answer.json();
  const said = await answer.json().catch(() => ({}));
  if (answer.status === 401) dispatchEvent(new Event("segue-unauthorized"));
  throw new Problem(answer.status, said.detail ?? answer.statusText);
}

export const get = (path) => call("GET", path);
export const patch = (path, body) => call("PATCH", path, body);
export const remove = (path) => call("DELETE", path);
/** A repeat of a request that got lost is the same request. */
export const post = (path, body, once = newId()) => call("POST", path, body, { "Idempotency-Key": once });

/** Null where the server has no such thing. */
export const maybe = (path) =>
  get(path).catch((problem) => {
    if (problem.status === 404) return null;
    throw problem;
  });

export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
