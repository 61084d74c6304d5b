"""Bearer tokens: made once, shown once, kept as a digest, bounded in what they may do and until when.

A token reads `runner_ID_SECRET`. The secret is 256 bits of the system's random source, so one round of SHA-256 is as
good as a slow hash: there is nothing to guess. The row is looked up by the id, the digest is compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import os
import re
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from sqlalchemy import insert, select, update

from runner.model.errors import UsageError
from runner.store.database import Database
from runner.store.tables import TOKENS

__all__ = ["ANYTHING", "Token", "TokenStore", "Verb", "policy_name"]

ANYTHING = "*"
_FORM = re.compile(r"runner_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?", re.ASCII)
_PRESET = re.compile(r"[a-z0-9-]+", re.ASCII)
_LOCAL = "file://"
_HOST = re.compile(r"(?:[a-z0-9+.-]+://)?(?:[^@/:]*@)?(\[[^\]]*\]|[^/:]*)", re.ASCII)
_NUMBERS = re.compile(r"(?:0x[0-9a-f]+|[0-9]+)(?:\.(?:0x[0-9a-f]+|[0-9]+))*", re.ASCII)
_LOOPBACK_NAMES = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")
_MAX_SECONDS = 366 * 86400


def policy_name(text: str) -> str:
    """A policy as it is compared: a preset by its name, a file by its whole path, however it is written.

    A path that leads upwards stays as it is: by a link on its way it may lead elsewhere than its text says.
    """
    if _PRESET.fullmatch(text) or text == ANYTHING or ".." in PurePosixPath(text).parts:
        return text
    return os.path.abspath(text)  # noqa: PTH100 - `resolve` would follow links


class Verb(StrEnum):
    """What a token may be used for."""

    RUN = "run"  # open runs, call tools in them, end them
    READ = "read"  # see runs, their logs, reports and pages
    METRICS = "metrics"  # read /metrics


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token; its secret is not. `repositories` are addresses, or beginnings that end with `*`."""

    id: str
    tenant: str
    policies: frozenset[str]
    repositories: tuple[str, ...]
    verbs: frozenset[Verb]
    created_unix: float
    expires_unix: float
    revoked_unix: float | None
    note: str

    def may(self, verb: Verb) -> bool:
        """Whether it was made for that."""
        return verb in self.verbs

    def may_use_policy(self, name: str) -> bool:
        """Whether runs under that policy may be opened with it. `*` means the presets: a file has to be named."""
        if ANYTHING in self.policies and _PRESET.fullmatch(name) is not None:
            return True
        return policy_name(name) in map(policy_name, self.policies)

    def may_reach(self, address: str) -> bool:
        """Whether runs of that repository may be opened with it."""
        return any(_covers(one, address) for one in self.repositories)

    def state(self, now_unix: float) -> str:
        """valid, expired or revoked."""
        if self.revoked_unix is not None:
            return "revoked"
        return "valid" if now_unix < self.expires_unix else "expired"


