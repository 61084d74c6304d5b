"""Every step of a run times every fault that can fall into it: nothing is left, the report says what happened, and the
remote is as it was or has exactly the commit that was judged.

Cells that cannot differ from one that is here are left out, each with its reason; a test holds the lists together.
An engine that restarts is played: its connections break and its containers are killed, which is what a restart without
live-restore does to them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product

import pytest

from tests.support.fault_report import CountFault
from tests.support.faults import Fault, Outcome, Step, run_with

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker_engine")]

_AT_ONCE = 4
_KILL_EXIT = -9


@dataclass(frozen=True)
class Expected:
    """How the run ends. `status` is None where no report is written; `ended` and `remote` may be one of two."""

    exit_code: int
    status: str | None
    ended: str | None = None
    torn_down: bool | None = True
    remote: str = "as it was"


KILLED = Expected(_KILL_EXIT, None, None, None)
INTERRUPTED = Expected(130, "interrupted")
LOST = Expected(5, "lost", "run_ended")
COMPLETED = Expected(0, "completed", None, True, "pushed")
ENGINE_FAILED = Expected(3, "failed", "engine_unavailable")
PUSHED_THEN_KILLED = Expected(_KILL_EXIT, None, None, None, "pushed")
# The engine is away while the run is torn down: what is left is named, and gone once the engine is back.
AWAY_FAILED = Expected(3, "failed", "engine_unavailable", False)
AWAY_LOST = Expected(5, "lost", "run_ended", False)
AWAY_AFTER_ALL = Expected(1, "failed", "teardown_failed", False, "pushed")
# The report is in `--out` then, which is on another disk.
FULL = Expected(1, "failed", "audit_unwritable")

CELLS: Mapping[tuple[Fault, Step], Expected] = {
    **{(Fault.KILLED, step): KILLED for step in Step if step not in (Step.LEAVING, Step.TEARDOWN)},
    # A judged push that had begun ends whole or not at all; which of the two, the killed controller cannot say.
    (Fault.KILLED, Step.LEAVING): Expected(_KILL_EXIT, None, None, None, "as it was or pushed"),
    (Fault.KILLED, Step.TEARDOWN): PUSHED_THEN_KILLED,
    (Fault.TERMINATED, Step.GATE_START): INTERRUPTED,
    (Fault.TERMINATED, Step.FETCH): INTERRUPTED,
    (Fault.TERMINATED, Step.WORKSPACE_START): INTERRUPTED,
    (Fault.TERMINATED, Step.SET_UP): INTERRUPTED,
    (Fault.TERMINATED, Step.COMMIT): INTERRUPTED,
    (Fault.TERMINATED, Step.PUSH): INTERRUPTED,
    (Fault.TERMINATED, Step.LEAVING): INTERRUPTED,
    (Fault.TERMINATED, Step.TEARDOWN): COMPLETED,
    (Fault.NO_WORKSPACE, Step.POSTURE): LOST,
    (Fault.NO_WORKSPACE, Step.SET_UP): LOST,
    (Fault.NO_WORKSPACE, Step.CALL): LOST,
    (Fault.NO_WORKSPACE, Step.PUSH): LOST,
    (Fault.NO_WORKSPACE, Step.LEAVING): Expected(5, "lost", "run_ended", True, "pushed"),
    (Fault.NO_WORKSPACE, Step.TEARDOWN): COMPLETED,
    (Fault.NO_GATE, Step.FETCH): LOST,
    (Fault.NO_GATE, Step.CLONE): LOST,
    (Fault.NO_GATE, Step.CALL): LOST,
    (Fault.NO_GATE, Step.LEAVING): LOST,
    (Fault.NO_GATE, Step.TEARDOWN): COMPLETED,
    (Fault.ENGINE_GONE, Step.GATE_START): AWAY_FAILED,
    (Fault.ENGINE_GONE, Step.POSTURE): AWAY_FAILED,  # its own word on the container is a part of the proof
    (Fault.ENGINE_GONE, Step.CALL): AWAY_LOST,
    (Fault.ENGINE_GONE, Step.LEAVING): AWAY_LOST,
    (Fault.ENGINE_GONE, Step.TEARDOWN): AWAY_AFTER_ALL,
    (Fault.ENGINE_RESTARTED, Step.WORKSPACE_START): ENGINE_FAILED,
    (Fault.ENGINE_RESTARTED, Step.CALL): LOST,
    (Fault.ENGINE_RESTARTED, Step.LEAVING): LOST,
    (Fault.ENGINE_RESTARTED, Step.TEARDOWN): COMPLETED,
    (Fault.ENGINE_HANGS, Step.WORKSPACE_START): AWAY_FAILED,
    (Fault.ENGINE_HANGS, Step.CALL): AWAY_LOST,
    (Fault.ENGINE_HANGS, Step.TEARDOWN): AWAY_AFTER_ALL,
    (Fault.DISK_FULL, Step.GATE_START): FULL,
    (Fault.DISK_FULL, Step.FETCH): Expected(4, "failed", "disk_full"),
    (Fault.DISK_FULL, Step.CALL): FULL,
    (Fault.DISK_FULL, Step.PUSH): FULL,
    # The log's last block has room for its last line, or has not; the report never has.
    (Fault.DISK_FULL, Step.TEARDOWN): Expected(1, "failed", "audit_unwritable or state_unwritable", True, "pushed"),
}

IMPOSSIBLE = {
    **{
        (Fault.NO_WORKSPACE, step): "no workspace is there yet" for step in list(Step)[: list(Step).index(Step.POSTURE)]
    },
    (Fault.NO_GATE, Step.GATE_START): "no gate is there yet",
}
_ON_A_STREAM = "as at the other steps of a held stream: the controller waits for an answer of the helper"
COVERED = {
    **{(Fault.TERMINATED, step): _ON_A_STREAM for step in (Step.POSTURE, Step.CLONE, Step.BASELINE)},
    (Fault.TERMINATED, Step.CALL): "test_an_interrupt_during_a_command_tears_the_run_down",
    **{(Fault.NO_WORKSPACE, step): _ON_A_STREAM for step in (Step.CLONE, Step.BASELINE, Step.COMMIT)},
    **{
        (Fault.NO_GATE, step): "the gate is not asked before the next step that needs it, CLONE or LEAVING"
        for step in (Step.WORKSPACE_START, Step.POSTURE, Step.SET_UP, Step.BASELINE, Step.COMMIT)
    },
    (Fault.NO_GATE, Step.PUSH): "test_a_gate_that_is_gone_ends_a_push_and_leaves_the_remote_as_it_was",
    **{
        (fault, step): _ON_A_STREAM
        for fault in (Fault.ENGINE_GONE, Fault.ENGINE_RESTARTED, Fault.ENGINE_HANGS)
        for step in (Step.FETCH, Step.CLONE, Step.SET_UP, Step.BASELINE, Step.COMMIT)
    },
    (Fault.ENGINE_GONE, Step.WORKSPACE_START): "as GATE_START: a container is asked for",
    (Fault.ENGINE_GONE, Step.PUSH): "as GATE_START: a container is asked for",
    (Fault.ENGINE_RESTARTED, Step.GATE_START): "as WORKSPACE_START: a container is asked for",
    (Fault.ENGINE_RESTARTED, Step.PUSH): "as WORKSPACE_START: a container is asked for",
    (Fault.ENGINE_RESTARTED, Step.POSTURE): _ON_A_STREAM,
    (Fault.ENGINE_HANGS, Step.GATE_START): "as WORKSPACE_START: a container is asked for",
    (Fault.ENGINE_HANGS, Step.PUSH): "as WORKSPACE_START: a container is asked for",
    (Fault.ENGINE_HANGS, Step.POSTURE): _ON_A_STREAM,
    (Fault.ENGINE_HANGS, Step.LEAVING): _ON_A_STREAM,
    **{
        (Fault.DISK_FULL, step): "the next line of the audit log cannot be written, as at CALL"
        for step in (
            Step.WORKSPACE_START,
            Step.POSTURE,
            Step.CLONE,
            Step.SET_UP,
            Step.BASELINE,
            Step.COMMIT,
            Step.LEAVING,
        )
    },
}


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[tuple[Fault, Step], Future[Outcome]]]:
    """All cells that are to be tested, some at a time; what waits longest first."""
    wanted = {name for item in request.session.items for name in re.findall(r"\[(\w+-\w+)\]$", item.name)}
    cells = [cell for cell in CELLS if _named(*cell) in wanted]
    order = sorted(cells, key=lambda cell: cell[0] is not Fault.ENGINE_HANGS)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield {(fault, step): pool.submit(run_with, fault, step, tmp_path_factory.mktemp("f")) for fault, step in order}


def _named(fault: Fault, step: Step) -> str:
    return f"{fault.name}-{step.name}"


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "step"), CELLS, ids=[_named(*cell) for cell in CELLS])
def test_whatever_happens_nothing_is_left_and_the_end_is_told(
    fault: Fault, step: Step, outcomes: Mapping[tuple[Fault, Step], Future[Outcome]], count_fault: CountFault
) -> None:
    outcome, expected = outcomes[fault, step].result(), CELLS[fault, step]
    count_fault(outcome.happened, outcome.leftovers)
    assert outcome.happened, outcome.stderr
    assert outcome.leftovers == []
    assert outcome.remote in expected.remote.split(" or ")
    assert outcome.ended in (expected.ended.split(" or ") if expected.ended else [None]), outcome.stderr
    told = (outcome.exit_code, outcome.status, outcome.torn_down)
    assert told == (expected.exit_code, expected.status, expected.torn_down), outcome.stderr
    if expected.torn_down:
        assert outcome.swept == 0, "the report says that all was gone"


def test_every_step_meets_every_fault_or_says_why_not() -> None:
    lists = [set(CELLS), set(IMPOSSIBLE), set(COVERED)]
    assert set().union(*lists) == set(product(Fault, Step))
    assert sum(map(len, lists)) == len(Fault) * len(Step)
