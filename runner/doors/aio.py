"""The Python API for asyncio: the same names as the synchronous one, awaited.

Each workspace has one thread of its own, so its calls keep their order and no event loop waits for a container. A
task that is cancelled while a call is in flight ends that call, with every process that it had started, before the
cancellation goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from runner.controller.held import Ending, silent
from runner.controller.run import Progress
from runner.doors import python
from runner.doors.asking import DEFAULT_POLICY, NarrowSource, PolicySource
from runner.doors.python import OnOutput
from runner.doors.waiting import cut_with_its_task, settled, whole
from runner.settings import Settings
from runner.tools.results import CommandResult, Committed, Done, Edited, GitResult, Listing, Matches, Pushed

__all__ = ["Opening", "Workspace", "open_run"]

Value = TypeVar("Value")


class Workspace:
    """An open run; see `runner.Workspace`, whose methods these are. `on_output` is called in the run's own thread."""

    def __init__(self, workspace: python.Workspace, thread: ThreadPoolExecutor) -> None:
        self._inner = workspace
        self._thread = thread
        self._turn = asyncio.Lock()

    @property
    def run_id(self) -> str:
        """The run's name, as `runner ps` has it."""
        return self._inner.run_id

    @property
    def folder(self) -> Path:
        """The run's record."""
        return self._inner.folder

    @property
    def seconds_left(self) -> float:
        """Until the run's own limit ends it."""
        return self._inner.seconds_left

    @property
    def ended(self) -> bool:
        """Whether it takes no calls any more."""
        return self._inner.ended

    async def read_file(self, path: str, *, start_line: int | None = None, limit: int | None = None) -> str:
        """The file's text, or a numbered window of it. Raises ToolRefused."""
        return await self._do(partial(self._inner.read_file, path, start_line=start_line, limit=limit))

    async def list_dir(self, path: str = ".") -> Listing:
        """The folder's entries. Raises ToolRefused."""
        return await self._do(partial(self._inner.list_dir, path))

    async def write_file(self, path: str, content: str) -> Done:
        """The file has exactly that content. Raises ToolRefused."""
        return await self._do(partial(self._inner.write_file, path, content))

    async def delete_file(self, path: str) -> Done:
        """The file is gone. Raises ToolRefused."""
        return await self._do(partial(self._inner.delete_file, path))

    async def edit(self, path: str, old: str, new: str, *, replace_all: bool = False) -> Edited:
        """The exact text `old` is replaced. Raises ToolRefused."""
        return await self._do(partial(self._inner.edit, path, old, new, replace_all=replace_all))

    async def search(
        self,
        pattern: str,
        *,
        globs: Sequence[str] | None = None,
        ignore_case: bool = False,
        regex: bool = False,
        max_results: int | None = None,
    ) -> Matches:
        """The lines that match. Raises ToolRefused."""
        act = partial(
            self._inner.search,
            pattern,
            globs=globs,
            ignore_case=ignore_case,
            regex=regex,
            max_results=max_results,
        )
        return await self._do(act)

    async def run_command(self, argv: Sequence[str], *, on_output: OnOutput | None = None) -> CommandResult:
        """How the program ended. Raises ToolRefused where the policy does not let it start."""
        return await self._do(partial(self._inner.run_command, argv, on_output=on_output))

    async def git(self, args: Sequence[str] | str, *, on_output: OnOutput | None = None) -> GitResult:
        """How git ended. Raises ToolRefused where the policy does not let it start."""
        return await self._do(partial(self._inner.git, args, on_output=on_output))

    async def git_commit(self, message: str) -> Committed:
        """Everything that changed is committed. Raises ToolRefused."""
        return await self._do(partial(self._inner.git_commit, message))

    async def git_push(self) -> Pushed:
        """The branch is on the remote, judged by the policy. Raises ToolRefused."""
        return await self._do(self._inner.git_push)

    async def call(self, tool: str, arguments: object, *, on_output: OnOutput | None = None) -> dict[str, Any]:
        """The plain answer, as every door has it."""
        return await self._do(partial(self._inner.call, tool, arguments, on_output=on_output))

    async def cancel(self) -> bool:
        """Whether a call of another task was in flight and has been ended, with all that it had started."""
        return await asyncio.to_thread(self._inner.cancel)

    async def close(self) -> Ending:
        """The run has ended and nothing of it is left but its record. Idempotent."""
        return await self._last(self._inner.close)

    async def interrupt(self) -> Ending:
        """The same, with what is in flight cancelled and the status `interrupted`."""
        return await self._last(self._inner.interrupt)

    async def _do(self, act: Callable[[], Value]) -> Value:
        # A cancellation ends what is in flight: it may reach the run only from the call that is.
        async with self._turn:
            if self.ended:
                return act()  # that it has ended is said without a thread, and there is none any more
            return await cut_with_its_task(act, self._inner.cancel, self._thread)

    async def _last(self, act: Callable[[], Ending]) -> Ending:
        """Torn down before anything else goes on, a cancellation of the task included."""
        ending = await whole(asyncio.ensure_future(asyncio.to_thread(act)))
        self._thread.shutdown(wait=False)
        return ending


class Opening:
    """What `open_run` gives: await it for a workspace, or use it in an `async with`, which closes it."""

    def __init__(self, begin: Callable[[], python.Workspace]) -> None:
        self._begin = begin
        self._workspace: Workspace | None = None

    def __await__(self) -> Generator[Any, None, Workspace]:
        return self._open().__await__()

    async def __aenter__(self) -> Workspace:
        self._workspace = await self._open()
        return self._workspace

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The run has ended: completed, or interrupted where the task was cancelled."""
        if self._workspace is None:
            return
        if kind is None or issubclass(kind, Exception):
            await self._workspace.close()
        else:
            await self._workspace.interrupt()

    async def _open(self) -> Workspace:
        thread = ThreadPoolExecutor(1, thread_name_prefix="runner-workspace")
        future = asyncio.get_running_loop().run_in_executor(thread, self._begin)
        try:
            return Workspace(await asyncio.shield(future), thread)
        except asyncio.CancelledError:
            # What is being started is waited for, and ended: a container that nobody has would stay until its deadline.
            await settled(future)
            if future.exception() is None:
                await settled(asyncio.ensure_future(asyncio.to_thread(future.result().interrupt)))
            thread.shutdown(wait=False)
            raise
        except Exception:
            thread.shutdown(wait=False)
            raise


def open_run(
    repo: str | Path | None = None,
    *,
    ref: str | None = None,
    policy: PolicySource = DEFAULT_POLICY,
    narrow: Sequence[NarrowSource] | None = None,
    tools: Iterable[str] | None = None,
    depth: int | None = None,
    out: str | Path | None = None,
    progress: Progress = silent,
    settings: Settings | None = None,
) -> Opening:
    """As `runner.open_run`, to be awaited or used in an `async with`. `progress` is called in the run's own thread."""
    options: dict[str, Any] = {"ref": ref, "policy": policy, "narrow": narrow, "depth": depth, "out": out}
    return Opening(lambda: python.open_run(repo, tools=tools, progress=progress, settings=settings, **options))
