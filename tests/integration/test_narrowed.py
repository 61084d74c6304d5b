"""A run whose policy is narrowed, on a real engine: what is left of it holds at each place where a policy does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from runner.doors import cli
from runner.engine.docker_engine import DockerEngine
from tests.support.cli import call, run_cli
from tests.support.repos import R0, build_r0, git

pytestmark = pytest.mark.docker

POLICY = {
    "writeAllow": ["src/**", "docs/**"],
    "bindings": [{"git": {"host": "file"}}],
    "limits": {"memoryMiB": 512, "workspaceMiB": 128},
    "setup": "off",
}
NARROW = {"writeAllow": ["src/**"], "limits": {"pids": 90}, "bins": ["git", "node"], "push": {"branches": ["agent/*"]}}


@pytest.fixture
def r0(tmp_path: Path) -> R0:
    return build_r0(tmp_path / "r0")


def _written(path: Path, document: Mapping[str, object]) -> str:
    path.write_text(yaml.safe_dump(dict(document)), encoding="utf-8")
    return str(path)


def test_a_narrowed_run_is_held_to_both_and_its_receipt_names_both(
    docker_engine: DockerEngine, r0: R0, tmp_path: Path
) -> None:
    policy, narrow = _written(tmp_path / "p.yml", POLICY), _written(tmp_path / "n.yml", NARROW)
    calls = [
        call("write_file", path="src/n.mjs", content="1\n"),
        call("write_file", path="docs/n.md", content="1\n"),
        call("write_file", path="README2.md", content="1\n"),
        call("run_command", argv=["npm", "--version"]),
        call("run_command", argv=["node", "-e", "require('fs').writeFileSync('docs/by-a-command.md', '1')"]),
        call("git_commit", message="x"),
        call("git", args="switch -c other/x"),
        call("git", args="add -f docs/by-a-command.md"),
        call("git", args="commit -m behind-the-tools-back"),
        call("git_push"),
        call("git", args="switch -c agent/x2"),
        call("git_push"),
    ]
    lines = "".join(json.dumps({"tool": tool, "arguments": arguments}) + "\n" for tool, arguments in calls)
    arguments = ["--repo", f"file://{r0.remote}", "--ref", "agent/x1", "--policy", policy, "--narrow", narrow]
    out = tmp_path / "out"
    ended = replace(run_cli("run", *arguments, "--calls", "-", "--out", str(out), stdin=lines), out=out)
    assert ended.exit_code == 0, ended.stderr
    assert ended.answers[0]["ok"]
    rules = {
        seq: answer["error"]["details"].get("rule") for seq, answer in enumerate(ended.answers) if not answer["ok"]
    }
    assert rules[1] == "narrow.1.write.allow.none" and rules[2] == "write.allow.none"
    assert rules[3] == "narrow.1.argv.bin"
    assert ended.answers[4]["result"]["outside_writes"] == ["docs/by-a-command.md"]
    assert rules[5] == "narrow.1.write.allow.none"
    assert rules[9] == "narrow.1.push.branch.none"
    assert rules[11] == "narrow.1.write.allow.none"  # by the gate, over the commit that the tool did not make
    assert ended.answers[11]["error"]["code"] == "push_policy_violation"
    assert git(r0.remote, "branch", "--list", "agent/x2", "other/x") == ""
    request = ended.report["request"]
    assert request["policy"] == f"{policy}, narrowed by {narrow}"
    assert ended.report["limits"]["pids"] == 90
    checks = {check["control"]: check["seen"] for check in ended.report["posture"]}
    assert checks["processes limit"] == "[90, 90]"
    shown = CliRunner().invoke(cli.command_line(), ["policy", "show", policy, "--narrow", narrow, "-o", "json"])
    assert request["policy_sha256"] == json.loads(shown.stdout)["sha256"] == ended.audit[0]["data"]["policy_sha256"]


def test_replay_judges_a_recorded_run_by_a_narrowed_policy(r0: R0, docker_engine: DockerEngine, tmp_path: Path) -> None:
    policy, narrow = _written(tmp_path / "p.yml", POLICY), _written(tmp_path / "n.yml", NARROW)
    calls = [call("write_file", path="docs/n.md", content="1\n"), call("run_command", argv=["node", "--version"])]
    lines = "".join(json.dumps({"tool": tool, "arguments": arguments}) + "\n" for tool, arguments in calls)
    out = str(tmp_path / "out")
    ended = run_cli("run", "--repo", str(r0.path), "--policy", policy, "--calls", "-", "--out", out, stdin=lines)
    assert [answer["ok"] for answer in ended.answers] == [True, True]
    replay = ["policy", "replay", "--policy", policy, "--narrow", narrow, f"{out}/audit.jsonl", "-o", "json"]
    differing = json.loads(CliRunner().invoke(cli.command_line(), replay).stdout)
    assert [(row["seq"], row["would"], row["rule"]) for row in differing] == [
        (1, "workspace_write_not_allowed", "narrow.1.write.allow.none")
    ]
