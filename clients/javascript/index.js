// Client of a Segue server. `live.js` is the file that Segue's own page uses; `npm pack` puts it here.

import { Live, newId } from "./live.js";

export { Live, newId };

/** The text of a turn with a `stream_delta` put in its place. Offsets count characters, not UTF-16 units. */
export const withDelta = (text, delta) => [...text].slice(0, delta.offset).join("") + delta.text;

const VERSION = "0.1";
/** The versions of the server that this package understands begin with this. */

/** The server refused a request (`status`, `code`), or could not be reached (status 0). */
export class SegueError extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.name = "SegueError";
    this.status = status;
    this.code = code;
  }
}

export class Segue {
  #url;
  #key;
  #connect;

  constructor({ url, key, connect }) {
    this.#url = String(url).replace(/\/*$/, "/");
    this.#key = key;
    this.#connect = connect;
  }

  /** A connection for live events. Call its `start`. */
  live(options = {}) {
    return new Live({ url: this.#url, connect: this.#connect, ...options });
  }

  /** Any request of the HTTP API. A POST is sent with an idempotency key, so it may be repeated. */
  async request(method, path, body, idempotencyKey = newId()) {
    return (await this.#fetch(method, path, body, idempotencyKey)).json().catch(() => null);
  }

  async #fetch(method, path, body, idempotencyKey) {
    const headers = {};
    if (this.#key) headers.Authorization = `Bearer ${this.#key}`;
    if (method === "POST") headers["Idempotency-Key"] = idempotencyKey;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const options = { method, headers, body: body === undefined ? undefined : JSON.stringify(body) };
    const response = await fetch(new URL(path.replace(/^\//, ""), this.#url), options).catch((error) => {
      throw new SegueError(0, "server_unreachable", `${this.#url} did not answer: ${error.message}`);
    });
    this.#checkVersion(response);
    if (response.ok) return response;
    const answer = await response.json().catch(() => null);
    throw new SegueError(response.status, answer?.code ?? "error", answer?.detail ?? response.statusText);
  }

  /** Sends a message. With `wait`, answers when its turn has ended or after so many seconds. */
  send(session, content, { wait } = {}) {
    const query = wait === undefined ? "" : `?wait=${wait}`;
    return this.request("POST", `sessions/${encodeURIComponent(session)}/turns${query}`, { content });
  }

  async messages(session, { after = 0 } = {}) {
    const path = `sessions/${encodeURIComponent(session)}/messages?after=${after}`;
    return (await this.request("GET", path)).messages;
  }

  /** Messages that have all words of the query, newest first, of one session or of all. */
  async search(query, { session, limit = 20 } = {}) {
    const params = new URLSearchParams({ query, limit, ...(session === undefined ? {} : { session }) });
    return (await this.request("GET", `messages/search?${params}`)).messages;
  }

  /** The whole conversation as one text: `markdown` to read, `json` with a line for each message. */
  async export(session, { format = "markdown" } = {}) {
    const path = `sessions/${encodeURIComponent(session)}/export?format=${encodeURIComponent(format)}`;
    return (await this.#fetch("GET", path)).text();
  }

  /** Changes fields of a session: `update(session, { title, timezone, days, budget })`. Null clears one. */
  update(session, changes) {
    return this.request("PATCH", `sessions/${encodeURIComponent(session)}`, changes);
  }

  /** What the session and its jobs have left of their budgets. */
  budget(session) {
    return this.request("GET", `sessions/${encodeURIComponent(session)}/budget`);
  }

  /** Gives the budget of the session, or of one of its jobs, as much again until its period ends. */
  raiseBudget(session, { job } = {}) {
    const body = job === undefined ? {} : { job_id: job };
    return this.request("POST", `sessions/${encodeURIComponent(session)}/budget/raise`, body);
  }

  /** Marks the messages up to a number as read. Answers how many are unread. */
  async markRead(session, seq) {
    return (await this.request("POST", `sessions/${encodeURIComponent(session)}/read`, { seq })).unread;
  }

  /** Schedules a question to the agent: `schedule(session, "every weekday at 9", "What is new?")`. */
  schedule(session, schedule, message, more = {}) {
    const body = { schedule, message, ...more };
    return this.request("POST", `sessions/${encodeURIComponent(session)}/automations`, body);
  }

  #checkVersion(response) {
    const found = response.headers.get("X-Segue-Version");
    // A page of another origin sees the header only if the server exposes it.
    if (found === null || found.startsWith(`${VERSION}.`)) return;
    const detail = `this client is of Segue ${VERSION} and ${this.#url} runs ${found}: install @segue/client@${found}`;
    throw new SegueError(response.status, "wrong_server", detail);
  }
}
