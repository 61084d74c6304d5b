"""A push is refused however it is spelled, and nothing else is taken for one."""

from __future__ import annotations

import shlex

import pytest

from runner.model.errors import ErrorCode
from tests.support.argv_trees import ORIGINAL, FakeTree, code_of, decide

PUSH = ErrorCode.GIT_PUSH_VIA_RUN_COMMAND

PUSHES = [
    "git push origin HEAD",
    "git push",
    "git push --dry-run",
    "git push -n",
    "git -C . push origin HEAD:main",
    "git -C src -C .. push",
    "git --git-dir=.git push",
    "git --git-dir .git push",
    "git --work-tree . --namespace x push",
    "git --no-pager -p --literal-pathspecs push",
    "git --config-env=user.name=HOME push",
    "git --config-env user.name=HOME push",
    "git -c user.name=x push",
    "git -c push.default=current --bare push",
    "git --unknown-option push",
    "git -c alias.up=push up origin HEAD",
    "git -c alias.UP=push up",
    "git -c ALIAS.up=push UP",
    "git -c alias.up=-p\\ push up",
    "git -c alias.up='--no-pager \"pu\"sh' up",
    "git -c alias.a=b -c alias.b=push a",
    "git -c alias.a='!git push' a",
    "git -c alias.a='!f() { git push \"$@\"; }; f' a",
    "git -c alias.a='!cd x && git -C . push' a",
    "git config alias.up push",
    "git config --global alias.up push",
    "git config --add alias.up 'push --force'",
    "git config set alias.up push",
    "git config -f .git/config alias.up push",
    "git config --replace-all alias.up '!git push'",
    "git clone -c alias.up=push . x",
    "git send-pack http://h/r HEAD:refs/heads/x",
    "git http-push http://h/r",
    "git receive-pack .",
    "git remote-https origin http://h/r",
    "git remote-http origin",
    "git subtree push --prefix=a origin b",
    "git subtree -P a push origin b",
    "git svn dcommit",
    "git p4 submit",
    "git lfs push origin main",
    "git for-each-repo --config=multi.r push origin HEAD",
    "git for-each-repo --config multi.r -- push",
    "git for-each-repo --config=multi.r -- -C . push",
    "git submodule foreach 'git push'",
    "git submodule foreach --recursive git push",
    "git submodule--helper foreach git push",
    "git bisect run git push",
    "git bisect run -- git push",
    "git rebase --exec 'git push origin HEAD' HEAD~1",
    "git rebase -x 'git push' HEAD~1",
    "git rebase -ix'git push' HEAD~1",
    "git rebase --ex='cd a; git push' HEAD~1",
    "git filter-branch --msg-filter 'git push; cat' HEAD",
    "git -c help.autocorrect=1 pusj origin",
    "git config help.autocorrect immediate",
    "pnpm git push origin HEAD",
    "pnpm exec git push",
    "pnpm -r exec git push",
    "pnpm -c exec 'git push'",
    "npm exec git push",
    "npm exec -- git push",
    "npm x -c 'git push'",
    "npm exec --call='a && git push'",
    "npm explore left -- git push",
    "mise x -- git push",
    "mise exec node@20 -- git -C . push",
    "mise x -c 'git push'",
    "npm run ship",
    "pnpm ship",
    "pnpm run ship",
    "node --run ship",
    "mise x -- pnpm exec npm exec git push",
    "pnpm exec cross-env A=1 git push",
    "npm exec -- sh -c 'git push'",
]


@pytest.mark.parametrize("line", PUSHES)
def test_push_in_disguise_is_refused(line: str) -> None:
    assert code_of(shlex.split(line)) is PUSH


@pytest.mark.parametrize(
    "line",
    [
        "git stash push -m wip",
        "git stash push",
        "git log --grep=push",
        "git log --grep push",
        "git commit -m push",
        "git commit -m 'git push'",
        "git checkout push",
        "git branch push",
        "git -C . status",
        "git push --help",
        "git push -h",
        "git help push",
        "git --help push",
        "git --version push",
        "git --exec-path push",
        "git subtree split --prefix=push-me",
        "git -c alias.st=status st push",
        "git config alias.co checkout",
        "git config --get alias.up",
        "git config alias.up",
        "git config --unset alias.up",
        "git config push.default current",
        "git -c push.default=simple status",
        "git remote set-url --push origin http://h/r",
        "git for-each-repo --config=multi.r status",
        "git bisect run npm test",
        "git log --end-of-options push",
        "git -c help.autocorrect=0 status",
        "npm run hi",
        "npm exec vitest push",
        "pnpm vitest push",
        "mise run push",
        "node -e \"console.log('git push')\"",
    ],
)
def test_what_only_looks_like_a_push_runs(line: str) -> None:
    decision = decide(shlex.split(line))
    assert decision.allowed, decision


@pytest.mark.parametrize(
    ("aliases", "argv"),
    [
        ({"up": "push"}, ["git", "up"]),
        ({"up": "push"}, ["git", "UP", "origin"]),
        ({"a": "b", "b": "c", "c": "-p push"}, ["git", "a"]),
        ({"a": "stash", "b": "!true; git push"}, ["git", "b"]),
        ({"a": "subtree"}, ["git", "a", "push"]),
        ({"a": "for-each-repo --config=x.y"}, ["git", "a", "push"]),
        ({"up": "push"}, ["mise", "x", "--", "git", "up"]),
    ],
)
def test_stored_alias_that_leads_to_a_push_is_refused(aliases: dict[str, str], argv: list[str]) -> None:
    assert code_of(argv, FakeTree(aliases=aliases)) is PUSH


def test_alias_named_like_a_built_in_has_no_effect() -> None:
    assert code_of(["git", "status"], FakeTree(aliases={"status": "push"})) is None


def test_alias_loop_ends() -> None:
    assert code_of(["git", "a"], FakeTree(aliases={"a": "b", "b": "a"})) is None


def test_endless_chain_of_aliases_is_refused() -> None:
    aliases = {f"a{n}": f"a{n + 1}" for n in range(100)}
    assert code_of(["git", "a0"], FakeTree(aliases=aliases)) is ErrorCode.BIN_NOT_ALLOWLISTED


def test_plain_status_asks_the_tree_nothing() -> None:
    tree = FakeTree()
    assert code_of(["git", "-c", "color.ui=never", "status", "-s"], tree) is None
    assert tree.questions == 0


@pytest.mark.parametrize(
    "line", ["-C src/sub up", "--git-dir=src/sub/.git up", "-C src -C sub up", "-C /workspace/src/sub UP"]
)
def test_alias_of_another_repository_in_the_tree_is_seen(line: str) -> None:
    original = {**ORIGINAL, "src/sub/.git/config": "[core]\n\tbare = false\n[alias]\n\tup = push\n"}
    assert code_of(["git", *shlex.split(line)], FakeTree(original=original)) is PUSH


@pytest.mark.parametrize("line", ["-C src/link zz", "--git-dir src/x zz", "--bare zz", "-c alias.a='-C src zz' a"])
def test_unknown_verb_elsewhere_is_refused_since_its_aliases_are_not_read(line: str) -> None:
    assert code_of(["git", *shlex.split(line)]) is ErrorCode.BIN_NOT_ALLOWLISTED


@pytest.mark.parametrize(
    "line", ["-C src log", "-C src submodule status", "-C . st", "--git-dir=.git st", "-c alias.zz=status -C src zz"]
)
def test_known_verb_elsewhere_and_alias_of_the_workspace_run(line: str) -> None:
    assert code_of(["git", *shlex.split(line)], FakeTree(aliases={"st": "status"})) is None
