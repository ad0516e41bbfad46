// Sends and follows with the packed client. Standard input says what to do next; each line of output is JSON.

import { createInterface } from "node:readline";
import { Segue, SegueError, withDelta } from "@segue/client";
import WebSocket from "ws";

const [url, session, key] = process.argv.slice(2);
const headers = key ? { Authorization: `Bearer ${key}` } : {};
const segue = new Segue({ url, key, connect: (address) => new WebSocket(address, { headers }) });
const live = segue.live({ zone: "Europe/Berlin" });
const tell = (line) => console.log(JSON.stringify(line));
const texts = {};

live.addEventListener("state", () => tell({ state: live.state }));
live.addEventListener("accepted", ({ detail }) => tell({ accepted: detail.turn_id }));
live.follow(session, 0, (event) => {
  if (event.type === "stream_delta") {
    const at = `${event.turn_id} ${event.attempt || 1}`;
    texts[at] = withDelta(texts[at] ?? "", event);
    tell({ text: texts[at].length });
  } else {
    tell({ seq: event.seq, type: event.type, turn_id: event.turn_id, reply: event.reply, outcome: event.outcome });
  }
});
live.start();

for await (const line of createInterface({ input: process.stdin })) {
  const [verb, ...words] = line.split(" ");
  if (verb === "send") live.send(session, words.join(" "));
  if (verb === "ask") tell({ answer: await segue.send(session, words.join(" "), { wait: 60 }) });
  if (verb === "refused") {
    await segue.request("GET", "sessions/websocket:none").catch((error) =>
      tell({ code: error.code, status: error.status, right: error instanceof SegueError }),
    );
  }
  if (verb === "export") tell({ exported: await segue.export(session, { format: words[0] }) });
  if (verb === "search") tell({ found: await segue.search(words.join(" "), { session }) });
  if (verb === "budget") {
    const changed = await segue.update(session, { budget: { runs: 3, per: "month" } });
    const raised = await segue.raiseBudget(session);
    const { left } = await segue.budget(session);
    tell({ set: changed.budget, raised: raised.left, left, unread: await segue.markRead(session, changed.last_seq) });
  }
  if (verb === "texts") tell({ texts });
  if (verb === "close") break;
}
live.close();
process.stdin.destroy();
