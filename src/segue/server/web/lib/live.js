// The WebSocket. It reconnects by itself and resumes each session's log after the last event received.
//
// A message stays in an outbox in local storage until the server accepts it. Its id makes a repeat harmless.

import { address, get, newId } from "./api.js";
import { zone } from "./times.js";

const OUTBOX = "segue.outbox.";
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 8000;

class Live extends EventTarget {
  #socket = null;
  #pause = FIRST_PAUSE;
  #followed = new Map();
  #held = new Set();
  #retry = 0;
  #unauthorized = false;
  state = "connecting";

  start() {
    addEventListener("online", () => this.#reconnectNow());
    addEventListener("offline", () => this.#socket?.close());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.#reconnectNow();
    });
    // Stop reconnecting; logging in reloads the page.
    addEventListener("segue-unauthorized", () => (this.#unauthorized = true));
    this.#connect();
  }

  /** Holds a session's messages back until it is followed, or the start of the answer would be missed. */
  hold(key) {
    this.#held.add(key);
  }

  /** Calls `onEvent` once, in order, for each event of the session with a number above `after`. */
  follow(key, after, onEvent) {
    this.#followed.set(key, { after, onEvent });
    this.#send({ type: "subscribe", session: key, after });
    this.#release(key);
  }

  unfollow(key) {
    this.#followed.delete(key);
    this.#send({ type: "unsubscribe", session: key });
    this.#release(key);
  }

  #release(key) {
    if (this.#held.delete(key)) this.outbox(key).forEach((message) => this.#deliver(message));
  }

  send(session, content) {
    const message = { id: newId(), session, content, at: new Date().toISOString() };
    localStorage.setItem(OUTBOX + message.id, JSON.stringify(message));
    this.#emit("outbox");
    this.#deliver(message);
  }

  stop(session) {
    this.#send({ type: "stop", session });
  }

  /** Messages that the server has not accepted yet, oldest first. */
  outbox(session = null) {
    return Object.keys(localStorage)
      .filter((name) => name.startsWith(OUTBOX))
      .map((name) => JSON.parse(localStorage.getItem(name)))
      .filter((message) => session === null || message.session === session)
      .sort((one, other) => one.at.localeCompare(other.at));
  }

  #connect() {
    clearTimeout(this.#retry);
    if (this.#unauthorized) return;
    const url = address("ws");
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url);
    this.#socket = socket;
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.#pause = FIRST_PAUSE;
      this.#send({ type: "subscribe", session: "*" });
      for (const [session, { after }] of this.#followed) {
        this.#send({ type: "subscribe", session, after });
      }
      this.outbox().forEach((message) => this.#deliver(message));
      const reconnected = this.state === "closed";
      this.#setState("open");
      if (reconnected) this.#emit("back");
    };
    socket.onmessage = ({ data }) => this.#receive(JSON.parse(data));
    socket.onclose = () => {
      if (socket !== this.#socket) return;
      // A refused socket does not say why. A request does, and a 401 leads to the login.
      if (!opened) get("auth/session").catch(() => {});
      this.#setState("closed");
      this.#retry = setTimeout(() => this.#connect(), this.#pause * (0.7 + Math.random() * 0.6));
      this.#pause = Math.min(LONGEST_PAUSE, this.#pause * 2);
    };
  }

  #reconnectNow() {
    if (this.#socket?.readyState < WebSocket.CLOSING) return;
    this.#pause = FIRST_PAUSE;
    this.#connect();
  }

  #receive(event) {
    if (event.type === "accepted") return this.#accepted(event);
    if (event.type === "error") return this.#refused(event);
    const followed = this.#followed.get(event.session);
    // A delta is not in the log: it repeats the number of the last event that is.
    const isDelta = event.type === "stream_delta" || event.type === "thinking_delta";
    if (event.type === "session_sync") this.#emit("session", { key: event.session, session: event.object });
    if (!followed || event.summary || (!isDelta && event.seq <= followed.after)) return;
    if (!isDelta) followed.after = event.seq;
    followed.onEvent(event);
  }

  /** Sends the browser's zone too, for a session that has none. */
  #deliver({ id, session, content }) {
    if (this.#held.has(session)) return;
    this.#send({ type: "message", session, content, id, timezone: zone });
  }

  #accepted(event) {
    localStorage.removeItem(OUTBOX + event.id);
    this.#emit("accepted", event);
    this.#emit("outbox");
  }

  #refused(event) {
    const stored = event.id && localStorage.getItem(OUTBOX + event.id);
    localStorage.removeItem(OUTBOX + event.id);
    this.#emit("refused", { ...event, message: stored ? JSON.parse(stored) : null });
    this.#emit("outbox");
  }

  #send(request) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(request));
  }

  #setState(state) {
    this.state = state;
    this.#emit("state");
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

export const live = new Live();
