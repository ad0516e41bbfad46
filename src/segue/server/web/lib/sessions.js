// The list of conversations, newest first, kept up to date by live events, and which of them are unread.

import { account } from "./account.js";
import { get, inPath, patch, post, remove } from "./api.js";
import { live } from "./connection.js";

/** One screen of them. */
const FIRST = "sessions?limit=30";
const ALL = "sessions?limit=500";
const MOST = 5000;

class Sessions extends EventTarget {
  #known = new Map();
  /** Keys that a live event has changed since the list was requested. */
  #updated = new Set();
  state = "loading";

  start() {
    account.addEventListener("change", () => this.#changed());
    live.addEventListener("session", ({ detail }) => this.#put(detail.key, detail.session));
    // The list was requested before the socket was open, so it may be out of date.
    live.addEventListener("state", () => this.load(), { once: true });
    live.addEventListener("back", () => this.load());
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
      for (const key of before) {
        if (!listed.has(key)) this.#known.delete(key);
      }
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
    return session && account.user && session.user !== account.user ? session.user : null;
  }

  /** Messages of the user's own chats that they have not read, on any device. */
  get unread() {
    return [...this.#known.values()].reduce((sum, session) => sum + this.unreadIn(session), 0);
  }

  unreadIn(session) {
    return this.otherOwner(session) ? 0 : session.unread;
  }

  /** The user sees the end of this chat. If the server cannot be told, the next change tells it. */
  markRead(key) {
    const session = this.#known.get(key);
    if (!session || !this.unreadIn(session)) return;
    this.#known.set(key, { ...session, unread: 0 });
    this.#changed();
    post(`sessions/${inPath(key)}/read`, { seq: session.last_seq }).catch(() => {});
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
    }
  }

  #put(key, session) {
    this.#updated.add(key);
    if (session) this.#known.set(key, session);
    else if (this.#known.delete(key)) this.dispatchEvent(new CustomEvent("gone", { detail: key }));
    this.#changed();
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}

/** A chat rises when something happened in it, by a user or a schedule. */
const lastUsed = (session) => session.last_activity_at;

export const sessions = new Sessions();
