// A client of the AI SDK: sends messages or resumes with the SDK's own transport, and prints its messages.
import { AbstractChat, DefaultChatTransport } from "ai";

const { url, id, headers, parts, resume, stopAt } = JSON.parse(process.argv[2]);
const print = (value) => process.stdout.write(JSON.stringify(value) + "\n");

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => (this.messages = [...this.messages, message]);
  popMessage = () => (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index, message) => {
    this.messages = this.messages.map((each, place) => (place === index ? message : each));
    const text = message.parts.filter((part) => part.type === "text").map((part) => part.text);
    print({ type: "message", text: text.join(""), metadata: message.metadata ?? null });
    if (stopAt && text.join("").includes(stopAt)) chat.stop();
  };
  snapshot = (value) => structuredClone(value);
}

class Chat extends AbstractChat {
  constructor(init) {
    super({ ...init, state: new State() });
  }
}

const transport = new DefaultChatTransport({
  api: `${url}/ui`,
  headers,
  prepareReconnectToStreamRequest: resume
    ? ({ id, api }) => ({ api: `${api}/${encodeURIComponent(id)}/stream?${resume}`, headers })
    : undefined,
});
const chat = new Chat({ id, transport, onError: (error) => print({ type: "failed", message: error.message }) });

if (parts) await chat.sendMessage({ parts });
else await chat.resumeStream();
print({ type: "ended", status: chat.status, messages: chat.messages });
