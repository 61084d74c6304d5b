"""Traces for an OpenTelemetry collector, where the extra `otel` is installed and a collector is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from runner.model.errors import UsageError
from runner.model.version import VERSION

__all__ = ["Tracing", "tracing_to"]


class Tracing:
    """Spans of requests, by route and never with what was sent; nothing at all without a tracer."""

    def __init__(self, tracer: Any = None) -> None:
        self._tracer = tracer

    def request(self, method: str, path: str) -> AbstractContextManager[None]:
        """The request is a span while the block runs."""
        return nullcontext() if self._tracer is None else self._span(f"{method} {_route(path)}")

    @contextmanager
    def _span(self, name: str) -> Iterator[None]:
        with self._tracer.start_as_current_span(name):
            yield


def _route(path: str) -> str:
    """The path without what names a run or a tool: a collector's names must not be of endless kinds."""
    parts = path.split("/")
    if parts[1:3] == ["v1", "runs"] and len(parts) > 3:
        parts[3] = "{run_id}"
        if parts[4:5] == ["tools"]:
            parts[5:] = ["{tool}"]
    return "/".join(parts[:6])[:100]


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
        raise UsageError("traces need more than is installed", hint="Install runner-sandbox[otel].") from error
    resource = Resource.create({"service.name": "runner", "service.version": VERSION})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    return Tracing(provider.get_tracer("runner"))
