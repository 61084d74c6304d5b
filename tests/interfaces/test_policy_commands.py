"""`runner policy` as a user meets it: what is printed, and how it ends."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from runner.doors import cli
from runner.model.errors import RunnerError
from runner.policy.examples import parse_examples
from runner.policy.presets import preset_names
from tests.support.fake_run import fake_run

VERBS = ("lint", "test", "explain", "show", "diff", "replay")


def policy_command(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(cli.command_line(), ["policy", *arguments], input=stdin)


def told(result: Result) -> Any:
    return json.loads(result.stdout)


def code(result: Result) -> int:
    """The exit code that `main` would give."""
    return int(result.exception.exit_code) if isinstance(result.exception, RunnerError) else result.exit_code


@pytest.fixture
def audit(tmp_path: Path) -> Iterator[Path]:
    """The log of a small run under a policy of its own."""
    with fake_run(tmp_path) as run:
        run.call("read_file", path="README.md")
        run.call("write_file", path="src/n.txt", content="x")
        run.call("run_command", argv=["node", "--version"])
        run.call("run_command", argv=["bash", "-c", "x"])
        run.call("delete_file", path="src/crlf.txt")
    yield run.audit_file


def written(path: Path, document: Mapping[str, Any]) -> str:
    path.write_text(yaml.safe_dump(dict(document)), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb: str) -> None:
    result = policy_command(verb, "--help")
    assert (result.exit_code, f"Example: runner policy {verb} " in result.stdout) == (0, True)


# lint


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_is_sound_and_its_examples_hold(name: str) -> None:
    linted, tested = policy_command("lint", name, "-o", "json"), policy_command("test", name)
    assert (linted.exit_code, told(linted)["ok"], tested.exit_code) == (0, True, 0)


def test_lint_tells_every_fault_on_a_line_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "p.yml"
    file.write_text("writeAllow: [/abs]\nwrong: 1\n")
    result = policy_command("lint", str(file))
    assert (code(result), result.stdout.splitlines()[0].startswith(f"{file}:1: ")) == (2, True)
    assert result.stdout.splitlines()[1].startswith(f"{file}:2: field `wrong`")
    assert told(policy_command("lint", str(file), "-o", "json"))["faults"] == result.stdout.splitlines()


@pytest.mark.parametrize("name", ["nope", "./nope.yml", "/dev/null/x.yml"])
def test_lint_of_what_is_not_there_ends_with_2(name: str) -> None:
    assert code(policy_command("lint", name)) == 2


def test_lint_warns_of_limits_that_the_host_has_not(tmp_path: Path) -> None:
    file = written(tmp_path / "p.yml", {"writeAllow": ["src/**"], "limits": {"memoryMiB": 4096}})
    assert "warning: field `limits.memoryMiB`" in policy_command("lint", file, "--host-memory", "2048").stdout
    assert "warning" not in policy_command("lint", file).stdout


# the reference

REFERENCE = (Path(__file__).resolve().parents[2] / "docs" / "POLICY.md").read_text(encoding="utf-8")


def test_the_references_explanation_is_what_is_printed() -> None:
    block = REFERENCE.partition("$ runner policy explain ")[2].partition("```")[0].replace("\\\n", "")
    command, _, output = block.partition("\n")
    assert output
    assert policy_command("explain", *shlex.split(command)).stdout.startswith(output)


def test_the_references_example_is_one() -> None:
    block = REFERENCE.partition("```yaml\n- call:")[2].partition("```")[0]
    assert parse_examples(f"- call:{block}".encode(), source="POLICY.md")


# test


def test_an_example_that_does_not_hold_ends_with_1_and_is_named(tmp_path: Path) -> None:
    file = written(tmp_path / "p.yml", {"writeAllow": ["src/**"]})
    call = {"tool": "workspace.write_file", "arguments": {"path": "README.md", "content": ""}}
    examples = [{"call": call, "expect": "allow", "why": "wrong"}]
    (tmp_path / "p.test.yml").write_text(yaml.safe_dump(examples))
    result = policy_command("test", file, "-o", "json")
    assert result.exit_code == 1
    assert [(row["holds"], row["got"]) for row in told(result)] == [(False, "workspace_write_not_allowed")]


def test_a_policy_without_examples_is_told_so(tmp_path: Path) -> None:
    file = written(tmp_path / "p.yml", {"writeAllow": ["src/**"]})
    assert code(policy_command("test", file)) == 2
    assert code(policy_command("test", file, "--examples", str(tmp_path / "gone.yml"))) == 2


# explain

PUSH = json.dumps({"tool": "git", "arguments": {"args": "push"}})
WRITE = json.dumps({"tool": "workspace.write_file", "arguments": {"path": "docs/a.md", "content": ""}})


def test_explain_prints_numbered_steps_the_rule_the_reason_and_the_way_out() -> None:
    lines = policy_command("explain", PUSH).stdout.splitlines()
    assert lines[0].startswith(" 1. arguments: ")
    assert "refused with git_push_via_run_command by rule git.push.verb" in lines
    assert (lines[-2].startswith("reason: "), lines[-1].startswith("instead: ")) == (True, True)


def test_explain_reads_one_call_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(policy_command("explain", "-", "-o", "json", stdin=PUSH + "\n"))["rule"] == "git.push.verb"


def test_facts_change_what_is_explained() -> None:
    new = told(policy_command("explain", WRITE, "--policy", "node-app", "-o", "json"))
    old = told(policy_command("explain", WRITE, "--policy", "node-app", "--fact", "docs/a.md=existed", "-o", "json"))
    assert (new["rule"], old["rule"]) == ("write.allow.created", "write.rewrite.none")


def test_a_tree_gives_facts_and_is_not_changed(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "docs").mkdir(parents=True)
    (tree / "docs" / "a.md").symlink_to("/etc/passwd")
    (tree / "package.json").write_text('{"scripts": {"check": "tsc"}}')
    before = sorted(str(path) for path in tree.rglob("*"))
    outside = told(policy_command("explain", WRITE, "--repo", str(tree), "-o", "json"))
    check = json.dumps({"tool": "workspace.run_command", "arguments": {"argv": ["pnpm", "check"]}})
    script = told(policy_command("explain", check, "--repo", str(tree), "-o", "json"))
    assert (outside["code"], outside["rule"]) == ("workspace_write_not_allowed", "path.outside")
    assert script["code"] == "direct_typecheck_refused"
    assert sorted(str(path) for path in tree.rglob("*")) == before


def test_the_branch_of_a_push_is_told() -> None:
    push = json.dumps({"tool": "workspace.git_push", "arguments": {}})
    refused = told(policy_command("explain", push, "--branch", "x", "--default-branch", "X", "-o", "json"))
    assert refused["code"] == "default_branch_refused"


@pytest.mark.parametrize(
    "arguments",
    [["not json"], ["{}"], [""], [PUSH, "--fact", "a"], [PUSH, "--fact", "a=b"], [PUSH, "--fact", "../x=link"]],
)
def test_what_cannot_be_read_ends_with_2(arguments: list[str]) -> None:
    assert code(policy_command("explain", *arguments)) == 2


def test_hostile_text_in_a_call_does_not_reach_the_terminal() -> None:
    call = json.dumps({"tool": "workspace.write_file", "arguments": {"path": "src/\u202egpj.\u001b[2J", "content": ""}})
    output = policy_command("explain", call).stdout
    assert not {"\x1b", "\u202e"} & set(output)


# show


def test_show_has_every_default_the_kinds_and_the_rules() -> None:
    shown = yaml.safe_load(policy_command("show", "read-only").stdout)
    assert shown == told(policy_command("show", "read-only", "-o", "json"))
    assert (shown["policy"]["limits"]["pids"], shown["kinds"]["network.run.allow"]) == (512, "boundary")
    assert "git.push.verb" in {rule["id"] for rule in shown["argvRules"]}


# diff and replay


def test_equal_policies_end_with_0_and_print_no_key(tmp_path: Path) -> None:
    result = policy_command("diff", "default", "default", "-o", "json")
    assert (result.exit_code, told(result)) == (0, {"keys": [], "calls": []})


def test_differing_policies_end_with_1_and_their_keys(audit: Path) -> None:
    result = policy_command("diff", "default", "read-only", "-o", "json", "--audit", str(audit))
    keys, calls = {row["key"] for row in told(result)["keys"]}, told(result)["calls"]
    assert (result.exit_code, keys) == (1, {"writeAllow", "rewriteAllow", "writeDeny", "push.branches"})
    assert [(row["seq"], row["a"], row["b"]) for row in calls] == [
        (2, "ok", "workspace_write_not_allowed"),
        (5, "ok", "workspace_write_not_allowed"),
    ]


def test_replay_lists_the_calls_that_would_differ_and_ends_with_1(audit: Path) -> None:
    result = policy_command("replay", "--policy", "read-only", str(audit), "-o", "jsonl")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert (result.exit_code, [(row["seq"], row["would"]) for row in rows]) == (
        1,
        [(2, "workspace_write_not_allowed"), (5, "workspace_write_not_allowed")],
    )
    assert all(row["rule"] == "write.allow.none" and row["hint"] for row in rows)


def test_replay_ends_with_0_where_nothing_differs_and_finds_a_run_by_its_id(audit: Path) -> None:
    runs = Path(os.environ["RUNNER_STATE_DIR"]) / "runs" / "0123abcd"
    runs.mkdir(parents=True)
    audit.rename(runs / "audit.jsonl")
    assert policy_command("replay", "--policy", "default", "0123abcd").exit_code == 0
    assert policy_command("replay", "--policy", "default", str(runs)).exit_code == 0


def test_a_log_that_was_changed_is_not_replayed(audit: Path) -> None:
    audit.write_bytes(audit.read_bytes().replace(b"src/n.txt", b"src/m.txt"))
    assert code(policy_command("replay", "--policy", "default", str(audit))) == 2


def test_what_is_no_log_ends_with_2(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name in ("nope", str(tmp_path / "fifo"), str(tmp_path)):
        assert code(policy_command("replay", "--policy", "default", name)) == 2


# --narrow


@pytest.fixture
def narrow(tmp_path: Path) -> str:
    return written(tmp_path / "n.yml", {"writeAllow": ["src/a/**"], "limits": {"pids": 50}})


def test_lint_tells_what_is_left_or_every_fault_of_what_would_widen(tmp_path: Path, narrow: str) -> None:
    whole, left = (
        policy_command("lint", "node-app", "-o", "json"),
        policy_command("lint", "node-app", "--narrow", narrow),
    )
    assert (left.exit_code, told(whole)["sha256"] in left.stdout) == (0, False)
    assert f"node-app.yml, narrowed by {narrow}" in left.stdout
    wider = tmp_path / "w.yml"
    wider.write_text("limits: {pids: 5000}\nruntime: runsc\n")
    result = policy_command("lint", "node-app", "--narrow", narrow, "--narrow", str(wider))
    assert code(result) == 2
    assert [line.partition(": field")[0] for line in result.stdout.splitlines()] == [f"{wider}:1", f"{wider}:2"]


def test_explain_names_the_file_that_refuses_and_goes_on_to_it_step_by_step(narrow: str) -> None:
    call = json.dumps({"tool": "workspace.write_file", "arguments": {"path": "src/b", "content": ""}})
    result = policy_command("explain", "--policy", "node-app", "--narrow", narrow, call, "-o", "json")
    assert (told(result)["rule"], told(result)["allowed"]) == ("narrow.1.write.allow.none", False)
    names = [step["name"] for step in told(result)["steps"]]
    assert names[-3:] == ["narrow.1.writeDeny", "narrow.1.writeAllow", "narrow.1.rewriteAllow"]
    inside = call.replace("src/b", "src/a/b")
    result = policy_command("explain", "--policy", "node-app", "--narrow", narrow, inside, "-o", "json")
    assert told(result)["allowed"] and told(result)["steps"][-1]["name"] == "narrow.1.appendOnly"
    outside = call.replace("src/b", "lib")
    result = policy_command("explain", "--policy", "node-app", "--narrow", narrow, outside, "-o", "json")
    assert (told(result)["rule"], told(result)["steps"][-1]["name"]) == ("write.allow.none", "rewriteAllow")


def test_explain_says_whose_programs_leave_one_out(tmp_path: Path) -> None:
    file = written(tmp_path / "n.yml", {"bins": ["git"]})
    call = json.dumps({"tool": "workspace.run_command", "arguments": {"argv": ["npm", "ls"]}})
    result = policy_command("explain", "--narrow", file, call, "-o", "json")
    assert told(result)["rule"] == "narrow.1.argv.bin"
    assert told(result)["steps"][1]["found"] == "`npm` is not one of `bins` of narrow.1"


def test_show_has_the_policy_and_what_each_file_takes_away(narrow: str) -> None:
    shown = told(policy_command("show", "node-app", "--narrow", narrow, "--narrow", "read-only", "-o", "json"))
    assert shown["narrowedBy"][0]["keys"] == {"writeAllow": ["src/a/**"], "limits": {"pids": 50}}
    assert [Path(file["source"]).name for file in shown["narrowedBy"]] == ["n.yml", "read-only.yml"]
    assert shown["policy"]["limits"]["pids"] == 50
    assert shown["policy"]["narrow"]["1"] == {"writeAllow": ["src/a/**"], "rewriteAllow": ["src/a/**"]}
    assert shown["writable"]["within narrow.2"]["create"] == []
    assert yaml.safe_load(policy_command("show", "node-app", "--narrow", narrow).stdout)["sha256"] != shown["sha256"]


def test_examples_of_a_narrowing_stand_beside_it(tmp_path: Path, narrow: str) -> None:
    call = {"tool": "workspace.write_file", "arguments": {"path": "src/b", "content": ""}}
    examples = [{"call": call, "expect": "workspace_write_not_allowed", "why": "src/a alone"}]
    (tmp_path / "n.test.yml").write_text(yaml.safe_dump(examples))
    assert policy_command("test", "node-app", "--narrow", narrow).exit_code == 0
    assert policy_command("test", "node-app", "--examples", str(tmp_path / "n.test.yml")).exit_code == 1


def test_diff_of_a_policy_with_itself_narrowed_is_what_the_file_takes_away(audit: Path, tmp_path: Path) -> None:
    file = written(tmp_path / "n.yml", {"writeDeny": ["src/n.txt"], "limits": {"pids": 50}})
    result = policy_command("diff", "node-app", "node-app", "--narrow", file, "--run", str(audit), "-o", "json")
    assert result.exit_code == 1
    assert {row["key"] for row in told(result)["keys"]} == {"limits.pids", "narrow.1.writeDeny"}
    assert [(row["about"], row["a"], row["b"]) for row in told(result)["calls"]] == [
        ("src/n.txt", "ok", "workspace_write_not_allowed")
    ]


def test_replay_judges_by_the_narrowed_policy(audit: Path, tmp_path: Path) -> None:
    file = written(tmp_path / "n.yml", {"bins": ["git"]})
    rows = told(policy_command("replay", "--policy", "node-app", "--narrow", file, str(audit), "-o", "json"))
    assert [row["rule"] for row in rows if row["about"] == "node --version"] == ["narrow.1.argv.bin"]


@pytest.mark.parametrize("verb", ["lint", "test", "show"])
def test_a_narrowing_that_is_not_there_ends_with_2(verb: str, tmp_path: Path) -> None:
    assert code(policy_command(verb, "default", "--narrow", str(tmp_path / "nope.yml"))) == 2
