// A client of AG-UI: runs the agent or connects to a thread, and prints every event, then what the client holds.
import { HttpAgent } from "@ag-ui/client";

const { url, threadId, headers, message, resume, connect, stopAt } = JSON.parse(process.argv[2]);
const connecting = connect !== undefined;
const print = (value) => process.stdout.write(JSON.stringify(value) + "\n");

class Agent extends HttpAgent {
  connect(input) {
    return this.run(input);
  }
}

const agent = new Agent({ url: connecting ? `${url}/agui/connect?${connect}` : `${url}/agui`, threadId, headers });
if (message) agent.addMessage({ id: "1", role: "user", content: message });

const subscriber = {
  onEvent({ event }) {
    print(event);
    if (event.type === stopAt) agent.abortRun();
  },
};
let ended = null;
try {
  ended = connecting ? await agent.connectAgent({}, subscriber) : await agent.runAgent({ resume }, subscriber);
} catch (error) {
  print({ type: "failed", message: error.message });
}
print({
  type: "ended",
  result: ended?.result ?? null,
  messages: agent.messages,
  interrupts: agent.pendingInterrupts,
});
