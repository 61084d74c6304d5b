"""Calls that nobody means, in one `runner run` in a real container: each is refused and nothing is changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.bad_input import CALLS, DOCUMENTS, LINES
from tests.support.cases import P0
from tests.support.cli import CliRun, run_cli
from tests.support.repos import build_r0, git, tree_digest

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker_engine")]

MAX_ANSWER_CHARACTERS = 8000  # a path of 4 KiB may be named in full; nothing else of the input is

LOOK = (
    "const f=require('fs');const look=d=>{for(const e of f.readdirSync(d).sort()){if(e==='.git')continue;"
    "const p=d+'/'+e,s=f.lstatSync(p);console.log(p,s.mode,s.size,s.mtimeMs,s.ino);"
    "if(s.isDirectory())look(p)}};look('.')"
)
TREE = {"tool": "workspace.run_command", "arguments": {"argv": ["node", "-e", LOOK]}}
STATUS = {"tool": "git", "arguments": {"args": "rev-parse HEAD refs/heads/agent/x1"}}


def refusals(answers: list[dict[str, Any]]) -> list[str]:
    return [answer["error"]["code"] if not answer["ok"] else "ok" for answer in answers]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> CliRun:
    """One run: the state, every bad line and call, the state again."""
    folder = tmp_path_factory.mktemp("bad")
    r0 = build_r0(folder / "r0")
    before, refs = tree_digest(r0.path), git(r0.remote, "for-each-ref")
    closing = [json.dumps(call).encode() for call in (TREE, STATUS)]
    bad = [*LINES.values(), *(call.line.encode() for call in CALLS.values())]
    calls = folder / "calls.jsonl"
    calls.write_bytes(b"\n".join([*closing, *bad, *closing]) + b"\n")
    policy = folder / "policy.yml"
    policy.write_text(yaml.safe_dump({**P0, "writeAllow": ["**"], "rewriteAllow": ["**"]}))
    out = folder / "out"
    options = ["--repo", str(r0.remote), "--ref", "agent/x1", "--policy", str(policy), "--out", str(out)]
    finished = run_cli("run", *options, "--calls", str(calls))
    assert tree_digest(r0.path) == before and git(r0.remote, "for-each-ref") == refs
    return CliRun(finished.exit_code, finished.answers, finished.stderr, out)


def test_every_line_is_answered_and_the_run_completes(ran: CliRun) -> None:
    assert ran.exit_code == 0, ran.stderr
    assert len(ran.answers) == len(LINES) + len(CALLS) + 4
    assert ran.report["teardown"] == {"verified": True, "leftovers": []}


def test_a_line_that_nobody_means_is_invalid(ran: CliRun) -> None:
    answers = ran.answers[2 : 2 + len(LINES)]
    assert dict(zip(LINES, refusals(answers), strict=True)) == dict.fromkeys(LINES, "invalid_arguments")


def test_a_call_that_nobody_means_gets_the_code_that_fits_in_a_short_answer(ran: CliRun) -> None:
    answers = ran.answers[2 + len(LINES) : -2]
    assert dict(zip(CALLS, refusals(answers), strict=True)) == {flaw: bad.code for flaw, bad in CALLS.items()}
    assert all(len(json.dumps(answer)) < MAX_ANSWER_CHARACTERS for answer in answers)


def test_files_head_and_branch_are_as_before(ran: CliRun) -> None:
    for before, after in zip(ran.answers[:2], ran.answers[-2:], strict=True):
        assert before["ok"] and before["result"]["stdout"], str(before)
        assert after["ok"] and after["result"]["stdout"] == before["result"]["stdout"], after


def test_no_program_was_started_for_any_of_them(ran: CliRun) -> None:
    decisions = [line["data"] for line in ran.audit if line["event"] == "decision" and line["data"]["allowed"]]
    started = [decision["seq"] for decision in decisions if decision["subject"]["kind"] == "argv"]
    last = len(ran.answers)
    assert [seq for seq in started if seq > 0] == [1, 2, last - 1, last]
    assert sum(len(json.dumps(line)) for line in ran.audit) < 4_000_000


@pytest.mark.parametrize("flaw", ["100,000 lines", "an anchor bomb", "lists 500,000 deep", "a key twice"])
def test_a_policy_or_spec_that_nobody_means_starts_nothing(flaw: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yml"
    bad.write_bytes(DOCUMENTS[flaw])
    for option in ("--policy", "--spec"):
        finished = run_cli(
            "run", "--repo", str(tmp_path), option, str(bad), "--calls", "-", "--out", str(tmp_path / "out")
        )
        assert finished.exit_code == 2, finished.stderr
        assert finished.answers == [] and len(finished.stderr) < 1000
    assert not (tmp_path / "out").exists()
