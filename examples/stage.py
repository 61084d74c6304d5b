"""What the audience sees: steps as they happen, then one table. Plain text where there is no terminal.

What came from a workspace is printed with its control characters visible, as everywhere in the product.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from examples.verdict import Verdict
from runner.doors.render import visible

__all__ = ["Row", "Stage"]

Row = tuple[str, Verdict]

_PLAIN_WIDTH = 150
_WIDE = 120
_DETAIL_CHARS = 300
_STYLES = {"refused": "green", "contained": "cyan", "ESCAPED": "bold red"}


class Stage:
    """Writes to standard output; the runner's own progress goes to standard error beside it."""

    def __init__(self) -> None:
        self._console = Console(file=sys.stdout, highlight=False)
        self._plain = not self._console.is_terminal
        if self._plain:
            self._console = Console(file=sys.stdout, highlight=False, width=_PLAIN_WIDTH, color_system=None)

    def chapter(self, title: str) -> None:
        """A heading."""
        self._console.print(Text(f"\n{title}", style="bold"))
        sys.stdout.flush()

    def step(self, title: str, detail: str = "", milliseconds: float | None = None) -> None:
        """One thing that was done, what came of it, and how long the runner took."""
        shown = visible(detail)[:_DETAIL_CHARS]
        took = "" if milliseconds is None else f"{milliseconds:>7.0f} ms"
        line = Text.assemble(("  ✓ ", "green"), f"{visible(title):<34}", (f"{took:>10}  ", "dim"), shown)
        self._console.print(line, soft_wrap=True)
        sys.stdout.flush()

    def trying(self, name: str) -> None:
        """What goes on right now, for somebody who watches; the table tells what came of it."""
        if not self._plain:
            self._console.print(Text(f"  … {name}", style="dim"))
            sys.stdout.flush()

    def failure(self, message: str) -> None:
        """What did not hold."""
        self._console.print(Text(f"  ✗ {visible(message, keep_newlines=True)}", style="bold red"), soft_wrap=True)
        sys.stdout.flush()

    def verdicts(self, rows: Sequence[Row]) -> None:
        """The table of attempts. Where it is narrow, rule and evidence share a column, one above the other."""
        wide = self._console.width >= _WIDE
        table = Table(box=box.ASCII if self._plain else box.ROUNDED, show_lines=False)
        table.add_column("#", justify="right")
        for name in ("the twin tried to", "outcome", "by which rule", "evidence")[: 4 if wide else 3]:
            table.add_column(name, overflow="fold")
        for number, (name, verdict) in enumerate(rows, start=1):
            outcome = Text(verdict.outcome, style=_STYLES.get(verdict.outcome, ""))
            by, evidence = Text(visible(verdict.by)), Text(visible(verdict.evidence), style="" if wide else "dim")
            why = (by, evidence) if wide else (Text("\n").join(text for text in (by, evidence) if text),)
            table.add_row(str(number), Text(name), outcome, *why)
        self._console.print(table)
        sys.stdout.flush()

    def closing(self, lines: Sequence[str], *, good: bool) -> None:
        """The last words."""
        self._console.print()
        for line in lines:
            self._console.print(Text(visible(line), style="bold green" if good else "bold red"), soft_wrap=True)
        sys.stdout.flush()
