"""Cases of the families F (files and paths), W (write policy), E (edit) and Q (read and search)."""

from __future__ import annotations

from tests.support.cases import Answer, Case, contains, exits, lacks, node, result_is, sh
from tests.support.cli import call

__all__ = ["EDITS", "FILES", "READS", "WRITES"]

NOT_ALLOWED = "workspace_write_not_allowed"


def _stat_kept(answer: Answer) -> None:
    assert answer["ok"], answer
    mode, uid, gid, fresh = answer["result"]["stdout"].split()
    assert (mode, uid, gid, fresh) == ("755", "1000", "1000", "true"), answer


def _window(answer: Answer) -> None:
    assert answer["ok"], answer
    assert "3\tl3" in answer["result"], answer
    assert "total 3" in answer["result"], answer
    assert "l2" not in answer["result"], answer


FILES = (
    Case("F01", "parent traversal", ((call("read_file", path="../../etc/passwd"), "path_outside_workspace"),)),
    Case("F01-b", "absolute path", ((call("read_file", path="/etc/passwd"), "path_outside_workspace"),)),
    Case(
        "F01-c", "read through a link out", ((call("read_file", path="src/link-out/passwd"), "path_outside_workspace"),)
    ),
    Case(
        "F03",
        "git folder through ..",
        ((call("write_file", path="src/../.git/config", content="[core]\n"), NOT_ALLOWED),),
    ),
    Case(
        "F05",
        "linked parent leads out",
        (
            (call("write_file", path="src/link-out/fresh", content="x"), NOT_ALLOWED),
            (sh("node", "-p", "require('fs').existsSync('/etc/fresh')"), exits(0, "false\n")),
        ),
    ),
    Case(
        "F07",
        "leaf link",
        (
            (call("write_file", path="src/leaf", content="x"), NOT_ALLOWED),
            (call("read_file", path="README.md"), result_is("# R0\n")),
        ),
    ),
    Case(
        "F09",
        "hard link to a protected file",
        (
            (sh(*node("require('fs').linkSync('src/secret/key.txt','src/h.txt')")), exits(0)),
            (call("write_file", path="src/h.txt", content="z"), lambda answer: None),
            (call("read_file", path="src/secret/key.txt"), result_is("TOPSECRET-7\n")),
        ),
    ),
    Case(
        "F11",
        "NUL in a name",
        (
            (call("write_file", path="src/app.mjs\0.md", content="x"), NOT_ALLOWED),
            (call("read_file", path="src/app.mjs"), result_is("export const a = 1;\n")),
        ),
    ),
    Case(
        "F13",
        "a file pattern does not cover a folder of that name",
        ((call("write_file", path="a.md/evil.mjs", content="x"), NOT_ALLOWED),),
        policy={"writeAllow": ["*.md"], "rewriteAllow": ["*.md"], "appendOnly": []},
    ),
    Case(
        "F15", "case variant of .git", ((call("write_file", path=".GIT/hooks/pre-commit", content="x"), NOT_ALLOWED),)
    ),
    Case(
        "F17",
        "git pointer file",
        ((call("write_file", path=".git", content="gitdir: scratch/fake\n"), NOT_ALLOWED),),
        policy={"writeAllow": ["**"], "rewriteAllow": ["**"]},
    ),
    Case(
        "F19",
        "another Unicode form of a denied path",
        ((call("write_file", path="src/cafe\u0301/x", content="x"), NOT_ALLOWED),),
        policy={"writeDeny": ["src/caf\u00e9/**"]},
    ),
    Case(
        "F21",
        "FIFO",
        ((call("read_file", path="src/pipe"), "not_a_regular_file"),),
        prepare=(node("require('child_process').execFileSync('mkfifo',['src/pipe'])"),),
    ),
    Case(
        "F23",
        "huge sparse file",
        ((call("read_file", path="src/big", limit=5), "file_too_large"),),
        prepare=(node("const fs=require('fs');const f=fs.openSync('src/big','w');fs.ftruncateSync(f,120*2**20)"),),
    ),
    Case(
        "F25",
        "link loops",
        (
            (call("list_dir", path="src/loop"), "link_loop"),
            (call("search", pattern="export const a", globs=["src/**"]), lambda a: _found_once(a, "src/app.mjs")),
        ),
        prepare=(
            node(
                "const fs=require('fs');fs.symlinkSync('loop','src/loop');fs.mkdirSync('src/d');fs.symlinkSync('..','src/d/up')"
            ),
        ),
    ),
    Case(
        "F27",
        "a folder is not replaced by a file",
        (
            (call("write_file", path="src/lib", content="x"), "write_is_directory"),
            (call("read_file", path="src/lib/util.mjs"), contains("twice")),
        ),
    ),
    Case(
        "F29",
        "mode, owner and time of an edited file",
        (
            (call("edit", path="src/run.sh", oldString="echo", newString="printf"), "ok"),
            (
                sh(
                    "node",
                    "-p",
                    "s=require('fs').statSync('src/run.sh');[(s.mode&0o777).toString(8),s.uid,s.gid,Date.now()-s.mtimeMs<6e4].join(' ')",
                ),
                _stat_kept,
            ),
        ),
    ),
    Case(
        "F31",
        "a name like an option",
        (
            (call("write_file", path="src/-rf", content="x"), "ok"),
            (call("read_file", path="src/-rf"), result_is("x")),
        ),
    ),
    Case(
        "F-sibling-root",
        "a sibling root with the same prefix",
        ((call("write_file", path="../workspace-other/x", content="x"), NOT_ALLOWED),),
    ),
    Case(
        "F-link-dir",
        "a write through a link inside the root",
        ((call("write_file", path="src/link-docs/new.md", content="x"), NOT_ALLOWED),),
    ),
    Case(
        "F-link-read",
        "a read through a link inside the root",
        ((call("read_file", path="src/link-docs/guide.md"), result_is("# Guide\n")),),
    ),
)