class TokenStore:
    """The tokens of a server."""

    def __init__(self, database: Database, unix: Callable[[], float]) -> None:
        self._database = database
        self._unix = unix

    def create(
        self,
        tenant: str,
        *,
        policies: Iterable[str],
        repositories: Iterable[str],
        verbs: Iterable[Verb],
        seconds: float,
        note: str = "",
    ) -> tuple[Token, str]:
        """A new token, and its text, which nobody can be told again.

        Raises:
            UsageError: a value is out of its form or bounds.
        """
        _require(tenant, seconds, note)
        identity, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        now = self._unix()
        token = Token(
            identity,
            tenant,
            frozenset(policies),
            tuple(dict.fromkeys(repositories)),
            frozenset(verbs),
            now,
            now + seconds,
            None,
            note,
        )
        if not (token.policies and token.repositories and token.verbs):
            hint = "Name at least one policy, repository and verb; an empty list would allow nothing."
            raise UsageError("the token would be good for nothing", hint=hint)
        row = {
            "id": identity,
            "tenant": tenant,
            "digest": _digest(secret),
            "policies": json.dumps(sorted(token.policies)),
            "repositories": json.dumps(token.repositories),
            "verbs": json.dumps(sorted(token.verbs)),
            "created_unix": now,
            "expires_unix": token.expires_unix,
            "note": note,
        }
        with self._database.begin() as connection:
            connection.execute(insert(TOKENS).values(row))
        return token, f"runner_{identity}_{secret}"

    def known(self, text: str) -> Token | None:
        """The token that the text is, expired or revoked as it may be; None for any other text."""
        form = _FORM.fullmatch(text)
        if form is None:
            return None
        with self._database.begin() as connection:
            row = connection.execute(select(TOKENS).where(TOKENS.c.id == form[1])).mappings().first()
        # Compared also where there is no such id, so that time does not tell which ids there are.
        good = hmac.compare_digest(_digest(form[2]), "0" * 64 if row is None else row["digest"])
        return _token(row) if row is not None and good else None

    def all(self) -> list[Token]:
        """Every token, newest first."""
        with self._database.begin() as connection:
            rows = connection.execute(select(TOKENS).order_by(TOKENS.c.created_unix.desc())).mappings().all()
        return [_token(row) for row in rows]

    def revoke(self, identity: str) -> bool:
        """Whether there is such a token; it is good for nothing from here on."""
        change = update(TOKENS).where(TOKENS.c.id == identity, TOKENS.c.revoked_unix.is_(None))
        with self._database.begin() as connection:
            connection.execute(change.values(revoked_unix=self._unix()))
            return connection.execute(select(TOKENS.c.id).where(TOKENS.c.id == identity)).first() is not None


def _covers(said: str, address: str) -> bool:
    if not said.endswith(ANYTHING):
        return address == said
    if not _plain(address):
        return False
    # What lies on the server's own disk, or listens on its loopback, is reached by those tokens only that say so.
    return address.startswith(said[:-1]) and (_is_here(said) or not _is_here(address))


def _is_here(address: str) -> bool:
    """Whether it leads to the server's own machine, by its host as it is written: names are not looked up."""
    if address.startswith(_LOCAL):
        return True
    host = _HOST.match(address.lower())
    return host is not None and _is_loopback(host[1].strip("[]").rstrip("."))


def _is_loopback(host: str) -> bool:
    if host in _LOOPBACK_NAMES or host.endswith(".localhost"):
        return True
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return _NUMBERS.fullmatch(host) is not None  # `127.1` and `0x7f000001` lead there too
    ip = getattr(ip, "ipv4_mapped", None) or ip
    return ip.is_loopback or ip.is_unspecified  # to connect to 0.0.0.0 is to connect to oneself


def _plain(address: str) -> bool:
    """Whether the address leads where its beginning says: `web/../other` begins with `web/` and is not in it."""
    read = unquote(address)
    return not {".", ".."} & set(re.split(r"[/\\:?#]", read)) and "%" not in read


def _require(tenant: str, seconds: float, note: str) -> None:
    if not _NAME.fullmatch(tenant):
        raise UsageError(
            f"the tenant {tenant[:80]!r} is no name", hint="Lower-case letters, digits, dots, dashes; at most 64."
        )
    if not 60 <= seconds <= _MAX_SECONDS:
        raise UsageError("a token lives a minute at least and a year at most", hint="Say --expires 30d.")
    if len(note) > 200:
        raise UsageError("the note is longer than 200 characters", hint="Shorten it.")


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("ascii")).hexdigest()


def _token(row: Any) -> Token:
    return Token(
        row["id"],
        row["tenant"],
        frozenset(json.loads(row["policies"])),
        tuple(json.loads(row["repositories"])),
        frozenset(Verb(verb) for verb in json.loads(row["verbs"])),
        row["created_unix"],
        row["expires_unix"],
        row["revoked_unix"],
        row["note"],
    )
