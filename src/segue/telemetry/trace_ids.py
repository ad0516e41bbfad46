"""Trace ids: the ids of a trace and of its root span are derived from what it is about.

So every process that works on a run or on a user's turn adds to one trace, without having to tell the others.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import SpanContext

_root: ContextVar[SpanContext | None] = ContextVar("segue_root_span", default=None)


def root_of(subject: str) -> SpanContext:
    """The root span of the trace of a run or turn, by its id."""
    digest = sha256(subject.encode()).digest()
    return SpanContext(
        trace_id=int.from_bytes(digest[:16]),
        span_id=int.from_bytes(digest[16:24]),
        is_remote=True,
        trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED),
    )


def below(root: SpanContext) -> Context:
    """The context in which spans become children of the root."""
    return trace.set_span_in_context(trace.NonRecordingSpan(root), Context())


class DerivedIds(RandomIdGenerator):
    """Makes random ids, except for a root span that is started in `next_root`."""

    def generate_trace_id(self) -> int:
        root = _root.get()
        return super().generate_trace_id() if root is None else root.trace_id

    def generate_span_id(self) -> int:
        root = _root.get()
        return super().generate_span_id() if root is None else root.span_id


@contextmanager
def next_root(root: SpanContext) -> Iterator[Context]:
    """The context in which a span that is started becomes this root."""
    token = _root.set(root)
    try:
        yield Context()
    finally:
        _root.reset(token)
