"""What is counted, in Prometheus's words. No label holds an id, a key or a name that a caller chose."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from segue.kernel.live.running import RunningTurns

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """A registry of its own for each app: two in one process do not count into each other."""

    def __init__(self, version: str, turns: RunningTurns) -> None:
        registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter("segue_http_requests", "Requests answered.", labels, registry=registry)
        self.seconds = Histogram(
            "segue_http_request_seconds",
            "How long an answer took.",
            ("route",),
            buckets=_SECONDS,
            registry=registry,
        )
        self.clients = Gauge("segue_live_clients", "Who listens just now.", ("transport",), registry=registry)
        self.sent = Counter("segue_live_events", "Events sent to clients.", ("transport",), registry=registry)
        self.lag = Gauge(
            "segue_scheduler_lag_seconds", "By how much the most overdue job is late.", registry=registry
        )
        info = Gauge("segue_info", "The version that runs.", ("version",), registry=registry)
        info.labels(version).set(1)
        registry.register(_Turns(turns))
        self._registry = registry

    def text(self) -> bytes:
        return generate_latest(self._registry)


class _Turns(Collector):
    def __init__(self, turns: RunningTurns) -> None:
        self._turns = turns

    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily("segue_turns_running", "Turns that this process runs.", len(self._turns))