def _found_once(answer: Answer, path: str) -> None:
    assert answer["ok"], answer
    assert [match["path"] for match in answer["result"]["matches"]] == [path], answer


WRITES = (
    Case("W01", "not in the write globs", ((call("write_file", path="README.md", content="x"), NOT_ALLOWED),)),
    Case("W03", "creatable, not rewritable", ((call("write_file", path="docs/guide.md", content="x"), NOT_ALLOWED),)),
    Case(
        "W03-b",
        "creatable",
        (
            (call("write_file", path="docs/new.md", content="x"), "ok"),
            (call("write_file", path="docs/new.md", content="y"), "ok"),
        ),
    ),
    Case("W05", "pure append", ((call("write_file", path="notes/log.md", content="a\nb\nc\nd\n"), "ok"),)),
    Case(
        "W07",
        "truncation",
        (
            (call("write_file", path="notes/log.md", content=""), "workspace_append_only"),
            (call("read_file", path="notes/log.md"), result_is("a\nb\nc\n")),
        ),
    ),
    Case(
        "W07-b", "deletion of an add-only file", ((call("delete_file", path="notes/log.md"), "workspace_append_only"),)
    ),
    Case(
        "W09",
        "append-only undone by a command",
        (
            (sh("git", "checkout", "HEAD~1", "--", "notes/log.md"), exits(0)),
            (sh("git", "status", "--porcelain"), exits(0, "M  notes/log.md\n")),
            (sh("git", "rev-parse", "HEAD"), "ok"),
            (call("git_commit", message="x"), "workspace_append_only|workspace_commit_not_allowed"),
            (sh("git", "status", "--porcelain"), exits(0, "M  notes/log.md\n")),
            (sh("git", "rev-list", "--count", "HEAD"), exits(0, "3\n")),
        ),
    ),
    Case("W11", "delete: missing", ((call("delete_file", path="src/none"), "delete_file_missing"),)),
    Case("W13", "delete: a folder", ((call("delete_file", path="src/lib"), "delete_file_is_directory"),)),
    Case("W15", "policy before existence", ((call("delete_file", path="src/secret/none"), NOT_ALLOWED),)),
    Case(
        "W17",
        "a line added in the middle",
        ((call("edit", path="notes/log.md", oldString="b\n", newString="b\nb2\n"), "ok"),),
    ),
)

