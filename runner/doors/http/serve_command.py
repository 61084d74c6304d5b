"""`runner serve`: the HTTP API, metrics and the web pages."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
import uvicorn
from fastapi import FastAPI

from runner.app import compose
from runner.controller.host import Host
from runner.controller.spec import RunRequest
from runner.doors import render
from runner.doors.asking import request_of
from runner.doors.http.admission import Access
from runner.doors.http.app import Parts, make_app
from runner.doors.http.heads import PromptHeads
from runner.doors.http.limits import TransportLimits
from runner.doors.http.listening import Place, listen, require_safe
from runner.doors.http.signing_in import web_pages
from runner.doors.http.tracing import tracing_to
from runner.doors.recorded import own_public_key
from runner.model.errors import UsageError
from runner.serving.service import Service, Wanted
from runner.settings import Settings
from runner.store.database import Database, StoreUnavailable, default_url
from runner.store.runs import RunStore
from runner.store.tokens import TokenStore

__all__ = ["serve"]

_HEAD_BYTES = 64 * 1024  # the request line and headers; uvicorn's own default
_GRACE_SECONDS = 5  # for answers on their way when the server stops
_CONNECTIONS = 1000  # over all clients; each costs some tens of KiB


def serve(
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on.")] = 8765,
    uds: Annotated[Path | None, typer.Option("--uds", help="Listen on this Unix socket instead.")] = None,
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="Certificate chain, PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="Its key, PEM.")] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy in front speaks TLS; its X-Forwarded-* are believed.")
    ] = False,
    db: Annotated[
        str | None, typer.Option("--db", help="sqlite:///PATH or postgresql://…; in the state folder if left out.")
    ] = None,
    runs_per_tenant: Annotated[int, typer.Option("--runs-per-tenant", min=1, help="Open at once.")] = 10,
    requests_per_minute: Annotated[int, typer.Option("--requests-per-minute", min=1, help="Of each tenant.")] = 1200,
    max_body_mib: Annotated[int, typer.Option("--max-body-mib", min=1, max=256, help="Largest call.")] = 8,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="A line of JSON on standard error for each request.")
    ] = False,
) -> None:
    """Serve the HTTP API, metrics and the web pages. Each request needs a token (`runner token create`).

    Listens on the loopback or a Unix socket; beyond it only with tokens and TLS, or behind a proxy.
    Ctrl-C or SIGTERM ends every run, torn down and sealed, and then the server.

    Example: runner serve --port 8765
    """
    place = Place(host, port, uds, tls_cert, tls_key, behind_proxy)
    settings = Settings.from_environment()
    limits = TransportLimits(body_bytes=max_body_mib << 20, requests_per_minute=requests_per_minute)
    with compose(settings, pool=True) as machine:
        database = Database(db or default_url(settings.state_dir))
        try:
            _serve(machine, settings, database, place, limits, runs_per_tenant, _log if access_log else None)
        finally:
            database.close()


def _serve(
    host: Host,
    settings: Settings,
    database: Database,
    place: Place,
    limits: TransportLimits,
    runs_per_tenant: int,
    access: Access | None,
) -> None:
    tokens = TokenStore(database, host.unix)
    valid = any(token.state(host.unix()) == "valid" for token in tokens.all())
    require_safe(place, any_token=valid)
    service = Service(host, RunStore(database, host.unix), _request, runs_per_tenant=runs_per_tenant)
    secure = place.behind_proxy or place.tls_cert is not None
    shown = web_pages(host, service, lambda: own_public_key(settings), secure=secure)
    tracing = tracing_to(settings.otlp_endpoint)
    parts = Parts(host, service, tokens, time.monotonic, limits, pages=shown, tracing=tracing, access=access)
    server = _server(make_app(parts), place)
    with listen(place) as socket:
        bound = place if place.uds or place.port else _with_port(place, socket.getsockname()[1])
        render.progress(f"listening on {bound.shown}")
        if not valid:
            render.progress("there is no valid token yet: make one with `runner token create`")
        try:
            server.run(sockets=[socket])
            if not server.started:
                raise StoreUnavailable("the server could not start", hint="What kept it from starting is told above.")
        except KeyboardInterrupt:
            render.progress("stopped; every run was torn down")
    if place.uds is not None:
        place.uds.unlink(missing_ok=True)


def _log(told: Mapping[str, Any]) -> None:
    render.json_line(told, sys.stderr)


def _server(app: FastAPI, place: Place) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        http=PromptHeads,
        log_config=None,
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=_HEAD_BYTES,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        proxy_headers=place.behind_proxy,
        forwarded_allow_ips="*" if place.behind_proxy else None,
        ssl_certfile=place.tls_cert,
        ssl_keyfile=place.tls_key,
    )
    try:
        config.load()
    except OSError as error:
        hint = "Both are PEM files, and the key is the certificate's, without a passphrase."
        raise UsageError(f"--tls-cert and --tls-key cannot be used: {error.strerror or error}", hint=hint) from error
    return uvicorn.Server(config)


def _with_port(place: Place, port: int) -> Place:
    return Place(place.host, port, place.uds, place.tls_cert, place.tls_key, place.behind_proxy)


def _request(wanted: Wanted) -> RunRequest:
    narrow = [text.encode("utf-8", "surrogatepass") for text in wanted.narrow]
    return request_of(
        wanted.repo, ref=wanted.ref, depth=wanted.depth, policy=wanted.policy, narrow=narrow, tools=wanted.tools
    )
