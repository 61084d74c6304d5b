"""The file tools over the guarded workspace: policy first, the real path, and nothing changed by a refusal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.controller import faults
from runner.engine.contract import FileFault, SearchRequest, SearchResult
from runner.model.errors import ErrorCode
from runner.tools.workspace import MAX_TOOL_FILE_BYTES
from tests.support.fake_run import FILES, LINKS, FakeRun, RefusingSandbox, code_of, fake_run

WRITE = ("write_file", {"content": "x\n"})
EDIT = ("edit", {"oldString": "a", "newString": "b"})
DELETE: tuple[str, dict[str, Any]] = ("delete_file", {})
WRITERS = [pytest.param(*writer, id=writer[0]) for writer in (WRITE, EDIT, DELETE)]
NOT_ALLOWED = "workspace_write_not_allowed"

DENIED_PATHS = [
    "README.md",  # in no write glob
    "newfile.txt",
    "src/secret/key.txt",  # writeDeny
    "src/secret/new.txt",
    "src/deep/yarn.lock",
    ".github/workflows/ci.yml",
    "src/.env.local",
    "docs/guide.md",  # writeAllow alone lets nothing of the repository be changed
    ".git/config",
    ".GIT/config",
    "src/.Git/hooks/pre-commit",
    "src/git~1/config",
    "src/.git\u200c/config",
    "src/.git /config",
    "src/./.git/config",
    "src/secret/../secret/key.txt",
    "/workspace/src/app.mjs",
    "/etc/passwd",
    "../src/app.mjs",
    "src/../../x",
    "src/link-docs/new.md",  # through a link to a folder, be it writable itself
    "src/link-out/passwd",
    "src/link-up/x",
    "src/loop/x",
    "",
    ".",
    "src/a\0b",
    "src/a\nb",
    "src/\ud800",
    "src/" + "n" * 256,
    "src/" + "d/" * 2100 + "f",
]


@pytest.mark.parametrize(("tool", "rest"), WRITERS)
@pytest.mark.parametrize("path", DENIED_PATHS)
def test_no_writing_tool_touches_a_path_that_the_policy_does_not_give(
    run: FakeRun, tool: str, rest: dict[str, Any], path: str
) -> None:
    before = run.snapshot()
    answer = run.call(tool, path=path, **rest)
    assert code_of(answer) == NOT_ALLOWED
    assert run.snapshot() == before


@pytest.mark.parametrize(("tool", "rest"), [WRITE, EDIT])
@pytest.mark.parametrize("path", ["src/leaf", "src/near", "src/link-out", "src/link-up", "src/loop", "src/link-docs"])
def test_a_file_is_never_written_through_a_link(run: FakeRun, tool: str, rest: dict[str, Any], path: str) -> None:
    before = run.snapshot()
    assert code_of(run.call(tool, path=path, **rest)) == NOT_ALLOWED
    assert run.snapshot() == before


@pytest.mark.parametrize(("tool", "rest"), WRITERS)
@pytest.mark.parametrize(
    ("denied", "arrange"),
    [
        ("src/secret/{}.txt", {"there": b"a", "other": b"zzz"}),
        ("{}.md", {"there": b"a"}),
        (".git/{}", {"there": b"a"}),
    ],
)
def test_a_refusal_tells_neither_existence_nor_content(
    run: FakeRun, tool: str, rest: dict[str, Any], denied: str, arrange: dict[str, bytes]
) -> None:
    for name, data in arrange.items():
        run.sandbox.tree.put_file(denied.format(name), data)
    run.sandbox.tree.put_dir(denied.format("folder"))
    run.sandbox.tree.put_other(denied.format("fifo"))
    texts = set()
    for name in (*arrange, "absent", "folder", "fifo"):
        answer = run.call(tool, path=denied.format(name), **rest)
        texts.add(json.dumps(answer).replace(denied.format(name), "PATH"))
    assert len(texts) == 1 and NOT_ALLOWED in texts.pop()


@pytest.mark.parametrize("path", ["src/app.mjs", "src/new/deep/n.txt", "docs/new.md", "package.json", "src/../src/n"])
def test_a_path_within_the_globs_is_written(run: FakeRun, path: str) -> None:
    assert run.call("write_file", path=path, content="x\n")["result"] == {"ok": True}
    node = run.sandbox.tree.node(path.removeprefix("src/../"))
    assert node is not None and node.data == b"x\n"


def test_a_file_that_the_run_made_may_be_changed_and_deleted_where_only_creating_is_allowed(run: FakeRun) -> None:
    for tool, rest in (WRITE, ("edit", {"oldString": "x", "newString": "y"}), DELETE):
        assert code_of(run.call(tool, path="docs/new.md", **rest)) is None
    assert run.sandbox.tree.node("docs/new.md") is None
    assert code_of(run.call("delete_file", path="docs/guide.md")) == NOT_ALLOWED


@pytest.mark.parametrize("path", ["src/leaf", "src/near", "src/link-out", "src/link-up", "src/loop", "src/link-docs"])
def test_deleting_a_link_deletes_the_link_and_nothing_else(run: FakeRun, path: str) -> None:
    before = run.snapshot()
    assert run.call("delete_file", path=path)["result"] == {"ok": True}
    assert before.keys() - run.snapshot().keys() == {path}
    assert run.snapshot() == {name: value for name, value in before.items() if name != path}


@pytest.mark.parametrize("target", ["/etc/passwd", "../out", "near-loop", "README.md", "absent"])
def test_a_link_in_the_root_folder_is_deleted_like_one_below(tmp_path: Path, target: str) -> None:
    with fake_run(tmp_path, writeAllow=["**"], rewriteAllow=["**"]) as run:
        run.sandbox.tree.put_link("near-loop", target)
        before = run.snapshot()
        assert code_of(run.call("delete_file", path="near-loop")) is None
        assert before.keys() - run.snapshot().keys() == {"near-loop"}


@pytest.mark.parametrize("path", ["src/..", "src/sub/..", "src/.", "src", "."])
def test_no_spelling_of_a_folder_is_deleted(tmp_path: Path, path: str) -> None:
    with fake_run(tmp_path, writeAllow=["**"], rewriteAllow=["**"]) as run:
        run.sandbox.tree.put_dir("src/sub")
        before = run.snapshot()
        assert code_of(run.call("delete_file", path=path)) in {"delete_file_is_directory", NOT_ALLOWED}
        assert run.snapshot() == before


# --- append-only


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("a\nb\nc\nd\n", None),
        ("new\na\nb\nbetween\nc\n", None),
        ("a\nb\nc\n", None),
        ("a\nb\n", "workspace_append_only"),
        ("a\nc\nb\n", "workspace_append_only"),
        ("a\nB\nc\n", "workspace_append_only"),
        ("", "workspace_append_only"),
        ("a\r\nb\r\nc\r\n", "workspace_append_only"),
    ],
)
def test_an_append_only_file_keeps_every_line_it_had(run: FakeRun, content: str, code: str | None) -> None:
    before = run.snapshot()
    assert code_of(run.call("write_file", path="notes/log.md", content=content)) == code
    assert (run.snapshot() == before) is (code is not None)


def test_an_append_only_file_is_judged_against_the_start_and_not_against_the_last_write(run: FakeRun) -> None:
    assert code_of(run.call("write_file", path="notes/log.md", content="a\nb\nc\nmine\n")) is None
    assert code_of(run.call("write_file", path="notes/log.md", content="a\nb\nc\n")) is None
    assert code_of(run.call("edit", path="notes/log.md", oldString="b\n", newString="")) == "workspace_append_only"
    assert code_of(run.call("edit", path="notes/log.md", oldString="c\n", newString="c\nd\n")) is None
    assert code_of(run.call("delete_file", path="notes/log.md")) == "workspace_append_only"
    assert run.sandbox.tree.nodes["notes/log.md"].data == b"a\nb\nc\nd\n"


def test_a_command_that_removed_an_append_only_file_does_not_free_it(run: FakeRun) -> None:
    run.sandbox.tree.remove("notes/log.md")
    assert code_of(run.call("write_file", path="notes/log.md", content="fresh\n")) == "workspace_append_only"


def test_a_file_of_the_runs_own_is_not_bound_to_append(tmp_path: Path) -> None:
    with fake_run(tmp_path, appendOnly=["notes/**"]) as run:
        assert code_of(run.call("write_file", path="notes/own.md", content="a\nb\n")) is None
        assert code_of(run.call("write_file", path="notes/own.md", content="b\n")) is None


# --- races and faults


def test_an_edit_of_a_file_that_changed_since_it_was_read_is_not_written(run: FakeRun) -> None:
    read = run.sandbox.read

    def read_then_change(path: str, *, max_bytes: int) -> Any:
        content = read(path, max_bytes=max_bytes)
        run.sandbox.tree.put_file(path, b"somebody else's a\n")
        return content

    run.sandbox.read = read_then_change  # type: ignore[method-assign]  # the program that writes in between
    assert code_of(run.call("edit", path="src/app.mjs", oldString="a = 1", newString="a = 2")) == "file_changed"
    assert run.sandbox.tree.nodes["src/app.mjs"].data == b"somebody else's a\n"


@pytest.mark.parametrize("tool", ["write_file", "delete_file"])
def test_a_folder_swapped_for_a_link_between_decision_and_act_is_not_followed(run: FakeRun, tool: str) -> None:
    run.sandbox.tree.put_file("docs/victim.md", b"victim\n")
    rest: dict[str, Any] = {"content": "x"} if tool == "write_file" else {}
    for asked, path in (("write delete", "src/sub/victim.md"), ("resolve", "src/../src/sub/victim.md")):
        run.sandbox.tree.remove("src/sub")
        run.sandbox.tree.put_dir("src/sub")
        with pytest.MonkeyPatch.context() as between:
            for name in asked.split():
                between.setattr(run.sandbox, name, _swapping(run, getattr(run.sandbox, name), after=asked == "resolve"))
            assert code_of(run.call(tool, path=path, **rest)) == NOT_ALLOWED
        assert run.sandbox.tree.nodes["docs/victim.md"].data == b"victim\n"


def _swapping(run: FakeRun, act: Any, *, after: bool) -> Any:
    """The act, and a program that swaps a folder for a link before or after it."""

    def both(*args: Any, **keys: Any) -> Any:
        done = act(*args, **keys) if after else None
        run.sandbox.tree.remove("src/sub")
        run.sandbox.tree.put_link("src/sub", "../docs")
        return done if after else act(*args, **keys)

    return both


WRITES_AT_ONCE = [("write_file", {"content": "x"}), ("delete_file", {})]


@pytest.mark.parametrize(("tool", "rest"), WRITES_AT_ONCE)
def test_where_a_path_leads_is_not_asked_when_it_is_written_as_it_is(
    tmp_path: Path, tool: str, rest: dict[str, Any]
) -> None:
    sandbox = RefusingSandbox()
    with fake_run(tmp_path, sandbox=sandbox) as run:
        sandbox.refusing["resolve"] = FileFault.DENIED
        assert code_of(run.call(tool, path="src/app.mjs", **rest)) is None
        assert code_of(run.call("read_file", path="src/crlf.txt")) is None
        decided = [line["data"] for line in run.events() if line["event"] == "decision"]
        assert [(said["allowed"], said["facts"]["real_path"]) for said in decided] == [(True, "src/app.mjs")]
        assert code_of(run.call(tool, path="src/../src/app.mjs", **rest)) == "permission_denied"


@pytest.mark.parametrize(("tool", "rest"), WRITES_AT_ONCE)
@pytest.mark.parametrize("path", ["src/link-docs/guide.md", "src/fresh/guide.md"])
def test_a_path_that_turns_out_to_lead_elsewhere_is_judged_again_for_where_it_leads(
    run: FakeRun, tool: str, rest: dict[str, Any], path: str
) -> None:
    run.sandbox.tree.put_link("src/fresh", "../docs")  # since the last scan
    before = run.snapshot()
    assert code_of(run.call(tool, path=path, **rest)) == NOT_ALLOWED
    assert run.snapshot() == before
    last = [line["data"] for line in run.events() if line["event"] == "decision"][-1]
    assert (last["allowed"], last["facts"]["real_path"], last["facts"]["via_link"]) == (False, "docs/guide.md", True)


def test_what_is_refused_is_refused_for_where_it_leads_and_told_once(run: FakeRun) -> None:
    assert code_of(run.call("write_file", path="src/secret/new.txt", content="x")) == NOT_ALLOWED
    decided = [line["data"]["allowed"] for line in run.events() if line["event"] == "decision"]
    assert decided == [False]


CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "read": ("read_file", {"path": "src/app.mjs"}),
    "list": ("list_dir", {"path": "src"}),
    "write": ("write_file", {"path": "src/app.mjs", "content": "x"}),
    "delete": ("delete_file", {"path": "src/app.mjs"}),
    "search": ("search", {"pattern": "a"}),
}


OPERATIONS = [*CALLS, "edit by read", "edit by write", *(f"{name} by resolve" for name in CALLS)]


@pytest.mark.parametrize("fault", list(FileFault))
@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_fault_of_every_operation_is_an_answer_and_changes_nothing(
    tmp_path: Path, operation: str, fault: FileFault
) -> None:
    sandbox = RefusingSandbox()
    with fake_run(tmp_path, sandbox=sandbox) as run:
        before = run.snapshot()
        subject, _, where = operation.partition(" by ")
        tool, arguments = CALLS.get(subject, ("edit", {"path": "src/app.mjs", "oldString": "1", "newString": "2"}))
        if where == "resolve" and "path" in arguments:  # which is asked of what is not written as it is
            arguments = {**arguments, "path": f"src/../{arguments['path']}"}
        sandbox.refusing[where or subject] = fault
        answer = run.call(tool, **arguments)
        assert run.pipeline.ended is None
        assert answer["ok"] is (operation == "search by resolve")  # which resolves nothing
        if not answer["ok"]:
            assert answer["error"]["details"]["fault"] == str(fault)
            assert answer["error"]["details"]["rule"].startswith("path.")
            assert answer["error"]["details"]["hint"]
        assert run.snapshot() == before


def test_a_full_workspace_is_named_with_both_of_its_bounds(tmp_path: Path) -> None:
    sandbox = RefusingSandbox()
    with fake_run(tmp_path, sandbox=sandbox, limits={"workspaceMiB": 8, "workspaceInodes": 700}) as run:
        sandbox.refusing["write"] = FileFault.NO_SPACE
        answer = run.call("write_file", path="src/n.mjs", content="x")
        assert code_of(answer) == "run_limit_exceeded"
        assert answer["error"]["details"]["limits"] == ["limits.workspaceMiB (8)", "limits.workspaceInodes (700)"]


@pytest.mark.parametrize("table", [faults.READ, faults.LIST, faults.WRITE, faults.DELETE])
def test_each_table_of_faults_is_complete(table: dict[FileFault, ErrorCode]) -> None:
    assert set(table) == set(FileFault)


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("read_file", {"path": "absent"}, "read_file_missing"),
        ("read_file", {"path": "README.md/x"}, "read_file_missing"),
        ("read_file", {"path": "src"}, "read_file_is_directory"),
        ("read_file", {"path": "."}, "read_file_is_directory"),
        ("read_file", {"path": "src/link-out"}, "path_outside_workspace"),
        ("read_file", {"path": "src/link-up/x"}, "path_outside_workspace"),
        ("read_file", {"path": "/etc/passwd"}, "path_outside_workspace"),
        ("read_file", {"path": "../x"}, "path_outside_workspace"),
        ("read_file", {"path": "src/loop"}, "link_loop"),
        ("read_file", {"path": "fifo"}, "not_a_regular_file"),
        ("read_file", {"path": ""}, "path_invalid"),
        ("read_file", {"path": "a\0b"}, "path_invalid"),
        ("read_file", {"path": "a\nb"}, "path_invalid"),
        ("read_file", {"path": "\ud800"}, "path_invalid"),
        ("read_file", {"path": "n" * 256}, "path_invalid"),
        ("read_file", {"path": "latin1.txt"}, "file_not_text"),
        ("read_file", {"path": "huge"}, "file_too_large"),
        ("read_file", {"path": "closed"}, "permission_denied"),
        ("list_dir", {"path": "absent"}, "list_dir_missing"),
        ("list_dir", {"path": "README.md"}, "list_dir_not_a_directory"),
        ("list_dir", {"path": "/"}, "path_outside_workspace"),
        ("list_dir", {"path": "src/link-out"}, "path_outside_workspace"),
        ("write_file", {"path": "src", "content": ""}, NOT_ALLOWED),
        ("write_file", {"path": "src/sub", "content": ""}, "write_is_directory"),
        ("write_file", {"path": "src/app.mjs/x", "content": ""}, "write_parent_not_a_directory"),
        ("edit", {"path": "src/absent", "oldString": "a", "newString": ""}, "edit_file_missing"),
        ("edit", {"path": "src/sub", "oldString": "a", "newString": ""}, "write_is_directory"),
        ("edit", {"path": "src/app.mjs", "oldString": "absent", "newString": ""}, "edit_no_match"),
        ("edit", {"path": "src/dup.txt", "oldString": "red", "newString": ""}, "edit_not_unique"),
        ("delete_file", {"path": "src/absent"}, "delete_file_missing"),
        ("delete_file", {"path": "src/app.mjs/x"}, "delete_file_missing"),
        ("delete_file", {"path": "src/sub"}, "delete_file_is_directory"),
        ("search", {"pattern": "(", "regex": True}, "search_pattern_invalid"),
    ],
)
def test_each_tool_says_what_is_wrong_in_its_own_code(
    run: FakeRun, tool: str, arguments: dict[str, Any], code: str
) -> None:
    run.sandbox.tree.put_other("fifo")
    run.sandbox.tree.put_file("latin1.txt", b"caf\xe9")
    run.sandbox.tree.put_file("huge", b"", size_claimed=MAX_TOOL_FILE_BYTES + 1)
    run.sandbox.tree.put_file("closed", b"", 0o000)
    run.sandbox.tree.put_dir("src/sub")
    before = run.snapshot()
    assert code_of(run.call(tool, **arguments)) == code
    assert run.snapshot() == before


def test_reading_follows_links_that_stay_inside(run: FakeRun) -> None:
    assert run.call("read_file", path="src/leaf")["result"] == "# R0\n"
    assert run.call("read_file", path="src/link-docs/guide.md")["result"] == "# Guide\n"


def test_a_file_that_is_not_text_says_its_size_and_kind(run: FakeRun) -> None:
    run.sandbox.tree.put_file("b.bin", b"\0\xff\xff")
    run.sandbox.tree.put_file("l.txt", b"caf\xe9")
    found = [run.call("read_file", path=path)["error"]["details"] for path in ("b.bin", "l.txt")]
    assert [(d["size"], d["kind"]) for d in found] == [(3, "binary"), (4, "other encoding")]


def test_a_file_of_the_greatest_size_is_read_and_one_byte_more_is_not(run: FakeRun) -> None:
    run.sandbox.tree.put_file("src/most", b"", size_claimed=MAX_TOOL_FILE_BYTES)
    run.sandbox.tree.put_file("src/more", b"", size_claimed=MAX_TOOL_FILE_BYTES + 1)
    assert len(run.guarded.read("src/most").data) == MAX_TOOL_FILE_BYTES
    refused = run.call("read_file", path="src/more", startLine=1)
    assert (code_of(refused), refused["error"]["details"]["size"]) == ("file_too_large", MAX_TOOL_FILE_BYTES + 1)


def test_content_over_the_greatest_size_is_not_written_and_the_policy_still_speaks_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.controller.workspace.MAX_TOOL_FILE_BYTES", 8)
    with fake_run(tmp_path) as run:
        assert code_of(run.call("write_file", path="src/n.txt", content="12345678")) is None
        assert code_of(run.call("write_file", path="src/n.txt", content="123456789")) == "file_too_large"
        assert code_of(run.call("write_file", path="n.txt", content="123456789")) == NOT_ALLOWED
        assert run.sandbox.tree.nodes["src/n.txt"].data == b"12345678"


# --- listing and search


def test_a_listing_is_sorted_tells_kinds_and_sizes_and_leaves_git_out(run: FakeRun) -> None:
    run.sandbox.tree.put_other("zz-fifo")
    entries = run.call("list_dir")["result"]["entries"]
    assert [entry["name"] for entry in entries] == sorted(entry["name"] for entry in entries)
    kinds = {entry["name"]: (entry["kind"], entry["size"]) for entry in entries}
    assert kinds["README.md"] == ("file", len(FILES["README.md"]))
    assert kinds["src"][0] == "dir" and kinds["zz-fifo"][0] == "other"
    assert kinds["top-out"] == ("symlink", len(LINKS["top-out"]))
    assert ".git" not in kinds


def test_a_listing_that_is_cut_says_so(run: FakeRun) -> None:
    for number in range(10_001):
        run.sandbox.tree.put_file(f"many/{number:05}", b"")
    result = run.call("list_dir", path="many")["result"]
    assert (len(result["entries"]), result["truncated"]) == (10_000, True)


def test_a_search_answers_path_line_and_text_and_says_when_there_is_more(run: FakeRun) -> None:
    result = run.call("search", pattern="RED", ignoreCase=True, globs=["src/*.txt"], maxResults=1)["result"]
    assert result == {"matches": [{"path": "src/dup.txt", "line": 1, "text": "red"}], "truncated": True}


def test_more_results_than_the_ceiling_means_the_ceiling(run: FakeRun) -> None:
    run.sandbox.tree.put_file("many.txt", b"hit\n" * 501)
    result = run.call("search", pattern="hit", maxResults=10_000)["result"]
    assert (len(result["matches"]), result["truncated"]) == (500, True)


def test_a_search_that_took_too_long_gives_what_it_has_or_says_so(run: FakeRun) -> None:
    found = run.sandbox.search(SearchRequest("red")).matches
    answers = iter([SearchResult(found[:1], False, True), SearchResult((), False, True)])
    run.sandbox.search = lambda request: next(answers)  # type: ignore[method-assign]  # the clock, played
    assert run.call("search", pattern="a")["result"]["truncated"] is True
    assert code_of(run.call("search", pattern="b")) == "search_timed_out"
