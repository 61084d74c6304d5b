"""The facts that argv rules ask for, answered by the sandbox and the ledger. Answers of one decision are remembered."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from runner.controller.baseline import bring_up_to_date
from runner.controller.guest_git import GuestGit
from runner.engine.contract import FileContent, FileRefused, Resolved, Sandbox
from runner.model.errors import ToolError
from runner.model.tree import EntryKind
from runner.policy.ledger import Ledger
from runner.policy.paths import parse_path

__all__ = ["SandboxTree"]

_MAX_TEXT_BYTES = 1024 * 1024  # package.json and its kin; larger ones answer None
_ROOT = "/workspace"


class SandboxTree:
    """`TreeView` for one decision."""

    def __init__(
        self, sandbox: Sandbox, ledger: Ledger, git: GuestGit, absent: Callable[[str], bool] = lambda _path: False
    ) -> None:
        """`absent` says of which paths the host knows that nothing is there; those are not asked for."""
        self._absent = absent
        self._sandbox = sandbox
        self._ledger = ledger
        self._git = git
        self._resolved: dict[str, Resolved | None] = {}
        self._texts: dict[str, str | None] = {}
        self._aliases: dict[str, str] | None = None
        self._scanned = False

    def kind(self, path: str) -> EntryKind | None:
        """What is at `path`, or None."""
        found = self._resolve(path)
        return found.kind if found is not None and found.exists else None

    def read_text(self, path: str) -> str | None:
        """The text of a regular file, or None."""
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path]

    def created_by_run(self, path: str) -> bool:
        """Whether the real path was not there when the run started; a path out of the workspace was not made here."""
        found = self._resolve(path)
        return found is not None and found.exists and not self._ledger.existed_at_start(found.path)

    def changed_by_run(self, path: str) -> bool:
        """Whether the real path was there at the start and has other content now."""
        found = self._resolve(path)
        if found is None or not found.exists or not self._ledger.existed_at_start(found.path):
            return False
        self._bring_ledger_up_to_date()
        return self._ledger.changed_by_run(found.path)

    def real_path(self, path: str) -> str:
        """Where `path` really leads; the path itself when that cannot be told, so that globs judge what was named."""
        found = self._resolve(path)
        return path if found is None else found.path

    def created_files(self) -> tuple[str, ...]:
        """Every path that the run made and that is there now."""
        self._bring_ledger_up_to_date()
        return self._ledger.created()

    def git_aliases(self) -> Mapping[str, str]:
        """Aliases as git itself reads them for a command, includes followed."""
        if self._aliases is None:
            result = self._git.run("config", "--includes", "-z", "--get-regexp", r"^alias\.")
            self._aliases = _aliases(result.stdout) if result.exit == 0 else {}
        return self._aliases

    def _bring_ledger_up_to_date(self) -> None:
        """What the file tools wrote since the last command is not in the ledger yet."""
        if not self._scanned:
            bring_up_to_date(self._sandbox, self._ledger)
            self._scanned = True

    def _resolve(self, path: str) -> Resolved | None:
        inside = _inside(path)
        if inside not in self._resolved:
            try:
                asked = parse_path(inside)
                self._resolved[inside] = None if self._is_absent(asked) else self._sandbox.resolve(asked)
            except (FileRefused, ToolError):
                self._resolved[inside] = None
        return self._resolved[inside]

    def _is_absent(self, asked: str) -> bool:
        return asked != "." and self._absent(asked)

    def _read(self, path: str) -> str | None:
        """Where it leads and what is there are asked at once, unless the one is known."""
        inside = _inside(path)
        if inside in self._resolved:
            return self._read_resolved(self._resolved[inside])
        try:
            asked = parse_path(inside)
            if self._is_absent(asked):
                self._resolved[inside] = None
                return None
            seen = self._sandbox.look(asked, max_bytes=_MAX_TEXT_BYTES)
        except (FileRefused, ToolError):
            self._resolved[inside] = None
            return None
        self._resolved[inside] = seen.where
        return None if isinstance(seen.content, FileRefused) else _text(seen.content)

    def _read_resolved(self, found: Resolved | None) -> str | None:
        if found is None or found.kind is not EntryKind.FILE:
            return None
        try:
            return _text(self._sandbox.read(found.path, max_bytes=_MAX_TEXT_BYTES))
        except FileRefused:
            return None


def _inside(path: str) -> str:
    """The path from the root on, for one that a command may have written with it."""
    if path == _ROOT or path.startswith(_ROOT + "/"):
        return path[len(_ROOT) :].lstrip("/") or "."
    return path


def _text(content: FileContent) -> str:
    return content.data.decode("utf-8", "replace")


def _aliases(listing: bytes) -> dict[str, str]:
    """`key NL value NUL` records; a later one wins, as it does for git."""
    found: dict[str, str] = {}
    for record in listing.decode("utf-8", "surrogateescape").split("\0"):
        key, _, value = record.partition("\n")
        name = key.removeprefix("alias.")
        if key != name and name:
            found[name.lower()] = value
    return found
