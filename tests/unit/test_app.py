"""What the composition root makes of settings that count something."""

from __future__ import annotations

import pytest

from runner.app import whole_number
from runner.model.errors import UsageError


@pytest.mark.parametrize("text", ["-1", "1.5", "4G", "x", "٣", "9999999999", " 1"])
def test_a_setting_that_is_no_whole_number_is_told_by_its_name(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        whole_number("RUNNER_CACHE_MIB", text, 4096)
    assert "RUNNER_CACHE_MIB" in refused.value.message


def test_a_setting_is_what_was_written_and_its_default_where_nothing_was() -> None:
    assert [whole_number("RUNNER_MAX_RUNS", text, 8) for text in (None, "0", "100")] == [8, 0, 100]
