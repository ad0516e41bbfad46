// A client of the AI SDK: sends messages or resumes with the SDK's own transport, and prints its messages.
import { AbstractChat, DefaultChatTransport } from "ai";

class State {
  status = "ready";
  error = undefined;
  messages = [];
  constructor(show) {
    this.show = show;
  }
  pushMessage = (message) => (this.messages = [...this.messages, message]);
  popMessage = () => (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index, message) => {
    this.messages = this.messages.map((each, place) => (place === index ? message : each));
    this.show(message);
  };
  snapshot = (value) => structuredClone(value);
}

class Chat extends AbstractChat {
  constructor({ show, ...init }) {
    super({ ...init, state: new State(show) });
  }
}

export async function ui({ url, id, headers, parts, resume, stopAt }, print) {
  const transport = new DefaultChatTransport({
    api: `${url}/ui`,
    headers,
    prepareReconnectToStreamRequest: resume
      ? ({ id, api }) => ({ api: `${api}/${encodeURIComponent(id)}/stream?${resume}`, headers })
      : undefined,
  });
  const show = (message) => {
    const text = message.parts.filter((part) => part.type === "text").map((part) => part.text);
    print({ type: "message", text: text.join(""), metadata: message.metadata ?? null });
    if (stopAt && text.join("").includes(stopAt)) chat.stop();
  };
  const onError = (error) => print({ type: "failed", message: error.message });
  const chat = new Chat({ id, transport, show, onError });

  if (parts) await chat.sendMessage({ parts });
  else await chat.resumeStream();
  print({ type: "ended", status: chat.status, messages: chat.messages });
}
