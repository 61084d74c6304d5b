"""Whether a cost grows no faster than the work is judged by the figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.failure import BenchFailed
from benchmarks.growing_audit import LINES_PER_CALL, append_calls, verify
from benchmarks.growing_bytes import lines_of_text
from benchmarks.growing_tree import tree_files
from benchmarks.growth import Growth, GrowthRow, slope
from benchmarks.growths import GROWTHS
from benchmarks.measures import MEASURES
from benchmarks.repositories import NEEDLE
from benchmarks.samples import NotMeasured, Samples, Series
from runner.audit.chain import chained_lines
from runner.audit.forms import check_line

SIZES = (10, 100, 1000)
GROWTH = Growth("a search, by files", "files", "growing", "search", SIZES, (10, 20, 40), "A search.")


def _row(cost: Callable[[int], float]) -> dict[str, object]:
    series = {f"search {size}": Samples([cost(size)]) for size in SIZES}
    return GrowthRow.of(GROWTH, SIZES, series).as_json()


@pytest.mark.parametrize(
    ("cost", "linear"),
    [
        (lambda size: 3.0 * size, True),
        (lambda size: 5.0, True),
        (lambda size: 1000 + 0.001 * size, True),
        (lambda size: 0.01 * size * size, False),
        (lambda size: size**1.2, False),
        (lambda size: 100 + 0.01 * size * size, False),  # a fixed part hides it from the fit, not from the last step
        (lambda size: size if size > 10 else 0.001, False),  # the last step alone would hide it
    ],
    ids=["proportional", "constant", "mostly fixed", "quadratic", "size^1.2", "fixed and quadratic", "a jump"],
)
def test_growth_is_linear_or_not_by_its_slope(cost: Callable[[int], float], linear: bool) -> None:
    assert _row(cost)["met"] is linear


def test_the_slope_is_the_power_of_the_work_that_the_cost_follows() -> None:
    assert slope({size: float(size) ** 2 for size in SIZES}) == pytest.approx(2)
    assert slope({size: 7.0 for size in SIZES}) == pytest.approx(0)


def test_a_row_tells_every_size_with_its_figures() -> None:
    points = _row(float)["points"]
    assert points == [
        {"size": size, "median": size, "p95": size, "min": size, "max": size, "samples": 1} for size in SIZES
    ]


def test_a_size_that_was_not_measured_is_told_with_the_reason_and_not_judged() -> None:
    series: dict[str, Series] = {"search 10": Samples([1.0]), "search 100": NotMeasured("No room.")}
    told = GrowthRow.of(GROWTH, SIZES, series).as_json()
    assert (told["ratio"], told["met"], told["not_measured"]) == (None, None, "No room.")


def test_a_size_that_is_missing_is_not_left_out_silently() -> None:
    with pytest.raises(KeyError):
        GrowthRow.of(GROWTH, SIZES, {"search 10": Samples([1.0])})


@pytest.mark.parametrize("sizes", [(10, 100), (10, 15, 100), (100, 10, 1000)])
def test_growth_over_too_few_or_too_near_sizes_is_refused(sizes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError):
        Growth("f", "files", "m", "n", sizes, (10, 20, 40), "How.")
    with pytest.raises(ValueError):
        Growth("f", "files", "m", "n", (10, 20, 40), sizes, "How.")


def test_growths_of_one_measure_are_looked_at_in_the_same_sizes() -> None:
    sizes: dict[str, set[object]] = {}
    for growth in GROWTHS:
        sizes.setdefault(growth.measure, set()).add((growth.sizes, growth.quick_sizes))
    assert set(sizes) <= set(MEASURES)
    assert all(len(found) == 1 for found in sizes.values())


def test_the_published_sizes_are_those_that_were_asked_for() -> None:
    ends = {growth.measure: (growth.sizes[0], growth.sizes[-1]) for growth in GROWTHS}
    assert ends == {
        "growing_tree": (1_000, 50_000),
        "growing_files": (1_000, 50_000_000),
        "growing_output": (1_000, 100_000_000),
        "growing_audit": (10, 100_000),
    }


def test_a_tree_has_as_many_files_as_it_says_and_a_few_needles_whatever_its_size() -> None:
    for count in (250, 4_000):
        files = tree_files(count)
        assert len(files) == count
        assert 20 <= sum(NEEDLE.encode() in content for content in files.values()) <= 21


def test_text_of_a_size_has_exactly_so_many_bytes() -> None:
    for size in (1, 63, 64, 65, 1_000):
        assert len(lines_of_text(size).encode()) == size


def test_the_audit_log_that_is_measured_has_lines_of_the_published_form(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    append_calls(log, 2)
    lines = list(chained_lines(log.read_bytes().splitlines(keepends=True)))
    assert len(lines) == 2 * LINES_PER_CALL
    for line in lines:
        check_line(line)


def test_a_log_that_is_not_whole_is_no_measurement(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    append_calls(log, 2)
    verify(log, 2)
    with pytest.raises(BenchFailed):
        verify(log, 3)
    log.write_bytes(log.read_bytes().replace(b"src/a.ts", b"src/b.ts", 1))
    with pytest.raises(BenchFailed):
        verify(log, 2)
