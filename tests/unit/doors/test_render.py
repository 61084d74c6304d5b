"""What people see: nothing that a terminal would act on, or that would hide what is there."""

from __future__ import annotations

import io
import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.doors import render
from runner.doors.render import json_line, visible
from runner.doors.rows import Format, print_rows

HIDDEN = {
    "escape": ("\x1b[2J", "\\x1b[2J"),
    "backspace": ("ab\b\b", "ab\\x08\\x08"),
    "carriage return": ("good\rbad", "good\\rbad"),
    "bell": ("\a", "\\x07"),
    "delete": ("\x7f", "\\x7f"),
    "C1 introducer": ("\x9b31m", "\\x9b31m"),
    "right-to-left override": ("a\u202etxt.exe", "a\\u202etxt.exe"),
    "isolate": ("\u2066x\u2069", "\\u2066x\\u2069"),
    "zero-width space": ("a\u200bb", "a\\u200bb"),
    "zero-width joiner": ("a\u200db", "a\\u200db"),
    "byte order mark": ("\ufeffa", "\\ufeffa"),
    "soft hyphen": ("a\u00adb", "a\\xadb"),
    "line separator": ("a\u2028b", "a\\u2028b"),
    "tag": ("\U000e0041", "\\U000e0041"),
    "private use": ("\ue000", "\\ue000"),
    "variation selector": ("a\ufe0f\U000e0100", "a\\ufe0f\\U000e0100"),
    "filler": ("\u3164\u115f\uffa0", "\\u3164\\u115f\\uffa0"),
    "joiner of graphemes": ("a\u034fb", "a\\u034fb"),
    "blank of Braille": ("\u2800", "\\u2800"),
    "lone surrogate": ("\udcff", "\\udcff"),
    "tab": ("a\tb", "a\\tb"),
    "newline": ("a\nb", "a\\nb"),
}


@pytest.mark.parametrize(("text", "shown"), HIDDEN.values(), ids=list(HIDDEN))
def test_what_a_terminal_acts_on_or_does_not_show_is_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_text_of_any_language_stays_as_it_is() -> None:
    assert visible("Zoë \u00e9\u0301 日本 שלום 🙂") == "Zoë \u00e9\u0301 日本 שלום 🙂"


def test_newlines_are_kept_on_demand_and_nothing_else_is() -> None:
    assert visible("a\nb\r\n\x1b", keep_newlines=True) == "a\nb\\r\n\\x1b"


@given(st.text(alphabet=st.characters(), max_size=40))
def test_nothing_hidden_is_left_and_the_text_can_be_written(text: str) -> None:
    shown = visible(text)
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
    shown.encode("utf-8")


def test_progress_and_errors_are_one_line_each_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    render.progress("cloning\r\nfake: done")
    render.error_line("bad \x1b[31m", "do\nthis")
    out, err = capsys.readouterr()
    assert out == "" and err.splitlines() == ["· cloning\\r\\nfake: done", "runner: bad \\x1b[31m do\\nthis"]


def test_a_json_line_is_ascii_one_line_and_the_same_value() -> None:
    out = io.StringIO()
    json_line({"text": "\x1b[2J\n\u202e\ud800é"}, out)
    assert out.getvalue().isascii() and out.getvalue().count("\n") == 1
    assert json.loads(out.getvalue()) == {"text": "\x1b[2J\n\u202e\ud800é"}


ROWS: list[dict[str, Any]] = [{"run": "r1", "state": "\x1b[31mup", "orphan": True}, {"run": "r2"}]


def test_rows_are_one_array_or_a_line_each_or_a_table_without_colours(capsys: pytest.CaptureFixture[str]) -> None:
    columns = ("run", "state")
    print_rows(ROWS, columns, Format.JSON)
    assert json.loads(capsys.readouterr().out) == ROWS
    print_rows(ROWS, columns, Format.JSONL)
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == ROWS
    print_rows(ROWS, columns, Format.TABLE)
    table = capsys.readouterr().out
    assert "\x1b" not in table and "\\x1b[31mup" in table and "r2" in table


def test_no_rows_are_an_empty_array(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows([], ("run",), Format.JSON)
    assert json.loads(capsys.readouterr().out) == []


def test_markup_in_a_cell_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    render.table(("name",), [["[bold red]x[/] [link=https://evil.test]y[/link]"]])
    assert "[bold red]x[/] [link=https://evil.test]y[/link]" in capsys.readouterr().out


def test_a_name_stays_whole_where_a_table_is_narrow_and_a_moment_is_told_to_the_minute(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    row = {"run": "3f2a9c81d0aa", "repository": "x" * 200, "deadline": "2026-01-02T03:04:05+00:00", "orphan": True}
    print_rows([row], ("run", "repository", "deadline", "orphan"), Format.TABLE)
    shown = capsys.readouterr().out
    assert "3f2a9c81d0aa" in shown and "2026-01-02 03:04Z" in shown and "yes" in shown and "repository" in shown
