"""The only writer to a terminal: everything that came from the workspace is shown with its control characters visible.

Control, bidirectional and zero-width characters can rewrite what a reader sees; they are shown as escapes. JSON output
is for programs and is ASCII by construction, so that it needs no such care.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from runner.model.hidden import is_hidden

_WHOLE_CHARACTERS = 24
_STYLES = {
    **dict.fromkeys(("ok", "live", "running", "completed", "yes", "verified"), "green"),
    **dict.fromkeys(("WARN", "warm", "waiting", "interrupted", "expired"), "yellow"),
    **dict.fromkeys(("FAIL", "failed", "lost", "killed", "orphan", "revoked"), "red"),
}
"""Of cells that are nothing but a state, beside the word itself: colour alone says nothing."""

__all__ = ["error_line", "json_line", "line", "output", "piece", "progress", "table", "text", "visible"]


def visible(text: str, *, keep_newlines: bool = False) -> str:
    """`text` with every character that is not seen, or that changes how others are shown, written as an escape."""
    return "".join(
        char
        if (keep_newlines and char == "\n") or not is_hidden(char)
        else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def json_line(value: Any, out: TextIO | None = None) -> None:
    """One line of JSON, flushed, so that a reader sees each answer as it ends."""
    stream = out or sys.stdout
    stream.write(json.dumps(value, ensure_ascii=True, separators=(", ", ": ")) + "\n")
    stream.flush()


def line(text: str) -> None:
    """One line for people on standard output."""
    sys.stdout.write(f"{visible(text)}\n")
    sys.stdout.flush()


def text(said: str, *, style: str | None = None) -> None:
    """Text of several lines for people on standard output; `style` only on a terminal that wants colours."""
    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    console.print(Text(visible(said, keep_newlines=True), style=style or ""))


def piece(said: str, *, style: str | None = None) -> None:
    """A part of untrusted text on standard output, as it comes; no line is ended for it."""
    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    console.print(Text(visible(said, keep_newlines=True), style=style or ""), end="")
    sys.stdout.flush()


def progress(message: str) -> None:
    """A line of progress on standard error."""
    sys.stderr.write(f"· {visible(message)}\n")
    sys.stderr.flush()


def output(data: bytes) -> None:
    """Untrusted output on standard error as it comes, its lines kept and everything else made visible."""
    sys.stderr.write(visible(data.decode("utf-8", "replace"), keep_newlines=True))
    sys.stderr.flush()


def error_line(message: str, hint: str = "") -> None:
    """One line on standard error: what is wrong, and the mend."""
    said = f"runner: {visible(message)}" + (f" {visible(hint)}" if hint else "")
    sys.stderr.write(said + "\n")
    sys.stderr.flush()


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str | None = None) -> None:
    """A table on standard output; colours only on a terminal.

    Long texts are folded; names, states and times stay whole: a name that is cut in two cannot be copied.
    """
    console = Console(file=sys.stdout, highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console = Console(file=sys.stdout, highlight=False, width=160, color_system=None)
    cells = [[visible(str(cell)) for cell in row] for row in rows]
    shown = Table(title=title, show_lines=False, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        whole = all(len(row[number]) <= _WHOLE_CHARACTERS for row in cells)
        shown.add_column(column, overflow="fold", no_wrap=whole)
    for row in cells:
        shown.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    console.print(shown)
