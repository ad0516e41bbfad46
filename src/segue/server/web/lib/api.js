// HTTP client. Addresses are relative to the page, which may be mounted anywhere.

import { newId } from "./live.js";
import { t } from "./words.js";

const { early } = window;
export const address = (path) => new URL(path, document.baseURI);
export const inPath = encodeURIComponent;

/** The server refused a request, or could not be reached (status 0). */
export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

async function call(method, path, body, headers = {}) {
  // A DELETE is completed even if the page is closed before the response.
  const options = { method, headers, keepalive: method === "DELETE" };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    headers["Content-Type"] = "application/json";
  }
  // The first GET of a path uses the response that early.js has requested.
  const prefetched = method === "GET" && early.get(path);
  early.delete(path);
  const response = await (prefetched || fetch(path, options)).catch(() => {
    throw new Problem(0, t("unreachable"));
  });
  if (response.ok) return response.status === 204 ? null : response.json();
  const error = await response.json().catch(() => ({}));
  if (response.status === 401) dispatchEvent(new Event("segue-unauthorized"));
  throw new Problem(response.status, error.detail ?? response.statusText);
}

export const get = (path) => call("GET", path);
export const patch = (path, body) => call("PATCH", path, body);
export const remove = (path) => call("DELETE", path);
/** Repeating a request with the same idempotency key has no further effect. */
export const post = (path, body, key = newId()) => call("POST", path, body, { "Idempotency-Key": key });

/** Like `get`, but returns null on 404. */
export const maybe = (path) =>
  get(path).catch((problem) => {
    if (problem.status === 404) return null;
    throw problem;
  });
