// The list of conversations: the newest first, each as the server last told it, and what was not read yet.

import { get, inPath, patch, remove } from "./api.js";
import { live } from "./live.js";

const SEEN = "segue.seen";
const FIRST_PAGE = 60;
const PAGE = 500;
const MOST = 5000;

class Sessions extends EventTarget {
  #known = new Map();
  #seen = new Map(Object.entries(JSON.parse(localStorage.getItem(SEEN) ?? "{}")));
  #fresh = localStorage.getItem(SEEN) === null;
  state = "loading";

  start() {
    live.addEventListener("session", ({ detail }) => this.#put(detail.key, detail.session));
    let away = false;
    live.addEventListener("state", () => {
      if (live.state === "open" && away) this.load();
      away = live.state !== "open";
    });
    addEventListener("storage", ({ key, newValue }) => {
      if (key !== SEEN || !newValue) return;
      this.#seen = new Map(Object.entries(JSON.parse(newValue)));
      this.#changed();
    });
    this.load();
  }

  /** First as many as a screen shows, then the rest. */
  async load() {
    try {
      const listed = new Set();
      let page = await get(`sessions?limit=${FIRST_PAGE}`);
      this.#take(page.sessions, listed);
      this.state = "open";
      this.#changed();
      while (page.next_cursor && listed.size < MOST) {
        page = await get(`sessions?limit=${PAGE}&cursor=${page.next_cursor}`);
        this.#take(page.sessions, listed);
        this.#changed();
      }
      for (const key of this.#known.keys()) if (!listed.has(key)) this.#known.delete(key);
      this.#fresh = false;
      this.#keepSeen();
    } catch {
      if (this.state === "loading") this.state = "failed";
    }
    this.#changed();
  }

  get all() {
    return [...this.#known.values()].sort((one, other) => place(other).localeCompare(place(one)));
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
      this.#known.set(session.key, session);
      // Who opens the page for the first time has nothing unread.
      if (this.#fresh && session.last_line_at) this.#seen.set(session.key, session.last_line_at);
    }
  }

  #put(key, session) {
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
