// The list of conversations, newest first, kept up to date by live events, and which of them are unread.

import { get, inPath, patch, remove } from "./api.js";
import { live } from "./connection.js";

const SEEN = "segue.seen";
/** One screen of them. */
export const FIRST = "sessions?limit=30";
const ALL = "sessions?limit=500";
const MOST = 5000;

class Sessions extends EventTarget {
  #known = new Map();
  #seen = new Map(Object.entries(JSON.parse(localStorage.getItem(SEEN) ?? "{}")));
  #firstVisit = localStorage.getItem(SEEN) === null;
  /** Keys that a live event has changed since the list was requested. */
  #updated = new Set();
  /** The user who looks at the page, once it is known. */
  #caller = null;
  state = "loading";

  start() {
    live.addEventListener("session", ({ detail }) => this.#put(detail.key, detail.session));
    // The list was requested before the socket was open, so it may be out of date.
    live.addEventListener("state", () => this.load(), { once: true });
    live.addEventListener("back", () => this.load());
    addEventListener("storage", ({ key, newValue }) => {
      if (key !== SEEN || !newValue) return;
      this.#seen = new Map(Object.entries(JSON.parse(newValue)));
      this.#changed();
    });
    this.load(FIRST);
  }

  /** Loads all sessions, or only the page at the path `only`. */
  async load(only = null) {
    this.#updated.clear();
    try {
      const listed = new Set();
      const before = [...this.#known.keys()];
      for (let path = only ?? ALL; path;) {
        const page = await get(path);
        this.#take(page.sessions, listed);
        this.state = "open";
        this.#changed();
        const more = !only && page.next_cursor && listed.size < MOST;
        path = more ? `${ALL}&cursor=${page.next_cursor}` : null;
      }
      if (only) return;
      this.#caller ??= (await get("auth/session")).user;
      for (const key of before) {
        if (!listed.has(key)) this.#known.delete(key);
      }
      this.#firstVisit = false;
      this.#saveSeen();
    } catch {
      if (this.state === "loading") this.state = "failed";
    }
    this.#changed();
  }

  get all() {
    return [...this.#known.values()].sort(
      (one, other) => (lastUsed(other) > lastUsed(one)) - (lastUsed(other) < lastUsed(one)),
    );
  }

  get(key) {
    return this.#known.get(key);
  }

  /** The owner of a session that belongs to another user, as an operator may see it; else null. */
  otherOwner(session) {
    return session && this.#caller && session.user !== this.#caller ? session.user : null;
  }

  unread(key) {
    const lastLineAt = this.#known.get(key)?.last_line_at;
    return Boolean(lastLineAt) && lastLineAt > (this.#seen.get(key) ?? "");
  }

  markRead(key) {
    if (!this.unread(key)) return;
    this.#seen.set(key, this.#known.get(key).last_line_at);
    this.#saveSeen();
    this.#changed();
  }

  async rename(key, title) {
    this.#put(key, await patch(`sessions/${inPath(key)}`, { title }));
  }

  /** Returns the server's answer: deleted, or blocked by automations. */
  async delete(key, withAutomations) {
    const answer = await remove(
      `sessions/${inPath(key)}${withAutomations ? "?delete_automations=true" : ""}`,
    );
    if (answer.deleted) this.#put(key, null);
    return answer;
  }

  #take(sessions, listed) {
    for (const session of sessions) {
      listed.add(session.key);
      // A live event that arrived after the request is newer.
      if (this.#updated.has(session.key)) continue;
      this.#known.set(session.key, session);
      // A first visit starts with nothing unread.
      if (this.#firstVisit && session.last_line_at) this.#seen.set(session.key, session.last_line_at);
    }
  }

  #put(key, session) {
    this.#updated.add(key);
    if (session) this.#known.set(key, session);
    else if (this.#known.delete(key)) this.dispatchEvent(new CustomEvent("gone", { detail: key }));
    this.#changed();
  }

  #saveSeen() {
    localStorage.setItem(SEEN, JSON.stringify(Object.fromEntries(this.#seen)));
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}

/** A chat rises when something happened in it, by a user or a schedule. */
const lastUsed = (session) => session.last_activity_at;

export const sessions = new Sessions();
