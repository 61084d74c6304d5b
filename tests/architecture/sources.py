"""The package's source as the structure tests read it: modules, their imports, and the files of the repository."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

__all__ = ["ROOT", "Module", "modules", "repository_files", "tracked_although_ignored"]

ROOT = Path(__file__).resolve().parents[2]
_NOT_OURS = frozenset({".git", ".venv", "build", "node_modules", "__pycache__", ".hypothesis"})


@dataclass(frozen=True)
class Module:
    """One module of `runner`: its dotted name, its file, its syntax tree, and how many lines it has."""

    name: str
    path: Path
    tree: ast.Module
    lines: int

    @property
    def place(self) -> str:
        """The file as messages name it."""
        return str(self.path.relative_to(ROOT))

    @cached_property
    def imports(self) -> tuple[tuple[str, str], ...]:
        """Each imported module, with the name that is taken from it, empty where the module itself is."""
        return tuple(_imports(self.tree))

    def imports_from(self, *packages: str) -> bool:
        """Whether anything of one of these packages is imported, in whichever form."""
        return any(
            f"{module}.{name}.".startswith(f"{package}.") for module, name in self.imports for package in packages
        )

    def attributes(self, owner: str) -> Iterator[tuple[str, int]]:
        """Each `owner.ATTRIBUTE` that stands in the module, with its line."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == owner:
                yield node.attr, node.lineno


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package, by path."""
    return tuple(_module(path) for path in sorted((ROOT / "runner").rglob("*.py")))


def _module(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    parts = path.relative_to(ROOT).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Module(name, path, ast.parse(text), len(text.splitlines()))


@cache
def repository_files() -> tuple[Path, ...]:
    """The files that belong to the repository: tracked and not yet tracked, what git ignores left out."""
    listed = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if listed is None:  # an unpacked archive
        found = (path for path in ROOT.rglob("*") if path.is_file() and not _NOT_OURS.intersection(path.parts))
        return tuple(sorted(found))
    paths = {ROOT / name for name in listed.split("\0") if name and not name.startswith(".venv/")}
    return tuple(sorted(path for path in paths if path.is_file() and not path.is_symlink()))


def tracked_although_ignored() -> list[str]:
    """What git tracks and is told to ignore."""
    return [name for name in (_git("ls-files", "-z", "-ci", "--exclude-standard") or "").split("\0") if name]


def _git(*arguments: str) -> str | None:
    """What git says of this repository, None where there is none."""
    # A checkout of another owner is read all the same: nothing of it is run by these commands.
    command = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), *arguments]
    finished = subprocess.run(command, capture_output=True, check=False, text=True)
    return finished.stdout if finished.returncode == 0 else None
