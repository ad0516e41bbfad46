/** Types of the client of a Segue server. Events and objects: docs/reference/events.md and http.md. */

export interface Source {
  kind: "cron" | "recall" | "scheduled_send" | "system";
  job_id: string;
  label: string;
  run_id: string;
}

export interface Message {
  id: string;
  seq: number;
  role: "user" | "assistant" | "system" | "tool";
  content: string;
  html: string;
  created_at: string;
  turn_id: string | null;
  source: Source | null;
  metadata: Record<string, unknown>;
  archived: boolean;
  delivery: "sent" | "failed" | "unknown" | null;
  /** Of an answer: how its turn ended. */
  outcome: string | null;
  parts: Part[];
}

/** A file that was sent with a message: `GET /files/ID`. */
export interface Part {
  type: "image" | "file";
  media_type: string;
  name: string;
  id: string;
  size: number;
}

export interface FoundMessage {
  id: string;
  session_key: string;
  session_title: string | null;
  seq: number;
  role: Message["role"];
  excerpt: string;
  created_at: string;
  turn_id: string | null;
}

export interface Session {
  id: string;
  key: string;
  title: string | null;
  timezone: string | null;
  budget: Budget | null;
  unread: number;
  state: "idle" | "running";
  queued: number;
  last_seq: number;
  message_count: number;
  automation_count: number;
  metadata: Record<string, unknown>;
  [field: string]: unknown;
}

/** One of `usd`, `tokens` and `runs`. */
export interface Budget {
  usd?: number;
  tokens?: number;
  runs?: number;
  per: "day" | "week" | "month";
  over?: "skip" | "pause" | "ask";
}

/** A budget in its current period. All fields are null if there is none. */
export interface BudgetNow {
  unit: "usd" | "tokens" | "runs" | null;
  limit: number | null;
  spent: number | null;
  reserved: number | null;
  left: number | null;
  per: Budget["per"] | null;
  over: Budget["over"] | null;
  resets_at: string | null;
}

export interface SessionBudget extends BudgetNow {
  session_key: string;
  jobs: (BudgetNow & { job_id: string; name: string })[];
}

export interface Turn {
  turn_id: string;
  session_key: string;
  state: "queued" | "running" | "done" | "failed" | "cancelled";
  outcome: string | null;
  reply: string | null;
  error: string | null;
  [field: string]: unknown;
}

export interface Accepted {
  turn_id: string;
  state: "queued";
  position: number;
}

export interface Job {
  id: string;
  name: string;
  enabled: boolean;
  session_key: string;
  schedule: Record<string, unknown>;
  message: string;
  next_runs: string[];
  [field: string]: unknown;
}

interface EventBase {
  session: string;
  seq: number;
  turn_id: string | null;
  at: string;
  replay?: boolean;
}

export interface StreamStart extends EventBase {
  type: "stream_start";
  source: Source | null;
  attempt: number;
  message: Message | null;
}

/** A piece of the running turn's text. After a reconnect the text comes again from its beginning; `withDelta`
 *  puts each piece in its place. `offset` counts characters, not UTF-16 units. */
export interface Delta extends EventBase {
  type: "stream_delta" | "thinking_delta";
  attempt: number;
  offset: number;
  text: string;
}

export interface ToolEvent extends EventBase {
  type: "tool_started" | "tool_call";
  call_id: string;
  name: string;
  arguments: Record<string, unknown>;
  result?: string;
  error?: string | null;
}

export interface StreamEnd extends EventBase {
  type: "stream_end";
  state: string;
  /** Null if the turn will be tried again. */
  outcome: string | null;
  reply: string | null;
  message: Message | null;
  usage: Record<string, unknown> | null;
}

export interface MessageEvent extends EventBase {
  type: "message";
  message: Message;
}

export interface SessionSync extends EventBase {
  type: "session_sync";
  object: Session | null;
}

export interface OtherEvent extends EventBase {
  type: "recall_update" | "automation_update" | "message_update" | "queue_update" | "waiting";
  [field: string]: unknown;
}

export type SegueEvent =
  | StreamStart
  | Delta
  | ToolEvent
  | StreamEnd
  | MessageEvent
  | SessionSync
  | OtherEvent;

/** What `Live` needs of a WebSocket: that of a browser, of Node 22 or later, or of the package `ws`. */
export interface Socket {
  readonly readyState: number;
  onopen: ((event: any) => void) | null;
  onmessage: ((event: any) => void) | null;
  onclose: ((event: any) => void) | null;
  onerror: ((event: any) => void) | null;
  send(text: string): void;
  close(): void;
}

export interface LiveOptions {
  url: string | URL;
  /** The user's IANA zone, for a session that has none. Default: that of this machine. */
  zone?: string;
  /** Keeps messages until the server accepts them. Default: memory; `localStorage` outlives a page. */
  storage?: Pick<Storage, "length" | "key" | "getItem" | "setItem" | "removeItem">;
  /** Opens a socket, for example one with an `Authorization` header. */
  connect?: (url: URL) => Socket;
  onRefused?: () => void;
}

export interface Outgoing {
  id: string;
  session: string;
  content: string;
  at: string;
}

/**
 * A WebSocket that reconnects by itself. It emits `state`, `outbox`, `back` (it has reconnected), and with a
 * `detail`: `session`, `accepted` and `refused`.
 */
export class Live extends EventTarget {
  constructor(options: LiveOptions);
  readonly state: "connecting" | "open" | "closed";
  start(): void;
  close(): void;
  /** Calls `onEvent` for each event of a session with a number above `after`: once, in order. */
  follow(session: string, after: number, onEvent: (event: SegueEvent) => void): void;
  unfollow(session: string): void;
  /** Holds a session's messages back until it is followed. */
  hold(session: string): void;
  /** Sends a message, now or when the server can be reached. Returns its id. */
  send(session: string, content: string): string;
  stop(session: string): void;
  visible(device: string, visible: boolean): void;
  outbox(session?: string | null): Outgoing[];
}

export interface SegueOptions {
  url: string | URL;
  /** An API key of the server. In a browser, log in at the server instead. */
  key?: string;
  connect?: (url: URL) => Socket;
}

export class SegueError extends Error {
  readonly status: number;
  readonly code: string;
}

export class Segue {
  constructor(options: SegueOptions);
  live(options?: Partial<LiveOptions>): Live;
  request<T = unknown>(method: string, path: string, body?: unknown, idempotencyKey?: string): Promise<T>;
  send(session: string, content: string): Promise<Accepted>;
  send(session: string, content: string, options: { wait: number }): Promise<Turn | Accepted>;
  messages(session: string, options?: { after?: number }): Promise<Message[]>;
  search(query: string, options?: { session?: string; limit?: number }): Promise<FoundMessage[]>;
  export(session: string, options?: { format?: "markdown" | "json" }): Promise<string>;
  update(
    session: string,
    changes: { title?: string | null; timezone?: string | null; days?: string | null; budget?: Budget | null },
  ): Promise<Session>;
  budget(session: string): Promise<SessionBudget>;
  raiseBudget(session: string, options?: { job?: string }): Promise<SessionBudget>;
  markRead(session: string, seq: number): Promise<number>;
  schedule(
    session: string,
    schedule: string | Record<string, unknown>,
    message: string,
    more?: Record<string, unknown>,
  ): Promise<Job>;
}

/** The text of a turn with a piece put in its place. */
export function withDelta(text: string, delta: Delta): string;

export function newId(): string;
