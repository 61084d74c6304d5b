"""Builders of benign and hostile repositories. Pure git through subprocess, hermetic, no network.

Histories are written by `git fast-import`, which makes any number of commits in one process; trees that git itself
would refuse to make are written object by object.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = [
    "R0",
    "R0_SETUP",
    "Commit",
    "File",
    "bare_repository",
    "build_r0",
    "executable",
    "explode",
    "git",
    "git_environment",
    "link",
    "raw_commit",
    "raw_object",
    "raw_tree",
    "tree_digest",
]


@dataclass(frozen=True)
class File:
    """Content and git's mode: 100644, 100755, 120000 (a link; the data is its target)."""

    data: bytes
    mode: str = "100644"


@dataclass(frozen=True)
class Commit:
    """One commit. `files` are set, None removes one.

    `parents` are branches made before. None continues the branch, or starts it from main; `[]` makes a root.
    """

    files: Mapping[str, File | bytes | str | None] = field(default_factory=dict)
    message: str = "change\n"
    branch: str = "main"
    parents: Sequence[str] | None = None


def executable(text: str) -> File:
    return File(text.encode(), "100755")


def link(target: str) -> File:
    return File(target.encode(), "120000")


def git_environment(home: Path) -> dict[str, str]:
    """An environment in which git obeys nobody's configuration and reaches nothing but files."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "LC_ALL": "C",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ALLOW_PROTOCOL": "file",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.com",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.com",
        "GIT_AUTHOR_DATE": "1700000000 +0000",
        "GIT_COMMITTER_DATE": "1700000000 +0000",
    }


def git(repository: Path, *arguments: str, stdin: bytes = b"", check: bool = True) -> str:
    """What git printed, without the final newline."""
    finished = subprocess.run(
        ["git", "-C", str(repository), *arguments],
        env=git_environment(repository),
        input=stdin,
        capture_output=True,
        check=False,
    )
    if check and finished.returncode != 0:
        raise AssertionError(f"git {arguments}: {finished.stderr.decode(errors='replace')}")
    return finished.stdout.decode("utf-8", "surrogateescape").rstrip("\n")


def bare_repository(path: Path, commits: Iterable[Commit], *, head: str = "main") -> Path:
    """A bare repository with these commits, in order, and HEAD on `head`."""
    path.mkdir(parents=True)
    git(path, "init", "--quiet", "--bare", f"--initial-branch={head}")
    stream = b"".join(_fast_import(commits))
    git(path, "fast-import", "--quiet", "--date-format=raw", stdin=stream)
    return path


def _fast_import(commits: Iterable[Commit]) -> Iterable[bytes]:
    tips: dict[str, int] = {}
    for mark, commit in enumerate(commits, start=1):
        yield f"commit refs/heads/{commit.branch}\nmark :{mark}\n".encode("utf-8", "surrogateescape")
        yield f"committer Ada <ada@example.com> {1700000000 + 60 * mark} +0000\n".encode()
        yield _data(commit.message.encode())
        parents = commit.parents
        if parents is None:
            parents = [commit.branch] if commit.branch in tips else ["main"] if "main" in tips else []
        for number, parent in enumerate(parents):
            yield f"{'merge' if number else 'from'} :{tips[parent]}\n".encode()
        tips[commit.branch] = mark
        for path, content in commit.files.items():
            yield from _file(path, content)
        yield b"\n"


def _file(path: str, content: File | bytes | str | None) -> Iterable[bytes]:
    name = _quoted(path)
    if content is None:
        yield b"D " + name + b"\n"
        return
    if isinstance(content, str):
        content = content.encode()
    file = content if isinstance(content, File) else File(content)
    if file.mode == "160000":
        yield b"M 160000 " + file.data + b" " + name + b"\n"
        return
    yield b"M " + file.mode.encode() + b" inline " + name + b"\n" + _data(file.data)


def _quoted(path: str) -> bytes:
    raw = path.encode("utf-8", "surrogateescape")
    escaped = raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + escaped + b'"'


def _data(data: bytes) -> bytes:
    return b"data %d\n" % len(data) + data + b"\n"


def explode(repository: Path) -> None:
    """Every object lies in a file of its own."""
    for path in (repository / "objects" / "pack").glob("*"):
        data = path.read_bytes()
        path.unlink()
        if path.suffix == ".pack":
            git(repository, "unpack-objects", "-q", stdin=data)


def raw_object(repository: Path, kind: str, data: bytes) -> str:
    """The object's name, whatever it holds: nothing is checked."""
    return git(repository, "hash-object", "-w", "--literally", "-t", kind, "--stdin", stdin=data)


