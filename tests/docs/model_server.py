"""A double of OpenAI's chat completions on loopback, for the code on the pages."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANSWERS = {
    "I am Anna. Version 4 goes live tonight.": "Good luck with version 4, Anna!",
    "Ask me how it went.": "Hi Anna, how did the launch of version 4 go?",
}
"""By the last line of the last message, which is what the model is asked."""


class ChatCompletions(BaseHTTPRequestHandler):
    """Speaks HTTP/1.0: a client that is not closed leaves no open connection behind."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert self.path == "/v1/chat/completions"
        answer = json.dumps(completion(request)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Tests print nothing."""


def completion(request: dict[str, Any]) -> dict[str, Any]:
    asked = request["messages"][-1]["content"].splitlines()[-1]
    message = {"role": "assistant", "content": ANSWERS[asked]}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {
        "id": "c-1",
        "object": "chat.completion",
        "created": 1,
        "model": request["model"],
        "choices": [choice],
    }


@contextmanager
def listening() -> Iterator[str]:
    """Its base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), ChatCompletions)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
