"""The argv policy against random words, and against git itself: which verb an argv means, and whether hooks ran."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.model.decision import Decision
from runner.model.errors import ErrorCode, ToolError
from runner.policy.argv import split_git_args, validate_argv
from tests.support.argv_strategies import AFTER_VERBS, COMMIT_WORDS, GIT_ALIASES, GLOBAL_OPTIONS, VERB_WORDS, WORDS
from tests.support.argv_trees import FakeTree, decide
from tests.support.examples import examples

EXAMPLES = examples(int(os.environ.get("RUNNER_DIFFERENTIAL_EXAMPLES", "400")))
"""Generated argvs that real git is asked about: 10,000 by `make test`, as many as fit in the unit tier otherwise."""

PUSH = ErrorCode.GIT_PUSH_VIA_RUN_COMMAND
HOOKS = ErrorCode.GIT_HOOKS_SKIP_REFUSED


@settings(max_examples=examples(600), deadline=None)
@given(st.sampled_from(["git", "npm", "pnpm", "node", "mise"]), WORDS)
def test_any_words_give_a_decision_or_a_tool_error(first: str, words: list[str]) -> None:
    try:
        assert isinstance(decide([first, *words], FakeTree(aliases=dict(GIT_ALIASES))), Decision)
    except ToolError as error:
        assert error.code in (ErrorCode.INVALID_ARGUMENTS, ErrorCode.ARGV_REQUIRED, ErrorCode.BIN_NOT_ALLOWLISTED)


@settings(max_examples=examples(200), deadline=None)
@given(WORDS)
def test_any_script_text_gives_a_decision(words: list[str]) -> None:
    tree = FakeTree(original={"package.json": json.dumps({"scripts": {"x": " ".join(words)}})})
    assert isinstance(decide(["npm", "run", "x"], tree), Decision)


@settings(max_examples=examples(200), deadline=None)
@given(st.one_of(st.none(), st.integers(), st.text(), st.lists(st.one_of(st.text(), st.none(), st.integers()))))
def test_any_value_gives_an_argv_or_a_tool_error(value: object) -> None:
    try:
        assert all(isinstance(word, str) for word in validate_argv(value))
    except ToolError:
        pass


@settings(max_examples=examples(200), deadline=None)
@given(st.text())
def test_any_text_splits_into_arguments_or_a_tool_error(text: str) -> None:
    try:
        assert split_git_args(text)
    except ToolError:
        pass


# --- git as the judge of the judge ---


_QUIET = (("man.viewer", "none"), ("man.none.cmd", "true"), ("help.autocorrect", "never"))
"""What `--help` and an unknown verb make git show, which costs twenty times what git itself does, and nobody reads."""


@pytest.fixture(scope="module")
def repository() -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        _git(root, "init", "-q", ".")
        for name, value in (*_QUIET, *((f"alias.{name}", verb) for name, verb in GIT_ALIASES.items())):
            _git(root, "config", name, value)
        hook = root / ".git/hooks/pre-commit"
        hook.write_text("#!/bin/sh\ntouch .git/hook-ran\n")
        hook.chmod(0o755)
        yield root


def _git(root: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """git in the folder with an empty home, no editor, no terminal, and its trace on standard error."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(root),
        "GIT_TRACE": "1",
        "GIT_EDITOR": "true",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_CEILING_DIRECTORIES": str(root.parent),
        **{f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    return subprocess.run(
        ["git", *args],
        cwd=root,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


def _real_verb(trace: str) -> str | None:
    """The built-in that git ended with; None when it started none."""
    found = re.findall(r"trace: built-in: git (\S+)", trace)
    return found[0] if found else None


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERB_WORDS)
@settings(
    max_examples=ceil(EXAMPLES / len(VERB_WORDS)),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(options=GLOBAL_OPTIONS, after=AFTER_VERBS)
def test_a_push_is_seen_exactly_where_git_would_push(
    repository: Path, verb: str, options: list[tuple[str, ...]], after: list[str]
) -> None:
    words = [*(word for option in options for word in option), verb, *after]
    real = _real_verb(_git(repository, *words).stderr)
    seen = decide(["git", *words], FakeTree(aliases=dict(GIT_ALIASES))).code is PUSH
    # `-h` alone prints, also where an option took the word before it (`-c push push -h`).
    if real == "push" and after[:1] != ["--help"] and after[-1:] != ["-h"]:
        assert seen
    elif real is not None and real != "push":
        assert not seen


@settings(max_examples=examples(250), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=COMMIT_WORDS)
def test_a_hook_skip_is_seen_exactly_where_git_would_skip_the_hook(repository: Path, words: list[str]) -> None:
    marker = repository / ".git/hook-ran"
    marker.unlink(missing_ok=True)
    argv = ["commit", "--allow-empty", "--allow-empty-message", *words]
    done = _git(repository, *argv)
    refused = decide(["git", *argv]).code is HOOKS
    if done.returncode == 0 and not marker.exists() and "git commit" in done.stderr:
        assert refused, done.stderr
    # --no-post-rewrite skips another hook than the marker's; `--verify` after the skip takes it back.
    elif marker.exists() and not any("-p".startswith(w) or "post" in w or w == "--verify" for w in words):
        assert not refused
