"""The Python API, over a workspace in memory: methods answer typed results, refusals are exceptions with codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import runner
from runner.doors.asking import request_of
from runner.doors.testing import Call, Outcome
from runner.model.errors import PolicyInvalid, UsageError
from runner.tools.registry import TOOLS
from tests.support.policies import P0
from tests.support.run_bench import Bench

FILES = {"src/a.mjs": "export const a = 1;\n", "README.md": "# R\n"}


@pytest.fixture
def ws() -> Iterator[runner.Workspace]:
    with runner.testing.open_run(FILES, policy=P0, programs={"node": _node}) as opened:
        yield opened


def _node(call: Call) -> Outcome:
    return Outcome(stdout=b"ran\n", stderr=b"warned\n", exit=3)


def test_reading_listing_and_searching_answer_what_is_there(ws: runner.Workspace) -> None:
    assert ws.read_file("src/a.mjs") == FILES["src/a.mjs"]
    assert ws.read_file("src/a.mjs", start_line=1, limit=1).splitlines()[-1] == "(lines 1-1, total 1)"
    assert [(e.name, e.kind) for e in ws.list_dir().entries] == [("README.md", "file"), ("src", "dir")]
    assert [(m.path, m.line) for m in ws.search("A = 1", ignore_case=True, globs=["src/**"]).matches] == [
        ("src/a.mjs", 1)
    ]


def test_writing_editing_and_deleting_change_the_tree(ws: runner.Workspace) -> None:
    assert ws.write_file("src/b.mjs", "two two").ok
    assert ws.edit("src/b.mjs", "two", "2", replace_all=True).replacements == 2
    assert ws.read_file("src/b.mjs") == "2 2"
    assert ws.delete_file("src/b.mjs").ok
    with pytest.raises(runner.ToolRefused) as refused:
        ws.read_file("src/b.mjs")
    assert refused.value.code == "read_file_missing"


def test_a_failing_program_is_a_result_and_its_output_is_seen_as_it_comes(ws: runner.Workspace) -> None:
    seen: list[tuple[str, bytes]] = []
    result = ws.run_command(("node", "src/a.mjs"), on_output=lambda name, data: seen.append((name, data)))
    assert (result.code, result.stdout, result.killed_by) == (3, "ran\n", None)
    assert seen == [("stdout", b"ran\n"), ("stderr", b"warned\n")]


def test_a_refusal_has_code_rule_and_hint(ws: runner.Workspace) -> None:
    with pytest.raises(runner.ToolRefused) as refused:
        ws.write_file("README.md", "x")
    error = refused.value
    assert (error.tool, error.code) == ("workspace.write_file", "workspace_write_not_allowed")
    assert error.rule and error.hint and "README.md" in error.message
    assert ws.read_file("README.md") == "# R\n"


def test_call_answers_plainly_what_the_methods_raise(ws: runner.Workspace) -> None:
    answer = ws.call("workspace.write_file", {"path": "README.md", "content": "x"})
    assert (answer["seq"], answer["ok"], answer["error"]["code"]) == (1, False, "workspace_write_not_allowed")
    assert ws.call("no.such", {})["error"]["code"] == "unknown_tool"


def test_a_workspace_that_is_closed_says_so_and_closing_again_is_nothing(ws: runner.Workspace) -> None:
    assert ws.close().status == "completed" and ws.close().status == "completed"
    assert ws.ended and ws.seconds_left == 0
    with pytest.raises(runner.ToolRefused) as refused:
        ws.read_file("README.md")
    assert refused.value.code == "run_ended"


def test_ctrl_c_in_the_block_interrupts_the_run_and_an_error_of_the_callers_closes_it() -> None:
    opened = runner.testing.open_run(FILES)
    with pytest.raises(KeyboardInterrupt), opened:
        raise KeyboardInterrupt
    assert opened.close().status == "interrupted"
    failed = runner.testing.open_run(FILES)
    with pytest.raises(ZeroDivisionError), failed:
        _ = 1 // 0
    assert failed.close().status == "completed"


def test_a_tool_that_was_not_declared_is_refused() -> None:
    with runner.testing.open_run(FILES, tools=["workspace.read_file"]) as ws:
        with pytest.raises(runner.ToolRefused) as refused:
            ws.list_dir()
    assert refused.value.code == "tool_not_declared"


@pytest.mark.parametrize(
    "options",
    [
        {"repo": None},
        {"repo": ".", "depth": 0},
        {"repo": ".", "tools": ["workspace.rm"]},
        {"repo": ".", "policy": {"limits": {"runSeconds": object()}}},
        {"repo": ".", "out": "/dev/null/x"},
    ],
)
def test_what_cannot_be_asked_for_is_a_usage_error_with_a_mend(options: Mapping[str, Any]) -> None:
    with pytest.raises(UsageError) as error:
        request_of(**options)
    assert error.value.hint


def test_a_policy_may_be_a_mapping_a_file_or_a_name(tmp_path: Path) -> None:
    file = tmp_path / "p.yml"
    file.write_text("writeAllow: [src/**]\n")
    digests = {request_of(".", policy=said).policy.digest for said in (file, str(file), {"writeAllow": ["src/**"]})}
    assert len(digests) == 1
    with pytest.raises(PolicyInvalid):
        request_of(".", policy={"writeAllowed": []})
    with pytest.raises(PolicyInvalid):
        request_of(".", policy="no-such-preset")


def test_each_answer_fits_its_published_type(tmp_path: Path) -> None:
    """Over a whole run, with a git, so that each of the ten tools answers once."""
    bench = Bench(tmp_path)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("workspace.read_file", {"path": "README.md"}),
        ("workspace.list_dir", {}),
        ("workspace.write_file", {"path": "src/n.txt", "content": "x"}),
        ("workspace.edit", {"path": "src/n.txt", "oldString": "x", "newString": "y"}),
        ("workspace.search", {"pattern": "y"}),
        ("workspace.delete_file", {"path": "src/n.txt"}),
        ("workspace.run_command", {"argv": ["node", "src/app.mjs"]}),
        ("git", {"args": "status"}),
    ]
    with bench.open() as run:
        for tool, arguments in calls:
            answer = run.call(tool, arguments)
            assert answer["ok"], answer
            _fits(tool, answer["result"])


def test_commit_and_push_answers_fit_their_published_types() -> None:
    _fits("workspace.git_commit", {"commit": "a" * 40, "files": ["src/n.txt"]})
    _fits("workspace.git_push", {"branch": "agent/x", "commit": "a" * 40, "pushed": True})


def _fits(tool: str, result: object) -> None:
    form = TOOLS[tool].answer
    if issubclass(form, str):
        assert isinstance(result, str)
    else:
        assert form.model_validate(result).model_dump() == result


def test_what_narrows_is_a_list_of_files_presets_or_mappings(tmp_path: Path) -> None:
    file = tmp_path / "n.yml"
    file.write_text("writeDeny: [src/**]\n")
    for narrow in ([file], [str(file)], [{"writeDeny": ["src/**"]}], ["read-only"], [b"writeDeny: [src/**]\n"]):
        with runner.testing.open_run(FILES, policy=P0, narrow=narrow) as ws:
            with pytest.raises(runner.ToolRefused) as refused:
                ws.write_file("src/b.mjs", "x")
            assert refused.value.rule is not None and refused.value.rule.startswith("narrow.1.write.")


def test_what_narrows_an_add_only_file_binds_in_memory_too() -> None:
    with runner.testing.open_run(FILES, policy=P0, narrow=[{"appendOnly": ["*.mjs"]}]) as ws:
        with pytest.raises(runner.ToolRefused) as refused:
            ws.write_file("src/a.mjs", "other\n")
        assert refused.value.code == "workspace_append_only"
        assert ws.write_file("src/a.mjs", FILES["src/a.mjs"] + "more\n").ok


@pytest.mark.parametrize("narrow", ["n.yml", b"setup: off", {"setup": "off"}, [{"limits": {"pids": 5000}}], [{1, 2}]])
def test_what_does_not_narrow_opens_nothing(narrow: Any) -> None:
    with pytest.raises((PolicyInvalid, UsageError, TypeError)):
        request_of("x", policy=P0, narrow=narrow)
