"""Which tests go to one worker when they run in parallel, and which of them begin."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling

__all__ = ["FilesOrSingleTests", "slow_first"]

ROOT = Path(__file__).resolve().parents[2]
_DOCKER_FOLDERS = ("tests/adversarial/", "tests/contract/", "tests/integration/")


class FilesOrSingleTests(LoadFileScheduling):
    """A worker gets a file at a time; of those that wait for Docker, one test at a time unless they share a fixture.

    Marks are not asked: xdist puts a test's group into its id, which pytest 9.2 does not let it change, without a word.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return nodeid if file.startswith(_DOCKER_FOLDERS) and not _shares_a_fixture(file) else file


def slow_first(items: list[pytest.Item]) -> None:
    """What takes longest begins, so that no worker is left alone with it."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@cache
def _shares_a_fixture(file: str) -> bool:
    """Whether something is made once for the file: a run, an image, a container. Each worker would make it again."""
    sources = (ROOT / file, (ROOT / file).with_name("conftest.py"))
    return any('scope="module"' in source.read_text(encoding="utf-8") for source in sources if source.exists())
