// The list of conversations: the newest first, each as the server last told it, and what was not read yet.

import { get, inPath, patch, remove } from "./api.js";
import { live } from "./live.js";

const SEEN = "segue.seen";
/** As many as a screen shows. */
export const FIRST = "sessions?limit=30";
const ALL = "sessions?limit=500";
const MOST = 5000;

class Sessions extends EventTarget {
  #known = new Map();
  #seen = new Map(Object.entries(JSON.parse(localStorage.getItem(SEEN) ?? "{}")));
  #fresh = localStorage.getItem(SEEN) === null;
  #heard = new Set();
  state = "loading";

  start() {
    live.addEventListener("session", ({ detail }) => this.#put(detail.key, detail.session));
    // What was asked for while nobody listened may be old by now.
    live.addEventListener("state", () => this.load(), { once: true });
    live.addEventListener("back", () => this.load());
    addEventListener("storage", ({ key, newValue }) => {
      if (key !== SEEN || !newValue) return;
      this.#seen = new Map(Object.entries(JSON.parse(newValue)));
      this.#changed();
    });
    this.load(FIRST);
  }

  /** All of them, or only these. */
  async load(only = null) {
    this.#heard.clear();
    try {
      const listed = new Set();
      const before = [...this.#known.keys()];
      for (let path = only ?? ALL; path; ) {
        const page = await get(path);
        this.#take(page.sessions, listed);
        this.state = "open";
        this.#changed();
        path = !only && page.next_cursor && listed.size < MOST && `${ALL}&cursor=${page.next_cursor}`;
      }
      if (only) return;
      for (const key of before) if (!listed.has(key)) this.#known.delete(key);
      this.#fresh = false;
      this.#keepSeen();
    } catch {
      if (this.state === "loading") this.state = "failed";
    }
    this.#changed();
  }

  get all() {
    return [...this.#known.values()].sort((one, other) => (place(other) > place(one)) - (place(other) < place(one)));
  }

  get(key) {
    return this.#known.get(key);
  }

  unread(key) {
    const said = this.#known.get(key)?.last_line_at;
    return Boolean(said) && said > (this.#seen.get(key) ?? "");
  }

  see(key) {
    if (!this.unread(key)) return;
    this.#seen.set(key, this.#known.get(key).last_line_at);
    this.#keepSeen();
    this.#changed();
  }

  async rename(key, title) {
    this.#put(key, await patch(`sessions/${inPath(key)}`, { title }));
  }

  /** The answer: deleted, or blocked by automations. */
  async delete(key, withAutomations) {
    const answer = await remove(`sessions/${inPath(key)}${withAutomations ? "?delete_automations=true" : ""}`);
    if (answer.deleted) this.#put(key, null);
    return answer;
  }

  #take(sessions, listed) {
    for (const session of sessions) {
      listed.add(session.key);
      // What was heard meanwhile is newer.
      if (this.#heard.has(session.key)) continue;
      this.#known.set(session.key, session);
      // Who opens the page for the first time has nothing unread.
      if (this.#fresh && session.last_line_at) this.#seen.set(session.key, session.last_line_at);
    }
  }

  #put(key, session) {
    this.#heard.add(key);
    if (session) this.#known.set(key, session);
    else if (this.#known.delete(key)) this.dispatchEvent(new CustomEvent("gone", { detail: key }));
    this.#changed();
  }

  #keepSeen() {
    localStorage.setItem(SEEN, JSON.stringify(Object.fromEntries(this.#seen)));
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}

const place = (session) => session.last_message_at ?? session.created_at;

export const sessions = new Sessions();
