// The WebSocket. It reconnects by itself and resumes each session's log after the last event received.
//
// A message stays in an outbox until the server accepts it. Its id makes a repeat harmless.
// This file is also the npm package @segue/client (clients/javascript), so it imports nothing of the page.

const OUTBOX = "segue.outbox.";
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 8000;
const OPEN = 1; // states of a WebSocket
const CLOSING = 2;

export class Live extends EventTarget {
  #url;
  #zone;
  #storage;
  #open;
  #onRefused;
  #socket = null;
  #pause = FIRST_PAUSE;
  #followed = new Map();
  #held = new Set();
  #retry = 0;
  #closed = false;
  #visible = null;
  state = "connecting";

  /**
   * `url` is the address of the server, `storage` keeps the outbox (as `localStorage` does), `connect` opens
   * a socket, and `onRefused` is called when one was closed before it opened.
   */
  constructor({ url, zone, storage, connect, onRefused }) {
    super();
    this.#url = new URL("ws", String(url).replace(/\/*$/, "/"));
    this.#url.protocol = this.#url.protocol.replace("http", "ws");
    this.#zone = zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
    this.#storage = storage ?? new MemoryStorage();
    this.#open = connect ?? ((address) => new WebSocket(address));
    this.#onRefused = onRefused ?? (() => {});
  }

  start() {
    if (globalThis.document) {
      addEventListener("online", () => this.#reconnectNow());
      addEventListener("offline", () => this.#socket?.close());
      document.addEventListener("visibilitychange", () => {
        if (!document.hidden) this.#reconnectNow();
      });
    }
    this.#connect();
  }

  /** Connects no more. */
  close() {
    this.#closed = true;
    clearTimeout(this.#retry);
    this.#socket?.close();
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

  /** `more` may have `parts`, files of the session, `replaces`, the id of a turn, and `reply_to`, of a message. */
  send(session, content, more = {}) {
    const message = { ...more, id: newId(), session, content, at: new Date().toISOString() };
    this.#storage.setItem(OUTBOX + message.id, JSON.stringify(message));
    this.#emit("outbox");
    this.#deliver(message);
    return message.id;
  }

  stop(session) {
    this.#send({ type: "stop", session });
  }

  /** Says whether the page is visible on a device that has a push subscription: then it is not notified. */
  visible(device, visible) {
    this.#visible = { type: "visible", device, visible };
    this.#send(this.#visible);
  }

  /** Messages that the server has not accepted yet, oldest first. */
  outbox(session = null) {
    return Array.from({ length: this.#storage.length }, (_, index) => this.#storage.key(index))
      .filter((name) => name.startsWith(OUTBOX))
      .map((name) => JSON.parse(this.#storage.getItem(name)))
      .filter((message) => session === null || message.session === session)
      .sort((one, other) => one.at.localeCompare(other.at));
  }

  #connect() {
    clearTimeout(this.#retry);
    if (this.#closed) return;
    const socket = this.#open(this.#url);
    this.#socket = socket;
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.#pause = FIRST_PAUSE;
      this.#send({ type: "subscribe", session: "*" });
      for (const [session, { after }] of this.#followed) {
        this.#send({ type: "subscribe", session, after });
      }
      if (this.#visible) this.#send(this.#visible);
      this.outbox().forEach((message) => this.#deliver(message));
      const reconnected = this.state === "closed";
      this.#setState("open");
      if (reconnected) this.#emit("back");
    };
    socket.onmessage = ({ data }) => this.#receive(JSON.parse(data));
    socket.onerror = () => {}; // `onclose` follows; without this, some implementations raise the error
    socket.onclose = () => {
      if (socket !== this.#socket) return;
      this.#setState("closed");
      if (!opened) this.#onRefused();
      if (this.#closed) return;
      this.#retry = setTimeout(() => this.#connect(), this.#pause * (0.7 + Math.random() * 0.6));
      this.#pause = Math.min(LONGEST_PAUSE, this.#pause * 2);
    };
  }

  #reconnectNow() {
    if (this.#socket?.readyState < CLOSING) return;
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

  /** Sends the user's zone too, for a session that has none. */
  #deliver({ at, ...message }) {
    if (this.#held.has(message.session)) return;
    this.#send({ type: "message", timezone: this.#zone, ...message });
  }

  #accepted(event) {
    this.#storage.removeItem(OUTBOX + event.id);
    this.#emit("accepted", event);
    this.#emit("outbox");
  }

  #refused(event) {
    const stored = event.id && this.#storage.getItem(OUTBOX + event.id);
    this.#storage.removeItem(OUTBOX + event.id);
    this.#emit("refused", { ...event, message: stored ? JSON.parse(stored) : null });
    this.#emit("outbox");
  }

  #send(request) {
    if (this.#socket?.readyState === OPEN) this.#socket.send(JSON.stringify(request));
  }

  #setState(state) {
    this.state = state;
    this.#emit("state");
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

class MemoryStorage {
  #items = new Map();
  get length() {
    return this.#items.size;
  }
  key = (index) => [...this.#items.keys()][index];
  getItem = (name) => this.#items.get(name) ?? null;
  setItem = (name, value) => void this.#items.set(name, value);
  removeItem = (name) => void this.#items.delete(name);
}

export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
