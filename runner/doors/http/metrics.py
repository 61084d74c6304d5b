"""What a monitor sees: runs by how they ended, their openings, calls by tool and outcome, and how long they took."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from runner.tools.registry import TOOLS

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_OPENING_BUCKETS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_MOST_CODES = 100  # there are some forty; what a bug might make up must not fill the monitor
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30, 120, 600)


class Metrics:
    """Counters of one server. No tenant, repository or path is in a label: a monitor is not told who does what."""

    def __init__(self, live: Callable[[], int], queued: Callable[[], int]) -> None:
        self._registry = CollectorRegistry()
        self._codes: set[str] = set()
        self._runs = Counter("runner_runs", "Runs that ended.", ("state", "code"), registry=self._registry)
        self._unopened = Counter(
            "runner_openings_failed", "Runs that never took calls, by code.", ("code",), registry=self._registry
        )
        self._opening = Histogram(
            "runner_opening_seconds",
            "Seconds from a run's request until it took calls, the wait for a place included.",
            registry=self._registry,
            buckets=_OPENING_BUCKETS,
        )
        waiting = Gauge("runner_runs_queued", "Runs that wait for a place on this host.", registry=self._registry)
        waiting.set_function(queued)
        self._calls = Counter("runner_calls", "Calls answered.", ("tool", "outcome"), registry=self._registry)
        self._refusals = Counter("runner_refusals", "Calls refused, by code.", ("code",), registry=self._registry)
        self._seconds = Histogram(
            "runner_call_seconds", "Seconds a call took.", ("tool",), registry=self._registry, buckets=_BUCKETS
        )
        self._requests = Counter("runner_http_requests", "Requests answered.", ("status",), registry=self._registry)
        Gauge("runner_runs_live", "Runs that are opening or open.", registry=self._registry).set_function(live)

    def called(self, answer: dict[str, Any]) -> None:
        """A call was answered."""
        # A name that a caller made up must not become a label: there would be no end of them.
        tool = answer["tool"] if answer["tool"] in TOOLS else "unknown"
        self._calls.labels(tool, "ok" if answer["ok"] else "refused").inc()
        self._seconds.labels(tool).observe(answer["duration_ms"] / 1000)
        if not answer["ok"]:
            self._refusals.labels(answer["error"]["code"]).inc()

    def opened(self, seconds: float) -> None:
        """A run takes calls."""
        self._opening.observe(seconds)

    def not_opened(self, code: str) -> None:
        """A run will never take calls."""
        self._unopened.labels(self._bounded(code)).inc()

    def ended(self, state: str, code: str | None) -> None:
        """A run has ended, opened or not. `code` is None for one that completed, or was closed before its time."""
        self._runs.labels(state, self._bounded(code or "none")).inc()

    def _bounded(self, code: str) -> str:
        if code not in self._codes and len(self._codes) >= _MOST_CODES:
            return "other"
        self._codes.add(code)
        return code

    def answered(self, status: int) -> None:
        """A request was answered."""
        self._requests.labels(str(status)).inc()

    def text(self) -> bytes:
        """Everything, in Prometheus' form."""
        return generate_latest(self._registry)
