"""The keeper's arguments. What it does in a container is shown in tests/integration/test_images.py."""

from __future__ import annotations

import subprocess

import pytest

from runner.engine.image_sources import IMAGES

KEEPER = IMAGES / "workspace" / "keeper.sh"


@pytest.mark.parametrize("deadline", ["", "x", "-5", "1e3", "3 0", "1;id", "9999999999"])
def test_a_deadline_that_is_no_number_of_seconds_is_refused(deadline: str) -> None:
    assert subprocess.run(["/bin/bash", KEEPER, deadline], check=False).returncode == 64


def test_no_deadline_is_refused() -> None:
    assert subprocess.run(["/bin/bash", KEEPER], check=False).returncode == 64


def test_a_deadline_that_is_over_ends_it_at_once_under_any_shell() -> None:
    assert subprocess.run(["/bin/bash", KEEPER, "0"], check=False).returncode == 124
    assert subprocess.run(["/bin/sh", KEEPER, "0"], check=False).returncode == 124
    assert subprocess.run(["/bin/bash", KEEPER, "000"], check=False).returncode == 124
