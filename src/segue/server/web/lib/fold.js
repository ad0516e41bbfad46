// The conversation as a fold over its events. Pure: no DOM, no network, no clock.
//
// An entry is a turn (prompt, tool calls, answer) or a message that belongs to no turn.

/** Puts `piece` at `offset`. The server counts code points, JavaScript's strings count UTF-16 units. */
function splice(text, length, offset, piece) {
  if (offset === length) return text + piece;
  return Array.from(text).slice(0, offset).join("") + piece;
}

/** The fields of an answer that has not begun. The lengths are in code points. */
const NO_ANSWER = {
  text: "",
  textLength: 0,
  thinking: "",
  thinkingLength: 0,
  html: "",
  /** How much of `text` is rendered in `html`. */
  rendered: 0,
  /** Whether an incomplete end of the rendered text is held back. */
  held: false,
  unrendered: false,
  state: "running",
  outcome: null,
  retryAt: null,
};

const lengthOf = (text) => Array.from(text).length;

export class Fold {
  entries = [];
  waiting = [];
  #byTurn = new Map();

  /** Applies an event; returns the entry that has changed, or null. */
  take(event) {
    switch (event.type) {
      case "stream_start":
        return this.#start(event);
      case "stream_delta":
        return this.#grow(event, "text", "textLength");
      case "thinking_delta":
        return this.#grow(event, "thinking", "thinkingLength");
      case "tool_started":
      case "tool_call":
        return this.#tool(event);
      case "stream_end":
        return this.#end(event);
      case "waiting":
        return this.#ask(event);
      case "message":
        return this.#message(event);
      case "queue_update":
        this.waiting = event.waiting;
        return null;
      default:
        return null;
    }
  }

  turn(id) {
    return this.#byTurn.get(id);
  }

  /**
   * What is shown: `{ entry, at, seq }`. A turn that replaces another stands in the place of the first version, and
   * has the day of that one.
   */
  get shown() {
    const placed = new Set();
    const shown = [];
    for (const each of this.entries) {
      const entry = this.newest(each);
      if (!placed.has(entry)) shown.push({ entry, at: each.at, seq: each.seq });
      placed.add(entry);
    }
    return shown;
  }

  /** The version of an entry that is shown. */
  newest(entry) {
    const next = this.#byTurn.get(entry.replacedBy);
    return next ? this.newest(next) : entry;
  }

  /** The earlier versions of a turn, oldest first. */
  versions(turn) {
    const before = this.#byTurn.get(turn.replaces);
    return before ? [...this.versions(before), before] : [];
  }

  /** The turn that came after this one; undefined if it is the newest. */
  after(turn) {
    return this.entries.slice(this.entries.indexOf(turn) + 1).find((entry) => entry.kind === "turn");
  }

  /** The newest turn, if it ended with a question. Its time may be over. */
  get asking() {
    const last = this.entries.findLast((entry) => entry.kind === "turn");
    return last?.question ? last : null;
  }

  /** Puts older entries in front; joins a turn that was split between two pages. Returns the new entries. */
  prepend(older) {
    const before = older.entries.filter((entry) => {
      const turn = entry.kind === "turn" && this.#byTurn.get(entry.id);
      if (!turn) return true;
      Object.assign(turn, { asked: turn.asked ?? entry.asked, source: entry.source, at: entry.at });
      turn.replaces ??= entry.replaces;
      turn.tools = [...entry.tools, ...turn.tools];
      turn.added = [...entry.added, ...turn.added];
      return false;
    });
    const joined = older.entries
      .filter((entry) => !before.includes(entry))
      .map((entry) => this.#byTurn.get(entry.id));
    const rest = this.entries.filter((entry) => !joined.includes(entry));
    this.entries = [...before, ...joined, ...rest];
    for (const entry of before) {
      if (entry.kind === "turn") this.#byTurn.set(entry.id, entry);
    }
    return before;
  }

  #turn(event) {
    const turn = this.#turnOf(event);
    turn.seq = Math.max(turn.seq, event.seq ?? 0);
    return turn;
  }

