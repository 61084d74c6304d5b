"""The command line: `runner VERB`. It translates and prints; what happens is the controller's.

Answers go to standard output, progress and errors to standard error. Exit codes are part of the contract
(`runner.model.errors.ExitCode`).
"""

from __future__ import annotations

import signal
import sys
from typing import Annotated

import typer

from runner.doors import render
from runner.doors.lazy import Late, add_late
from runner.model.errors import ExitCode, RunnerError
from runner.model.version import VERSION
from runner.settings import completing

__all__ = ["COMMANDS", "command_line", "main"]

_HOLDING = "runner.doors.holding.commands"
COMMANDS = (
    Late("run", "runner.doors.run_command", "run", "One whole run: calls from a file, answers as JSON Lines."),
    Late("open", _HOLDING, "open_command", "Open a run that stays open between commands."),
    Late("call", _HOLDING, "call", "Call a tool in an open run."),
    Late("close", _HOLDING, "close", "End an open run."),
    Late("shell", "runner.doors.shell.shell_command", "shell", "Open a run and work in it at a prompt.", "shell"),
    Late("mcp", "runner.doors.mcp.mcp_command", "mcp", "Serve the tools of a run over MCP.", "mcp,server"),
    Late("serve", "runner.doors.http.serve_command", "serve", "Serve the HTTP API, metrics and web pages.", "server"),
    Late("token", "runner.doors.http.token_commands", "token_app", "Tokens of `runner serve`.", "server"),
    Late("ps", "runner.doors.housekeeping", "ps", "List what runs, and what a crash left."),
    Late("show", "runner.doors.one_run", "show", "Show one run in full."),
    Late("kill", "runner.doors.one_run", "kill", "End a run now, whoever holds it."),
    Late("gc", "runner.doors.housekeeping", "gc", "Remove what crashed runs left."),
    Late("policy", "runner.doors.policy_commands", "policy_app", "Check, test, explain, show and compare policies."),
    Late("audit", "runner.doors.audit_commands", "audit_app", "Read, verify and hand over the records of runs."),
    Late("image", "runner.doors.image_commands", "image_app", "Build, list and verify the images of runs."),
    Late("tools", "runner.doors.tool_pages", "tools_command", "Describe the tools that a run offers."),
    Late("doctor", "runner.doors.doctor", "doctor", "Say whether this host can run repositories safely."),
    Late("version", "runner.doors.version_command", "version", "Print the version."),
)


def command_line(called: str | None = None) -> typer.Typer:
    """The command line with the `called` command as it is and the others by their line; all as they are for None."""
    app = typer.Typer(
        name="runner",
        help="Work on a repository that nobody trusts, in a fresh hardened container, under a policy that holds.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # texts hold brackets that are meant
        add_completion=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    add_late(app, COMMANDS, called)
    return app


def _told_version(asked: bool) -> None:
    if asked:
        render.line(f"runner {VERSION}")
        raise typer.Exit


def _options(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_told_version, is_eager=True)
    ] = False,
) -> None:
    """Options of the whole command line."""


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line; every known error becomes one line and its exit code."""
    # A polite kill ends a run the same way as Ctrl-C: torn down, then 130. So do the others that would end us at once.
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM):
        signal.signal(number, _interrupt)
    try:
        called = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
        command_line(None if completing() else called)(prog_name="runner", standalone_mode=True)
    except RunnerError as error:
        render.error_line(error.message if error.message.endswith((".", "?")) else f"{error.message}.", error.hint)
        raise SystemExit(int(error.exit_code)) from None
    except KeyboardInterrupt:
        render.error_line("interrupted; the run was torn down.")
        raise SystemExit(int(ExitCode.INTERRUPTED)) from None
    except OSError as error:
        # The reader of our answers went away, or the disk below them is full. The run was torn down on the way here.
        render.error_line(f"cannot write to standard output: {error.strerror}.")
        raise SystemExit(int(ExitCode.BUG)) from None


if __name__ == "__main__":
    main()
