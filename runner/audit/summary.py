"""What a run did, in short, told from its log alone: the body of a receipt, and what a verifier makes again.

Pure: lines in, one JSON value out. The same lines always give the same value, so a receipt that says anything else than
its log is found out. Lists are bounded; what is beyond the bound is still counted, and for calls still in the digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from runner.audit.canonical import canonical, digest

__all__ = ["MAX_LISTED", "Summary"]

MAX_LISTED = 10_000
"""Calls, and destinations of connections, that are listed: about 2 MiB. A reader of more reads the log."""

Data = Mapping[str, Any]


class Summary:
    """Takes a log's lines in order."""

    def __init__(self) -> None:
        self._at: list[str] = []
        self._run: Data = {}
        self._repository: Data | None = None
        self._images: dict[str, str | None] = {"workspace": None, "gate": None}
        self._posture: dict[str, Any] | None = None
        self._rooms: list[dict[str, Any]] = []
        self._calls = _Calls()
        self._decisions: dict[str, Any] = {"allowed": 0, "denied": 0, "denied_by": {}}
        self._egress = _Egress()
        self._pushes: list[dict[str, Any]] = []
        self._changes: Data | None = None
        self._canary: dict[str, int] = {}
        self.ended: Data | None = None
        """What the last `run.ended` said."""
        self._takers: Mapping[str, Callable[[Data], None]] = {
            "run.started": self._take_start,
            "repository.fetched": self._take_repository,
            "workspace.start": self._take_image,
            "posture": self._take_posture,
            "gate.posture": self._take_room,
            "call.started": self._calls.started,
            "call.finished": self._calls.finished,
            "call.crashed": self._calls.crashed,
            "decision": self._take_decision,
            "egress.open": self._egress.opened,
            "egress": self._egress.ended,
            "push.done": self._take_push,
            "changes": self._take_changes,
            "canary.seen": self._take_canary,
            "run.ended": self._take_end,
        }

    def take(self, line: Data) -> None:
        """One more line has been told."""
        self._at = [*self._at[:1], line["at"]]
        taker = self._takers.get(line["event"])
        if taker is not None:
            taker(line["data"])

    def as_json(self) -> dict[str, Any]:
        """Everything so far. Its texts are whole Unicode, so that every JSON parser can read a receipt."""
        told: dict[str, Any] = _readable(self._told())
        return told

    def _told(self) -> dict[str, Any]:
        return {
            "started": self._at[0] if self._at else None,
            "ended": self._at[-1] if self._at else None,
            "version": self._run.get("version"),
            "controller": self._run.get("controller"),
            "policy": {"source": self._run.get("policy"), "sha256": self._run.get("policy_sha256")},
            "repository": {"address": self._run.get("repository"), "base_commit": None, **(self._repository or {})},
            "images": self._images,
            "posture": {"workspace": self._posture, "gate": self._rooms},
            "calls": self._calls.as_json(),
            "decisions": self._decisions,
            "egress": self._egress.as_json(),
            "changes": self._changes,
            "pushes": self._pushes,
            "canary": self._canary,
        }

    def _take_start(self, data: Data) -> None:
        self._run = dict(data)

    def _take_repository(self, data: Data) -> None:
        self._repository = dict(data)

    def _take_image(self, data: Data) -> None:
        self._images["workspace"] = data["image"]

    def _take_posture(self, data: Data) -> None:
        self._posture = _proof(data["checks"])

    def _take_room(self, data: Data) -> None:
        self._images["gate"] = data["image"]
        proof = {"role": data["role"], **_proof(data["checks"])}
        if proof not in self._rooms:  # each push has a room of its own, which is proved alike
            self._rooms.append(proof)

    def _take_decision(self, data: Data) -> None:
        if data["allowed"]:
            self._decisions["allowed"] += 1
            return
        self._decisions["denied"] += 1
        by = self._decisions["denied_by"]
        by[data["rule"]] = by.get(data["rule"], 0) + 1

    def _take_push(self, data: Data) -> None:
        self._pushes.append(dict(data))

    def _take_changes(self, data: Data) -> None:
        self._changes = dict(data)

    def _take_canary(self, data: Data) -> None:
        self._canary[data["place"]] = self._canary.get(data["place"], 0) + 1

    def _take_end(self, data: Data) -> None:
        self.ended = dict(data)


