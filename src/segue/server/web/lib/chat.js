// One conversation that is open: its past from the log, its present from the socket, its future from its jobs.

import { get, inPath, maybe, post } from "./api.js";
import { Fold } from "./fold.js";
import { ghosts } from "./future.js";
import { live } from "./live.js";
import { zone } from "./times.js";

const PAGE = 50;
const RENDER_PAUSE = 250;
const FUTURE_PAUSE = 60;

/** Where the last block begins that may still change: after a blank line, outside code and lists. */
function openFrom(text, from) {
  for (let at = text.lastIndexOf("\n\n"); at >= from; at = text.lastIndexOf("\n\n", at - 1)) {
    const fences = text.slice(from, at).match(/^ {0,3}(```|~~~)/gm) ?? [];
    if (fences.length % 2 === 0 && /^\p{L}|^#/u.test(text.slice(at + 2))) return at + 2;
  }
  return from;
}

export class Chat extends EventTarget {
  fold = new Fold();
  session = null;
  jobs = null;
  recall = null;
  messages = null;
  /** Jobs that are about to be removed: they are not shown any more. */
  leaving = new Set();
  state = "loading";
  #older = null;
  #loading = false;
  #rendering = new Set();
  #future = 0;
  #closed = false;

  constructor(key) {
    super();
    this.key = key;
    this.path = `sessions/${inPath(key)}`;
  }

  get running() {
    return this.fold.entries.findLast((entry) => entry.kind === "turn")?.state === "running" || this.session?.state === "running";
  }

  /** Of a time that names none. */
  get timezone() {
    return this.session?.timezone ?? zone;
  }

  get hasOlder() {
    return this.#older !== null;
  }

  get ghosts() {
    return ghosts(this.recall, this.jobs ?? [], this.messages ?? []);
  }

  async open() {
    live.hold(this.key);
    try {
      const [session, log] = await Promise.all([get(this.path), get(`${this.path}/log?limit=${PAGE}`)]);
      if (this.#closed) return;
      this.session = session;
      this.state = "open";
      this.#older = log.next_cursor;
      for (const event of log.events) this.fold.take(event);
      if (!session.queued) this.fold.waiting = [];
      live.follow(this.key, log.events.at(-1)?.seq ?? 0, (event) => this.#hear(event));
      this.#tell("opened");
      this.lookAhead();
    } catch (problem) {
      if (this.#closed) return;
      this.state = problem.status === 404 ? "new" : "failed";
      this.problem = problem;
      if (this.state === "new") live.follow(this.key, 0, (event) => this.#hear(event));
      else live.unfollow(this.key);
      this.#tell("opened");
    }
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#future);
    live.unfollow(this.key);
  }

  /** The entries before the oldest that is here. */
  async older() {
    if (this.#loading || this.#older === null) return [];
    this.#loading = true;
    try {
      const log = await get(`${this.path}/log?limit=${PAGE}&cursor=${this.#older}`);
      const before = new Fold();
      for (const event of log.events) before.take(event);
      this.#older = log.next_cursor;
      return this.fold.prepend(before);
    } finally {
      this.#loading = false;
    }
  }

  say(text) {
    live.speak(this.key, text);
  }

  stop() {
    live.stop(this.key);
  }

  /** Ask again for what is to come: soon, and once for many changes. */
  lookAhead(pause = FUTURE_PAUSE) {
    clearTimeout(this.#future);
    this.#future = setTimeout(() => this.#lookAhead().catch(() => {}), pause);
  }

  async #lookAhead() {
    const [jobs, recall, messages] = await Promise.all([
      maybe(`${this.path}/automations`),
      maybe(`${this.path}/recall`),
      maybe(`${this.path}/scheduled-messages?status=pending`),
    ]);
    if (this.#closed) return;
    this.jobs = jobs?.jobs.filter((job) => !this.leaving.has(job.id)) ?? null;
    this.recall = recall?.recall ?? null;
    this.messages = messages?.messages ?? null;
    this.#tell("future");
  }

  #hear(event) {
    if (this.state === "new" || this.state === "failed") this.state = "open";
    const entry = this.fold.take(event);
    if (event.type === "session_sync" && event.object) this.#sync(event.object);
    if (/^(recall|automation|message)_update$/.test(event.type)) this.lookAhead();
    if (event.type === "message" && event.message.source) this.lookAhead();
    if (event.type === "queue_update") this.#tell("queue");
    if (!entry) return;
    if (event.type === "stream_delta") this.#render(entry);
    this.#tell("entry", { entry, event });
  }

  #sync(session) {
    this.session = session;
    this.#tell("session");
    this.lookAhead();
  }

  /** A growing text as HTML: a few times a second, and only the block that is still open. */
  async #render(turn) {
    if (this.#rendering.has(turn)) return;
    this.#rendering.add(turn);
    try {
      let before = "";
      let from = 0;
      while (turn.outcome === null && turn.shown < turn.text.length && !this.#closed) {
        const { text } = turn;
        if (!turn.shown) [before, from] = ["", 0];
        const open = openFrom(text, from);
        if (open > from) before += (await post("markdown", { text: text.slice(from, open) })).html;
        const { html } = await post("markdown", { text: text.slice(open) });
        from = open;
        if (turn.outcome !== null) break;
        if (!turn.text.startsWith(text)) continue;
        Object.assign(turn, { html: before + html, shown: text.length });
        this.#tell("entry", { entry: turn });
        await new Promise((wake) => setTimeout(wake, RENDER_PAUSE));
      }
    } catch {
      // What was not rendered is shown as it was written.
    } finally {
      this.#rendering.delete(turn);
    }
  }

  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
