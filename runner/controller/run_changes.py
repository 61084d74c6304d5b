"""What a run changed: `changes.patch`, and the names of the files in it.

Both are made by git inside the workspace, so they are untrusted text: written as bytes, bounded, and never applied or
shown by us. One program makes them: it reads the tree as it stands into an index of its own, and compares that with
the base commit. Each file's content is read anew. What the clone's own index says of it may be what the run wrote
there, and a file's times do not tell of every write to it.

Where that fails it is tried once more with all that git writes in the home: the run may have left no room elsewhere.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.engine.contract import SpawnResult

if TYPE_CHECKING:
    from runner.controller.guest_git import GuestGit
    from runner.controller.prepare import Prepared

__all__ = ["PatchFile", "no_changes", "raw_names", "write_changes"]

_MAX_PATCH_BYTES = 64 * 1024 * 1024
_MAX_NAMES_BYTES = 64 * 1024 * 1024  # of 500,000 changed paths
_MAX_LISTED_FILES = 1000
_PATCH_SECONDS = 30.0
# The prefixes are named: a setting inside may choose others, and not every tool applies such a patch.
_DIFF = (
    *("diff", "--cached", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", "--binary", "--full-index"),
    *("--raw", "--patch", "--no-abbrev", "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=none"),
)
_RAW_LINE = re.compile(rb':[0-7]{6} [0-7]{6} [0-9a-f]{40,64} [0-9a-f]{40,64} [AMDTU]\t(?:"(.+)"|([^"\n].*))')
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)")
_ESCAPED = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))
_MAX_SAID_BYTES = 2000
_MAX_REASON_CHARS = 300


def no_changes(reason: str) -> dict[str, Any]:
    """What the report has instead of changes that could not be told."""
    return {
        "files": [],
        "file_count": 0,
        "paths_sha256": hashlib.sha256(b"").hexdigest(),
        "patch_bytes": 0,
        "truncated": False,
        "failed": True,
        "reason": reason,
    }


def write_changes(prepared: Prepared, folder: Path) -> dict[str, Any]:
    """`changes.patch` holds everything that differs from the base commit, committed or not, ignored files left out.

    Raises:
        SandboxLost: when the workspace is gone, or the repository in it that the run started from.
    """
    # The run's own time may be used up, which is when the patch matters most: it has a few seconds of its own.
    clock, base = prepared.host.monotonic, prepared.baseline.base_commit
    over = clock() + _PATCH_SECONDS
    git = replace(prepared.git, remaining=lambda: max(1.0, over - clock()))
    canary = prepared.canary.stream()
    name = f"runner-report-{secrets.token_hex(8)}"  # inside, and one that nobody there knows
    reason, patch, made = _take(git, base, folder, canary.take, f"/tmp/{name}", None)  # noqa: S108
    if reason and not made.timed_out:
        git.require_base(base)
        home = f"/home/agent/{name}"
        again = _take(git, base, folder, canary.take, f"{home}/index", f"{home}/objects")
        # Of a second failure, the first is the reason to tell: the home is only where room was looked for.
        reason, patch, made = (again[0] and reason, *again[1:])
    names = raw_names(patch.names)
    listed = b"".join(name + b"\0" for name in names or ())
    canary.take(listed)
    if canary.seen:
        prepared.canary.tell("changes")
    return {
        "files": [name.decode("utf-8", "replace") for name in names or ()][:_MAX_LISTED_FILES],
        "file_count": len(names or ()),
        "paths_sha256": hashlib.sha256(listed).hexdigest(),  # of `git diff --name-only -z`
        "patch_bytes": patch.size,
        "truncated": patch.truncated or made.truncated,
        "failed": bool(reason),
        "reason": reason or None,
    }


def _take(
    git: GuestGit, base: str, folder: Path, look: Callable[[bytes], None], index: str, objects: str | None
) -> tuple[str, PatchFile, SpawnResult]:
    """Why the patch could not be made, empty when it is; what came of it; and how git ended."""
    patch = PatchFile(folder / "changes.patch", look)
    try:
        made = git.sequence(
            ("read-tree", "HEAD"),  # or files that are ignored, and in a commit all the same, would be missing
            ("add", "-A"),
            (*_DIFF, base),
            index=index,
            objects=objects,
            sink=patch,
            deadline_seconds=git.remaining(),
        )
    finally:
        patch.close()
    names = raw_names(patch.names)
    if made.exit != 0:
        return _why(made, patch.said), patch, made
    odd = names is None or (bool(names) and not patch.size)
    return "what git printed is no patch" if odd else "", patch, made


def _why(made: SpawnResult, said: bytes) -> str:
    """Why git failed, in its own words where it had some: untrusted text, in one line."""
    if made.timed_out:
        return f"git took longer than {_PATCH_SECONDS:g} s"
    if made.killed_by is not None:
        return f"git was killed ({made.killed_by})"
    words = " ".join((made.stderr + said).decode("utf-8", "replace").split())
    return words[-_MAX_REASON_CHARS:] or f"git ended with {made.exit}"


class PatchFile:
    """Takes what `git diff --raw --patch` writes: a line for each file, an empty line, and the patch for the file.

    Of both it stops keeping at a bound, and is `truncated` then. `look` sees all of it. `said` is the end of what it
    says on its standard error.
    """

    def __init__(self, path: Path, look: Callable[[bytes], None]) -> None:
        self._file = path.open("wb")
        self._look = look
        self._in_patch = False
        self._head = bytearray()
        self.said = b""
        self.size = 0
        self.truncated = False

    def __call__(self, name: str, data: bytes) -> None:
        """More of it has come. Raises OSError when it cannot be written."""
        if name != "stdout":
            self.said = (self.said + data)[-_MAX_SAID_BYTES:]
            return
        self._look(data)
        self._keep(data if self._in_patch else self._behind_names(data))

    @property
    def names(self) -> bytes:
        """The lines that name files, as far as they were kept."""
        return bytes(self._head)

    def close(self) -> None:
        """What was kept is in the file."""
        self._file.close()

    def _behind_names(self, data: bytes) -> bytes:
        """What of `data` belongs to the patch already; the rest is of the names."""
        seen = max(0, len(self._head) - 1)
        self._head += data
        end = self._head.find(b"\n\n", seen)
        if end < 0:
            self.truncated = self.truncated or len(self._head) > _MAX_NAMES_BYTES
            del self._head[_MAX_NAMES_BYTES:]
            return b""
        self._in_patch = True
        patch = bytes(self._head[end + 2 :])
        del self._head[end + 1 :]
        return patch

    def _keep(self, data: bytes) -> None:
        kept = data[: _MAX_PATCH_BYTES - self.size]
        self._file.write(kept)
        self.size += len(kept)
        self.truncated = self.truncated or len(kept) < len(data)


def raw_names(lines: bytes) -> tuple[bytes, ...] | None:
    """The paths that the lines of `git diff --raw` name, in their order; None for what is not in that form."""
    if not lines:
        return ()
    if not lines.endswith(b"\n"):
        return None
    found = [_RAW_LINE.fullmatch(line) for line in lines[:-1].split(b"\n")]
    if None in found:
        return None
    return tuple(match[2] or _ESCAPE.sub(_unescaped, match[1]) for match in found if match is not None)


def _unescaped(escape: re.Match[bytes]) -> bytes:
    """The byte behind an escape of git's; of one that git does not write, what stands there."""
    word = escape[1]
    return bytes([int(word, 8)]) if len(word) == 3 else bytes([_ESCAPED.get(word[0], word[0])])
