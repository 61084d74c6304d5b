"""The Python API: a run as an object with the tools as methods.

What a program in the workspace does is a result. A refusal is `ToolRefused`, with the contract's code; `call` gives
the plain answer instead, as other doors have it. What keeps a run from starting is a `RunnerError`. `runner.aio` has
the same names for asyncio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from runner.app import compose
from runner.controller.held import Ending, HeldRun, silent
from runner.controller.run import Progress
from runner.doors.asking import DEFAULT_POLICY, NarrowSource, PolicySource, request_of
from runner.settings import Settings
from runner.tools.results import CommandResult, Committed, Done, Edited, GitResult, Listing, Matches, Pushed, Result

__all__ = ["OnOutput", "Open", "ToolRefused", "Workspace", "open_run", "said"]

OnOutput = Callable[[str, bytes], None]
"""Told of a command's output as it comes: `"stdout"` or `"stderr"`, and untrusted bytes. Must not raise."""

Answer = TypeVar("Answer", bound=Result)


class ToolRefused(Exception):
    """A call that was refused or failed; the workspace is as it was. `code` is the contract's, texts may change."""

    def __init__(self, tool: str, error: dict[str, Any]) -> None:
        super().__init__(f"{tool}: {error['code']}: {error['message']}")
        self.tool = tool
        self.code: str = error["code"]
        self.message: str = error["message"]
        self.details: dict[str, Any] = error["details"]

    @property
    def rule(self) -> str | None:
        """The rule of the policy that refused it, if one did."""
        return self.details.get("rule")

    @property
    def hint(self) -> str | None:
        """What to do instead, where there is something."""
        return self.details.get("hint")


class Open(Protocol):
    """A run that takes calls: a `HeldRun`, or `runner.testing`'s in memory."""

    @property
    def run_id(self) -> str:
        """The run's name."""

    @property
    def folder(self) -> Path:
        """Where its record is."""

    @property
    def seconds_left(self) -> float:
        """Until its own limit."""

    @property
    def ended(self) -> bool:
        """Whether it takes no calls any more."""

    def call(self, tool: str, arguments: object, *, on_output: OnOutput | None = None) -> dict[str, Any]:
        """The answer of one call."""

    def cancel(self, seq: int | None = None) -> bool:
        """Whether a call was in flight and has been ended."""

    def close(self) -> Ending:
        """The run has ended."""

    def interrupt(self) -> Ending:
        """The run was given up."""


def said(**arguments: Any) -> dict[str, Any]:
    """The arguments that were given a value."""
    return {name: value for name, value in arguments.items() if value is not None}


