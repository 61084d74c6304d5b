"""`runner token create|ls|revoke`: who may use a server, for what, and until when."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated

import typer

from runner.controller.records import StateFolder
from runner.doors import render
from runner.doors.http.token_bounds import policy_of, repository_of
from runner.doors.rows import Format, print_rows
from runner.model.errors import UsageError
from runner.settings import Settings
from runner.store.database import Database, default_url
from runner.store.tokens import Token, TokenStore, Verb

__all__ = ["token_app"]

token_app = typer.Typer(help="Tokens of `runner serve`.", no_args_is_help=True, rich_markup_mode=None)

_SECONDS = {"m": 60, "h": 3600, "d": 86400}
_COLUMNS = ("id", "tenant", "state", "policies", "repositories", "verbs", "expires", "note")
Db = Annotated[str | None, typer.Option("--db", help="The server's database, as `runner serve --db`.")]
Output = Annotated[Format, typer.Option("-o", "--output", help="How to print.")]


@token_app.command("create")
def create(
    tenant: Annotated[str, typer.Option("--tenant", help="Whose runs they will be.")],
    repo: Annotated[
        list[str], typer.Option("--repo", help="Address that it may open, or the beginning of some, ending with *.")
    ],
    policy: Annotated[list[str], typer.Option("--policy", help="Preset or file; * for any preset.")] = ["default"],  # noqa: B006 - typer's way of saying a default list; it is not changed
    verb: Annotated[list[Verb], typer.Option("--verb", help="What it may do.")] = [Verb.RUN, Verb.READ],  # noqa: B006 - as above
    expires: Annotated[str, typer.Option("--expires", help="Its life: 90m, 12h, 30d; a year at most.")] = "30d",
    note: Annotated[str, typer.Option("--note", help="What it is for.")] = "",
    db: Db = None,
) -> None:
    """Make a token and print it. It is printed this once; what is kept cannot be turned back into it.

    Example: runner token create --tenant web-team --repo 'https://git.example/web/*' --policy node-app
    """
    policies, repositories = [policy_of(one) for one in policy], [repository_of(one) for one in repo]
    with _store(db) as store:
        token, text = store.create(
            tenant, policies=policies, repositories=repositories, verbs=verb, seconds=_seconds(expires), note=note
        )
    render.progress(f"token {token.id} of {tenant}, until {_moment(token.expires_unix)}; it is not shown again")
    render.line(text)


@token_app.command("ls")
def ls(output: Output = Format.TABLE, db: Db = None) -> None:
    """List the tokens, without their secrets.

    Example: runner token ls -o json
    """
    with _store(db) as store:
        rows = [_row(token) for token in store.all()]
    print_rows(rows, _COLUMNS, output)


@token_app.command("revoke")
def revoke(
    identity: Annotated[str, typer.Argument(metavar="ID", help="As `runner token ls` shows it.")], db: Db = None
) -> None:
    """Make a token good for nothing, from the next request on.

    Example: runner token revoke 1f2e3d4c5b6a
    """
    with _store(db) as store:
        if not store.revoke(identity):
            raise UsageError(f"there is no token {identity[:40]!r}", hint="`runner token ls` lists them.")
    render.progress(f"token {identity} is revoked")


@contextmanager
def _store(url: str | None) -> Iterator[TokenStore]:
    settings = Settings.from_environment()
    database = Database(url or default_url(StateFolder(settings.state_dir).path))
    try:
        yield TokenStore(database, time.time)
    finally:
        database.close()


def _seconds(text: str) -> float:
    form = re.fullmatch(r"([1-9][0-9]{0,5})([mhd])", text, re.ASCII)
    if form is None:
        raise UsageError(f"--expires {text[:40]!r} is no time", hint="Say 90m, 12h or 30d.")
    return float(int(form[1]) * _SECONDS[form[2]])


def _moment(unix: float) -> str:
    return datetime.fromtimestamp(unix, UTC).isoformat(timespec="seconds")


def _row(token: Token) -> dict[str, str]:
    return {
        "id": token.id,
        "tenant": token.tenant,
        "state": token.state(time.time()),
        "policies": " ".join(sorted(token.policies)),
        "repositories": " ".join(token.repositories),
        "verbs": " ".join(sorted(token.verbs)),
        "expires": _moment(token.expires_unix),
        "note": token.note,
    }
