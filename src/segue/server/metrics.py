"""Prometheus metrics. No label holds an id, a key or a name that a client chose."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from segue.kernel.kernel import Kernel
from segue.telemetry.work_metrics import WorkMetrics

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """Has its own registry, so that two apps in one process count separately."""

    def __init__(self, version: str, kernel: Kernel) -> None:
        registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter("segue_http_requests", "HTTP requests answered.", labels, registry=registry)
        self.seconds = Histogram(
            "segue_http_request_seconds",
            "Duration of HTTP requests in seconds.",
            ("route",),
            buckets=_SECONDS,
            registry=registry,
        )
        self.clients = Gauge(
            "segue_live_clients", "Connected clients of live events.", ("transport",), registry=registry
        )
        self.sent = Counter(
            "segue_live_events", "Live events sent to clients.", ("transport",), registry=registry
        )
        self.lag = Gauge(
            "segue_scheduler_lag_seconds", "Lateness of the most overdue job in seconds.", registry=registry
        )
        info = Gauge("segue_info", "Version of Segue.", ("version",), registry=registry)
        info.labels(version).set(1)
        self.work = WorkMetrics(registry, kernel)
        self._registry = registry

    def text(self) -> bytes:
        return generate_latest(self._registry)