  #turnOf(event) {
    let turn = this.#byTurn.get(event.turn_id);
    if (!turn) {
      turn = {
        kind: "turn",
        id: event.turn_id,
        at: event.at,
        source: event.source ?? null,
        asked: null,
        added: [],
        tools: [],
        attempt: 1,
        /** The number of its last event. */
        seq: 0,
        delivery: null,
        refusal: null,
        heldUntil: null,
        /** Files of the answer. */
        parts: [],
        /** Ids of turns, see `shown`. */
        replaces: null,
        replacedBy: null,
        /** What the agent asked at its end: `{ question, html, choices, until }`. */
        question: null,
        ...NO_ANSWER,
      };
      this.#byTurn.set(turn.id, turn);
      this.entries.push(turn);
    }
    return turn;
  }

  #start(event) {
    const turn = this.#turn(event);
    const asked = event.message ?? turn.asked;
    const { source, attempt, replaces = null } = event;
    Object.assign(turn, { source, attempt, replaces, asked, ...NO_ANSWER });
    turn.replacedBy ??= asked?.replaced_by ?? null;
    const before = this.#byTurn.get(replaces);
    if (before) before.replacedBy = turn.id;
    if (event.attempt > 1) turn.tools = [];
    this.waiting = this.waiting.filter((each) => each.turn_id !== turn.id);
    return turn;
  }

  #grow(event, text, length) {
    const turn = this.#byTurn.get(event.turn_id);
    if (!turn || turn.outcome) return null;
    if (event.offset !== turn[length] && text === "text") Object.assign(turn, { html: "", rendered: 0 });
    turn[text] = splice(turn[text], turn[length], event.offset, event.text);
    turn[length] = event.offset + lengthOf(event.text);
    return turn;
  }

  #tool(event) {
    const turn = this.#turn(event);
    const { call_id, name, arguments: args, result = null, error = null, duration_ms = null } = event;
    const finished = event.type === "tool_call";
    const tool = { call_id, name, args, result, error, duration_ms, finished };
    const index = turn.tools.findIndex((each) => each.call_id === call_id);
    if (index < 0) turn.tools.push(tool);
    else turn.tools[index] = tool;
    return turn;
  }

  #end(event) {
    const turn = this.#turn(event);
    const { state, outcome, message, retry_at: retryAt = null } = event;
    Object.assign(turn, { state, outcome, retryAt, code: event.code ?? null });
    turn.source ??= message?.source ?? null;
    turn.quiet = Boolean(event.quiet);
    turn.messageId = event.message_id ?? null;
    turn.delivery = message?.delivery ?? turn.delivery;
    turn.heldUntil = message?.held_until ?? null;
    turn.parts = message?.parts ?? [];
    turn.replacedBy ??= message?.replaced_by ?? null;
    // A question at the end of an answer is shown by itself.
    const answer = event.said ?? message;
    if (answer) {
      turn.text = answer.content;
      turn.html = answer.html;
      turn.rendered = answer.content.length;
    }
    turn.tools = turn.tools.map((tool) => ({ ...tool, finished: true }));
    return turn;
  }

  #ask(event) {
    const { question, html, choices, until } = event;
    const turn = this.#turn(event);
    turn.question = { question, html, choices, until };
    return turn;
  }

  #message(event) {
    const undelivered = event.undelivered && this.#byTurn.get(event.undelivered.turn_id);
    if (undelivered) {
      undelivered.delivery = event.undelivered.delivery;
      undelivered.refusal = event.undelivered.reason;
      return undelivered;
    }
    const turn = event.message.role === "user" && this.#byTurn.get(event.turn_id);
    if (turn) {
      turn.added.push(event.message);
      return turn;
    }
    const entry = {
      kind: "message",
      id: event.message.id,
      at: event.at,
      seq: event.seq,
      source: event.message.source,
      message: event.message,
    };
    this.entries.push(entry);
    return entry;
  }
}
