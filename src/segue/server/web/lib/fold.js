// The conversation as a fold over its events. Pure: no page, no network, no clock.
//
// An entry is a turn (what was asked, what was done, what was said) or a message from outside a turn.

/** Offsets count characters as the server does; JavaScript counts the halves of some as two. */
function splice(text, length, offset, piece) {
  if (offset === length) return text + piece;
  return Array.from(text).slice(0, offset).join("") + piece;
}

const UNSAID = {
  text: "", length: 0, thinking: "", thought: 0, html: "", shown: 0, state: "running", outcome: null, retryAt: null,
};

const lengthOf = (text) => Array.from(text).length;

export class Fold {
  entries = [];
  waiting = [];
  #byTurn = new Map();

  /** The entry that has changed, if one has. */
  take(event) {
    switch (event.type) {
      case "stream_start":
        return this.#start(event);
      case "stream_delta":
        return this.#grow(event, "text", "length");
      case "thinking_delta":
        return this.#grow(event, "thinking", "thought");
      case "tool_started":
      case "tool_call":
        return this.#tool(event);
      case "stream_end":
        return this.#end(event);
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

  /** Put what came before in front. A turn that the pages cut in two becomes one again. */
  prepend(older) {
    const before = older.entries.filter((entry) => {
      const here = entry.kind === "turn" && this.#byTurn.get(entry.id);
      if (!here) return true;
      Object.assign(here, { asked: here.asked ?? entry.asked, source: entry.source, at: entry.at });
      here.tools = [...entry.tools, ...here.tools];
      here.added = [...entry.added, ...here.added];
      return false;
    });
    const cut = older.entries.filter((entry) => !before.includes(entry)).map((entry) => this.#byTurn.get(entry.id));
    this.entries = [...before, ...cut, ...this.entries.filter((entry) => !cut.includes(entry))];
    for (const entry of before) if (entry.kind === "turn") this.#byTurn.set(entry.id, entry);
    return before;
  }

  #turn(event) {
    let turn = this.#byTurn.get(event.turn_id);
    if (!turn) {
      turn = {
        kind: "turn", id: event.turn_id, at: event.at, source: event.source ?? null, asked: null, added: [],
        tools: [], attempt: 1, delivery: null, refusal: null, ...UNSAID,
      };
      this.#byTurn.set(turn.id, turn);
      this.entries.push(turn);
    }
    return turn;
  }

  #start(event) {
    const turn = this.#turn(event);
    const asked = event.message ?? turn.asked;
    Object.assign(turn, { source: event.source, attempt: event.attempt, asked, ...UNSAID });
    if (event.attempt > 1) turn.tools = [];
    this.waiting = this.waiting.filter((each) => each.turn_id !== turn.id);
    return turn;
  }

  #grow(event, text, length) {
    const turn = this.#byTurn.get(event.turn_id);
    if (!turn || turn.outcome) return null;
    if (event.offset !== turn[length] && text === "text") Object.assign(turn, { html: "", shown: 0 });
    turn[text] = splice(turn[text], turn[length], event.offset, event.text);
    turn[length] = event.offset + lengthOf(event.text);
    return turn;
  }

  #tool(event) {
    const turn = this.#turn(event);
    const { call_id, name, arguments: given, result = null, error = null, duration_ms = null } = event;
    const tool = { call_id, name, given, result, error, duration_ms, over: event.type === "tool_call" };
    const known = turn.tools.findIndex((each) => each.call_id === call_id);
    if (known < 0) turn.tools.push(tool);
    else turn.tools[known] = tool;
    return turn;
  }

  #end(event) {
    const turn = this.#turn(event);
    const { state, outcome, message, retry_at: retryAt = null } = event;
    Object.assign(turn, { state, outcome, retryAt });
    turn.source ??= message?.source ?? null;
    turn.quiet = Boolean(event.quiet);
    turn.delivery = message?.delivery ?? turn.delivery;
    if (message) Object.assign(turn, { text: message.content, html: message.html, shown: message.content.length });
    turn.tools = turn.tools.map((tool) => ({ ...tool, over: true }));
    return turn;
  }

  #message(event) {
    const lost = event.undelivered && this.#byTurn.get(event.undelivered.turn_id);
    if (lost) return Object.assign(lost, { delivery: event.undelivered.delivery, refusal: event.undelivered.reason });
    const turn = event.message.role === "user" && this.#byTurn.get(event.turn_id);
    if (turn) {
      turn.added.push(event.message);
      return turn;
    }
    const entry = { kind: "message", id: event.message.id, at: event.at, source: event.message.source, message: event.message };
    this.entries.push(entry);
    return entry;
  }
}
