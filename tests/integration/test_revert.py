"""`commandWrites: revert` through `runner run`: what commands write outside the patterns is gone after each call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import P0, node
from tests.support.cases import sh as run_command
from tests.support.cli import CliRun, Invocation, call, run_runner
from tests.support.repos import R0, File, build_r0, executable, git, link

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("docker_engine")]

REVERT = {**P0, "commandWrites": "revert"}
FILES: Mapping[str, File | bytes | str | None] = {
    "tools/run.sh": executable("#!/bin/sh\necho tool\n"),
    "tools/deep/a": "a\n",
    "to-docs": link("docs"),
    "eol.txt": "one\ntwo\n",
    "ident.txt": "$Id$\n",
    ".gitattributes": "eol.txt text eol=crlf\nident.txt ident\n",
    ".gitignore": "node_modules/\n",
}
STATE = """
const path = require('path'), out = {};
(function walk(at) {
  for (const name of fs.readdirSync(at).sort()) {
    const file = path.join(at, name), info = fs.lstatSync(file);
    if (name === '.git') continue;
    const data = info.isFile() ? fs.readFileSync(file, 'latin1') : info.isSymbolicLink() ? fs.readlinkSync(file) : '';
    out[file] = [info.mode, data];
    if (info.isDirectory()) walk(file);
  }
})('.');
console.log(JSON.stringify(out));
"""


@pytest.fixture
def r0(tmp_path: Path) -> R0:
    return build_r0(tmp_path / "r0", extra=FILES)


def _run(r0: R0, tmp_path: Path, *calls: Invocation, policy: dict[str, Any] = REVERT) -> CliRun:
    ran = run_runner(r0.remote, policy, calls, tmp_path, ref="agent/x1")
    assert ran.exit_code == 0, ran.stderr
    assert all(answer["ok"] for answer in ran.answers), ran.answers
    return ran


def _state(answer: dict[str, Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = json.loads(answer["result"]["stdout"])
    return found


def _js(script: str) -> Invocation:
    return run_command(*node("const fs = require('fs');" + script))


def test_whatever_a_command_does_outside_the_patterns_the_tree_is_as_it_was(r0: R0, tmp_path: Path) -> None:
    harm = [
        "fs.mkdirSync('.github/workflows', {recursive: true}); fs.writeFileSync('.github/workflows/x.yml', 'on: push')",
        "fs.appendFileSync('README.md', 'more'); fs.chmodSync('README.md', 0o755)",
        "fs.writeFileSync('eol.txt', 'x'); fs.writeFileSync('ident.txt', 'x')",
        "fs.rmSync('tools', {recursive: true}); fs.rmSync('README.md')",
        "fs.rmSync('to-docs'); fs.symlinkSync('/etc', 'to-docs'); fs.writeFileSync('src/secret/key.txt', 'x')",
        "fs.renameSync('tools', 'src/m'); fs.symlinkSync('src/m', 'tools'); fs.rmSync('src/m', {recursive: true})",
        "require('child_process').execFileSync('git', ['rm', '-rqf', 'tools', 'eol.txt'])",
    ]
    ran = _run(r0, tmp_path, _js(STATE), *(item for script in harm for item in (_js(script), _js(STATE))))
    before = _state(ran.answers[0])
    assert before["eol.txt"][1] == "one\r\ntwo\r\n" and before["tools/run.sh"][0] & 0o777 == 0o755
    for did, state in zip(ran.answers[1::2], ran.answers[2::2], strict=True):
        assert did["result"]["code"] == 0, did
        assert did["result"]["reverted"] == did["result"]["outside_writes"] != []
        assert did["result"]["not_reverted"] == []
        assert _state(state) == before
    named = [line["data"] for line in ran.audit if line["event"] == "command.reverted"]
    assert len(named) == len(harm) and all(facts["not_reverted"]["count"] == 0 for facts in named)


def test_what_was_allowed_stays_and_the_commit_passes(r0: R0, tmp_path: Path) -> None:
    script = (
        "fs.writeFileSync('src/app.mjs', 'b'); fs.writeFileSync('README.md', 'x'); fs.writeFileSync('new.txt', 'x')"
    )
    ran = _run(r0, tmp_path, _js(script), call("git_commit", message="work"), call("git", args="show --stat --format="))
    assert ran.answers[0]["result"]["reverted"] == ["README.md", "new.txt"]
    assert ran.answers[1]["result"]["files"] == ["src/app.mjs"]
    assert ran.report["changes"]["files"] == ["src/app.mjs"]


def test_what_set_up_made_comes_back_and_what_git_ignores_is_named(r0: R0, tmp_path: Path) -> None:
    made = "const fs = require('fs'); fs.writeFileSync('README.md', '# XX'); fs.writeFileSync('made.txt', 'm');"
    made += "fs.mkdirSync('node_modules'); fs.writeFileSync('node_modules/a.js', 'a')"
    policy = {**REVERT, "setup": [*P0["setup"], ["node", "-e", made]]}
    harm = "for (const f of ['README.md', 'made.txt', 'node_modules/a.js']) fs.writeFileSync(f, 'x')"
    ran = _run(r0, tmp_path, _js(STATE), _js(harm), _js(STATE), policy=policy)
    before, did, after = _state(ran.answers[0]), ran.answers[1]["result"], _state(ran.answers[2])
    assert (did["reverted"], did["not_reverted"]) == (["README.md", "made.txt"], ["node_modules/a.js"])
    assert before["README.md"][1] == "# XX"
    assert {path for path in before | after if before.get(path) != after.get(path)} == {"node_modules/a.js"}


def test_a_commit_that_a_command_made_of_reverted_files_stays_and_cannot_leave(r0: R0, tmp_path: Path) -> None:
    script = "fs.writeFileSync('README.md', 'x');"
    script += "require('child_process').execFileSync('git', ['commit', '-qam', 'sneaky'])"
    calls = [_js(script), call("read_file", path="README.md"), call("git_push")]
    ran = run_runner(r0.remote, REVERT, calls, tmp_path, ref="agent/x1")
    assert ran.answers[0]["result"]["reverted"] == ["README.md"]
    assert "# R0" in json.dumps(ran.answers[1]["result"])
    assert ran.answers[2]["ok"] is False
    assert git(r0.remote, "rev-parse", "refs/heads/agent/x1") == r0.base


def test_without_the_key_what_a_command_wrote_stays(r0: R0, tmp_path: Path) -> None:
    ran = _run(r0, tmp_path, _js("fs.writeFileSync('README.md', 'x')"), _js(STATE), policy=dict(P0))
    assert ran.answers[0]["result"]["outside_writes"] == ["README.md"]
    assert ran.answers[0]["result"]["reverted"] == ran.answers[0]["result"]["not_reverted"] == []
    assert _state(ran.answers[1])["README.md"][1] == "x"