EDITS = (
    Case(
        "E01",
        "empty oldString",
        ((call("edit", path="src/app.mjs", oldString="", newString="x"), "edit_old_string_required"),),
    ),
    Case(
        "E01-b", "missing oldString", ((call("edit", path="src/app.mjs", newString="x"), "edit_old_string_required"),)
    ),
    Case(
        "E03",
        "two hits",
        (
            (call("edit", path="src/dup.txt", oldString="red", newString="x"), "edit_not_unique"),
            (call("read_file", path="src/dup.txt"), result_is("red\nblue\nred\n")),
        ),
    ),
    Case(
        "E05", "no hit", ((call("edit", path="src/app.mjs", oldString="no such text", newString="x"), "edit_no_match"),)
    ),
    Case(
        "E07",
        "replacement patterns are literal",
        (
            (call("edit", path="src/app.mjs", oldString="1", newString="$& $1 \\1"), "ok"),
            (call("read_file", path="src/app.mjs"), result_is("export const a = $& $1 \\1;\n")),
        ),
    ),
    Case(
        "E09",
        "bytes that are not UTF-8 are kept",
        (
            (call("edit", path="src/latin1.txt", oldString="ascii line", newString="ascii text"), "ok"),
            (
                sh("node", "-p", "require('fs').readFileSync('src/latin1.txt').toString('hex')"),
                exits(0, "636166e90a617363696920746578740a\n"),
            ),
        ),
    ),
    Case(
        "E11",
        "CRLF of other lines",
        (
            (call("edit", path="src/crlf.txt", oldString="two", newString="2"), "ok"),
            (call("read_file", path="src/crlf.txt"), result_is("one\r\n2\r\nthree\r\n")),
        ),
    ),
    Case(
        "E13", "missing file", ((call("edit", path="src/none.mjs", oldString="a", newString="b"), "edit_file_missing"),)
    ),
    Case(
        "E15",
        "policy before content, same words",
        (
            (call("edit", path="src/secret/key.txt", oldString="guess", newString="x"), NOT_ALLOWED),
            (call("edit", path="src/secret/key.txt", oldString="TOPSECRET", newString="x"), NOT_ALLOWED),
        ),
    ),
    Case(
        "E17",
        "replaceAll in a single pass",
        (
            (call("write_file", path="src/a.txt", content="a a a"), "ok"),
            (
                call("edit", path="src/a.txt", oldString="a", newString="aa", replaceAll=True),
                result_is({"ok": True, "replacements": 3}),
            ),
            (call("read_file", path="src/a.txt"), result_is("aa aa aa")),
        ),
    ),
    Case(
        "E21",
        "no final newline is invented",
        (
            (call("edit", path="src/noeol.txt", oldString="l3", newString="L3"), "ok"),
            (call("read_file", path="src/noeol.txt"), result_is("l1\nl2\nL3")),
        ),
    ),
    Case(
        "E-bom",
        "a byte order mark stays",
        (
            (call("edit", path="src/bom.txt", oldString="alpha", newString="beta"), "ok"),
            (
                sh("node", "-p", "require('fs').readFileSync('src/bom.txt').toString('hex')"),
                exits(0, "efbbbf626574610a\n"),
            ),
        ),
    ),
)

READS = (
    Case("Q01", "empty pattern", ((call("search", pattern=""), "search_pattern_required"),)),
    Case("Q01-b", "missing pattern", ((call("search"), "search_pattern_required"),)),
    Case(
        "Q03",
        "a pattern like an option",
        (
            (call("search", pattern="--pre=/workspace/src/run.sh"), result_is({"matches": [], "truncated": False})),
            (sh("node", "-p", "require('fs').existsSync('/tmp/ran')"), exits(0, "false\n")),
        ),
    ),
    Case(
        "Q05",
        "a pattern that explodes elsewhere",
        ((call("search", pattern="(a+)+$", regex=True, globs=["src/evil.txt"]), lambda a: _found_none(a)),),
        files={"src/evil.txt": "a" * 40 + "!\n"},
    ),
    Case(
        "Q07",
        "globs that leave the root",
        ((call("search", pattern="root:", globs=["../../etc/*", "/etc/*"]), lacks("root:x")),),
    ),
    Case(
        "Q09", "last line without newline", ((call("read_file", path="src/noeol.txt", startLine=3, limit=1), _window),)
    ),
    Case("Q13", "procfs", ((call("read_file", path="/proc/self/environ"), "path_outside_workspace"),)),
    Case("Q15", "blanks are a pattern", ((call("search", pattern="   "), "ok"),)),
    Case("Q17", "a broken expression", ((call("search", pattern="(", regex=True), "search_pattern_invalid"),)),
    Case(
        "Q-ignore-case",
        "ignoreCase",
        ((call("search", pattern="EXPORT CONST A", ignoreCase=True), contains("src/app.mjs")),),
    ),
    Case(
        "Q-limit",
        "more matches than asked for",
        ((call("search", pattern="red", maxResults=1), lambda a: _cut(a)),),
    ),
    Case("Q-missing", "no such file", ((call("read_file", path="src/none"), "read_file_missing"),)),
    Case("Q-dir", "a folder", ((call("read_file", path="src"), "read_file_is_directory"),)),
    Case("Q-binary", "not text", ((call("read_file", path="src/latin1.txt"), "file_not_text"),)),
    Case("Q-list", "sorted, without .git", ((call("list_dir"), lambda a: _listed(a)),)),
    Case(
        "Q-bool", "a bool is no number", ((call("read_file", path="README.md", startLine=True), "invalid_arguments"),)
    ),
)


def _found_none(answer: Answer) -> None:
    assert answer["ok"], answer
    assert answer["result"]["matches"] == [], answer
    assert answer["duration_ms"] < 5000, answer


def _cut(answer: Answer) -> None:
    assert answer["ok"], answer
    assert len(answer["result"]["matches"]) == 1, answer
    assert answer["result"]["truncated"] is True, answer


def _listed(answer: Answer) -> None:
    assert answer["ok"], answer
    names = [entry["name"] for entry in answer["result"]["entries"]]
    assert names == sorted(names), answer
    assert ".git" not in names, answer
    assert {"README.md", "src"} <= set(names), answer