class Workspace:
    """An open run. Close it, or use it in a `with`: a run that nobody closes ends at its policy's `runSeconds`."""

    def __init__(self, run: Open, stack: ExitStack | None = None) -> None:
        self._run = run
        self._stack = stack or ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The run has ended: completed, or interrupted where Ctrl-C or another end of the program came in between."""
        if kind is None or issubclass(kind, Exception):
            self.close()
        else:
            self.interrupt()

    @property
    def run_id(self) -> str:
        """The run's name, as `runner ps` has it."""
        return self._run.run_id

    @property
    def folder(self) -> Path:
        """The run's record: `audit.jsonl` at once; `report.json`, `receipt.json`, `changes.patch` when it has ended."""
        return self._run.folder

    @property
    def seconds_left(self) -> float:
        """Until the run's own limit ends it."""
        return self._run.seconds_left

    @property
    def ended(self) -> bool:
        """Whether it takes no calls any more."""
        return self._run.ended

    def read_file(self, path: str, *, start_line: int | None = None, limit: int | None = None) -> str:
        """The file's text, or a numbered window of it. Raises ToolRefused."""
        text: str = self._result("workspace.read_file", said(path=path, startLine=start_line, limit=limit))
        return text

    def list_dir(self, path: str = ".") -> Listing:
        """The folder's entries. Raises ToolRefused."""
        return self._answer(Listing, "workspace.list_dir", {"path": path})

    def write_file(self, path: str, content: str) -> Done:
        """The file has exactly that content. Raises ToolRefused."""
        return self._answer(Done, "workspace.write_file", {"path": path, "content": content})

    def delete_file(self, path: str) -> Done:
        """The file is gone. Raises ToolRefused."""
        return self._answer(Done, "workspace.delete_file", {"path": path})

    def edit(self, path: str, old: str, new: str, *, replace_all: bool = False) -> Edited:
        """The exact text `old` is replaced. Raises ToolRefused."""
        arguments = {"path": path, "oldString": old, "newString": new, "replaceAll": replace_all}
        return self._answer(Edited, "workspace.edit", arguments)

    def search(
        self,
        pattern: str,
        *,
        globs: Sequence[str] | None = None,
        ignore_case: bool = False,
        regex: bool = False,
        max_results: int | None = None,
    ) -> Matches:
        """The lines that match. Raises ToolRefused."""
        given = said(pattern=pattern, globs=None if globs is None else list(globs), regex=regex, maxResults=max_results)
        return self._answer(Matches, "workspace.search", {**given, "ignoreCase": ignore_case})

    def run_command(self, argv: Sequence[str], *, on_output: OnOutput | None = None) -> CommandResult:
        """How the program ended. Raises ToolRefused where the policy does not let it start."""
        return self._answer(CommandResult, "workspace.run_command", {"argv": list(argv)}, on_output)

    def git(self, args: Sequence[str] | str, *, on_output: OnOutput | None = None) -> GitResult:
        """How git ended. Raises ToolRefused where the policy does not let it start."""
        given = args if isinstance(args, str) else list(args)
        return self._answer(GitResult, "git", {"args": given}, on_output)

    def git_commit(self, message: str) -> Committed:
        """Everything that changed is committed. Raises ToolRefused."""
        return self._answer(Committed, "workspace.git_commit", {"message": message})

    def git_push(self) -> Pushed:
        """The branch is on the remote, judged by the policy. Raises ToolRefused."""
        return self._answer(Pushed, "workspace.git_push", {})

    def call(self, tool: str, arguments: object, *, on_output: OnOutput | None = None) -> dict[str, Any]:
        """The plain answer, as every door has it: `{"seq", "tool", "ok", "result" or "error", "duration_ms"}`."""
        return self._run.call(tool, arguments, on_output=on_output)

    def cancel(self) -> bool:
        """Whether a call was in flight in another thread and has been ended, with all that it had started."""
        return self._run.cancel()

    def close(self) -> Ending:
        """The run has ended and nothing of it is left but its record. Idempotent."""
        with self._stack:
            return self._run.close()

    def interrupt(self) -> Ending:
        """The same, with what is in flight cancelled and the status `interrupted`."""
        with self._stack:
            return self._run.interrupt()

    def _result(self, tool: str, arguments: dict[str, Any], on_output: OnOutput | None = None) -> Any:
        answer = self._run.call(tool, arguments, on_output=on_output)
        if not answer["ok"]:
            raise ToolRefused(tool, answer["error"])
        return answer["result"]

    def _answer(
        self, form: type[Answer], tool: str, arguments: dict[str, Any], on_output: OnOutput | None = None
    ) -> Answer:
        return form.model_validate(self._result(tool, arguments, on_output))


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
) -> Workspace:
    """A fresh container with the repository in it, its posture proved, ready for calls.

    `repo` is an address or the path of a local repository, which is not modified. `policy` is a preset's name, a file,
    or a mapping; each of `narrow` is one of these too, and takes away from it. `out` is a folder that receives the
    record at the end. `settings` None means the environment's.

    Raises:
        RunnerError: it could not be opened, with `code`, `hint` and `exit_code`; then nothing of it is left.
    """
    request = request_of(repo, ref=ref, depth=depth, policy=policy, narrow=narrow, tools=tools, out=out)
    with ExitStack() as stack:
        host = stack.enter_context(compose(settings or Settings.from_environment()))
        run = HeldRun(host, request, progress)
        return Workspace(run, stack.pop_all())
