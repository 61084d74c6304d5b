"""Whatever bytes a repository, a workspace, or a taken-over room of the gate says: a value, or the declared error.

What the helper, the relay, a policy, a call and an audit log say is in files of its own; the table in tests/README.md
names them all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.controller.base_tree import list_base, read_objects
from runner.controller.guest_git import hex_name
from runner.controller.hooks_note import note_on_missing_hooks
from runner.controller.left_out import find_left_out
from runner.controller.originals import _blobs, _originals
from runner.engine.known_flaws import Component, find_flaws
from runner.gate.address import local_address
from runner.gate.commit_object import parse_commit, with_signature
from runner.gate.fetch import Fetched
from runner.gate.git import Git, GitFailed, Invocation, reading
from runner.gate.local import common_folder, head_branch, lenders_of
from runner.gate.mirror import FetchLimits, list_remote
from runner.gate.outgoing import Quarantine
from runner.gate.own_folders import folders_of
from runner.gate.process import Output
from runner.gate.range import changes_of_range, trees_of_known
from runner.gate.refs import find_ref, list_refs
from runner.gate.special_files import require_ordinary_files
from runner.model.errors import RepositoryUnavailable, ToolError
from runner.model.tree import EntryKind
from runner.policy.answers import RecordingTree
from runner.policy.bounded_yaml import YamlRefused, read_yaml
from runner.policy.git_alias import split_alias
from runner.policy.strict_json import form_fault, read_json
from runner.setup.cachable import uncachable
from runner.setup.detect import package_json, plan_setup
from runner.setup.layerable import folders_made, no_layer
from runner.setup.mise_trust import task_file_refusal, trust_refusal
from runner.setup.tool_versions import compare, image_versions, wishes
from tests.support.argv_trees import FakeTree, decide
from tests.support.examples import examples

unhurried = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
OID = "0123456789abcdef0123456789abcdef01234567"
MIRROR = Path("/nowhere/repo.git")

# Words that stand at the places where a grammar turns, so that what lies behind its first check is reached.
WORDS = [
    *(OID, "100644", "blob", "commit", "tree", "parent", "author", "\t", " ", "\n", "\0", "-5", "9" * 5000, "HEAD"),
    *("ref: ", "refs/heads/main", "refs/tags/v1", "^{}", ":100644 100644 ", " M", "A <a@b> 1 +0000", "committer "),
    *("{", "}", "[", "]", '"', ":", ",", "=", "#", "'", "packages", "tools", "node", "[tools]\n", "run", "version"),
    *("gitdir: ", "alias.x", "../..", "1e999", "NaN", "!", "&a", "*a", "é", "\n\n"),
]
ROWS = (f"100644 blob {OID}\ta.txt", f"100644 blob {OID} 7\ta.txt", f":100644 100644 {OID} {OID} M", OID, "a.txt", "é")
said = st.one_of(
    st.binary(max_size=120),
    st.lists(st.sampled_from(WORDS), max_size=14).map(lambda words: "".join(words).encode()),
    st.sampled_from([b"[" * 5000, b"a = " + b"9" * 5000, b"[tools]\nnode = " + b"9" * 5000, b'{"a":' * 3000]),
    st.lists(st.sampled_from(ROWS), max_size=4).map(lambda rows: "".join(f"{row}\0" for row in rows).encode()),
    st.lists(st.sampled_from(ROWS), max_size=4).map(lambda rows: "".join(f"{row}\n" for row in rows).encode()),
)


class SayingGit(Git):
    """Answers every command with the next of what it was told to say, then with its last."""

    program = "git"
    scratch = Path("/nowhere")

    def __init__(self, *outputs: bytes, exits: int = 0) -> None:
        self.outputs = list(outputs) or [b""]
        self.exits = exits

    def serving_command(self, program: str) -> str:
        return f"git {program}"

    def _execute(self, invocation: Invocation) -> Output:
        for _ in invocation.stdin:
            pass
        said = self.outputs.pop(0) if len(self.outputs) > 1 else self.outputs[0]
        return Output(self.exits, said, b"", timed_out=False, overflowed=False)


def fetched() -> Fetched:
    refs = MappingProxyType({"refs/heads/main": OID})
    return Fetched(local_address("/nowhere"), MIRROR, OID, "main", "main", refs)


def quarantine(git: Git) -> Quarantine:
    return Quarantine(git, MIRROR, OID, OID, {"refs/heads/main": OID}, {})


def _range(git: Git) -> None:
    trees_of_known(quarantine(git), changes_of_range(quarantine(git), max_commits=5))


def _base(git: Git) -> None:
    find_left_out(git, fetched(), list_base(git, fetched()))


def _parsed(git: Git) -> None:
    with reading("ls-tree"):
        dict(_originals(git.output(["ls-tree"])))


GIT_SAYS: Mapping[str, tuple[Callable[[Git], object], tuple[type[Exception], ...]]] = {
    "for-each-ref": (lambda git: list_refs(git, MIRROR), (GitFailed,)),
    "ls-remote": (
        lambda git: list_remote(git, local_address("/nowhere"), None, FetchLimits()),
        (RepositoryUnavailable, GitFailed),
    ),
    "rev-parse": (
        lambda git: find_ref(git, MIRROR, {"refs/heads/main": OID}, "0123456"),
        (RepositoryUnavailable, GitFailed),
    ),
    "rev-list and diff-tree": (_range, (ToolError,)),
    "ls-tree": (lambda git: quarantine(git).tree(OID), (ToolError,)),
    "cat-file of a blob": (lambda git: quarantine(git).blob(OID, max_bytes=100), (ToolError,)),
    "cat-file of all": (lambda git: list(quarantine(git).contents(max_object_bytes=1000)), (ToolError,)),
    "cat-file --batch": (lambda git: read_objects(git, MIRROR, [OID, OID], 1000), ()),
    "cat-file of originals": (lambda git: list(_blobs(git, fetched(), [OID, OID])), (RepositoryUnavailable,)),
    "ls-tree of the base": (_base, (RepositoryUnavailable,)),
    "ls-tree of originals": (_parsed, (GitFailed,)),
}


@pytest.mark.parametrize("command", GIT_SAYS)
@unhurried
@given(outputs=st.lists(said, min_size=1, max_size=4), exits=st.sampled_from([0, 0, 0, 1, 128]))
def test_what_the_gates_git_says_is_a_value_or_the_declared_error(
    command: str, outputs: list[bytes], exits: int
) -> None:
    ask, declared = GIT_SAYS[command]
    try:
        ask(SayingGit(*outputs, exits=exits))
    except declared:
        pass


class Files:
    """A tree in which every file says the same."""

    def __init__(self, text: str) -> None:
        self.text = text

    def kind(self, path: str) -> EntryKind | None:
        return EntryKind.FILE

    def read_text(self, path: str) -> str | None:
        return self.text


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _set_up(data: bytes) -> None:
    plan_setup("auto", Files(_text(data)), ["package.json", "a/package.json"])


def _wished(data: bytes) -> None:
    files = Files(_text(data))
    compare(wishes({"node": _text(data)}, package_json(files), files), image_versions(_text(data)))


def _kept(data: bytes) -> None:
    for name in ("package.json", ".npmrc", "pnpm-workspace.yaml", "pnpm-lock.yaml", "package-lock.json"):
        uncachable("pnpm", "pnpm-lock.yaml", {name: data})
        uncachable("npm", "package-lock.json", {name: data})
    plan = plan_setup("auto", Files("{}"))
    assert no_layer(plan, ["package.json"], {"package.json": data}) is None
    no_layer(plan, [_text(data)], {"package.json": b"{}", "a/package.json": data})
    for status in (data, b"?? node_modules/" + data, b"!! " + data + b"/node_modules/\0"):
        for folder in folders_made(status) or ():
            assert folder.split("/")[-1] == "node_modules" and not {"", ".", ".."} & set(folder.split("/"))


def _commit(data: bytes) -> None:
    raw = f"tree {OID}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\n".encode()
    commit = parse_commit(data) or parse_commit(raw + data)
    if commit is not None:
        with_signature(commit, data)


def _rules(data: bytes) -> None:
    names = (
        "package.json",
        ".npmrc",
        "pnpm-workspace.yaml",
        "mise.toml",
        ".mise/tasks/x",
        "src/index.js",
        ".git/config",
    )
    tree = FakeTree(original=dict.fromkeys(names, _text(data)), aliases={"x": _text(data)})
    for argv in (["npm", "run", "x"], ["pnpm", "-r", "run", "x"], ["mise", "run", "x"], ["node", "src"], ["git", "x"]):
        decide(argv, tree)
    recording = RecordingTree(cast(Any, tree))  # of which no more is asked than it has
    for name in names:
        recording.read_text(name)
    recording.answers()
    note_on_missing_hooks(tree)


REPOSITORY_SAYS: Mapping[str, tuple[Callable[[bytes], object], tuple[type[Exception], ...]]] = {
    "set-up files": (_set_up, (RepositoryUnavailable,)),
    "wished tools": (_wished, ()),
    "lock files and settings": (_kept, ()),
    "files that the rules for commands read": (_rules, (ToolError,)),
    "mise's configurations": (lambda data: trust_refusal("mise.toml", _text(data)), ()),
    "mise's version lists": (lambda data: trust_refusal(".tool-versions", _text(data)), ()),
    "mise's task files": (lambda data: task_file_refusal(_text(data)), ()),
    "an alias": (lambda data: split_alias(_text(data)), ()),
    "an object name": (lambda data: hex_name(_text(data)), ()),
    "a commit": (_commit, (ValueError,)),
    "YAML": (read_yaml, (YamlRefused,)),
    "JSON": (lambda data: form_fault(read_json(data)), (ValueError,)),
    "a version of the engine": (lambda data: find_flaws([Component("runc", _text(data), _text(data))]), ()),
}


@pytest.mark.parametrize("what", REPOSITORY_SAYS)
@unhurried
@given(data=said)
def test_what_a_repository_says_is_a_value_or_the_declared_error(what: str, data: bytes) -> None:
    read, declared = REPOSITORY_SAYS[what]
    try:
        read(data)
    except declared as error:
        assert type(error) in (*declared, *ValueError.__subclasses__()), error


@unhurried
@given(data=said, inner=said)
def test_what_a_local_repositorys_own_files_say_is_a_value_or_the_declared_error(
    data: bytes, inner: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("local")
    (path / ".git").write_bytes(b"gitdir: " + data)
    _look_at(path)
    (path / ".git").unlink()
    (path / ".git" / "objects" / "info").mkdir(parents=True)
    for name in ("HEAD", "commondir", "config", "objects/info/alternates"):
        (path / ".git" / name).write_bytes(inner if name != "HEAD" else data)
    _look_at(path)


def _look_at(path: Path) -> None:
    looks: list[Callable[[Path], Any]] = [head_branch, common_folder, lenders_of, folders_of, require_ordinary_files]
    for look in looks:
        try:
            look(path)
        except RepositoryUnavailable:
            pass


@unhurried
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=6),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "packages",
                        "",
                        "node_modules/a",
                        "resolved",
                        "integrity",
                        "link",
                        "version",
                        "scripts",
                        "packageManager",
                        "pnpm",
                        "engines",
                        "a",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_a_package_file_of_any_form_is_a_value(document: object) -> None:
    data = json.dumps(document).encode()
    for read in (_kept, _set_up, _wished):
        try:
            read(data)
        except RepositoryUnavailable:
            assert read is _set_up
