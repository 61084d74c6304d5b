"""A repository on this machine that `workspace.git_commit` works in, with hooks that a test writes.

The hooks run as whoever runs the tests, so they are the tests' own.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from runner.controller.commit import Known, Sign, commit
from runner.controller.guest_git import GuestGit
from runner.engine.contract import SpawnRequest, SpawnResult
from runner.engine.fake import FakeSandbox
from runner.model.errors import ErrorCode, ToolError
from runner.model.tree import TreeChange
from runner.tools.workspace import CommitOutcome
from tests.support.repos import git, git_environment

__all__ = ["LocalSandbox", "Repo", "repo"]


class LocalSandbox(FakeSandbox):
    """Runs programs in a folder of this machine, for tests that bring every program themselves."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root
        self.requests: list[SpawnRequest] = []

    def spawn(self, request: SpawnRequest) -> SpawnResult:
        self.requests.append(request)
        stdin = b"".join(request.stdin or ())
        try:
            done = subprocess.run(
                request.argv,
                env=dict(request.env),
                cwd=self.root,
                input=stdin,
                capture_output=True,
                timeout=request.deadline_seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return SpawnResult(None, b"", b"", 0, 0, truncated=False, timed_out=True, duration_ms=0.0)
        out, err = done.stdout, done.stderr
        return SpawnResult(done.returncode, out, err, len(out), len(err), False, False, duration_ms=0.0)


@dataclass
class Repo:
    """A repository with hooks, and commits in it by a policy that allows `src/` alone."""

    root: Path
    sandbox: LocalSandbox
    git: GuestGit
    judged: list[tuple[str, ...]] = field(default_factory=list)

    def hook(self, name: str, script: str) -> None:
        path = self.root / ".git/hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def commit(self, known: Known = lambda _commit: False, sign: Sign | None = None) -> CommitOutcome:
        return commit(self.git, "message", self._judge, known, sign)

    def refused(self, known: Known = lambda _commit: False, sign: Sign | None = None) -> ToolError:
        with pytest.raises(ToolError) as caught:
            self.commit(known, sign)
        return caught.value

    def state(self) -> dict[str, object]:
        """Everything but objects: names, kinds, modes and content, `.git` included."""
        found: dict[str, object] = {}
        for path in sorted(self.root.rglob("*")):
            name = str(path.relative_to(self.root))
            if not name.startswith(".git/objects"):
                data = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
                found[name] = (path.lstat().st_mode, data)
        return found

    def _judge(self, changes: tuple[TreeChange, ...]) -> None:
        self.judged.append(tuple(change.path for change in changes))
        if any(not change.path.startswith("src/") for change in changes):
            raise ToolError(ErrorCode.WORKSPACE_COMMIT_NOT_ALLOWED, "forbidden")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    root = tmp_path / "work"
    root.mkdir()
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "config", "user.name", "Ada")
    git(root, "config", "user.email", "ada@example.com")
    (root / "src").mkdir()
    (root / "src/app").write_text("one\ntwo\nthree\n")
    (root / "src/kept").write_text("kept\n")
    (root / "README").write_text("readme\n")
    git(root, "add", "-A")
    git(root, "commit", "--quiet", "-m", "start")
    sandbox = LocalSandbox(root)
    (root / "src/app").write_text("EDITED\n")
    (root / "src/staged").write_text("staged\n")
    git(root, "add", "src/staged")
    (root / "src/staged").write_text("and edited since\n")
    return Repo(root, sandbox, GuestGit(sandbox, git_environment(tmp_path), f"{root}/.git/hooks", 30.0))
