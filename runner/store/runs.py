"""What a server knows of its runs, so that a restart finds them again. What they did is in their records."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import false, func, insert, select, update

from runner.store.database import Database, StoreUnavailable
from runner.store.tables import RUNS

__all__ = ["LIVE", "RunRow", "RunState", "RunStore"]

_MAX_LISTED = 500


class RunState(StrEnum):
    """Where a run is: the first two are live, the others are how it ended."""

    OPENING = "opening"
    OPEN = "open"
    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    LOST = "lost"
    FAILED = "failed"


LIVE = (RunState.OPENING, RunState.OPEN)


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run as the server has it."""

    id: str
    tenant: str
    token: str
    state: RunState
    request: Mapping[str, Any]
    request_digest: str
    created_unix: float
    opened_unix: float | None
    ended_unix: float | None
    exit_code: int | None
    code: str | None
    because: str

    @property
    def live(self) -> bool:
        """Whether it has not ended."""
        return self.state in LIVE


class RunStore:
    """The runs of a server."""

    def __init__(self, database: Database, unix: Callable[[], float]) -> None:
        self._database = database
        self._unix = unix

    def add(self, row: RunRow, key: str | None) -> RunRow:
        """The run is known; where the tenant has used the key before, the run of that time is given instead."""
        values = {
            "id": row.id,
            "tenant": row.tenant,
            "token": row.token,
            "state": str(row.state),
            "request": json.dumps(dict(row.request), sort_keys=True),
            "request_digest": row.request_digest,
            "idempotency_key": key,
            "created_unix": row.created_unix,
            "because": row.because,
        }
        earlier = None if key is None else self.of_key(row.tenant, key)
        if earlier is None:
            try:
                with self._database.begin() as connection:
                    connection.execute(insert(RUNS).values(values))
            except StoreUnavailable:
                # Maybe another process was first with the key: the table takes each once.
                earlier = None if key is None else self.of_key(row.tenant, key)
                if earlier is None:
                    raise
        return row if earlier is None else earlier

    def of_key(self, tenant: str, key: str) -> RunRow | None:
        """The run that the tenant used the key for."""
        chosen = select(RUNS).where(RUNS.c.tenant == tenant, RUNS.c.idempotency_key == key)
        with self._database.begin() as connection:
            found = connection.execute(chosen).mappings().first()
        return None if found is None else _row(found)

    def get(self, identity: str) -> RunRow | None:
        """The run of that name."""
        if not identity.isalnum():
            return None  # never a name of ours, and maybe none that every database takes
        with self._database.begin() as connection:
            found = connection.execute(select(RUNS).where(RUNS.c.id == identity)).mappings().first()
        return None if found is None else _row(found)

    def of_tenant(
        self, tenant: str, *, limit: int = 100, before: float | None = None, before_id: str = ""
    ) -> list[RunRow]:
        """Its runs, newest first, those created before a moment; with an id, those that are listed after that run."""
        chosen = select(RUNS).where(RUNS.c.tenant == tenant)
        if before is not None:
            # Runs of the same moment are in the order of their ids: by the moment alone a page would drop some.
            beside = (RUNS.c.created_unix == before) & (RUNS.c.id > before_id) if before_id else false()
            chosen = chosen.where((RUNS.c.created_unix < before) | beside)
        chosen = chosen.order_by(RUNS.c.created_unix.desc(), RUNS.c.id).limit(max(1, min(limit, _MAX_LISTED)))
        with self._database.begin() as connection:
            return [_row(found) for found in connection.execute(chosen).mappings()]

    def live(self) -> list[RunRow]:
        """All that have not ended, of every tenant."""
        chosen = select(RUNS).where(RUNS.c.state.in_([str(state) for state in LIVE]))
        with self._database.begin() as connection:
            return [_row(found) for found in connection.execute(chosen).mappings()]

    def count_live(self, tenant: str) -> int:
        """How many of a tenant's have not ended."""
        chosen = select(func.count()).where(RUNS.c.tenant == tenant, RUNS.c.state.in_([str(s) for s in LIVE]))
        with self._database.begin() as connection:
            return int(connection.execute(chosen).scalar_one())

    def opened(self, identity: str) -> None:
        """It takes calls."""
        self._change(identity, state=str(RunState.OPEN), opened_unix=self._unix())

    def ended(self, identity: str, state: RunState, *, exit_code: int, code: str | None, because: str) -> None:
        """It has ended, and how."""
        now, said = self._unix(), _storable(because)
        self._change(identity, state=str(state), ended_unix=now, exit_code=exit_code, code=code, because=said)

    def _change(self, identity: str, **values: Any) -> None:
        # What has ended stays as it ended: two who end a run at once must not contradict each other.
        change = update(RUNS).where(RUNS.c.id == identity, RUNS.c.ended_unix.is_(None)).values(**values)
        with self._database.begin() as connection:
            connection.execute(change)


def _storable(text: str) -> str:
    """The text as every database takes it: some refuse NUL, and none can keep half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _row(found: Any) -> RunRow:
    return RunRow(
        id=found["id"],
        tenant=found["tenant"],
        token=found["token"],
        state=RunState(found["state"]),
        request=json.loads(found["request"]),
        request_digest=found["request_digest"],
        created_unix=found["created_unix"],
        opened_unix=found["opened_unix"],
        ended_unix=found["ended_unix"],
        exit_code=found["exit_code"],
        code=found["code"],
        because=found["because"],
    )
