"""A real run's log, judged again: by its own policy nothing differs, by read-only exactly the writes do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from runner.engine.docker_engine import DockerEngine
from runner.policy.presets import preset_path
from tests.support.cli import call, run_cli, run_runner
from tests.support.repos import build_r0

CALLS = [
    call("read_file", path="README.md"),
    call("search", pattern="red"),
    call("write_file", path="src/new.mjs", content="export const n = 1;\n"),  # 3
    call("write_file", path=".github/x.yml", content="x"),
    call("edit", path="src/app.mjs", oldString="a = 1", newString="a = 2"),  # 5
    call("run_command", argv=["node", "src/new.mjs"]),
    call("run_command", argv=["pnpm", "run", "hi"]),
    call("run_command", argv=["pnpm", "run", "typecheck"]),
    call("run_command", argv=["node", "-e", "require('fs').writeFileSync('made.txt', 'x')"]),
    call("git", args="status --short"),
    call("git", args="push origin HEAD"),
    call("delete_file", path="made.txt"),  # 12
    call("git_commit", message="work"),  # 13
    call("git_push"),  # 14
    call("read_file", path="gone.txt"),
]
WRITES = {
    3: "workspace_write_not_allowed",
    5: "workspace_write_not_allowed",
    6: "scratch_execution_refused",  # what the run made may be executed only where it may be rewritten
    12: "workspace_write_not_allowed",
    13: "workspace_commit_not_allowed",
    14: "push_policy_violation",
}


@pytest.mark.docker
def test_a_recorded_run_replays_as_it_was_and_under_read_only_refuses_exactly_the_writes(
    docker_engine: DockerEngine, tmp_path: Path
) -> None:
    default = preset_path("default")
    assert default is not None
    document = yaml.safe_load(default.read_text(encoding="utf-8"))
    document["bindings"] = [{"git": {"host": "file"}}]
    document["limits"] = {"memoryMiB": 512, "workspaceMiB": 128}
    ran = run_runner(build_r0(tmp_path / "r0").remote, document, CALLS, tmp_path, ref="agent/x1")
    assert ran.exit_code == 0, ran.stderr
    outcomes = {answer["seq"]: "ok" if answer["ok"] else answer["error"]["code"] for answer in ran.answers}
    assert all(outcomes[seq] == "ok" for seq in WRITES), ran.answers
    audit = str(ran.out / "audit.jsonl")

    same = run_cli("policy", "replay", "--policy", str(tmp_path / "policy.yml"), audit, "-o", "jsonl")
    assert (same.exit_code, same.answers) == (0, []), same.stderr

    other = run_cli("policy", "replay", "--policy", "read-only", audit, "-o", "jsonl")
    assert {row["seq"]: row["would"] for row in other.answers} == WRITES
    assert other.exit_code == 1

    text = (ran.out / "audit.jsonl").read_text(encoding="utf-8")
    assert "export const n = 1;" not in text
    kinds = {json.loads(line)["data"].get("subject", {}).get("kind") for line in text.splitlines()}
    assert {"write", "argv", "commit", "branch", "push"} <= kinds