def raw_tree(repository: Path, entries: Iterable[tuple[str, str, str]]) -> str:
    """A tree of (mode, name, object) in just this order, with names that git would refuse."""
    data = b"".join(
        mode.encode() + b" " + name.encode("utf-8", "surrogateescape") + b"\0" + bytes.fromhex(oid)
        for mode, name, oid in entries
    )
    return raw_object(repository, "tree", data)


def raw_commit(repository: Path, tree: str, parents: Sequence[str] = (), branch: str | None = None) -> str:
    """A commit of `tree`; `branch`, when given, points at it."""
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    person = "Ada <ada@example.com> 1700000000 +0000"
    text = "\n".join([*lines, f"author {person}", f"committer {person}", "", "raw", ""])
    oid = raw_object(repository, "commit", text.encode())
    if branch is not None:
        (repository / "refs" / "heads" / branch).parent.mkdir(parents=True, exist_ok=True)
        (repository / "refs" / "heads" / branch).write_text(oid + "\n")
    return oid


def tree_digest(folder: Path) -> str:
    """One hash over every name, mode, time of modification, link target and content below `folder`."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        digest.update(b"%s\0%o\0%d\0" % (os.fsencode(path), status.st_mode, status.st_mtime_ns))
        if path.is_symlink():
            digest.update(os.fsencode(path.readlink()))
        elif path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


_PRE_COMMIT = executable("#!/bin/sh\ntouch /tmp/hook-ran\n")

R0_SETUP: tuple[tuple[str, ...], ...] = (
    (
        "node",
        "-e",
        "const fs=require('fs');fs.mkdirSync('.git/hooks',{recursive:true});"
        "fs.copyFileSync('.githooks/pre-commit','.git/hooks/pre-commit')",
    ),
)
"""Set-up commands (for a policy's `setup`, or `.os/workspace.yml`) that activate R0's tracked pre-commit hook."""

_R0_FILES: Mapping[str, File | bytes | str] = {
    "src/app.mjs": "export const a = 1;\n",
    "src/lib/util.mjs": "export const twice = (n) => n * 2;\n",
    "src/dup.txt": "red\nblue\nred\n",
    "src/crlf.txt": b"one\r\ntwo\r\nthree\r\n",
    "src/latin1.txt": b"caf\xe9\nascii line\n",
    "src/bom.txt": b"\xef\xbb\xbfalpha\n",
    "src/noeol.txt": "l1\nl2\nl3",
    "src/run.sh": executable("#!/bin/sh\necho run\ntouch /tmp/ran\n"),
    "src/secret/key.txt": "TOPSECRET-7\n",
    "src/link-out": link("/etc"),
    "src/link-docs": link("../docs"),
    "src/leaf": link("../README.md"),
    "src/dangling": link("/tmp/fresh"),
    "docs/guide.md": "# Guide\n",
    "docs/CHANGELOG.md": "# Changes\n\n- first\n",
    "README.md": "# R0\n",
    "scratch/old.mjs": "console.log('old')\n",
    "package.json": (
        '{\n  "name": "r0",\n  "version": "1.0.0",\n  "private": true,\n  "scripts": {\n'
        '    "hi": "echo hi",\n    "test": "node --test",\n'
        '    "typecheck": "tsc --noEmit",\n    "build": "node src/app.mjs"\n  }\n}\n'
    ),
    ".githooks/pre-commit": _PRE_COMMIT,
}


@dataclass(frozen=True)
class R0:
    """The fixture of the handed cases: a clone on agent/x1, and the bare remote beside it whose HEAD is main."""

    path: Path
    remote: Path
    base: str  # the commit at the tip of agent/x1
    main: str
    branch: str = "agent/x1"
    default_branch: str = "main"


def build_r0(
    path: Path, *, extra: Mapping[str, File | bytes | str | None] | None = None, default_branch: str = "main"
) -> R0:
    """R0 at `path`, its remote at `remote.git` beside it. `extra` files are added to, or (None) taken from, the tip.

    `default_branch` is the name of the remote's default branch instead of main.
    """
    commits = [
        Commit({**_R0_FILES, "notes/log.md": "a\n"}, "start\n", default_branch),
        Commit({"notes/log.md": "a\nb\n"}, "second\n", default_branch),
        Commit({"notes/log.md": "a\nb\nc\n", **(extra or {})}, "third\n", "agent/x1", [default_branch]),
    ]
    remote = bare_repository(path.parent / "remote.git", commits, head=default_branch)
    git(path.parent, "clone", "--quiet", "--branch", "agent/x1", f"file://{remote}", str(path))
    return R0(
        path=path,
        remote=remote,
        base=git(remote, "rev-parse", "refs/heads/agent/x1"),
        main=git(remote, "rev-parse", f"refs/heads/{default_branch}"),
        default_branch=default_branch,
    )
