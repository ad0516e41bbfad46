// The open conversation: its past from the log, its present from the socket, its future from its jobs.

import { get, inPath, maybe, post } from "./api.js";
import { nextTask } from "./dom.js";
import { Fold } from "./fold.js";
import { ghosts } from "./future.js";
import { live } from "./connection.js";
import { readable } from "./partial.js";
import { isNewKey, markUsed } from "./route.js";
import { zone } from "./times.js";

const PAGE = 50;
const RENDER_PAUSE_MS = 150;
const FUTURE_PAUSE_MS = 60;
const DAY_MS = 86_400_000;

/** Where the last Markdown block begins that may still change: after a blank line, outside code and lists. */
function startOfOpenBlock(text, from) {
  for (let at = text.lastIndexOf("\n\n"); at >= from; at = text.lastIndexOf("\n\n", at - 1)) {
    const fences = text.slice(from, at).match(/^ {0,3}(```|~~~)/gm) ?? [];
    if (fences.length % 2 === 0 && /^\p{L}|^#/u.test(text.slice(at + 2))) return at + 2;
  }
  return from;
}

const htmlOf = async (text) => (text.trim() ? (await post("markdown", { text })).html : "");

export class Chat extends EventTarget {
  fold = new Fold();
  session = null;
  jobs = null;
  recall = null;
  messages = null;
  /** Ids of jobs that will be removed unless the user undoes it. They are not shown. */
  removing = new Set();
  /** Where memory was cut: the archives, newest first. */
  archives = [];
  state = "loading";
  #olderCursor = null;
  #loadingOlder = false;
  #rendering = new Set();
  #futureTimer = 0;
  #closed = false;

  constructor(key) {
    super();
    this.key = key;
    this.path = `sessions/${inPath(key)}`;
  }

  get running() {
    const last = this.fold.entries.findLast((entry) => entry.kind === "turn");
    return last?.state === "running" || this.session?.state === "running";
  }

  /** The id of the job whose turn is under way; null if none is. */
  get runningJob() {
    const turn = this.fold.entries.findLast((entry) => entry.state === "running");
    return turn?.source?.job_id ?? null;
  }

  /** The recall, if its banner shows it: one that runs, or is due within a day. */
  get bannerRecall() {
    const { recall } = this;
    const near = recall && (recall.status === "running" || new Date(recall.trigger_at) - Date.now() < DAY_MS);
    return near ? recall : null;
  }

  /** The turn whose question waits for the user's answer; null if there is none. */
  get asking() {
    const turn = this.fold.asking;
    return turn && new Date(turn.question.until) > Date.now() ? turn : null;
  }

  /** The zone for times that name none. */
  get timezone() {
    return this.session?.timezone ?? zone;
  }

  /** The day set that words about working days mean. */
  get days() {
    return this.session?.days ?? null;
  }

  /** Whether an automation looks at what is said here. */
  get hasConditions() {
    return this.jobs?.some((job) => job.policy?.when) ?? false;
  }

  get hasOlder() {
    return this.#olderCursor !== null;
  }

  get ghosts() {
    return ghosts(this.bannerRecall ? null : this.recall, this.jobs ?? [], this.messages ?? []);
  }

  /** Shows everything at once: what came later would move what is read already. */
  async open() {
    live.hold(this.key);
    if (isNewKey(this.key)) return this.#openNew();
    try {
      const [session, log, future, archives] = await Promise.all([
        get(this.path),
        get(`${this.path}/log?limit=${PAGE}`),
        this.#getFuture().catch(() => null),
        this.#getArchives(),
        nextTask(),
      ]);
      if (this.#closed) return;
      this.session = session;
      Object.assign(this, future);
      this.archives = archives?.archives ?? [];
      this.state = "open";
      this.#olderCursor = log.next_cursor;
      for (const event of log.events) this.fold.take(event);
      if (!session.queued) this.fold.waiting = [];
      live.follow(this.key, log.events.at(-1)?.seq ?? 0, (event) => this.#receive(event));
      this.#emit("opened");
      if (!future) this.refreshFuture();
    } catch (problem) {
      if (this.#closed) return;
      if (problem.status === 404) return this.#openNew();
      this.state = "failed";
      this.problem = problem;
      live.unfollow(this.key);
      this.#emit("opened");
    }
  }

  /** A conversation that has not begun. */
  #openNew() {
    this.state = "new";
    // What was requested before it began says only that it is missing.
    for (const path of window.early.keys()) if (path.startsWith(this.path)) window.early.delete(path);
    live.follow(this.key, 0, (event) => this.#receive(event));
    this.#emit("opened");
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#futureTimer);
    live.unfollow(this.key);
  }

  /** Loads the page before the oldest entry; returns its entries. */
  async older(limit = PAGE) {
    if (this.#loadingOlder || this.#olderCursor === null) return [];
    this.#loadingOlder = true;
    try {
      const log = await get(`${this.path}/log?limit=${limit}&cursor=${this.#olderCursor}`);
      const before = new Fold();
      for (const event of log.events) before.take(event);
      this.#olderCursor = log.next_cursor;
      return this.fold.prepend(before);
    } finally {
      this.#loadingOlder = false;
    }
  }

  send(text, more) {
    markUsed(this.key);
    live.send(this.key, text, more);
  }

  /** Whether another turn may take the place of this one: it is a user's, has ended, and is in no archive. */
  canReplace(turn) {
    const { source, outcome, replacedBy, seq } = turn;
    return !source && outcome && !replacedBy && seq > (this.archives[0]?.last_seq ?? 0);
  }

  stop() {
    live.stop(this.key);
  }

  #getArchives() {
    return maybe(`${this.path}/archives?limit=100`).catch(() => null);
  }

  async loadArchives() {
    const answer = await this.#getArchives();
    if (this.#closed || !answer) return;
    this.archives = answer.archives;
    this.#emit("archives");
  }

  /** Reloads what is coming after a short pause, once for several changes. */
  refreshFuture(pause = FUTURE_PAUSE_MS) {
    clearTimeout(this.#futureTimer);
    this.#futureTimer = setTimeout(() => this.#loadFuture().catch(() => {}), pause);
  }

  async #getFuture() {
    const [jobs, recall, messages] = await Promise.all([
      maybe(`${this.path}/automations`),
      maybe(`${this.path}/recall`),
      maybe(`${this.path}/scheduled-messages?status=pending`),
    ]);
    return {
      jobs: jobs?.jobs.filter((job) => !this.removing.has(job.id)) ?? null,
      recall: recall?.recall ?? null,
      messages: messages?.messages ?? null,
    };
  }

  async #loadFuture() {
    const future = await this.#getFuture();
    if (this.#closed) return;
    Object.assign(this, future);
    this.#emit("future");
  }

  #receive(event) {
    if (this.state === "new" || this.state === "failed") this.state = "open";
    const entry = this.fold.take(event);
    if (event.type === "session_sync" && event.object) this.#sync(event.object);
    if (/^(recall|automation|message)_update$/.test(event.type)) this.refreshFuture();
    if (event.type === "message" && event.message.source) this.refreshFuture();
    if (event.type === "stream_start" && !event.source && this.hasConditions) this.refreshFuture();
    if (event.type === "queue_update") this.#emit("queue");
    if (event.held || (event.held === 0 && this.#holds)) this.loadHeld().catch(() => {});
    if (!entry) return;
    if (event.type === "stream_delta") this.#render(entry);
    this.#emit("entry", { entry, event });
  }

  get #holds() {
    return this.fold.entries.some((entry) => entry.heldUntil);
  }

  /** Reads which answers wait to be sent, and until when: that is known only after they were stored. */
  async loadHeld() {
    const { events } = await get(`${this.path}/log?limit=${PAGE}`);
    for (const event of events) {
      const entry = event.type === "stream_end" && event.message && this.fold.turn(event.turn_id);
      if (!entry || entry.heldUntil === event.message.held_until) continue;
      entry.heldUntil = event.message.held_until;
      this.#emit("entry", { entry, event: { type: "held" } });
    }
  }

  /** Takes a session as the server has changed it. */
  changed(session) {
    this.session = session;
    this.#emit("session");
  }

  #sync(session) {
    const archived = this.session && session.message_count < this.session.message_count;
    if (archived) this.loadArchives();
    this.changed(session);
    this.refreshFuture();
  }

  /** Renders a growing answer as HTML: a few times a second, and only the block that is still open. */
  async #render(turn) {
    if (this.#rendering.has(turn)) return;
    this.#rendering.add(turn);
    try {
      let closedHtml = "";
      let from = 0;
      while (turn.outcome === null && turn.rendered < turn.text.length && !this.#closed) {
        const whole = turn.text;
        const text = readable(whole);
        if (!turn.rendered) {
          closedHtml = "";
          from = 0;
        }
        const open = startOfOpenBlock(text, from);
        closedHtml += await htmlOf(text.slice(from, open));
        const openHtml = await htmlOf(text.slice(open));
        from = open;
        if (turn.outcome !== null) break;
        if (!turn.text.startsWith(whole)) continue;
        Object.assign(turn, { html: closedHtml + openHtml, rendered: whole.length, held: text !== whole });
        this.#emit("entry", { entry: turn });
        await new Promise((wake) => setTimeout(wake, RENDER_PAUSE_MS));
      }
    } catch {
      // Text that could not be rendered is shown as it was written.
      turn.unrendered = true;
    } finally {
      this.#rendering.delete(turn);
    }
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
