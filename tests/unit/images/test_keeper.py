"""The keeper's arguments. What it does in a container is shown in tests/integration/test_images.py."""

from __future__ import annotations

import signal
import subprocess
from contextlib import suppress

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


@pytest.mark.parametrize("run", ["x", "-5", "1e3", "3 0", "9999999999"])
def test_a_time_for_the_run_that_is_no_number_of_seconds_is_refused(run: str) -> None:
    assert subprocess.run(["/bin/bash", KEEPER, "0", run], check=False).returncode == 64


def _told_that_the_run_begins(deadline: str, run: str) -> int | None:
    """How it ends, told again and again, since nobody sees when it has begun to listen."""
    with subprocess.Popen(["/bin/bash", KEEPER, deadline, run]) as keeper:
        for _ in range(600):
            keeper.send_signal(signal.SIGURG)
            with suppress(subprocess.TimeoutExpired):
                return keeper.wait(0.1)
        keeper.kill()
    return None


def test_a_run_that_begins_leaves_the_time_of_the_run_alone() -> None:
    assert _told_that_the_run_begins("100000", "0") == 124


def test_a_run_that_begins_makes_no_deadline_later() -> None:
    assert _told_that_the_run_begins("1", "100000") == 124


def test_one_that_does_not_wait_for_a_run_is_not_moved_by_the_signal() -> None:
    assert _told_that_the_run_begins("1", "") == 124
