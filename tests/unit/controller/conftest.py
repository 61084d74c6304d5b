"""A run in memory for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fake_run import FakeRun, fake_run


@pytest.fixture
def run(tmp_path: Path) -> Iterator[FakeRun]:
    """A run under P0."""
    with fake_run(tmp_path) as made:
        yield made
