"""The runs of a server, whichever protocol asks for them.

Rules that it upholds:

- A caller sees and touches its own tenant's runs. Another tenant's run is not told from one that never was.
- What a token may open is decided here: policies by name, repositories by address. A path on the server's disk is an
  address like any other (`file://…`), so a token reaches local repositories only where it names them.
- A request that carries a key is carried out once, however often it is sent.
- What the database has is true after a restart: runs whose server is gone are ended there, and swept in the engine.
  What it could not be told while it was away is told when it is asked the next time.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from runner.controller.held import Ending, HeldRun
from runner.controller.host import Host
from runner.controller.prepare import address_of
from runner.controller.run import reserve, unreserving
from runner.controller.spec import RunRequest
from runner.controller.sweep import sweep
from runner.engine.contract import OutputSink
from runner.model.errors import ExitCode, RunnerError, ToolError
from runner.serving.refusals import Busy, Conflict, Forbidden, NoSuchRun
from runner.store.database import StoreUnavailable
from runner.store.runs import RunRow, RunState, RunStore
from runner.store.tokens import Token

__all__ = ["Opener", "Service", "Wanted", "Watch"]

Opener = Callable[..., HeldRun]
_PROGRESS_KEPT = 50
_CLOSERS = 8  # tear-downs side by side at the end; each takes a fraction of a second


@dataclass(frozen=True, slots=True)
class Wanted:
    """A run as it is asked for. `policy` is a preset's name or the path of a file on the server.

    Each of `narrow` is the text of a file that narrows it, of the caller's own, and never the path of one.
    """

    repo: str | None
    ref: str | None = None
    depth: int | None = None
    policy: str = "default"
    tools: tuple[str, ...] | None = None
    narrow: tuple[str, ...] = ()

    def asked(self) -> dict[str, Any]:
        """The same as it is kept and shown; `narrow` only where there is any."""
        tools = None if self.tools is None else list(self.tools)
        told = {"repo": self.repo, "ref": self.ref, "depth": self.depth, "policy": self.policy, "tools": tools}
        return {**told, "narrow": list(self.narrow)} if self.narrow else told


class Watch(Protocol):
    """Is told what becomes of runs, from any thread; it must not raise."""

    def opened(self, seconds: float) -> None:
        """A run takes calls, so long after it was asked for."""

    def not_opened(self, code: str) -> None:
        """A run will never take calls."""

    def ended(self, state: str, code: str | None) -> None:
        """A run has ended, opened or not."""


class _Nobody:
    def opened(self, seconds: float) -> None: ...

    def not_opened(self, code: str) -> None: ...

    def ended(self, state: str, code: str | None) -> None: ...


class _Live:
    """A run of this process: being opened, or open."""

    def __init__(self) -> None:
        self.opening: Future[HeldRun] = Future()
        self.progress: list[str] = []
        self.given_up = False  # then it does not wait for a place any more

    def tell(self, message: str) -> None:
        self.progress.append(message)
        del self.progress[:-_PROGRESS_KEPT]


class Service:
    """The runs of one server process."""

    def __init__(
        self,
        host: Host,
        store: RunStore,
        request_of: Callable[[Wanted], RunRequest],
        *,
        runs_per_tenant: int,
        opener: Opener = HeldRun,
    ) -> None:
        self._host = host
        self._store = store
        self._request_of = request_of
        self._runs_per_tenant = runs_per_tenant
        self._opener = opener
        self._lock = threading.Lock()
        self._live: dict[str, _Live] = {}
        self._untold: dict[str, Callable[[], None]] = {}  # what the database has to be told of a run, by its name
        self._stopping = False
        self.watch: Watch = _Nobody()

    # --- a server's own life

    def recover(self) -> int:
        """How many runs a former server process had left; they are ended in the database and swept in the engine.

        An engine that does not answer is swept later: until then the server is up and says that it is not ready.

        Raises:
            StoreUnavailable: the database does not answer.
        """
        left = [row for row in self._store.live() if not self._host.state.alive(row.id)]
        for row in left:
            because = "the server was stopped while it was open. Its log is kept as far as it goes."
            self._store.ended(row.id, RunState.LOST, exit_code=int(ExitCode.LIMIT), code="run_ended", because=because)
            self.watch.ended(RunState.LOST, "run_ended")
        with suppress(RunnerError):
            self.sweep()
        return len(left)

    def sweep(self) -> int:
        """How many objects of crashed runs were removed from the engine. Raises RunnerError when it does not answer."""
        self._tell_again()
        return len(sweep(self._host.engine, self._host.state, self._host.unix()).removed)

    def shutdown(self) -> None:
        """Every run has ended, interrupted; no new one is opened."""
        with self._lock:
            self._stopping = True
            live = list(self._live)
        with ThreadPoolExecutor(_CLOSERS, thread_name_prefix="runner-shutdown") as pool:
            list(pool.map(self._give_up, live))
        self._tell_again()

    def _give_up(self, identity: str) -> None:
        live = self._live.get(identity)
        if live is not None:
            live.given_up = True
            with suppress(RunnerError):
                live.opening.result().interrupt()

    def _tell(self, identity: str, said: Callable[[], None]) -> None:
        # What happened to a run happened, whether or not the database takes it: the newest word is kept until it does.
        try:
            said()
        except StoreUnavailable:
            self._untold[identity] = said

    def _tell_again(self) -> None:
        for identity, said in list(self._untold.items()):
            with suppress(StoreUnavailable):
                said()
                if self._untold.get(identity) is said:  # else there is a newer word
                    del self._untold[identity]

    # --- runs

    def create(self, token: Token, wanted: Wanted, key: str | None = None) -> RunRow:
        """The run, which is being opened; with a key that was used before, the run of that time.

        Raises:
            Forbidden: the token is not for that policy or repository.
            Conflict: the key was used for another request.
            Busy: the tenant has as many runs as it may, or the server is stopping.
            RunnerError: the request cannot be carried out.
        """
        request = self._allowed(token, wanted)
        asked = wanted.asked()
        digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode("ascii")).hexdigest()
        with self._lock:
            row, fresh = self._added(token, request, asked, digest, key)
            if fresh:
                live = self._live[row.id] = _Live()
        if row.request_digest != digest:
            raise Conflict("idempotency_key_reused", "The key was used for another request.", "Make a new key.")
        if fresh:
            self._begin(row.id, request, live)
        return row

    def _allowed(self, token: Token, wanted: Wanted) -> RunRequest:
        if not token.may_use_policy(wanted.policy):
            raise Forbidden(
                "policy_not_allowed",
                "The token is not for this policy.",
                f"It is for: {', '.join(sorted(token.policies))}.",
            )
        request = self._request_of(wanted)
        # A request without tools clones nothing, but is kept and shown: an address with a secret in it must not be.
        if not token.may_reach(address_of(request).url):
            hint = f"It is for: {', '.join(token.repositories)}."
            raise Forbidden("repository_not_allowed", "The token is not for this repository.", hint)
        return request

    def _added(
        self, token: Token, request: RunRequest, asked: Mapping[str, Any], digest: str, key: str | None
    ) -> tuple[RunRow, bool]:
        """The run, and whether it is a new one."""
        if self._stopping:
            raise Busy("stopping", "The server is stopping.", "Try again when it is up.")
        self._tell_again()
        earlier = None if key is None else self._store.of_key(token.tenant, key)
        if earlier is not None:
            return earlier, False
        if self._store.count_live(token.tenant) >= self._runs_per_tenant:
            hint = f"{self._runs_per_tenant} may be open at once: end one, or wait until one has ended."
            raise Busy("too_many_runs", "The tenant has as many open runs as it may.", hint)
        fresh = RunRow(
            id=reserve(self._host, request),
            tenant=token.tenant,
            token=token.id,
            state=RunState.OPENING,
            request=asked,
            request_digest=digest,
            created_unix=self._host.unix(),
            opened_unix=None,
            ended_unix=None,
            exit_code=None,
            code=None,
            because="",
        )
        with unreserving(self._host, fresh.id):
            added = self._store.add(fresh, key)
        return added, added.id == fresh.id

    def _begin(self, identity: str, request: RunRequest, live: _Live) -> None:
        asked = self._host.monotonic()

        def work() -> None:
            try:
                run = self._open(identity, request, live)
                self.watch.opened(self._host.monotonic() - asked)
                live.opening.set_result(run)
            except BaseException as error:
                # The thread's outermost frame: whoever waits for the run is told, whatever it was.
                known = error if isinstance(error, RunnerError) else _unknown(error)
                self.watch.not_opened(known.code)
                self._failed(identity, known)
                live.opening.set_exception(known)

        threading.Thread(target=work, name=f"runner-open-{identity}", daemon=True).start()

    def _open(self, identity: str, request: RunRequest, live: _Live) -> HeldRun:
        run = self._opener(
            self._host,
            request,
            live.tell,
            run_id=identity,
            wanted=lambda: not live.given_up,
            on_end=lambda ending: self._ended(identity, ending),
        )
        self._tell(identity, lambda: self._store.opened(identity))
        return run

    def _failed(self, identity: str, error: RunnerError) -> None:
        because = " ".join(filter(None, (f"{error.message}.", error.hint)))
        state = RunState.INTERRUPTED if error.exit_code is ExitCode.INTERRUPTED else RunState.FAILED
        self._over(identity, state, error.exit_code, error.code, because)

    def _ended(self, identity: str, ending: Ending) -> None:
        self._over(identity, RunState(ending.status), ending.exit_code, ending.code, ending.because)

    def _over(self, identity: str, state: RunState, exit_code: ExitCode, code: str | None, because: str) -> None:
        ended = self._store.ended
        self._tell(identity, lambda: ended(identity, state, exit_code=int(exit_code), code=code, because=because))
        self.watch.ended(state, code)
        # Only now: whoever finds that it is not held any more reads in its row how it ended.
        with self._lock:
            self._live.pop(identity, None)

    def all(self, token: Token, *, limit: int = 100, before: float | None = None, before_id: str = "") -> list[RunRow]:
        """The tenant's runs, newest first."""
        return self._store.of_tenant(token.tenant, limit=limit, before=before, before_id=before_id)

    def get(self, token: Token, identity: str) -> RunRow:
        """One run. Raises NoSuchRun."""
        self._tell_again()
        row = self._store.get(identity)
        if row is None or row.tenant != token.tenant:
            raise NoSuchRun
        return row

    def progress(self, identity: str) -> list[str]:
        """What the opening of a live run has told so far."""
        live = self._live.get(identity)
        return [] if live is None else list(live.progress)

    def holds(self, identity: str) -> bool:
        """Whether the run is opening or open in this process."""
        return identity in self._live

    def wait(self, token: Token, identity: str, seconds: float) -> RunRow:
        """The run, once it is open or has ended, or when the time is up. Raises NoSuchRun."""
        self.get(token, identity)
        live = self._live.get(identity)
        if live is not None:
            with suppress(Exception):  # what became of it is in its row
                live.opening.result(timeout=seconds)
        return self.get(token, identity)

    def call(
        self, token: Token, identity: str, tool: str, arguments: object, on_output: OutputSink | None = None
    ) -> dict[str, Any]:
        """The answer of one call; a run that is being opened is waited for.

        Raises:
            NoSuchRun: there is none, or it is another tenant's.
            RunnerError: it could not be opened.
        """
        return self._answered(token, identity, tool, lambda run: run.call(tool, arguments, on_output=on_output))

    def refuse(self, token: Token, identity: str, tool: str, error: ToolError) -> dict[str, Any]:
        """The answer of a call that a door could not read; it counts like any other. Raises as `call`."""
        return self._answered(token, identity, tool, lambda run: run.refuse(tool, error))

    def _answered(
        self, token: Token, identity: str, tool: str, act: Callable[[HeldRun], dict[str, Any]]
    ) -> dict[str, Any]:
        self.get(token, identity)
        live = self._live.get(identity)
        if live is None:
            return _after(self.get(token, identity), tool)
        answer = act(live.opening.result())
        if not answer["ok"] and answer["error"]["code"] in ("run_ended", "run_limit_exceeded"):
            self._give_up(identity)  # it takes no more calls, so its container has nothing to wait for
        return answer

    def cancel(self, token: Token, identity: str) -> bool:
        """Whether a call was in flight and has been ended. Raises NoSuchRun."""
        self.get(token, identity)
        live = self._live.get(identity)
        if live is None or not live.opening.done():
            return False
        with suppress(RunnerError):  # it could not be opened
            return live.opening.result().cancel()
        return False

    def end(self, token: Token, identity: str, *, interrupt: bool = False) -> RunRow:
        """The run, ended. Raises NoSuchRun."""
        self.get(token, identity)
        live = self._live.get(identity)
        if live is not None:
            live.given_up = True  # where it waits for a place it does not any more
            with suppress(RunnerError):  # it could not be opened
                run = live.opening.result()
                _ = run.interrupt() if interrupt else run.close()
        return self.get(token, identity)

    def check(self) -> None:
        """The database answers. Raises RunnerError."""
        self._store.live()

    def live_count(self) -> int:
        """How many runs this process holds."""
        return len(self._live)


def _unknown(error: BaseException) -> RunnerError:
    return RunnerError(f"internal error: {type(error).__name__}", hint="Please report it.")


def _after(row: RunRow, tool: str) -> dict[str, Any]:
    """The answer of a call to a run that has ended; its counter is its record's."""
    why = f": {row.because}" if row.because else "."
    limit = row.code == "run_limit_exceeded"
    error = {
        "code": "run_limit_exceeded" if limit else "run_ended",
        "message": f"The run has ended{why} Open another run.",
        "details": {"lost": row.state is RunState.LOST},
    }
    return {"seq": None, "tool": tool, "ok": False, "error": error, "duration_ms": 0.0}
