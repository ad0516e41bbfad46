"""Prometheus metrics of the work of a process: turns, runs and deliveries by outcome, waits, tokens, cost.

No label holds an id, a key or a name that a client chose.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from segue.kernel.kernel import Kernel
from segue.kernel.live.observers import Observer
from segue.kernel.live.running import RunningTurn
from segue.model.cost.usage import TOKENS, run_usage
from segue.model.records import Delivery, Event, Source
from segue.model.states import JobKind, Outcome

_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600)
_KINDS = frozenset(JobKind)


class WorkMetrics(Observer):
    """Counts what the workers of a kernel do. Use it with `kernel.observers.added`."""

    def __init__(self, registry: CollectorRegistry, kernel: Kernel) -> None:
        self._kernel = kernel
        self._turns = Counter(
            "segue_turns",
            "Turns that ended, by what caused them and how; `retried` will run again.",
            ("kind", "outcome"),
            registry=registry,
        )
        self._turn_seconds = Histogram(
            "segue_turn_seconds", "Duration of turns.", ("kind",), buckets=_SECONDS, registry=registry
        )
        self._queue_seconds = Histogram(
            "segue_queue_wait_seconds",
            "Time from the arrival of a turn, or from the moment it may be retried, to its start.",
            ("kind",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._runs = Counter(
            "segue_runs",
            "Slots of jobs that ended, by outcome; a slot without a turn is skipped or missed.",
            ("kind", "outcome"),
            registry=registry,
        )
        self._lateness = Histogram(
            "segue_run_lateness_seconds",
            "Time from a slot to its firing.",
            ("kind",),
            buckets=_SECONDS,
            registry=registry,
        )
        self._deliveries = Counter(
            "segue_deliveries",
            "Attempts to deliver, by channel and result (`sent`, `failed`, `retried`).",
            ("channel", "result"),
            registry=registry,
        )
        self._tokens = Counter(
            "segue_tokens", "Tokens that agents reported.", ("kind", "direction"), registry=registry
        )
        self._prompt_tokens = Counter(
            "segue_prompt_tokens",
            "Tokens of prompts, by whether the provider had them in its cache.",
            ("cached",),
            registry=registry,
        )
        self._cost = Counter(
            "segue_cost_usd", "Cost of turns whose agent reported one.", ("kind",), registry=registry
        )
        running = Gauge("segue_turns_running", "Turns running in this process.", registry=registry)
        running.set_function(lambda: len(kernel.workers.turns) if kernel.is_open else 0)

    @contextmanager
    def turn(self, running: RunningTurn) -> Iterator[None]:
        turn = running.held.turn
        kind = _kind(turn.source)
        started = turn.started_at or self._kernel.clock.ms()
        waited_from = turn.queued_at if turn.attempt == 1 else turn.not_before
        self._queue_seconds.labels(kind).observe(max(0, started - waited_from) / 1000)
        yield
        self._turn_seconds.labels(kind).observe(max(0, self._kernel.clock.ms() - started) / 1000)
        self._count_usage(running, kind)
        if running.retried:
            self._turns.labels(kind, "retried").inc()
        elif running.ending is not None:
            self._count_end(kind, running.ending.outcome, is_run=turn.run_id is not None)

    def turn_reclaimed(self, end: Event) -> None:
        outcome = end.body.get("outcome")
        if outcome is not None:
            self._count_end(_kind(end.source), outcome, is_run=end.source is not None)

    def run_fired(self, kind: JobKind, lateness_ms: int) -> None:
        self._lateness.labels(str(kind)).observe(lateness_ms / 1000)

    def run_passed_over(self, kind: JobKind, outcome: Outcome, count: int) -> None:
        self._runs.labels(str(kind), str(outcome)).inc(count)

    def delivery_ended(self, delivery: Delivery, result: str, at: int) -> None:
        # A chat without a channel is read from the log; its prefix is the client's choice.
        known = delivery.channel in self._kernel.networks
        self._deliveries.labels(delivery.channel if known else "log", result).inc()
        if delivery.run_id is not None and delivery.turn_id is None and result != "retried":
            outcome = Outcome.OK if result == "sent" else Outcome.ERROR
            self._runs.labels(str(JobKind.MESSAGE), str(outcome)).inc()

    def _count_end(self, kind: str, outcome: str, *, is_run: bool) -> None:
        self._turns.labels(kind, str(outcome)).inc()
        if is_run:
            self._runs.labels(kind, str(outcome)).inc()

    def _count_usage(self, running: RunningTurn, kind: str) -> None:
        used = run_usage(running.usage)
        if used is None:
            return
        for name in TOKENS:
            if count := getattr(used, name):
                self._tokens.labels(kind, name.removesuffix("_tokens")).inc(count)
        self._prompt_tokens.labels("true").inc(used.cache_read_tokens)
        self._prompt_tokens.labels("false").inc(used.uncached_tokens)
        if used.cost_usd:
            self._cost.labels(kind).inc(used.cost_usd)


def _kind(source: Source | None) -> str:
    """`user`, or the kind of the job."""
    if source is None:
        return "user"
    return source.kind if source.kind in _KINDS else "other"
