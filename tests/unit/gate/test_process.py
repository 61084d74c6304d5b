from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.gate.process import run_program

ENV = {"PATH": "/usr/bin:/bin"}


def test_the_environment_is_exactly_what_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/tmp/evil")
    done = run_program(["/usr/bin/env"], env={"A": "1"}, deadline_seconds=20, max_stdout_bytes=1000)

    assert done.stdout == b"A=1\n"


def test_a_program_that_reads_and_writes_much_at_once_does_not_stall() -> None:
    chunks = [b"x" * 65536] * 64
    done = run_program(["/bin/cat"], env=ENV, deadline_seconds=20, max_stdout_bytes=1 << 23, stdin=chunks)

    assert done.stdout == b"".join(chunks)


def test_output_over_the_bound_ends_the_program() -> None:
    done = run_program(["/usr/bin/yes"], env=ENV, deadline_seconds=20, max_stdout_bytes=1000)

    assert done.overflowed
    assert len(done.stdout) == 1000


def test_the_deadline_kills_the_program_and_its_children() -> None:
    reader, writer = os.pipe()
    done = run_program(
        ["/bin/sh", "-c", f"sleep 300 & echo started > /proc/self/fd/{writer}; wait"],
        env=ENV,
        deadline_seconds=0.3,
        max_stdout_bytes=1000,
        pass_fds=[writer],
    )
    os.close(writer)

    assert done.timed_out
    # The pipe ends only when no process holds it any more.
    assert os.read(reader, 100) == b"started\n"
    assert os.read(reader, 100) == b""
    os.close(reader)


def test_children_that_outlive_the_program_are_killed() -> None:
    reader, writer = os.pipe()
    done = run_program(
        ["/bin/sh", "-c", "sleep 300 >/dev/null 2>&1 & true"],
        env=ENV,
        deadline_seconds=20,
        max_stdout_bytes=1000,
        pass_fds=[writer],
    )
    os.close(writer)

    assert done.exit == 0
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_what_the_input_raises_is_raised_and_the_program_is_dead() -> None:
    class Refused(Exception):
        pass

    def chunks() -> Iterator[bytes]:
        yield b"part"
        raise Refused

    with pytest.raises(Refused):
        run_program(["/bin/cat"], env=ENV, deadline_seconds=20, max_stdout_bytes=1000, stdin=chunks())


def test_a_program_that_reads_nothing_is_no_error() -> None:
    done = run_program(["/bin/true"], env=ENV, deadline_seconds=20, max_stdout_bytes=10, stdin=[b"x" * 65536] * 64)

    assert done.exit == 0


def test_a_file_larger_than_the_bound_is_not_written(tmp_path: Path) -> None:
    done = run_program(
        ["/bin/sh", "-c", f"read go; head -c 100000 /dev/zero > {tmp_path}/big"],
        env=ENV,
        deadline_seconds=20,
        max_stdout_bytes=10,
        max_file_bytes=1000,
        stdin=[b"go\n"],
    )

    assert done.exit != 0
    assert (tmp_path / "big").stat().st_size == 1000


def test_death_by_a_signal_is_told_as_128_and_more() -> None:
    done = run_program(["/bin/sh", "-c", "kill -TERM $$"], env=ENV, deadline_seconds=20, max_stdout_bytes=10)

    assert done.exit == 143
