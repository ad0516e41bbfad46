// The one WebSocket. It comes back by itself, and goes on where each session's log was left.
//
// A message waits in an outbox until the server has accepted it, over reloads too. Its id makes a repeat harmless.

import { address, get, newId } from "./api.js";
import { zone } from "./times.js";

const KEPT = "segue.outbox.";
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 8000;

class Live extends EventTarget {
  #socket = null;
  #pause = FIRST_PAUSE;
  #followed = new Map();
  #held = new Set();
  #retry = 0;
  #barred = false;
  state = "connecting";

  start() {
    addEventListener("online", () => this.#hurry());
    addEventListener("offline", () => this.#socket?.close());
    document.addEventListener("visibilitychange", () => document.hidden || this.#hurry());
    // A login loads a new page.
    addEventListener("segue-unauthorized", () => (this.#barred = true));
    this.#connect();
  }

  /** Hold back what is said in a session until it is followed: its answer would begin unheard. */
  hold(key) {
    this.#held.add(key);
  }

  /** `hear` gets each event of the session after a number, once, in order. */
  follow(key, after, hear) {
    this.#followed.set(key, { after, hear });
    this.#send({ type: "subscribe", session: key, after });
    this.#release(key);
  }

  unfollow(key) {
    this.#followed.delete(key);
    this.#send({ type: "unsubscribe", session: key });
    this.#release(key);
  }

  #release(key) {
    if (this.#held.delete(key)) this.outbox(key).forEach((said) => this.#deliver(said));
  }

  speak(session, content) {
    const said = { id: newId(), session, content, at: new Date().toISOString() };
    localStorage.setItem(KEPT + said.id, JSON.stringify(said));
    this.#tell("outbox");
    this.#deliver(said);
  }

  stop(session) {
    this.#send({ type: "stop", session });
  }

  /** What the server has not accepted yet, oldest first. */
  outbox(session = null) {
    return Object.keys(localStorage)
      .filter((name) => name.startsWith(KEPT))
      .map((name) => JSON.parse(localStorage.getItem(name)))
      .filter((said) => session === null || said.session === session)
      .sort((one, other) => one.at.localeCompare(other.at));
  }

  #connect() {
    clearTimeout(this.#retry);
    if (this.#barred) return;
    const url = address("ws");
    url.protocol = url.protocol.replace("http", "ws");
    const socket = (this.#socket = new WebSocket(url));
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.#pause = FIRST_PAUSE;
      this.#send({ type: "subscribe", session: "*" });
      for (const [session, { after }] of this.#followed) this.#send({ type: "subscribe", session, after });
      this.outbox().forEach((said) => this.#deliver(said));
      const back = this.state === "closed";
      this.#become("open");
      if (back) this.#tell("back");
    };
    socket.onmessage = ({ data }) => this.#hear(JSON.parse(data));
    socket.onclose = () => {
      if (socket !== this.#socket) return;
      // A socket that is refused does not say why; a request does.
      if (!opened) get("auth/session").catch(() => {});
      this.#become("closed");
      this.#retry = setTimeout(() => this.#connect(), this.#pause * (0.7 + Math.random() * 0.6));
      this.#pause = Math.min(LONGEST_PAUSE, this.#pause * 2);
    };
  }

  #hurry() {
    if (this.#socket?.readyState < WebSocket.CLOSING) return;
    this.#pause = FIRST_PAUSE;
    this.#connect();
  }

  #hear(event) {
    if (event.type === "accepted") return this.#accepted(event);
    if (event.type === "error") return this.#refused(event);
    const followed = this.#followed.get(event.session);
    const live = event.type === "stream_delta" || event.type === "thinking_delta";
    if (event.type === "session_sync") this.#tell("session", { key: event.session, session: event.object });
    if (!followed || event.summary || (!live && event.seq <= followed.after)) return;
    if (!live) followed.after = event.seq;
    followed.hear(event);
  }

  /** With the browser's zone, for a session that has none. */
  #deliver({ id, session, content }) {
    if (this.#held.has(session)) return;
    this.#send({ type: "message", session, content, id, timezone: zone });
  }

  #accepted(event) {
    localStorage.removeItem(KEPT + event.id);
    this.#tell("accepted", event);
    this.#tell("outbox");
  }

  #refused(event) {
    const said = event.id && localStorage.getItem(KEPT + event.id);
    localStorage.removeItem(KEPT + event.id);
    this.#tell("refused", { ...event, said: said ? JSON.parse(said) : null });
    this.#tell("outbox");
  }

  #send(asked) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(asked));
  }

  #become(state) {
    this.state = state;
    this.#tell("state");
  }

  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

export const live = new Live();
