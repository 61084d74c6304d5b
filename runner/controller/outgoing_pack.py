"""The objects that would leave, as they stream out of the workspace; and how a push that did not work is told."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from runner.controller.set_up import OUTBOX
from runner.engine.contract import SpawnRequest, SpawnResult
from runner.gate.delivery import collect_step
from runner.gate.fetch import Fetched
from runner.model.errors import ErrorCode, RunnerError, ToolError

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared

__all__ = ["OutgoingPack", "push_failed", "words"]

_MIB = 1024 * 1024
_TAIL_CHARS = 4000  # enough of a program's words to act on
_STDERR_BYTES = 65536
_COLLECT_SECONDS = 300.0
_BACKLOG_CHUNKS = 64  # of at most 64 KiB each, between the workspace's stream and the gate's git


class OutgoingPack:
    """The pack as it streams out of the workspace, pulled by the gate while a thread serves the sandbox's stream."""

    def __init__(self, run: Prepared, fetched: Fetched, commit: str) -> None:
        self._run = run
        self._step = collect_step(fetched, commit, outbox=OUTBOX)
        self._chunks: queue.Queue[bytes | None] = queue.Queue(_BACKLOG_CHUNKS)
        self._abandoned = threading.Event()
        self._failure: BaseException | None = None
        self._stderr = bytearray()
        self._thread = threading.Thread(target=self._collect, name="outgoing-pack", daemon=True)

    def __enter__(self) -> OutgoingPack:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # The gate has stopped reading, at the end or because it refused: the sandbox's program must end too.
        self._abandoned.set()
        if self._thread.is_alive():
            self._run.sandbox.cancel()
        while self._thread.is_alive():
            self._drain()
            self._thread.join(0.05)

    def chunks(self) -> Iterator[bytes]:
        """The pack's bytes. Raises ToolError when the workspace's git failed."""
        while (chunk := self._chunks.get()) is not None:
            yield chunk
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _collect(self) -> None:
        try:
            request = SpawnRequest(
                self._step.argv,
                self._run.git.environment,
                min(_COLLECT_SECONDS, self._run.remaining()),
                output_cap_bytes=(self._run.policy.push.max_mib + 1) * _MIB,
                stdin=[self._step.stdin],
                sink=self._take,
                kill_at_bytes=(self._run.policy.push.max_mib + 1) * _MIB,
            )
            result = self._run.sandbox.spawn(request)
            if result.exit != 0 and not result.truncated:
                said = words(result, bytes(self._stderr))
                raise push_failed(f"git could not pack what would leave: {said}", "Check it with git fsck.")
        except (RunnerError, ToolError) as error:
            self._failure = error
        finally:
            self._chunks.put(None)

    def _take(self, name: str, data: bytes) -> None:
        if name != "stdout":
            self._stderr += data[: _STDERR_BYTES - len(self._stderr)]
        elif not self._abandoned.is_set():
            self._chunks.put(data)

    def _drain(self) -> None:
        while not self._chunks.empty():
            self._chunks.get_nowait()


def words(result: SpawnResult, stderr: bytes = b"") -> str:
    """What the program said at its end. `stderr` is what went to a sink instead of into the result."""
    if result.timed_out:
        return "it ran into its time limit"
    said = (result.stderr + stderr + b"\n" + result.stdout).decode("utf-8", "replace").strip()
    return said[-_TAIL_CHARS:] or f"git ended with {result.exit}"


def push_failed(why: str, hint: str) -> ToolError:
    """GIT_PUSH_FAILED with the reason in git's words."""
    return ToolError(ErrorCode.GIT_PUSH_FAILED, f"git did not push: {why}.", hint=hint, details={"output": why})
