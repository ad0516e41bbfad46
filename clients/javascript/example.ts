// Sends a message, prints the answer as it is written, and schedules a question for every morning.

import { Segue, withDelta, type SegueEvent } from "@segue/client";

const segue = new Segue({ url: "http://localhost:8420" });
const session = "websocket:home";
let text = "";

const live = segue.live();
live.start();
live.follow(session, 0, (event: SegueEvent) => {
  if (event.type === "stream_start") text = "";
  // After a reconnect the text comes again from its beginning.
  if (event.type === "stream_delta") text = withDelta(text, event);
  if (event.type === "stream_end" && event.outcome !== null) {
    console.log(event.reply ?? text);
    live.close();
  }
});
live.send(session, "What is new?");

const job = await segue.schedule(session, "every weekday at 9", "What is new?", {
  timezone: "Europe/Berlin",
});
await segue.update(session, { budget: { runs: 30, per: "month" } });
console.log(`${(await segue.budget(session)).left} runs are left this month`);
for (const found of await segue.search("new")) console.log(found.session_key, found.excerpt);
console.log((await segue.export(session)).length);
console.log(`next: ${job.next_runs[0]}`);
