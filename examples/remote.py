"""The local bare repositories that stand for a code host, and what can be seen of them from outside."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SAMPLE", "CommitFacts", "Remote", "copy_sample", "make_remote"]

SAMPLE = Path(__file__).resolve().parent / "sample"
_NOT_PART_OF_IT = shutil.ignore_patterns("node_modules", ".git")


@dataclass(frozen=True, slots=True)
class CommitFacts:
    """What the remote says of a commit."""

    parents: tuple[str, ...]
    author: str
    files: frozenset[str]


@dataclass(frozen=True, slots=True)
class Remote:
    """A bare repository, looked at with a git that obeys nobody's configuration."""

    path: Path

    @property
    def address(self) -> str:
        """For `--repo`."""
        return self.path.as_uri()

    def refs(self) -> dict[str, str]:
        """Full names of refs, and the commits that they point to."""
        listing = _git(self.path, "for-each-ref", "--format=%(refname) %(objectname)")
        return dict(line.split(" ", 1) for line in listing.splitlines())

    def fixed_files(self) -> dict[str, bytes]:
        """What a push has no business to change: HEAD, config and hooks."""
        names = [self.path / "HEAD", self.path / "config", *sorted((self.path / "hooks").glob("*"))]
        return {str(name.relative_to(self.path)): name.read_bytes() for name in names}

    def commit(self, name: str) -> CommitFacts:
        """Parents, author and the files that differ from the first parent."""
        parents = _git(self.path, "show", "--no-patch", "--format=%P", name).split()
        author = _git(self.path, "show", "--no-patch", "--format=%an <%ae>", name)
        files = _git(self.path, "diff-tree", "-r", "--name-only", "--no-commit-id", name).splitlines()
        return CommitFacts(tuple(parents), author, frozenset(files))


def copy_sample(folder: Path) -> None:
    """`folder` has the sample's files, and nothing that an install left in them."""
    shutil.copytree(SAMPLE, folder, ignore=_NOT_PART_OF_IT)
    for hook in (folder / ".githooks").iterdir():
        hook.chmod(0o755)  # whatever the archive or file system in between made of it


def make_remote(path: Path, fill: Callable[[Path], None]) -> Remote:
    """A bare repository whose main branch has one commit of what `fill` puts into an empty place."""
    draft = path.with_suffix(".draft")
    fill(draft)
    _git(draft, "init", "--quiet", "--initial-branch=main")
    _git(draft, "add", "--all", "--force")
    _git(draft, "commit", "--quiet", "--message=Start")
    _git(path.parent, "clone", "--quiet", "--bare", "--no-hardlinks", str(draft), str(path))
    shutil.rmtree(draft)
    return Remote(path)


def _git(folder: Path, *arguments: str) -> str:
    finished = subprocess.run(
        [shutil.which("git") or "git", "-C", str(folder), *arguments],
        env=_environment(folder),
        capture_output=True,
        check=False,
    )
    if finished.returncode != 0:
        raise RuntimeError(f"git {arguments[0]}: {finished.stderr.decode('utf-8', 'replace').strip()}")
    return finished.stdout.decode("utf-8", "replace").strip()


def _environment(home: Path) -> dict[str, str]:
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ALLOW_PROTOCOL": "file",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.com",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.com",
    }
