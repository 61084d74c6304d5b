"""The figures of one series."""

from __future__ import annotations

import pytest

from benchmarks.samples import Samples


def test_the_median_of_an_even_number_of_values_is_between_the_middle_two() -> None:
    assert Samples([4.0, 1.0, 3.0, 2.0]).median == 2.5


def test_the_95th_percentile_is_a_value_that_was_measured() -> None:
    assert Samples(range(1, 101)).p95 == 95
    assert Samples(range(1, 21)).p95 == 19


def test_with_few_values_the_95th_percentile_is_the_worst_of_them() -> None:
    assert Samples([5.0, 9.0, 7.0]).p95 == 9.0


def test_one_value_is_its_own_median_and_percentile() -> None:
    assert Samples([3.25]).as_json() == {
        "median": 3.25,
        "p95": 3.25,
        "min": 3.25,
        "max": 3.25,
        "samples": 1,
    }


def test_an_outlier_stays_in_the_series() -> None:
    assert Samples([1.0, 1.0, 1000.0]).as_json()["max"] == 1000.0


def test_an_empty_series_is_refused() -> None:
    with pytest.raises(ValueError):
        Samples([])
