"""The one way of a tool call: total answers, audit before effect, budgets, deadlines, and how a run ends."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.audit.chain import verify_chain
from runner.model.errors import ErrorCode, RunLimitReached, ToolError
from runner.tools.registry import TOOLS
from runner.tools.workspace import FileBytes, ToolWorkspace
from tests.support.examples import examples
from tests.support.fake_run import FakeRun, code_of, fake_run, total

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = sorted({name for tool in TOOLS.values() for name in tool.arguments.model_fields})


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    tool=st.sampled_from(sorted(TOOLS)) | st.text(max_size=12),
    arguments=JSON | st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4),
)
def test_any_call_gets_a_total_answer_and_the_run_goes_on(run: FakeRun, tool: str, arguments: object) -> None:
    answer = total(run.pipeline.call(tool, arguments))
    assert code_of(answer) not in {ErrorCode.RUN_ENDED, ErrorCode.RUN_LIMIT_EXCEEDED} or tool == "workspace.git_commit"
    assert run.pipeline.ended is None


def test_an_unknown_tool_is_refused_with_the_names_of_those_there_are(run: FakeRun) -> None:
    answer = run.raw("workspace.frobnicate", {})
    assert code_of(answer) == "unknown_tool"
    assert all(name in answer["error"]["message"] for name in TOOLS)


def test_a_tool_name_that_is_no_text_for_a_file_is_an_unknown_tool(run: FakeRun) -> None:
    assert code_of(run.raw("\ud800" * 200, {})) == "unknown_tool"
    assert len(run.pipeline.denials[0]["tool"]) <= 100


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("read_file", {}, "path"),
        ("read_file", {"path": 7}, "path"),
        ("read_file", {"path": "README.md", "startLine": 0}, "startLine"),
        ("read_file", {"path": "README.md", "startLine": True}, "startLine"),
        ("read_file", {"path": "README.md", "startLine": "1"}, "startLine"),
        ("read_file", {"path": "README.md", "limit": 1.5}, "limit"),
        ("write_file", {"path": "src/n.txt"}, "content"),
        ("edit", {"path": "src/app.mjs", "oldString": "a"}, "newString"),
        ("edit", {"path": "src/app.mjs", "oldString": "a", "newString": "b", "replaceAll": "yes"}, "replaceAll"),
        ("search", {"pattern": "a", "globs": ["x", 3]}, "globs.1"),
        ("search", {"pattern": "a", "maxResults": 0}, "maxResults"),
        ("git_commit", {}, "message"),
        ("write_file", {"path": "src/n.txt", "content": "\ud800"}, "content"),
        ("git_commit", {"message": "\ud800"}, "message"),
    ],
)
def test_invalid_arguments_name_the_field_and_the_reason(
    run: FakeRun, tool: str, arguments: dict[str, Any], field: str
) -> None:
    before = run.snapshot()
    answer = run.call(tool, **arguments)
    assert code_of(answer) == "invalid_arguments"
    problem = answer["error"]["details"]["problems"][0]
    assert (problem["field"], bool(problem["reason"])) == (field, True)
    assert run.snapshot() == before


def test_a_field_that_no_tool_has_is_refused_and_the_known_ones_are_named(run: FakeRun) -> None:
    answer = run.call("read_file", path="README.md", encoding="utf-8")
    assert code_of(answer) == "invalid_arguments"
    assert answer["error"]["details"]["problems"][0]["field"] == "encoding"
    assert "startLine" in answer["error"]["message"]


@pytest.mark.parametrize("arguments", [None, [], "path", 3, True])
def test_arguments_that_are_no_object_are_refused(run: FakeRun, arguments: object) -> None:
    assert code_of(run.raw("workspace.read_file", arguments)) == "invalid_arguments"


def test_a_refusal_of_arguments_echoes_no_value_and_no_long_name(run: FakeRun) -> None:
    answer = run.raw("workspace.read_file", {"path": ["SECRET-VALUE"], "K" * 100_000: "SECRET-VALUE"})
    assert code_of(answer) == "invalid_arguments"
    assert "SECRET-VALUE" not in json.dumps(answer)
    assert len(json.dumps(answer)) < 2_000


def test_a_fault_of_several_fields_is_told_without_an_empty_name(run: FakeRun) -> None:
    said = run.call("search", pattern="x" * 200_000)["error"]["message"]
    assert "do not fit: pattern and globs are larger than" in said


def test_git_push_takes_any_object(run: FakeRun) -> None:
    assert run.call("git_push", remote="evil", force=True)["result"]["branch"] == "agent/x1"


@pytest.mark.parametrize(
    ("tool", "field", "code"),
    [
        ("workspace.run_command", "argv", "argv_required"),
        ("git", "args", "argv_required"),
        ("workspace.search", "pattern", "search_pattern_required"),
        ("workspace.edit", "oldString", "edit_old_string_required"),
    ],
)
@pytest.mark.parametrize("value", ["missing", "", None, 7, [], {}, [1]])
def test_the_contracts_own_code_wins_over_invalid_arguments(
    run: FakeRun, tool: str, field: str, code: str, value: object
) -> None:
    arguments = {"unknown": 1} if value == "missing" else {field: value, "unknown": 1}
    assert code_of(run.raw(tool, arguments)) == code
    assert run.programs == []


@pytest.mark.parametrize(("tool", "field"), [("workspace.search", "pattern"), ("workspace.edit", "oldString")])
def test_a_field_of_the_contract_that_fits_leaves_other_faults_to_invalid_arguments(
    run: FakeRun, tool: str, field: str
) -> None:
    assert code_of(run.raw(tool, {field: "a", "unknown": 1})) == "invalid_arguments"


# --- audit


class Spy:
    """A workspace that notes how many audit lines were there when it was asked to do something."""

    def __init__(self) -> None:
        self.lines_at_effect: list[int] = []
        self.run: FakeRun

    def write(self, path: str, data: bytes, *, expect: str | None = None) -> None:
        self.lines_at_effect.append(len(self.run.events()))

    def read(self, path: str) -> FileBytes:
        self.lines_at_effect.append(len(self.run.events()))
        raise KeyError("SECRET-DETAIL")


def spied(folder: Path) -> tuple[Spy, Any]:
    spy = Spy()
    return spy, fake_run(folder, workspace=cast(ToolWorkspace, spy))


def test_the_audit_line_is_on_disk_before_the_effect(tmp_path: Path) -> None:
    spy, opening = spied(tmp_path)
    with opening as run:
        spy.run = run
        run.call("write_file", path="src/n.txt", content="x")
        assert spy.lines_at_effect == [1]
        assert [event["event"] for event in run.events()] == ["call.started", "call.finished"]


def test_every_decision_is_in_the_log_between_start_and_end_for_allow_and_deny_alike(run: FakeRun) -> None:
    run.call("write_file", path="src/n.txt", content="x")
    run.call("write_file", path="README.md", content="x")
    told = [(e["event"], e["data"].get("allowed"), e["data"]["seq"]) for e in run.events()]
    assert told == [
        ("call.started", None, 1),
        ("decision", True, 1),
        ("call.finished", None, 1),
        ("call.started", None, 2),
        ("decision", False, 2),
        ("call.finished", None, 2),
    ]
    assert run.events()[4]["data"]["code"] == "workspace_write_not_allowed"


def test_the_log_names_the_arguments_by_digest_and_holds_none_of_them(run: FakeRun) -> None:
    run.call("write_file", path="src/n.txt", content="SECRET-CONTENT")
    text = run.audit_file.read_text()
    assert "SECRET-CONTENT" not in text
    assert len(run.events()[0]["data"]["arguments_sha256"]) == 64


def test_the_log_of_many_calls_is_a_chain(run: FakeRun) -> None:
    for tool in sorted(TOOLS):
        run.raw(tool, {})
    lines = run.audit_file.read_bytes().splitlines(keepends=True)
    assert verify_chain(lines) == run.audit.lines == len(lines)


def test_without_an_audit_log_nothing_is_done_and_the_run_is_over(run: FakeRun) -> None:
    before = run.snapshot()
    run.audit.close()
    assert code_of(run.call("write_file", path="src/n.txt", content="x")) == "run_ended"
    assert run.snapshot() == before
    assert run.pipeline.ended is not None and run.pipeline.ended.code == "audit_unwritable"
    assert code_of(run.call("run_command", argv=["node", "-v"])) == "run_ended"
    assert run.programs == []


def test_a_program_is_not_started_when_its_decision_cannot_be_written(tmp_path: Path) -> None:
    with fake_run(tmp_path) as run:
        written = run.audit.append
        asked = iter(range(10))

        def only_the_first(event: str, data: Any) -> None:
            if next(asked) > 0:
                run.audit.close()
            written(event, data)

        run.audit.append = only_the_first  # type: ignore[method-assign]  # the disk that fills up in between
        assert code_of(run.call("run_command", argv=["node", "-v"])) == "run_ended"
        assert run.programs == []


def test_a_call_that_a_door_refuses_is_counted_and_in_the_log(run: FakeRun) -> None:
    answer = total(run.pipeline.refuse("workspace.edit", ToolError(ErrorCode.TOOL_NOT_DECLARED, "not declared")))
    assert code_of(answer) == "tool_not_declared"
    assert run.pipeline.counts == {"calls": 1, "ok": 0, "refused": 1}
    assert run.events()[-1]["data"]["code"] == "tool_not_declared"


# --- budget


def read_codes(run: FakeRun, times: int, path: str = "README.md") -> list[str | None]:
    return [code_of(run.call("read_file", path=path)) for _ in range(times)]


@pytest.mark.parametrize("spelled", ["README.md", "./README.md", ".//README.md", "src/../README.md"])
def test_x01_with_four_rereads_the_sixth_read_is_refused_however_the_path_is_spelled(
    tmp_path: Path, spelled: str
) -> None:
    with fake_run(tmp_path, budget={"rereads": 4}) as run:
        assert read_codes(run, 5) == [None] * 5
        assert read_codes(run, 1, spelled) == ["exploration_budget_exceeded"]


def test_folders_and_searches_are_ground_like_files(tmp_path: Path) -> None:
    with fake_run(tmp_path, budget={"rereads": 0}) as run:
        for answered in (None, "exploration_budget_exceeded"):
            assert code_of(run.call("list_dir", path="src/")) == answered
            assert code_of(run.call("search", pattern="a", globs=["*.md"])) == answered
        assert code_of(run.call("search", pattern="a")) is None


def test_distinct_grounds_are_bounded_and_known_ones_stay_readable(tmp_path: Path) -> None:
    with fake_run(tmp_path, budget={"distinct": 2}) as run:
        assert [*read_codes(run, 1), code_of(run.call("list_dir"))] == [None, None]
        assert code_of(run.call("search", pattern="a")) == "exploration_budget_exceeded"
        assert read_codes(run, 1) == [None]


def test_a_refused_call_costs_nothing(tmp_path: Path) -> None:
    with fake_run(tmp_path, budget={"distinct": 1, "rereads": 0}) as run:
        assert read_codes(run, 3, "absent.md") == ["read_file_missing"] * 3
        assert read_codes(run, 1, "../out") == ["path_outside_workspace"]
        assert read_codes(run, 2) == [None, "exploration_budget_exceeded"]


@pytest.mark.parametrize(
    ("tool", "arguments", "fresh"),
    [
        ("write_file", {"path": "src/n.txt", "content": ""}, True),
        ("edit", {"path": "src/app.mjs", "oldString": "1", "newString": "2"}, True),
        ("delete_file", {"path": "src/app.mjs"}, True),
        ("write_file", {"path": "README.md", "content": ""}, False),  # refused, so nothing was written
        ("run_command", {"argv": ["node", "-v"]}, False),  # by the policy's definition
        ("git_push", {}, False),
    ],
)
def test_only_a_write_that_happened_gives_rereads_back(
    tmp_path: Path, tool: str, arguments: dict[str, Any], fresh: bool
) -> None:
    with fake_run(tmp_path, budget={"rereads": 0}) as run:
        assert read_codes(run, 2) == [None, "exploration_budget_exceeded"]
        run.call(tool, **arguments)
        assert read_codes(run, 1) == ([None] if fresh else ["exploration_budget_exceeded"])


def test_so_many_denials_end_the_run(tmp_path: Path) -> None:
    with fake_run(tmp_path, budget={"denials": 2}) as run:
        assert code_of(run.call("write_file", path="README.md", content="x")) == "workspace_write_not_allowed"
        assert code_of(run.call("list_dir")) is None
        assert code_of(run.raw("nonsense", {})) == "unknown_tool"
        assert isinstance(run.pipeline.ended, RunLimitReached)
        assert code_of(run.call("read_file", path="README.md")) == "run_limit_exceeded"


# --- deadline, bugs, loss


def test_a_call_at_the_deadline_is_not_carried_out(run: FakeRun) -> None:
    run.clock.advance(run.policy.limits.run_seconds - 0.001)
    assert code_of(run.call("write_file", path="src/a.txt", content="")) is None
    run.clock.advance(0.001)
    before = run.snapshot()
    assert code_of(run.call("write_file", path="src/b.txt", content="")) == "run_limit_exceeded"
    assert run.snapshot() == before
    assert isinstance(run.pipeline.ended, RunLimitReached)


def test_a_bug_ends_the_run_and_tells_the_caller_nothing_of_the_host(tmp_path: Path) -> None:
    spy, opening = spied(tmp_path)
    with opening as run:
        spy.run = run
        assert code_of(run.call("read_file", path="README.md")) == "run_ended"
        assert run.events()[-1]["event"] == "call.crashed"
        answer = run.call("write_file", path="src/n.txt", content="x")
        assert (code_of(answer), answer["error"]["details"]["lost"]) == ("run_ended", False)
        assert len(spy.lines_at_effect) == 1
        assert run.pipeline.counts == {"calls": 2, "ok": 0, "refused": 2}


@pytest.mark.parametrize("tool", sorted(set(TOOLS) - {"workspace.git_push"}))
def test_a_lost_workspace_ends_the_run_whatever_was_asked(run: FakeRun, tool: str) -> None:
    run.sandbox.lose()
    arguments = {
        "workspace.read_file": {"path": "README.md"},
        "workspace.write_file": {"path": "src/n.txt", "content": ""},
        "workspace.delete_file": {"path": "src/app.mjs"},
        "workspace.edit": {"path": "src/app.mjs", "oldString": "1", "newString": "2"},
        "workspace.search": {"pattern": "a"},
        "workspace.run_command": {"argv": ["node", "-v"]},
        "workspace.git_commit": {"message": "m"},
        "git": {"args": ["status"]},
    }.get(tool, {})
    for asked, handed in ((tool, arguments), ("workspace.list_dir", {})):
        answer = run.raw(asked, handed)
        assert (code_of(answer), answer["error"]["details"]["lost"]) == ("run_ended", True)


def test_nesting_that_json_can_carry_is_an_answer_and_no_crash(run: FakeRun) -> None:
    nested: list[Any] = []
    for _ in range(5_000):
        nested = [nested]
    assert code_of(run.raw("workspace.read_file", {"path": nested})) == "invalid_arguments"
    assert code_of(run.raw("workspace.git_push", {"x": nested})) == "invalid_arguments"
    assert run.pipeline.ended is None


def test_a_number_that_json_does_not_have_is_refused(run: FakeRun) -> None:
    assert code_of(run.raw("workspace.read_file", {"path": "README.md", "limit": math.nan})) == "invalid_arguments"
