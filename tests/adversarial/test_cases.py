"""Every conformance case through `runner run` in a real container, and what must hold after each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.audit.chain import verify_chain
from tests.support.cases import P0, Case, check, sh
from tests.support.cases_commands import ARGV, COMMITS, HOOKS, LIMITS, PUSHES, SCRATCH
from tests.support.cases_files import EDITS, FILES, READS, WRITES
from tests.support.cli import CliRun, run_runner
from tests.support.repos import build_r0, git, tree_digest

ALL: tuple[Case, ...] = (*FILES, *WRITES, *EDITS, *READS, *COMMITS, *ARGV, *HOOKS, *SCRATCH, *PUSHES, *LIMITS)

_PWNED = sh("node", "-p", "['/tmp/pwn','/workspace/pwn'].some(f=>require('fs').existsSync(f))")


@pytest.mark.docker
@pytest.mark.usefixtures("docker_engine")
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.id)
def test_case_is_answered_as_the_contract_says(case: Case, tmp_path: Path) -> None:
    r0 = build_r0(tmp_path / "r0", extra=case.files, default_branch=case.default_branch)
    if case.remote is not None:
        case.remote(r0)
    refs_before = git(r0.remote, "for-each-ref")
    clone_before = tree_digest(r0.path)
    policy = {**P0, **case.policy}
    policy["setup"] = [*P0["setup"], *(list(argv) for argv in case.prepare)]
    calls = [*case.inside, *(call for call, _ in case.calls)]
    closing = [] if case.ends_run else [_PWNED]

    ran = run_runner(r0.remote, policy, [*calls, *closing], tmp_path, ref=case.ref)

    assert len(ran.answers) == len(calls) + len(closing), ran.stderr
    for answer, (_, expect) in zip(ran.answers[len(case.inside) :], case.calls, strict=False):
        check(answer, expect)
    if closing:
        assert ran.answers[-1]["result"]["stdout"] == "false\n"
        assert ran.exit_code == 0, ran.stderr
    _holds_after_every_case(ran)
    assert tree_digest(r0.path) == clone_before
    if not case.moves_remote:
        assert git(r0.remote, "for-each-ref") == refs_before


def _holds_after_every_case(ran: CliRun) -> None:
    lines = (ran.out / "audit.jsonl").read_bytes().splitlines(keepends=True)
    assert verify_chain(lines) == ran.report["audit"]["lines"]
    assert ran.report["teardown"] == {"verified": True, "leftovers": []}
    assert all(check["active"] for check in ran.report["posture"])
