"""What the bench works on and with: the same each time, and the same on both sides."""

from __future__ import annotations

from benchmarks.mixed import CALLS, mixed_calls
from benchmarks.pipe import pipe_copy
from benchmarks.repositories import FOUR_KIB, small_files
from runner.tools.base import parse_arguments
from runner.tools.registry import TOOLS


def test_the_mixed_run_has_as_many_calls_as_it_says() -> None:
    assert len(mixed_calls()) == CALLS


def test_every_mixed_call_is_well_formed_and_has_a_program_that_does_the_same() -> None:
    for call in mixed_calls():
        parse_arguments(TOOLS[call.tool], call.arguments)
        assert call.program


def test_the_mixed_run_reads_and_writes_and_runs_and_commits() -> None:
    calls = mixed_calls()
    assert {call.tool.removeprefix("workspace.") for call in calls} == {
        "list_dir",
        "read_file",
        "search",
        "write_file",
        "edit",
        "run_command",
        "git_commit",
    }
    assert calls[-1].tool == "workspace.git_commit"


def test_every_file_that_a_mixed_call_reads_is_in_the_repository() -> None:
    read = {str(call.arguments["path"]) for call in mixed_calls() if call.tool == "workspace.read_file"}
    assert read <= set(small_files())


def test_the_small_repository_has_the_same_bytes_each_time() -> None:
    assert small_files() == small_files()


def test_the_file_of_four_kibibytes_has_exactly_so_many_and_is_text() -> None:
    content = small_files()[FOUR_KIB]
    assert len(content) == 4096
    assert content.decode("ascii").endswith("\n")


def test_a_pipe_copy_moves_every_byte_each_way_and_again() -> None:
    size = 300_001  # more than a pipe holds, and no multiple of it
    with pipe_copy(size) as pipe:
        for _ in range(2):
            assert pipe.read() == b"x" * size
            pipe.write()
