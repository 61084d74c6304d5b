"""Traces for an OpenTelemetry collector, where the extra `otel` is installed and a collector is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from starlette.types import Scope

from runner.model.errors import UsageError
from runner.model.version import VERSION

__all__ = ["Tracing", "tracing_to"]

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Tracing:
    """Spans of requests, by route and never with what was sent; nothing at all without a tracer."""

    def __init__(self, tracer: Any = None) -> None:
        self._tracer = tracer

    def request(self, scope: Scope) -> AbstractContextManager[None]:
        """The request is a span while the block runs."""
        return nullcontext() if self._tracer is None else self._span(scope)

    @contextmanager
    def _span(self, scope: Scope) -> Iterator[None]:
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        # No exception's text either: it may quote what was sent.
        with self._tracer.start_as_current_span(method, record_exception=False, set_status_on_exception=False) as span:
            try:
                yield
            finally:
                span.update_name(f"{method} {_route(scope)}")


def _route(scope: Scope) -> str:
    """The path as the code has it, known once the request was routed: no names of runs, and not of endless kinds."""
    return str(getattr(scope.get("route"), "path", "(none)"))


def tracing_to(endpoint: str | None) -> Tracing:
    """Traces to that collector (OTLP over HTTP); none without one.

    Raises:
        UsageError: the extra is not installed.
    """
    if endpoint is None:
        return Tracing()
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise UsageError(
            "traces need more than is installed",
            hint="Install the wheel of `make package` with its extra: 'FILE.whl[otel]'.",
        ) from error
    resource = Resource.create({"service.name": "runner", "service.version": VERSION})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    return Tracing(provider.get_tracer("runner"))
