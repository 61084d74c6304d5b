"""`runner shell`: a run, and a person who works in it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Annotated, Any, TypeVar

import typer
from prompt_toolkit import PromptSession
from prompt_toolkit.history import InMemoryHistory

from runner.app import compose
from runner.controller.held import HeldRun
from runner.controller.spec import MAX_DEPTH
from runner.doors import render
from runner.doors.asking import DEFAULT_POLICY, request_of
from runner.doors.narrow_option import Narrow
from runner.doors.shell.answers import Watched, show_answer
from runner.doors.shell.completion import WordCompleter
from runner.doors.shell.words import SHORT, Misread, read_line
from runner.model.errors import RunnerError
from runner.settings import Settings

__all__ = ["Shell", "shell"]

_T = TypeVar("_T")
_QUIT = frozenset({":quit", ":q", "exit", "quit"})


def shell(
    repo: Annotated[str | None, typer.Option("--repo", help="Address or path, as `runner run --repo`.")] = None,
    ref: Annotated[str | None, typer.Option("--ref", help="Branch, tag or commit.")] = None,
    depth: Annotated[int | None, typer.Option("--depth", min=1, max=MAX_DEPTH, help="Commits of each branch.")] = None,
    policy: Annotated[str, typer.Option("--policy", help="Policy file, or a preset.")] = DEFAULT_POLICY,
    narrow: Narrow = None,
    out: Annotated[str | None, typer.Option("--out", help="Folder that receives the record at its end.")] = None,
) -> None:
    """Open a run and work in it at a prompt: tools in few words, with completion; :help lists them.

    Ctrl-C cancels the command that runs; Ctrl-D or :quit ends the run, torn down and sealed.

    Example: runner shell --repo . --policy node-app
    """
    request = request_of(repo, ref=ref, depth=depth, policy=policy, narrow=narrow, out=out)
    with compose(Settings.from_environment()) as host:
        run = HeldRun(host, request, render.progress)
        try:
            Shell(run).work(_lines(run))
        finally:
            ending = run.close()
    raise SystemExit(int(ending.exit_code))


class Shell:
    """One person's work in one run."""

    def __init__(self, run: HeldRun) -> None:
        self._run = run
        self.commands: Mapping[str, tuple[str, Callable[[], None]]] = {
            ":help": ("what can be said here", self._help),
            ":diff": ("what has changed since the base commit", self._diff),
            ":policy": ("what the policy allows", self._policy),
            ":report": ("the run so far", self._report),
            ":quit": ("end the run", lambda: None),
        }

    def work(self, lines: Iterator[str]) -> None:
        """Each line is carried out, until there are no more, or the run has ended."""
        for line in lines:
            said = line.strip()
            if said in _QUIT:
                return
            if said:
                self._carry_out(said)
            if self._run.ended:
                render.error_line("the run has ended.")
                return

    def _carry_out(self, said: str) -> None:
        if said.startswith(":"):
            known = self.commands.get(said.split()[0])
            if known is None:
                render.error_line(f"{said!r} is no command.", f"Commands: {', '.join(self.commands)}.")
            else:
                self._command(known[1])
            return
        try:
            self._call(*read_line(said))
        except Misread as error:
            render.error_line(str(error))

    def _call(self, tool: str, arguments: dict[str, Any]) -> None:
        seen = Watched()
        answer = self._apart(lambda: self._run.call(tool, arguments, on_output=seen))
        show_answer(answer, output_was_seen=seen.any)

    def _apart(self, act: Callable[[], _T]) -> _T:
        """In a thread, so that Ctrl-C meets this one: what runs inside is cancelled, and the run goes on."""
        with ThreadPoolExecutor(1) as thread:
            answer = thread.submit(act)
            while not answer.done():
                try:
                    wait((answer,))
                except KeyboardInterrupt:
                    render.progress("cancelling; the run stays open")
                    self._run.cancel()
        return answer.result()

    def _help(self) -> None:
        rows = [[word.usage, word.tool] for word in SHORT.values()]
        rows += [["TOOL NAME=VALUE ..., or TOOL {JSON}", "any tool, by its own name"]]
        rows += [[name, what] for name, (what, _act) in self.commands.items()]
        render.table(("say", "for"), rows)

    def _command(self, act: Callable[[], None]) -> None:
        try:
            act()
        except RunnerError as error:
            render.error_line(error.message, error.hint)

    def _diff(self) -> None:
        patch = self._apart(self._run.patch)
        render.text(patch.decode("utf-8", "replace") if patch else "nothing has changed")

    def _policy(self) -> None:
        loaded = self._run.request.policy
        document = loaded.policy.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        render.text(f"policy {loaded.source}")
        for key, value in document.items():
            render.text(f"  {key}: {value}")
        for file in loaded.narrowed_by:
            render.text(f"narrowed by {file.source}")
            for key, value in file.keys.items():
                render.text(f"  {key}: {value}")

    def _report(self) -> None:
        rows = [["run", self._run.run_id], ["record", str(self._run.folder)]]
        rows += [["seconds left", f"{self._run.seconds_left:.0f}"]]
        rows += [[what, str(count)] for what, count in self._run.counts.items()]
        render.table(("what", "is"), rows)


def _lines(run: HeldRun) -> Iterator[str]:
    """What the person types; lines of a file where standard input is no terminal."""
    if not sys.stdin.isatty():
        yield from sys.stdin
        return
    completer = WordCompleter(run.paths, Shell(run).commands)
    prompt: PromptSession[str] = PromptSession(history=InMemoryHistory(), completer=completer)
    while True:
        try:
            yield prompt.prompt("runner> ")
        except EOFError:
            return
        except KeyboardInterrupt:
            continue
