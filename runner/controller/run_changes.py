"""What a run changed: `changes.patch`, and the names of the files in it.

Both are made by git inside the workspace, so they are untrusted text: written as bytes, bounded, and never applied or
shown by us. One program makes them: it reads the tree as it stands into an index of its own, and compares that with
the base commit. Each file's content is read anew. What the clone's own index says of it may be what the run wrote
there, and a file's times do not tell of every write to it.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared

__all__ = ["NO_CHANGES", "PatchFile", "raw_names", "write_changes"]

_MAX_PATCH_BYTES = 64 * 1024 * 1024
_MAX_NAMES_BYTES = 64 * 1024 * 1024  # of 500,000 changed paths
_MAX_LISTED_FILES = 1000
_PATCH_SECONDS = 30.0
# The prefixes are named: a setting inside may choose others, and not every tool applies such a patch.
_DIFF = (
    *("diff", "--cached", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", "--binary", "--full-index"),
    *("--raw", "--patch", "--no-abbrev", "--src-prefix=a/", "--dst-prefix=b/"),
)
_RAW_LINE = re.compile(rb':[0-7]{6} [0-7]{6} [0-9a-f]{40,64} [0-9a-f]{40,64} [AMDTU]\t(?:"(.+)"|([^"\n].*))')
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)")
_ESCAPED = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))
NO_CHANGES: dict[str, Any] = {
    "files": [],
    "file_count": 0,
    "paths_sha256": hashlib.sha256(b"").hexdigest(),
    "patch_bytes": 0,
    "truncated": False,
    "failed": True,
}
"""What the report has instead of changes that could not be told."""


def write_changes(prepared: Prepared, folder: Path) -> dict[str, Any]:
    """`changes.patch` holds everything that differs from the base commit, committed or not, ignored files left out.

    Raises:
        SandboxLost: when the workspace is gone, or the repository in it that the run started from.
    """
    # The run's own time may be used up, which is when the patch matters most: it has a few seconds of its own.
    git = replace(prepared.git, remaining=lambda: _PATCH_SECONDS)
    index = f"/tmp/runner-report-{secrets.token_hex(8)}"  # noqa: S108 - inside, and of a name that nobody there knows
    canary = prepared.canary.stream()
    patch = PatchFile(folder / "changes.patch", canary.take)
    try:
        made = git.sequence(
            ("read-tree", "HEAD"),  # or files that are ignored, and in a commit all the same, would be missing
            ("add", "-A"),
            (*_DIFF, prepared.baseline.base_commit),
            index=index,
            sink=patch,
            deadline_seconds=_PATCH_SECONDS,
        )
    finally:
        patch.close()
    if made.exit != 0:
        git.require_base(prepared.baseline.base_commit)
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
        "failed": made.exit != 0 or names is None or (bool(names) and not patch.size),
    }


class PatchFile:
    """Takes what `git diff --raw --patch` writes: a line for each file, an empty line, and the patch for the file.

    Of both it stops keeping at a bound, and is `truncated` then. `look` sees all of it.
    """

    def __init__(self, path: Path, look: Callable[[bytes], None]) -> None:
        self._file = path.open("wb")
        self._look = look
        self._in_patch = False
        self._head = bytearray()
        self.size = 0
        self.truncated = False

    def __call__(self, name: str, data: bytes) -> None:
        """More of it has come. Raises OSError when it cannot be written."""
        if name != "stdout":
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
