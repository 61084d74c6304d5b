"""`runner mcp`: the tools of a run for an agent that speaks MCP."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer
import uvicorn
from starlette.applications import Starlette

from runner.app import compose
from runner.controller.held import HeldRun
from runner.controller.prepare import address_of
from runner.controller.run import Progress, keep_ready
from runner.controller.spec import MAX_DEPTH, RunRequest
from runner.doors import render
from runner.doors.asking import DEFAULT_POLICY, request_of
from runner.doors.completions import policy_names
from runner.doors.http.callers import Callers
from runner.doors.http.heads import PromptHeads
from runner.doors.http.listening import Place, listen, require_safe
from runner.doors.mcp.http import PATH, Admit, mcp_app, reached_by
from runner.doors.mcp.server import make_server
from runner.doors.mcp.session import Wanted
from runner.doors.mcp.stdio import run_stdio
from runner.doors.narrow_option import Narrow
from runner.model.errors import UsageError
from runner.serving.refusals import Forbidden
from runner.settings import Settings
from runner.store.database import Database, default_url
from runner.store.tokens import Token, TokenStore, policy_name

__all__ = ["admitting", "mcp"]

_GRACE_SECONDS = 5
_LOGGED_CHARS = 500


def mcp(
    repo: Annotated[str | None, typer.Option("--repo", help="Address or path, as `runner run --repo`.")] = None,
    ref: Annotated[str | None, typer.Option("--ref", help="Branch, tag or commit.")] = None,
    depth: Annotated[int | None, typer.Option("--depth", min=1, max=MAX_DEPTH, help="Commits of each branch.")] = None,
    policy: Annotated[
        str, typer.Option("--policy", help="Policy file, or a preset.", autocompletion=policy_names)
    ] = DEFAULT_POLICY,
    narrow: Narrow = None,
    tool: Annotated[list[str] | None, typer.Option("--tool", help="Declared tool; all if left out.")] = None,
    http: Annotated[
        str | None, typer.Option("--http", metavar="HOST:PORT", help="Serve streamable HTTP there, instead of stdio.")
    ] = None,
    sessions: Annotated[int, typer.Option("--sessions", min=1, help="Over HTTP: sessions, and so runs, at once.")] = 10,
    idle_minutes: Annotated[int, typer.Option("--idle-minutes", min=1, help="Over HTTP: then a session ends.")] = 30,
    hostname: Annotated[
        list[str] | None, typer.Option("--hostname", help="Over HTTP: a further name that clients reach it by.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="Certificate chain, PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="Its key, PEM.")] = None,
) -> None:
    """Serve the tools of a run over MCP: one for each session, opened at its first question for tools, ended with it.

    Over standard input and output the client starts this program. Over HTTP each request needs a token
    (`runner token create`).

    Example: runner mcp --repo . --policy node-app
    """
    request = request_of(repo, ref=ref, depth=depth, policy=policy, narrow=narrow, tools=tool)
    address_of(request)  # what cannot be fetched is told before a client is there
    settings = Settings.from_environment()
    _show_log()
    with compose(settings, pool=http is not None) as host:

        def open_run(progress: Progress, wanted: Wanted) -> HeldRun:
            return HeldRun(host, request, progress, wanted=wanted)

        server = make_server(open_run, render.progress, request.tools, at_once=1 if http is None else sessions)
        if http is None:
            run_stdio(server)
            return
        place = _place(http, tls_cert, tls_key)
        keep_ready(host, request)
        database = Database(default_url(settings.state_dir))
        try:
            tokens = TokenStore(database, host.unix)
            require_safe(place, any_token=any(t.state(host.unix()) == "valid" for t in tokens.all()))
            admit = admitting(request, policy)
            callers, names = Callers(tokens, host.unix), reached_by(place, hostname or [])
            app = mcp_app(server, callers, admit, names, idle_seconds=idle_minutes * 60.0, most=sessions)
            _serve(app, place)
        finally:
            database.close()


class _Shown(logging.Handler):
    """What the SDK logs, on standard error. It may quote a client, so control characters are made visible."""

    def emit(self, record: logging.LogRecord) -> None:
        """One line."""
        render.progress(record.getMessage()[:_LOGGED_CHARS])


def _show_log() -> None:
    log = logging.getLogger("mcp")
    log.handlers, log.propagate = [_Shown(logging.WARNING)], False


def _place(text: str, tls_cert: Path | None, tls_key: Path | None) -> Place:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or not host or int(port) > 65535:
        raise UsageError(f"--http {text[:80]!r} is no address", hint="Say 127.0.0.1:8766.")
    return Place(host.strip("[]"), int(port), None, tls_cert, tls_key)


def admitting(request: RunRequest, policy: str) -> Admit:
    """Lets in whose token is for that policy, however its file is written, and for the request's repository."""
    address = address_of(request).url

    def admit(token: Token) -> None:
        if not token.may_use_policy(policy):
            hint = f"This server's is {policy_name(policy)}; the token is for: {', '.join(sorted(token.policies))}."
            raise Forbidden("policy_not_allowed", "The token is not for this policy.", hint)
        if not token.may_reach(address):
            hint = f"This server's is {address}; the token is for: {', '.join(token.repositories)}."
            raise Forbidden("repository_not_allowed", "The token is not for this repository.", hint)

    return admit


def _serve(app: Starlette, place: Place) -> None:
    config = uvicorn.Config(
        app,
        http=PromptHeads,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        ssl_certfile=place.tls_cert,
        ssl_keyfile=place.tls_key,
    )
    with listen(place) as socket:
        render.progress(f"listening on {place.shown}{PATH}")
        try:
            uvicorn.Server(config).run(sockets=[socket])
        except KeyboardInterrupt:
            render.progress("stopped; every run was torn down")
