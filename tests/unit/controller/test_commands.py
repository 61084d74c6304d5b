"""Commands: refused ones start nothing; allowed ones say all that came of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.controller import commands
from runner.controller.commands import limits_hit
from runner.engine.contract import LimitMet, SpawnResult
from runner.engine.fake import FakeCall, FakeOutcome
from runner.policy.document import Limits
from tests.support.fake_run import FakeRun, code_of, fake_run

KEYS = {
    "code",
    "stdout",
    "stderr",
    "truncated",
    "timed_out",
    "timeout_secs",
    "duration_ms",
    "killed_by",
    "limits_hit",
    "outside_writes",
    "reverted",
    "not_reverted",
}
GIT_KEYS = {"cmd", "args", "stdout", "stderr", "exit", "duration_ms", "timed_out", "timeout_secs"}


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["sh", "-c", "id"], "bin_not_allowlisted"),
        (["/usr/bin/node", "-v"], "bin_not_allowlisted"),
        (["./node"], "bin_not_allowlisted"),
        (["node\0", "-v"], "bin_not_allowlisted"),
        (["git", "push"], "git_push_via_run_command"),
        (["git", "commit", "--no-verify", "-m", "x"], "git_hooks_skip_refused"),
        (["pnpm", "exec", "tsc"], "direct_typecheck_refused"),
        (["node", "scratch/new.mjs"], "scratch_execution_refused"),
        (["node", "src/alias/new.mjs"], "scratch_execution_refused"),
        (["node", "a\0b"], "invalid_arguments"),
        (["node", "\ud800"], "invalid_arguments"),
        ([], "argv_required"),
    ],
)
def test_a_refused_argv_starts_no_program_and_changes_nothing(run: FakeRun, argv: list[str], code: str) -> None:
    run.sandbox.tree.put_file("scratch/new.mjs", b"")
    run.sandbox.tree.put_link("src/alias", "../scratch")
    before = run.snapshot()
    assert code_of(run.call("run_command", argv=argv)) == code
    assert run.programs == [] and run.snapshot() == before


def test_an_alias_that_pushes_is_read_from_git_itself_and_refused(run: FakeRun) -> None:
    run.sandbox.programs["git"] = lambda call: FakeOutcome(stdout=b"alias.up\npush origin HEAD\0")
    assert code_of(run.call("git", args="up")) == "git_push_via_run_command"
    assert all("config" in argv for argv in run.programs)


@pytest.mark.parametrize("args", [["status", "-s"], "status -s", "status '-s'"])
def test_the_git_tool_takes_a_list_or_a_line_and_always_answers_with_its_keys(
    run: FakeRun, args: list[str] | str
) -> None:
    result = run.call("git", args=args)["result"]
    assert set(result) == GIT_KEYS
    assert (result["cmd"], result["args"], result["exit"], result["stderr"]) == ("git", ["status", "-s"], 0, "")
    assert run.programs[-1] == ("git", "status", "-s")


@pytest.mark.parametrize("args", ["", "   ", [], "''"])
def test_git_without_arguments_is_refused(run: FakeRun, args: list[str] | str) -> None:
    expected = {"argv_required", "bin_not_allowlisted"} if args == "''" else {"argv_required"}
    answer = run.call("git", args=args)
    assert code_of(answer) in expected or (args == "''" and answer["ok"])
    assert run.programs == [] or args == "''"


def test_git_with_an_open_quote_is_invalid(run: FakeRun) -> None:
    assert code_of(run.call("git", args="log 'x")) == "invalid_arguments"


def test_a_result_is_total_and_a_failure_is_data(run: FakeRun) -> None:
    run.sandbox.programs["node"] = lambda _call: FakeOutcome(3, b"out\n", b"err \xff\n", seconds=0.5)
    result = run.call("run_command", argv=["node", "-e", "0"])["result"]
    assert set(result) == KEYS
    assert (result["code"], result["stdout"], result["stderr"]) == (3, "out\n", "err \ufffd\n")
    assert (result["timed_out"], result["killed_by"], result["outside_writes"]) == (False, None, [])
    assert (result["duration_ms"], result["timeout_secs"]) == (500.0, 300)


def test_output_over_the_cap_is_cut_and_said_so_and_a_flood_is_killed(tmp_path: Path) -> None:
    with fake_run(tmp_path, limits={"outputKiB": 1}) as run:
        run.sandbox.programs["node"] = lambda _call: FakeOutcome(stdout=b"x" * 2000)
        run.sandbox.programs["git"] = lambda _call: FakeOutcome(stdout=b"x" * 2000)
        result = run.call("run_command", argv=["node", "-e", "0"])["result"]
        assert (len(result["stdout"]), result["truncated"], result["killed_by"]) == (1024, True, None)
        run.sandbox.programs["node"] = lambda _call: FakeOutcome(stdout=b"x" * (64 * 1024 + 1))
        result = run.call("run_command", argv=["node", "-e", "0"])["result"]
        assert (len(result["stdout"]), result["truncated"], result["killed_by"]) == (1024, True, "output")
        assert run.call("git", args="log")["result"]["stdout"].endswith("\n[output cut]\n")


def test_a_program_over_its_limit_has_no_code_and_says_which_limit(tmp_path: Path) -> None:
    with fake_run(tmp_path, limits={"commandSeconds": 3}) as run:
        run.sandbox.programs["node"] = lambda _call: FakeOutcome(stdout=b"early\n", seconds=99)
        result = run.call("run_command", argv=["node", "-e", "0"])["result"]
        assert (result["code"], result["timed_out"], result["killed_by"]) == (None, True, "deadline")
        assert result["limits_hit"] == ["limits.commandSeconds (3)"]
        assert (result["stdout"], result["timeout_secs"], result["duration_ms"]) == ("early\n", 3, 3000.0)


def test_a_program_gets_no_more_time_than_the_run_has_left(tmp_path: Path) -> None:
    with fake_run(tmp_path, limits={"runSeconds": 100, "commandSeconds": 50}) as run:
        run.sandbox.programs["node"] = lambda _call: FakeOutcome(seconds=99)
        run.clock.advance(90)
        result = run.call("run_command", argv=["node", "-e", "0"])["result"]
        assert (result["duration_ms"], result["limits_hit"]) == (10_000.0, ["limits.runSeconds (100)"])


def test_memory_is_named_when_it_was_what_ended_a_program(run: FakeRun) -> None:
    run.sandbox.programs["node"] = lambda _call: FakeOutcome(out_of_memory=True)
    result = run.call("run_command", argv=["node", "-e", "0"])["result"]
    assert (result["code"], result["killed_by"]) == (137, "memory")
    assert result["limits_hit"] == ["limits.memoryMiB (2048)"]


def test_a_program_that_says_137_by_itself_met_no_limit(run: FakeRun) -> None:
    run.sandbox.programs["node"] = lambda _call: FakeOutcome(137)
    result = run.call("run_command", argv=["node", "-e", "0"])["result"]
    assert (result["code"], result["killed_by"], result["limits_hit"]) == (137, None, [])


@pytest.mark.parametrize(
    ("met", "said"),
    [
        (LimitMet.CPUS, "limits.cpus (2.0)"),
        (LimitMet.PIDS, "limits.pids (512)"),
        (LimitMet.FILE_SIZE, "limits.fileMiB (512)"),
        (LimitMet.WORKSPACE_BYTES, "limits.workspaceMiB (2048)"),
        (LimitMet.WORKSPACE_INODES, "limits.workspaceInodes (500000)"),
    ],
)
def test_a_limit_that_the_kernel_kept_is_named_with_its_bound(met: LimitMet, said: str) -> None:
    result = SpawnResult(1, b"", b"", 0, 0, truncated=False, timed_out=False, duration_ms=1.0, limits_met=(met,))
    assert limits_hit(result, Limits()) == (said,)


def test_a_program_that_is_not_there_is_a_result(run: FakeRun) -> None:
    del run.sandbox.programs["mise"]
    result = run.call("run_command", argv=["mise", "ls"])["result"]
    assert (result["code"], result["stdout"]) == (127, "") and result["stderr"]


def test_a_program_gets_the_built_environment_and_nothing_of_the_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODE_TOKEN", "tok-FAKE")
    seen: list[dict[str, str]] = []

    def node(call: FakeCall) -> FakeOutcome:
        seen.append(dict(call.env))
        return FakeOutcome()

    with fake_run(tmp_path, env={"CI": "1"}) as run:
        run.sandbox.programs["node"] = node
        run.call("run_command", argv=["node", "-e", "0"])
    assert (seen[0]["CI"], seen[0]["HOME"], seen[0]["MISE_PARANOID"]) == ("1", "/home/agent", "1")
    assert "CODE_TOKEN" not in seen[0] and "RUNNER_STATE_DIR" not in seen[0]


def touching(call: FakeCall) -> FakeOutcome:
    call.tree.put_file("src/made.txt", b"")
    call.tree.put_file("package.json", b"{}")
    call.tree.put_file("out/made.txt", b"")
    call.tree.put_file("README.md", b"changed\n")
    call.tree.put_file("src/secret/made.txt", b"")
    call.tree.put_file(".git/hooks/made", b"")
    call.tree.remove("scratch/old.mjs")
    call.tree.remove("top-out")
    return FakeOutcome()


def test_what_a_command_wrote_outside_the_globs_is_listed_once_and_only_then(run: FakeRun) -> None:
    run.sandbox.programs["node"] = touching
    first = run.call("run_command", argv=["node", "-e", "0"])["result"]["outside_writes"]
    assert first == ["README.md", "out", "out/made.txt", "src/secret/made.txt", "top-out"]
    run.sandbox.programs["node"] = lambda _call: FakeOutcome()
    assert run.call("run_command", argv=["node", "-e", "0"])["result"]["outside_writes"] == []


def test_the_list_of_outside_writes_is_bounded(run: FakeRun) -> None:
    def many(call: FakeCall) -> FakeOutcome:
        for number in range(200):
            call.tree.put_file(f"out{number}.txt", b"")
        return FakeOutcome()

    run.sandbox.programs["node"] = many
    assert len(run.call("run_command", argv=["node", "-e", "0"])["result"]["outside_writes"]) == 50


def test_a_file_that_a_command_made_counts_as_the_runs_own(run: FakeRun) -> None:
    run.sandbox.programs["node"] = touching
    assert code_of(run.call("run_command", argv=["node", "out/made.txt"])) is None  # not there yet
    assert code_of(run.call("run_command", argv=["node", "out/made.txt"])) == "scratch_execution_refused"
    assert code_of(run.call("run_command", argv=["node", "src/made.txt"])) is None


def test_a_tree_too_large_to_keep_account_of_ends_the_run(run: FakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "MAX_ENTRIES", len(run.sandbox.tree.nodes))

    def many(call: FakeCall) -> FakeOutcome:
        for number in range(50):
            call.tree.put_file(f"src/{number}.txt", b"")
        return FakeOutcome()

    run.sandbox.programs["node"] = many
    assert code_of(run.call("run_command", argv=["node", "-e", "0"])) == "run_limit_exceeded"
    assert run.pipeline.ended is not None
