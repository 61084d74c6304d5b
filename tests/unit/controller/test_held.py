"""Runs that are held open between calls: one at a time, ended once, by whoever comes first."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runner.engine.fake import FakeOutcome
from runner.model.errors import ErrorCode, ExitCode, RepositoryUnavailable, ToolError
from tests.support.fake_run import SURE, code_of
from tests.support.held import NODE, Holding, write


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[Holding]:
    made = Holding(tmp_path)
    yield made
    made.end_all()


def test_calls_are_answered_until_the_run_is_closed_and_then_nothing_is_left(holder: Holding) -> None:
    run = holder.open()
    answers = [write(run), run.call("workspace.read_file", {"path": "src/n.txt"})]
    assert [(answer["seq"], answer["ok"], answer["tool"]) for answer in answers] == [
        (1, True, "workspace.write_file"),
        (2, True, "workspace.read_file"),
    ]
    assert all(answer["duration_ms"] >= 0 for answer in answers)
    ending = run.close()
    assert (ending.status, ending.exit_code, ending.because) == ("completed", ExitCode.COMPLETED, "")
    assert run.ended and run.seconds_left == 0
    holder.bench.proved_gone()


def test_closing_twice_gives_the_same_ending_and_a_call_after_it_is_told(holder: Holding) -> None:
    run = holder.open()
    assert run.close() is run.close() is run.interrupt() is run.expire()
    late = write(run)
    assert (late["seq"], code_of(late)) == (1, "run_ended")


def test_a_call_that_a_door_cannot_read_counts_like_any_other(holder: Holding) -> None:
    run = holder.open()
    answer = run.refuse("no.such", ToolError(ErrorCode.INVALID_ARGUMENTS, "not JSON"))
    run.close()
    assert (answer["seq"], code_of(answer)) == (1, "invalid_arguments")
    assert holder.bench.report()["calls"] == {"calls": 1, "ok": 0, "refused": 1}


def test_a_run_that_cannot_be_opened_leaves_nothing(holder: Holding) -> None:
    with pytest.raises(RepositoryUnavailable):
        holder.open(str(holder.bench.repository / "nothing"))
    assert holder.bench.engine.objects() == [] and holder.timers == []


def test_the_deadline_ends_a_run_that_nobody_calls(holder: Holding) -> None:
    run = holder.open(limits={"runSeconds": 77})
    (timer,) = holder.timers
    assert timer.running and timer.seconds == 77
    timer.act()
    assert run.ended
    assert code_of(write(run)) == "run_limit_exceeded"
    assert holder.bench.report()["exit_code"] == int(ExitCode.LIMIT)
    holder.bench.proved_gone()


def test_the_deadline_cuts_a_command_that_runs(holder: Holding) -> None:
    run = holder.open(node=holder.waits)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(run.call, "workspace.run_command", NODE)
        assert holder.begun.wait(SURE)
        ending = run.expire()
        assert answer.result(SURE)["result"]["killed_by"] == "caller"
    assert (ending.status, ending.exit_code) == ("failed", ExitCode.LIMIT)
    holder.bench.proved_gone()


def test_closing_takes_the_deadline_back(holder: Holding) -> None:
    holder.open().close()
    assert not holder.timers[0].running


def test_a_cancelled_command_ends_and_the_run_goes_on(holder: Holding) -> None:
    run = holder.open(node=holder.waits)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(run.call, "workspace.run_command", NODE)
        assert holder.begun.wait(SURE)
        assert run.cancel(seq=1)
        result = answer.result(SURE)["result"]
    assert (result["killed_by"], result["code"]) == ("caller", None)
    assert write(run)["ok"]
    assert run.close().status == "completed"


def test_only_the_call_that_was_meant_is_cancelled(holder: Holding) -> None:
    run = holder.open(node=holder.waits)
    assert not run.cancel() and not run.cancel(seq=1)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(run.call, "workspace.run_command", NODE)
        assert holder.begun.wait(SURE)
        assert not run.cancel(seq=2)
        assert not answer.done()
        assert run.cancel()
        answer.result(SURE)
    run.close()


def test_a_run_that_is_given_up_is_interrupted_at_once_and_keeps_its_record(holder: Holding) -> None:
    run = holder.open(node=holder.waits)
    write(run)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(run.call, "workspace.run_command", NODE)
        assert holder.begun.wait(SURE)
        ending = run.interrupt()
        answer.result(SURE)
    assert (ending.status, ending.exit_code) == ("interrupted", ExitCode.INTERRUPTED)
    assert holder.bench.report()["changes"]["files"] == ["src/n.txt"]
    holder.bench.proved_gone()


def test_output_is_seen_as_it_comes_and_only_by_the_call_that_asked(holder: Holding) -> None:
    run = holder.open(node=lambda _call: FakeOutcome(stdout=b"out\n", stderr=b"err\n"))
    seen: list[tuple[str, bytes]] = []
    answer = run.call("workspace.run_command", NODE, on_output=lambda name, data: seen.append((name, data)))
    assert seen == [("stdout", b"out\n"), ("stderr", b"err\n")]
    assert (answer["result"]["stdout"], answer["result"]["stderr"]) == ("out\n", "err\n")
    run.call("workspace.run_command", NODE)
    assert len(seen) == 2
    run.close()


def test_calls_from_many_threads_are_taken_one_at_a_time(holder: Holding) -> None:
    run = holder.open()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _n: write(run), range(24)))
    assert sorted(answer["seq"] for answer in answers) == list(range(1, 25))
    assert all(answer["ok"] for answer in answers)
    run.close()
    assert holder.bench.report()["calls"]["calls"] == 24


def test_a_lost_workspace_is_told_from_a_limit(holder: Holding) -> None:
    run = holder.open()
    for box in holder.bench.engine.sandboxes.values():
        box.lose()
    assert code_of(write(run)) == "run_ended"
    assert run.interrupt().status == "lost"
    assert code_of(write(run)) == "run_ended"


def test_whoever_waits_for_the_end_is_told_once(holder: Holding) -> None:
    told: list[str] = []
    run = holder.open(options={"on_end": lambda ending: told.append(ending.status), "run_id": "abc123"})
    assert run.run_id == "abc123" and holder.bench.state.alive("abc123")
    run.expire()
    run.close()
    assert told == ["failed"]


def test_what_is_known_of_an_open_run_needs_no_call(holder: Holding) -> None:
    run = holder.open()
    assert "src/app.mjs" in run.paths() and run.facts["repository"]["branch"] == "main"
    assert run.counts == {"calls": 0, "ok": 0, "refused": 0} and not run.busy
    write(run)
    assert run.counts == {"calls": 1, "ok": 1, "refused": 0}


def test_who_waits_for_a_turn_gets_none_once_the_run_is_given_up(holder: Holding) -> None:
    """Else each of them would start its program after the others were cancelled, and the end would wait for all."""
    run = holder.open(node=holder.waits)
    with ThreadPoolExecutor(6) as pool:
        answers = [pool.submit(run.call, "workspace.run_command", NODE) for _ in range(6)]
        assert holder.begun.wait(SURE)
        run.interrupt()
        ended = [answer.result(SURE) for answer in answers]
    started = [answer for answer in ended if answer["ok"]]
    assert [answer["result"]["killed_by"] for answer in started] == ["caller"]
    assert {code_of(answer) for answer in ended if not answer["ok"]} == {"run_ended"}
    assert holder.bench.report()["calls"]["calls"] == 1
