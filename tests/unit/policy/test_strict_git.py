from __future__ import annotations

import time

import pytest

from runner.model.errors import ErrorCode
from runner.policy.argv_values import Phase
from runner.policy.strict_git_options import emit, read_verb, verb
from runner.policy.strict_git_verbs import SUBVERBS, VERBS
from runner.policy.strict_values import NotAllowed
from tests.support.argv_trees import FakeTree
from tests.support.strict import judge, runs

GIT = ["git", "--no-pager", "-c", "core.fsmonitor=false"]
SIGNS = ["-c", "commit.gpgSign=false"]
SHOWS = ["-c", "log.showSignature=false"]
PLAIN = ["--no-ext-diff", "--no-textconv"]


@pytest.mark.parametrize(
    ("given", "run"),
    [
        ("status -sb", [*GIT, "status", "--short", "--branch"]),
        ("status --porc", [*GIT, "status", "--porcelain"]),
        ("--no-pager status", [*GIT, "status"]),
        ("-C src status", ["git", "--no-pager", "-C", "src", *GIT[2:], "-c", "safe.bareRepository=explicit", "status"]),
        ("-c color.ui=never status", [*GIT, "-c", "color.ui=never", "status"]),
        ("add src/app.mjs", [*GIT, "add", "--", "src/app.mjs"]),
        ("add . -A", [*GIT, "add", "--all", "--", "."]),
        ("commit -uno -m x", [*GIT, *SIGNS, "commit", "--untracked-files=no", "--message=x"]),
        ("commit -am --amend", [*GIT, *SIGNS, "commit", "--all", "--message=--amend"]),
        ("commit --am --no-ed", [*GIT, *SIGNS, "commit", "--amend", "--no-edit"]),
        ("log -1 --oneline", [*GIT, *SHOWS, "log", *PLAIN, "--max-count=1", "--oneline"]),
        ("log main -n 3 -- src", [*GIT, *SHOWS, "log", *PLAIN, "main", "--max-count=3", "--", "src"]),
        ("log -S needle", [*GIT, *SHOWS, "log", *PLAIN, "-Sneedle"]),
        ("diff --cached -U1 HEAD", [*GIT, "diff", *PLAIN, "--cached", "--unified=1", "HEAD"]),
        ("cherry-pick -n HEAD~1", [*GIT, *SIGNS, "cherry-pick", "--no-commit", "HEAD~1"]),
        ("rebase main", [*GIT, *SIGNS, "rebase", "main"]),
        ("stash", [*GIT, "stash", "push"]),
        ("stash push -m wip", [*GIT, "stash", "push", "--message=wip"]),
        ("stash show", [*GIT, "stash", "show", *PLAIN, "--stat"]),
        ("stash show -p", [*GIT, "stash", "show", *PLAIN, "--patch"]),
        ("reflog -2", [*GIT, *SHOWS, "reflog", "show", *PLAIN, "--max-count=2"]),
        ("config user.name", [*GIT, "config", "--get", "user.name"]),
        ("branch --contains", [*GIT, "branch", "--contains=HEAD"]),
        ("branch -D x", [*GIT, "branch", "-D", "x"]),
        ("checkout -b new main", [*GIT, "checkout", "-bnew", "main"]),
        ("checkout HEAD~1 -- notes/log.md", [*GIT, "checkout", "HEAD~1", "--", "notes/log.md"]),
        ("grep -n -e a -- src", [*GIT, "grep", "--no-textconv", "--line-number", "-ea", "--", "src"]),
        ("st", [*GIT, "status", "--short"]),
        ("ST -b", [*GIT, "status", "--short", "--branch"]),
        ("remote -v", [*GIT, "remote", "--verbose"]),
        ("rebase -h", ["git", "rebase", "-h"]),
        ("--version", ["git", "--version"]),
    ],
)
def test_what_runs_is_the_canonical_spelling(given: str, run: list[str]) -> None:
    assert runs(["git", *given.split()], FakeTree(aliases={"st": "status -s"})) == run


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ("fetch", "strict.git.verb"),
        ("clone x y", "strict.git.verb"),
        ("fetch .", "strict.git.verb"),
        ("bisect start", "strict.git.verb"),
        ("submodule status", "strict.git.verb"),
        ("update-ref refs/heads/x HEAD", "strict.git.verb"),
        ("commit-tree x", "strict.git.verb"),
        ("stash save", "strict.git.verb"),
        ("stash wip", "strict.git.verb"),
        ("remote add x y", "strict.git.verb"),
        ("remote show origin", "strict.git.verb"),
        ("worktree add x", "strict.git.verb"),
        ("reflog expire --all", "strict.git.verb"),
        ("sh", "strict.git.verb"),
        ("zz", "strict.git.verb"),
        ("rebase -i HEAD~1", "strict.git.option"),
        ("add -p", "strict.git.option"),
        ("commit -S -m x", "strict.git.option"),
        ("commit --trailer=x=y -m x", "strict.git.option"),
        ("commit --temp=x", "strict.git.option"),
        ("commit --re=HEAD", "strict.git.option"),
        ("tag -s v1", "strict.git.option"),
        ("log --show-signature", "strict.git.option"),
        ("log --textconv", "strict.git.option"),
        ("log -pS x", "strict.git.option"),
        ("diff --no-index a b", "strict.git.option"),
        ("cat-file --textconv HEAD:x", "strict.git.option"),
        ("grep x -n", "strict.git.option"),
        ("grep --no-index x", "strict.git.option"),
        ("status --help", "strict.git.option"),
        ("log --format=%G?", "strict.git.value"),
        ("merge -s mine x", "strict.git.value"),
        ("log -n x", "strict.git.value"),
        ("commit -m", "strict.git.value"),
        ("add --all=x", "strict.git.value"),
        ("-c diff.external= diff", "strict.git.global"),
        ("-c commit.gpgSign=true commit", "strict.git.global"),
        ("--git-dir=.git log", "strict.git.global"),
        ("-p log", "strict.git.global"),
        ("config user.name me", "strict.git.config"),
        ("config --get --list", "strict.git.config"),
        ("config", "strict.git.config"),
        ("config --unset user.name", "strict.git.option"),
        ("config --file=x --list", "strict.git.option"),
        ("symbolic-ref HEAD refs/heads/x", "strict.git.operand"),
        ("add -- ../x", "strict.git.path"),
        ("diff /etc/passwd /etc/group", "strict.git.path"),
        ("commit -F /etc/passwd", "strict.git.path"),
    ],
)
def test_what_is_not_known_is_refused(given: str, rule: str) -> None:
    tree = FakeTree(aliases={"sh": "-C src"})
    assert judge(["git", *given.split()], tree).decision.rule == rule


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("push origin HEAD", ErrorCode.GIT_PUSH_VIA_RUN_COMMAND),
        ("up", ErrorCode.GIT_PUSH_VIA_RUN_COMMAND),
        ("commit --no-verif -m x", ErrorCode.GIT_HOOKS_SKIP_REFUSED),
        ("commit -nm x", ErrorCode.GIT_HOOKS_SKIP_REFUSED),
        ("--work-tree=/etc add passwd", ErrorCode.PATH_OUTSIDE_WORKSPACE),
    ],
)
def test_what_the_contract_refuses_keeps_its_code(given: str, code: ErrorCode) -> None:
    assert judge(["git", *given.split()], FakeTree(aliases={"up": "push"})).decision.code is code


