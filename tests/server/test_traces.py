"""Traces that an OTLP collector receives from `segue serve`."""

import asyncio
import gzip
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from websockets.asyncio.client import connect

from segue.testing.scripted_provider import ScriptedProvider, says
from tests.cli.process import Segue, Serving
from tests.server.conftest import ADA, bearer

KEY = "web:the-secret-chat"
SECRET = "the code is 4711"
API_KEYS = json.dumps([{"key": ADA, "account": "one", "user": "ada", "role": "user"}])


@dataclass
class Collector:
    """A double of an OTLP collector: records the spans sent to `/v1/traces`."""

    url: str = ""
    bodies: list[bytes] = field(default_factory=list)
    authorized_by: list[str | None] = field(default_factory=list)

    @property
    def spans(self) -> list[Span]:
        requests = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        return [
            span
            for request in requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()

    class Take(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            assert self.path == "/v1/traces"
            zipped = self.headers["content-encoding"] == "gzip"
            collector.bodies.append(gzip.decompress(body) if zipped else body)
            collector.authorized_by.append(self.headers["authorization"])
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Take) as server:
        collector.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()


async def run_one(serving: Serving) -> None:
    """Run an immediate recall to its end."""
    body = {"call_type": "immediate", "additional_context_message": SECRET, "internal_comment": SECRET}
    http = serving.client
    asked = {"content": f"Remember: {SECRET}"}
    await http.post(f"/sessions/{KEY}/turns?wait=30", json=asked, headers=bearer(ADA))
    made = await http.post(f"/sessions/{KEY}/recall", json=body, headers=bearer(ADA))
    assert made.status_code == 201, made.text
    live = f"{str(http.base_url).replace('http', 'ws', 1).rstrip('/')}/ws"
    async with asyncio.timeout(30), connect(live, additional_headers=bearer(ADA)) as socket:
        await socket.send(json.dumps({"type": "subscribe", "session": KEY, "after": 0}))
        ended: list[str] = []
        while len(ended) < 2:  # the user's turn, and the recall's
            event = json.loads(await socket.recv())
            ended += [event["turn_id"]] if event["type"] == "stream_end" else []


async def test_a_collector_receives_the_trace_of_a_run_without_message_text(tmp_path: Path) -> None:
    """CONTRACT §3, Operations; a trace contains no secret."""
    with collecting() as collector:
        env = {
            "SEGUE_API_KEYS": API_KEYS,
            "SEGUE_TRACES": "true",
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20of-the-collector",
            # A framework that traces requests would expose session keys in paths.
            "FASTAPI_OTEL_AUTO_CONFIGURE": "true",
        }
        async with Segue(tmp_path, env=env).serving() as serving:
            await run_one(serving)
            serving.process.tell(signal.SIGTERM)
            assert await serving.process.end() == 0, serving.process.log
    traces: dict[bytes, set[str]] = {}
    for span in collector.spans:
        traces.setdefault(span.trace_id, set()).add(span.name.split()[0])
    asked, recalled = sorted(traces.values(), key=lambda names: "run" in names)
    assert {"message", "wait", "turn", "invoke_agent"} <= asked
    assert {"run", "due", "wait", "turn", "invoke_agent"} <= recalled
    assert [span.name for span in collector.spans if not span.parent_span_id] == ["message", "run"]
    attributes = {attribute.key: attribute.value for span in collector.spans for attribute in span.attributes}
    assert attributes["segue.outcome"].string_value == "ok"
    assert attributes["segue.run_id"].string_value
    assert set(collector.authorized_by) == {"Bearer of-the-collector"}
    sent = b"".join(collector.bodies)
    for secret in (SECRET, KEY, ADA, "of-the-collector"):
        assert secret.encode() not in sent, secret


async def test_requests_to_the_model_are_spans_inside_the_agents_span_without_their_texts(
    tmp_path: Path,
) -> None:
    provider = ScriptedProvider()
    provider.script(says(f"Noted: {SECRET}"))
    with collecting() as collector:
        async with provider.listening():
            env = {
                "SEGUE_API_KEYS": API_KEYS,
                "SEGUE_TRACES": "true",
                "SEGUE_MODEL": "openai-chat:scripted",
                "OPENAI_BASE_URL": provider.base_url,
                "OPENAI_API_KEY": "the-key-of-the-provider",
                "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            }
            async with Segue(tmp_path, env=env).serving() as serving:
                asked = {"content": f"Remember: {SECRET}"}
                answer = await serving.client.post(
                    f"/sessions/{KEY}/turns?wait=30", json=asked, headers=bearer(ADA)
                )
                assert answer.json()["reply"] == f"Noted: {SECRET}"
                serving.process.tell(signal.SIGTERM)
                assert await serving.process.end() == 0, serving.process.log
    spans = {span.name: span for span in collector.spans}
    request = spans["chat scripted"]
    assert request.parent_span_id == spans["invoke_agent"].span_id
    assert request.trace_id == spans["message"].trace_id
    attributes = {attribute.key: attribute.value for attribute in request.attributes}
    assert attributes["gen_ai.request.model"].string_value == "scripted"
    assert attributes["gen_ai.usage.output_tokens"].int_value > 0
    sent = b"".join(collector.bodies)
    for secret in (SECRET, KEY, ADA, "the-key-of-the-provider"):
        assert secret.encode() not in sent, secret
