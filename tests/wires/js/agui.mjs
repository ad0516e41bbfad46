// A client of AG-UI: runs the agent or connects to a thread, and prints every event, then what the client holds.
import { HttpAgent } from "@ag-ui/client";

class Agent extends HttpAgent {
  connect(input) {
    return this.run(input);
  }
}

export async function agui({ url, threadId, headers, message, resume, connect, stopAt }, print) {
  const connecting = connect !== undefined;
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
}