def test_a_misspelt_verb_or_option_names_the_nearest() -> None:
    assert "`git status`" in judge(["git", "statsu"]).decision.hint
    assert "`--oneline`" in judge(["git", "log", "--onlein"]).decision.hint


def test_git_starts_in_no_repository_within_the_clone() -> None:
    for created in ({"src/r/HEAD": "", "src/r/config": ""}, {"src/r/.git": ""}):
        tree = FakeTree(created=created)
        assert judge(["git", "-C", "src/r", "status"], tree).decision.rule == "strict.git.folder"
        assert judge(["git", "-C", "src", "-C", "r/x", "status"], tree).decision.rule == "strict.git.folder"
        assert judge(["git", "-C", "src", "status"], tree).decision.allowed


@pytest.mark.parametrize(("phase", "allowed"), [("setup", True), ("run", False)])
def test_settings_are_made_at_set_up_only(phase: Phase, allowed: bool) -> None:
    argv = ["git", "config", "core.autocrlf", "false"]
    assert judge(argv, phase=phase).decision.allowed is allowed


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_of_the_closed_world_runs_by_itself_and_refuses_a_near_miss(name: str) -> None:
    operands = {"config": ["user.name"], "symbolic-ref": ["HEAD"]}.get(name, [])
    argv = ["git", *name.split(), *operands]
    assert judge(argv).decision.allowed
    assert not judge([*argv, "--zzz"]).decision.allowed


@pytest.mark.parametrize("name", VERBS)
def test_every_option_is_read_back_as_it_is_emitted(name: str) -> None:
    grammar = VERBS[name]
    for option in grammar.options:
        value = next(iter(sorted(option.choices)), "1")
        long = f"--{option.name}" if option.name else f"-{option.letters[0]}"
        words = (
            [long, value] if option.kind in ("", "#", "@") else [f"{long}={value}"] if option.kind == "=" else [long]
        )
        spelled = [word for part in read_verb(words, grammar).options for word in emit(part)]
        again = [word for part in read_verb(spelled, grammar).options for word in emit(part)]
        assert spelled == again


def test_no_grammar_has_a_letter_or_name_twice() -> None:
    for name, grammar in VERBS.items():
        names = [option.name for option in grammar.options if option.name]
        letters = [letter for option in grammar.options for letter in option.letters]
        assert len(letters) == len(set(letters)), name
        assert len(names) == len(set(names)), name


def test_every_subverb_that_has_a_grammar_is_one_of_gits() -> None:
    for name in VERBS:
        head, _, sub = name.partition(" ")
        if sub:
            assert sub in SUBVERBS[head]


def test_a_prefix_that_git_would_read_as_a_refused_option_is_no_other_option() -> None:
    grammar = verb("message|m:", "mess-around")
    with pytest.raises(NotAllowed):
        read_verb(["--mess", "x"], grammar)
    assert read_verb(["--message", "x"], grammar).options[0].value == "x"


def test_a_git_argv_is_decided_within_a_millisecond() -> None:
    argv = ["git", "-C", "src", "log", "--oneline", "-n", "5", "--author=x", "main", "--", "src/app.mjs"]
    judge(argv)
    start = time.process_time()
    for _ in range(200):
        judge(argv)
    assert (time.process_time() - start) / 200 < 0.001
