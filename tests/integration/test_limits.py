"""Each limit, met in a real container: it holds, it is named, the next call works, and a run beside it notices nothing.

One run takes all of them one after the other, each followed by a harmless command.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runner.policy.document import Limits
from tests.support.cases import P0, node, sh
from tests.support.cli import CliRun, Invocation, call, run_runner
from tests.support.live import LiveRun
from tests.support.repos import R0, build_r0

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker_engine")]

LIMITS = {
    "commandSeconds": 4,
    "memoryMiB": 128,
    "cpus": 0.5,
    "pids": 48,
    "openFiles": 128,  # the least that a policy may say
    "workspaceMiB": 16,
    "workspaceInodes": 1500,
    "fileMiB": 4,
    "outputKiB": 8,
}


_NOTHING = call("read_file", path="README.md")
# Half a processor is little: whatever works for a while may be held back for as long as the limit is named.
# What names it is in tests/contract, where a machine that is busy with other things cannot take the time away.
_CPUS = "limits.cpus (0.5)"


@dataclass(frozen=True)
class Meeting:
    """A call that meets a limit: what is in its result, what its program says of it, and what makes room again."""

    limit: str
    call: Invocation
    hit: tuple[str, ...]
    said: str = ""
    room: Invocation = _NOTHING


def js(text: str) -> Invocation:
    return sh(*node(f"const fs=require('fs'),cp=require('child_process');{text}"))


_CLEAN = js("for(const f of fs.readdirSync('scratch'))fs.unlinkSync('scratch/'+f)")
_FORKS = (
    "for(let i=0;i<60;i++)cp.spawn('sleep',['3'],{stdio:'ignore'}).on('error',e=>{console.log(e.code);process.exit()})"
)
MEETINGS = (
    Meeting("commandSeconds", js("console.log('up');setInterval(()=>{},1e3)"), ("limits.commandSeconds (4)",), "up\n"),
    # Buffers are outside node's own heap limit, so that it is the cgroup that ends it.
    Meeting("memoryMiB", js("const a=[];for(;;)a.push(Buffer.alloc(1<<24,1))"), ("limits.memoryMiB (128)",)),
    Meeting("pids", js(_FORKS), ("limits.pids (48)",), "EAGAIN\n"),
    Meeting("openFiles", js("try{for(;;)fs.openSync('README.md')}catch(e){console.log(e.code)}"), (), "EMFILE\n"),
    Meeting(
        "fileMiB",
        js("try{fs.writeFileSync('scratch/f',Buffer.alloc(5<<20,1))}catch(e){console.log(e.code)}"),
        (),
        "EFBIG\n",
        _CLEAN,
    ),
    Meeting(
        "workspaceMiB",
        js("try{for(let i=0;;i++)fs.writeFileSync('scratch/f'+i,Buffer.alloc(1<<20,1))}catch(e){console.log(e.code)}"),
        ("limits.workspaceMiB (16)",),
        "ENOSPC\n",
        _CLEAN,
    ),
    Meeting(
        "workspaceInodes",
        js("try{for(let i=0;;i++)fs.writeFileSync('scratch/f'+i,'')}catch(e){console.log(e.code)}"),
        ("limits.workspaceInodes (1500)",),
        "ENOSPC\n",
        _CLEAN,
    ),
    Meeting("outputKiB", js("process.stdout.write('x'.repeat(9000))"), ("limits.outputKiB (8)",), "x" * 8192),
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[CliRun, list[dict[str, Any]]]]:
    """The run that meets every limit, and what a run beside it answered meanwhile."""
    folder = tmp_path_factory.mktemp("limits")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RUNNER_STATE_DIR", str(folder / "state"))
        patch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
        r0 = build_r0(folder / "r0")
        (folder / "beside").mkdir()
        with LiveRun(r0.remote, P0, folder / "beside") as beside:
            answers = [beside.call(call("write_file", path="src/mine.mjs", content="console.log(7)\n"))]
            ran = _meet_all(r0, folder)
            answers += [beside.call(sh("node", "src/mine.mjs")), beside.call(call("read_file", path="src/mine.mjs"))]
            answers.append({"exit": beside.end()})
        yield ran, answers


def _meet_all(r0: R0, folder: Path) -> CliRun:
    calls = [one for meeting in MEETINGS for one in (meeting.call, meeting.room, sh("node", "-p", "1"))]
    return run_runner(r0.remote, {**P0, "limits": LIMITS}, calls, folder, ref="agent/x1")


@pytest.mark.parametrize("number", range(len(MEETINGS)), ids=[meeting.limit for meeting in MEETINGS])
def test_a_limit_holds_is_named_and_the_next_call_works(number: int, runs: tuple[CliRun, list[dict[str, Any]]]) -> None:
    meeting = MEETINGS[number]
    met, _room, after = runs[0].answers[3 * number : 3 * number + 3]
    result = met["result"]
    assert tuple(_but_cpus(result)) == meeting.hit, met
    if meeting.said:
        assert result["stdout"] == meeting.said, met
    assert after["result"]["stdout"] == "1\n", after
    assert _but_cpus(after["result"]) == [], after


def _but_cpus(result: dict[str, Any]) -> list[str]:
    return [hit for hit in result["limits_hit"] if hit != _CPUS]


def test_every_limit_of_a_policy_is_met_here_or_elsewhere() -> None:
    elsewhere = {"runSeconds", "cpus"}  # tests/integration/test_lifecycle.py, tests/contract/test_programs.py
    assert {meeting.limit for meeting in MEETINGS} | elsewhere == set(Limits().model_dump(by_alias=True))


def test_the_run_ends_as_if_nothing_had_happened(runs: tuple[CliRun, list[dict[str, Any]]]) -> None:
    ran = runs[0]
    assert (ran.exit_code, ran.report["status"]) == (0, "completed"), ran.stderr
    assert ran.report["teardown"] == {"verified": True, "leftovers": []}


def test_a_run_beside_it_notices_nothing(runs: tuple[CliRun, list[dict[str, Any]]]) -> None:
    wrote, ran, read, ended = runs[1]
    assert (wrote["ok"], ran["result"]["stdout"], read["result"]) == (True, "7\n", "console.log(7)\n")
    assert ended == {"exit": 0}
