"""The page of the docs holds the last table, and names every goal that is missed with what was tried."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.publish import BEGIN, END, main, published, unexplained

PAGE = f"# Performance\n\nBy hand, before.\n\n{BEGIN}\nold\n{END}\n\nBy hand, after.\n"
PAGE_OF_THE_DOCS = Path(__file__).resolve().parents[3] / "docs" / "PERFORMANCE.md"


def _row(figure: str, met: bool | None, **more: Any) -> dict[str, Any]:
    side = {"median": 2.0, "p95": 3.0, "min": 1.0, "max": 3.0, "samples": 30}
    told = {"figure": figure, "against": "another", "goal": "≤ 2", "ratio": 4.0, "met": met}
    return {**told, "difference": 1.0, "unit": "ms", "ours": side, "other": side, "how": "How.", **more}


def _report(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"commit": "c0ffee", "machine": {"cpus": 2}, "rows": list(rows)}


def test_only_what_stands_between_the_marks_is_made_anew() -> None:
    page = published(PAGE, _report(_row("a call", True)))
    assert page.startswith("# Performance\n\nBy hand, before.\n\n")
    assert page.endswith("\n\nBy hand, after.\n")
    assert "Commit c0ffee." in page
    assert "old" not in page


def test_publishing_the_same_report_again_changes_nothing() -> None:
    report = _report(_row("a call", True), _row("a start", False, parts={"start": 3.0}))
    assert published(published(PAGE, report), report) == published(PAGE, report)


def test_a_missed_goal_is_listed_with_where_its_time_goes_the_largest_part_first() -> None:
    page = published(PAGE, _report(_row("a start", False, parts={"fetch": 1.0, "clone": 30.5})))
    assert "- a start, against another: 4, goal ≤ 2. Of it, in ms: clone 30.5, fetch 1.\n" in page


def test_a_missed_goal_must_be_named_by_hand_and_the_table_does_not_count_for_that() -> None:
    report = _report(_row("a start", False), _row("a call", True), _row("a push", None))
    page = published(PAGE, report)
    assert unexplained(page, report) == ["a start"]
    assert unexplained(page + "\n- **a start**: the image was made smaller, to no avail.\n", report) == []


@pytest.mark.parametrize("page", ["no marks", f"{END}\n{BEGIN}\n", f"{PAGE}{PAGE}"])
def test_a_page_without_one_place_for_the_table_is_refused(page: str) -> None:
    with pytest.raises(ValueError):
        published(page, _report())


@pytest.mark.parametrize(("met", "code"), [(True, 0), (False, 1)])
def test_the_exit_code_says_whether_something_is_left_to_explain(met: bool, code: int, tmp_path: Path) -> None:
    page, report = tmp_path / "page.md", tmp_path / "bench.json"
    page.write_text(PAGE, encoding="utf-8")
    report.write_text(json.dumps(_report(_row("a call", met))), encoding="utf-8")
    assert main(["--page", str(page), "--report", str(report)]) == code
    assert "Commit c0ffee." in page.read_text(encoding="utf-8")


def test_the_page_of_the_docs_has_a_place_for_the_table() -> None:
    published(PAGE_OF_THE_DOCS.read_text(encoding="utf-8"), _report())