def _readable(value: Any) -> Any:
    """The value with lone surrogates, which a tool's name or a path may hold, as escapes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_readable(key): _readable(inner) for key, inner in value.items()}
    return [_readable(inner) for inner in value] if isinstance(value, list | tuple) else value


def _proof(checks: list[Data]) -> dict[str, Any]:
    active = sum(bool(check["active"]) for check in checks)
    return {"sha256": digest(checks), "checks": len(checks), "all_active": active == len(checks)}


class _Calls:
    """One entry a call, in the order of their ends; one without an end comes last."""

    def __init__(self) -> None:
        self._open: dict[int, dict[str, Any]] = {}
        self._listed: list[dict[str, Any]] = []
        self._counts = {"count": 0, "ok": 0, "refused": 0, "unfinished": 0}
        self._hash = hashlib.sha256()

    def started(self, data: Data) -> None:
        self._open[data["seq"]] = {"tool": data["tool"], "arguments_sha256": data["arguments_sha256"]}

    def finished(self, data: Data) -> None:
        outcome = "ok" if data["ok"] else data["code"]
        self._end(data["seq"], data["tool"], outcome, data.get("exit"), data["ms"])

    def crashed(self, data: Data) -> None:
        self._end(data["seq"], "", "crashed", None, None)

    def _end(self, seq: int, tool: str, outcome: str, code: int | None, ms: float | None) -> None:
        known = self._open.pop(seq, {"tool": tool, "arguments_sha256": None})
        self._add(self._hash, self._listed, {"seq": seq, **known, "outcome": outcome, "exit": code, "ms": ms})
        self._counts["count"] += 1
        kind = {"ok": "ok", "crashed": "unfinished"}.get(outcome, "refused")
        self._counts[kind] += 1

    @staticmethod
    def _add(running: hashlib._Hash, listed: list[dict[str, Any]], call: dict[str, Any]) -> None:
        running.update(canonical(call) + b"\n")
        if len(listed) < MAX_LISTED:
            listed.append(call)

    def as_json(self) -> dict[str, Any]:
        running, listed, counts = self._hash.copy(), list(self._listed), dict(self._counts)
        for seq, known in self._open.items():
            self._add(running, listed, {"seq": seq, **known, "outcome": "unfinished", "exit": None, "ms": None})
            counts["count"] += 1
            counts["unfinished"] += 1
        return {**counts, "sha256": running.hexdigest(), "listed": listed}


class _Egress:
    """Connections, added up by phase and destination. One without an end, cut by the run's own, counts as any other."""

    def __init__(self) -> None:
        self._all = _no_traffic()
        self._by: dict[tuple[str, str, int], dict[str, int]] = {}
        self._unlisted = 0
        self._open: set[tuple[str, int]] = set()

    def opened(self, data: Data) -> None:
        self._open.add((data["phase"], data["connection"]))
        self._begin(data)

    def ended(self, data: Data) -> None:
        way = (data["phase"], data.get("connection"))
        if way in self._open:
            self._open.remove(way)  # a later proxy of the same phase counts from 1 again
        else:
            self._begin(data)
        for sums in (self._all, self._by.get(_destination(data))):
            if sums is not None:
                _add_traffic(sums, data)

    def _begin(self, data: Data) -> None:
        self._all["connections"] += 1
        key = _destination(data)
        if key not in self._by and len(self._by) >= MAX_LISTED:
            self._unlisted += 1
            return
        self._by.setdefault(key, _no_traffic())["connections"] += 1

    def as_json(self) -> dict[str, Any]:
        listed = [{"phase": key[0], "host": key[1], "port": key[2], **sums} for key, sums in self._by.items()]
        return {**self._all, "destinations": listed, "unlisted": self._unlisted}


def _destination(data: Data) -> tuple[str, str, int]:
    return data["phase"], data["host"], data["port"]


def _no_traffic() -> dict[str, int]:
    return {"connections": 0, "refused": 0, "bytes_up": 0, "bytes_down": 0}


def _add_traffic(sums: dict[str, int], data: Data) -> None:
    sums["refused"] += not data["allowed"]
    sums["bytes_up"] += data["bytes_up"]
    sums["bytes_down"] += data["bytes_down"]
