"""The closed world against random words, and against git itself: a canonical argv means what the original meant."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.model.errors import ErrorCode, ToolError
from runner.policy.argv import ArgvPolicy, ArgvVerdict, judge_argv
from tests.support.argv_strategies import GRAMMATICAL, WORDS
from tests.support.argv_trees import BINS, FakeTree, full_write
from tests.support.examples import examples

ALIASES = {"st": "status -s", "lg": "log --oneline", "up": "push", "loop": "loop", "sh": "!sh", "ci": "-C src commit"}


def _judge(argv: list[str], tree: FakeTree | None = None) -> ArgvVerdict:
    tree = tree or FakeTree(aliases=dict(ALIASES))
    policy = ArgvPolicy(BINS, "os:red", full_write, lambda: tuple(tree.created), "strict")
    return judge_argv(argv, policy, tree)


@settings(max_examples=examples(500), deadline=None)
@given(st.sampled_from(sorted(BINS)), WORDS)
def test_a_canonical_argv_read_again_is_itself(program: str, words: list[str]) -> None:
    try:
        verdict = _judge([program, *words])
    except ToolError as error:
        assert error.code in (ErrorCode.INVALID_ARGUMENTS, ErrorCode.ARGV_REQUIRED, ErrorCode.BIN_NOT_ALLOWLISTED)
        return
    if verdict.decision.allowed:
        again = _judge(list(verdict.argv))
        assert again.decision.allowed, again.decision.message
        assert again.argv == verdict.argv
    else:
        assert verdict.decision.rule in verdict.decision.message
        assert verdict.decision.hint


@dataclass(frozen=True)
class _Bench:
    """A repository that is copied for every command, so that effects can be compared."""

    root: Path

    def run(self, argv: tuple[str, ...] | list[str]) -> tuple[int, str, str]:
        """Exit code, output, and what the command made of refs, index and files."""
        work = self.root / "work"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(self.root / "template", work, symlinks=True)
        done = _git(work, *argv[1:])
        state = "".join(
            _git(work, *words).stdout
            for words in (
                ["show-ref", "--head"],
                ["status", "--porcelain=v2", "--branch", "--ignored", "-uall"],
                ["stash", "list"],
                ["ls-files", "-s"],
            )
        )
        files = "".join(
            f"{path.relative_to(work)}:{path.read_bytes()!r}\n"
            for path in sorted(work.rglob("*"))
            if path.is_file() and ".git" not in path.parts
        )
        # What checkout says about changed files depends on whether their times are those of the index.
        said = "" if "checkout" in argv else done.stdout
        return done.returncode, said, state + files


def _git(root: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(root),
        "LANG": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_EDITOR": "/bin/false",
        "GIT_SEQUENCE_EDITOR": "/bin/false",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_CEILING_DIRECTORIES": str(root.parent),
        **{f"GIT_{who}_NAME": "x" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "x@x" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_DATE": "1700000000 +0000" for who in ("AUTHOR", "COMMITTER")},
    }
    return subprocess.run(
        ["git", *args],
        cwd=root,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=20,
        check=False,
    )


def _built(root: Path) -> Path:
    template = root / "template"
    (template / "src").mkdir(parents=True)
    _git(template, "init", "-q", "-b", "main", ".")
    _git(template, "config", "user.name", "x")
    for number in range(3):
        (template / "src/app.mjs").write_text("".join(f"line {n} {number if n == 4 else ''}\n" for n in range(9)))
        (template / "a").write_text(f"{number}\n")
        _git(template, "add", ".")
        _git(template, "commit", "-qm", f"c{number}")
    _git(template, "tag", "-a", "-m", "one", "t1", "HEAD~1")
    _git(template, "switch", "-qc", "side", "HEAD~1")
    (template / "b").write_text("b\n")
    _git(template, "add", ".")
    _git(template, "commit", "-qm", "side")
    _git(template, "switch", "-q", "main")
    (template / "a").write_text("stashed\n")
    _git(template, "stash", "-q")
    (template / "src/app.mjs").write_text("changed\n")
    (template / "a").write_text("staged\n")
    _git(template, "add", "a")
    (template / "new").write_text("new\n")
    return template


@pytest.fixture(scope="module")
def bench() -> Iterator[_Bench]:
    with TemporaryDirectory() as folder:
        _built(Path(folder))
        yield _Bench(Path(folder))


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(argv=GRAMMATICAL)
def test_a_canonical_argv_does_what_the_original_does(bench: _Bench, argv: list[str]) -> None:
    verdict = _judge(argv)
    if not verdict.decision.allowed:
        return
    code, *effect = bench.run(argv)
    code_now, *effect_now = bench.run(verdict.argv)
    assert effect_now == effect, (argv, verdict.argv)
    # What git refuses it refuses in either spelling, with a number of its own for each kind of mistake.
    assert code_now == code or min(code, code_now) > 0, (argv, verdict.argv)


# --- configuration that names programs ---

_PROGRAM_KEYS = ("diff.external", "diff.x.textconv", "core.fsmonitor", "core.pager", "gpg.program")


@pytest.fixture(scope="module")
def hostile(bench: _Bench) -> Iterator[_Bench]:
    """A repository whose own configuration starts a program wherever git lets it."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        shutil.copytree(bench.root / "template", root / "template", symlinks=True)
        program = root / "program"
        program.write_text(f'#!/bin/sh\ntouch "{root}/started"\ncat "$1" 2>/dev/null\nexit 0\n')
        program.chmod(0o755)
        for key in _PROGRAM_KEYS:
            _git(root / "template", "config", key, str(program))
        for key in ("commit.gpgSign", "tag.gpgSign", "tag.forceSignAnnotated", "log.showSignature"):
            _git(root / "template", "config", key, "true")
        (root / "template/.git/info/attributes").write_text("* diff=x\n")
        yield _Bench(root)


@pytest.mark.parametrize(
    ("line", "starts"),
    [
        ("git status", True),
        ("git diff", True),
        ("git diff --cached --stat", True),
        ("git log -p -1", True),
        ("git show HEAD", True),
        ("git stash list", False),
        ("git reflog -p -1", True),
        ("git blame src/app.mjs", True),
        ("git grep line", True),
        ("git add -A", True),
        ("git commit -am x", True),
        ("git merge side", True),
        ("git cherry-pick side", True),
        ("git revert HEAD", True),
        ("git tag -a -m x t2", True),
        ("git rebase side --autostash", True),
        ("git branch -v", False),
        ("git ls-files -m", True),
        ("git checkout side~1 -- a", True),
    ],
)
def test_a_canonical_argv_starts_no_program_of_the_configuration(hostile: _Bench, line: str, starts: bool) -> None:
    marker = hostile.root / "started"
    argv = line.split()
    for words, expected in ((argv, starts), (list(_judge(argv).argv), False)):
        work = hostile.root / "work"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(hostile.root / "template", work, symlinks=True)
        marker.unlink(missing_ok=True)
        _git(work, *words[1:])
        assert marker.exists() is expected, words
