"""docs/PYTHON.md says what is so: each of its examples runs, those with a container in a real one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from runner.engine.docker_engine import DockerEngine
from tests.architecture.sources import ROOT
from tests.support.repos import Commit, bare_repository

EXAMPLES = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "PYTHON.md").read_text(encoding="utf-8"), re.M | re.S)
IN_MEMORY = [text for text in EXAMPLES if "runner.testing.open_run" in text]
IN_A_CONTAINER = [text for text in EXAMPLES if text not in IN_MEMORY]


def run(text: str) -> None:
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(text, "docs/PYTHON.md", "exec"), names)


def test_the_page_has_examples_of_both_kinds() -> None:
    assert len(IN_MEMORY) == 1 and len(IN_A_CONTAINER) == 4


@pytest.mark.parametrize("text", IN_MEMORY)
def test_the_examples_in_memory_run(text: str) -> None:
    run(text)


@pytest.mark.docker
@pytest.mark.parametrize("text", IN_A_CONTAINER)
def test_the_examples_with_a_container_run(
    docker_engine: DockerEngine, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare_repository(tmp_path / "repo", [Commit({"package.json": b"{}\n", "src/old.mjs": b"\n"})])
    monkeypatch.chdir(tmp_path / "repo")
    run(text)
