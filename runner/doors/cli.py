"""The command line: `runner VERB`. It translates and prints; what happens is the controller's.

Answers go to standard output, progress and errors to standard error. Exit codes are part of the contract
(`runner.model.errors.ExitCode`).
"""

from __future__ import annotations

import signal
import sys

import typer

from runner.doors import render
from runner.doors.audit_commands import audit_app
from runner.doors.doctor import doctor
from runner.doors.holding.commands import call, close, open_command
from runner.doors.housekeeping import gc, ps
from runner.doors.image_commands import image_app
from runner.doors.lazy import Late, add_late
from runner.doors.policy_commands import policy_app
from runner.doors.run_command import run
from runner.doors.tool_pages import tools_command
from runner.model.errors import ExitCode, RunnerError
from runner.model.version import VERSION
from runner.settings import completing

__all__ = ["app", "main"]

app = typer.Typer(
    name="runner",
    help="Work on a repository that nobody trusts, in a fresh hardened container, under a policy that holds.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # texts hold brackets that are meant
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(audit_app, name="audit")
app.add_typer(image_app, name="image")
app.add_typer(policy_app, name="policy")
app.command("run")(run)
app.command("open")(open_command)
app.command("call")(call)
app.command("close")(close)
app.command("tools")(tools_command)
app.command("ps")(ps)
app.command("gc")(gc)
app.command("doctor")(doctor)


LATE = (
    Late(
        "serve", "runner.doors.http.serve_command", "serve", "server", "Serve the HTTP API, metrics and the web pages."
    ),
    Late("mcp", "runner.doors.mcp.mcp_command", "mcp", "mcp,server", "Serve the tools of a run over MCP."),
    Late("token", "runner.doors.http.token_commands", "token_app", "server", "Tokens of `runner serve`."),
)


@app.command("version")
def version() -> None:
    """Print the version.

    Example: runner version
    """
    sys.stdout.write(f"runner {VERSION}\n")


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line; every known error becomes one line and its exit code."""
    # A polite kill ends a run the same way as Ctrl-C: torn down, then 130.
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)
    try:
        add_late(app, LATE, sys.argv[1:], everything=completing())
        app(standalone_mode=True)
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
