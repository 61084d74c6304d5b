"""Typecheckers, task-graph runners and the scripts that stand for them, by every name they are started by."""

from __future__ import annotations

import posixpath
import re

__all__ = ["is_typecheck_module", "is_typecheck_program", "is_typecheck_script"]

_PROGRAMS = frozenset(
    {
        *("tsc", "_tsc", "vue-tsc", "tsgo", "ttsc", "tspc", "tsc-watch", "svelte-check", "glint", "flow"),
        *("pyright", "basedpyright"),
        *("turbo", "nx", "lage"),  # task-graph runners: they start the typecheck task themselves
    }
)
_PACKAGES = frozenset({"typescript", "turbo", "vue-tsc", "svelte-check", "nx", "lage"})
_SUFFIXES = (".js", ".cjs", ".mjs", ".cmd", ".exe", ".ps1")
_WORDS = re.compile(r"[a-z0-9]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SUBJECTS = frozenset({"type", "types", "ts", "typescript"})
_VERBS = frozenset({"check", "checks", "checker", "checking"})


def is_typecheck_program(name: str) -> bool:
    """Whether a program of this name, with or without a version, typechecks: `tsc`, `typescript@5`, `turbo@latest`."""
    base = posixpath.basename(name)
    plain = base.split("@")[0] or base
    return _stem(plain) in _PROGRAMS or plain in _PACKAGES


def is_typecheck_module(path: str) -> bool:
    """Whether loading `path` starts a typechecker: `node_modules/typescript/bin/tsc`, `typescript/lib/tsc.js`.

    A file of the repository's own that is merely called tsc is not one.
    """
    parts = posixpath.normpath(path).split("/")
    packaged = "node_modules" in parts or any(part in _PACKAGES for part in parts[:-1])
    return packaged and _stem(parts[-1]) in _PROGRAMS


def is_typecheck_script(name: str) -> bool:
    """Whether a package script of this name says that it typechecks: `typecheck`, `type-check:ci`, `check:types`."""
    words = _WORDS.findall(_CAMEL.sub("-", name).lower())
    if any(
        word in ("typecheck", "typechecks", "checktypes", "tscheck", "typescheck") or word in _PROGRAMS
        for word in words
    ):
        return True
    return any(word in _SUBJECTS for word in words) and any(word in _VERBS for word in words)


def _stem(name: str) -> str:
    for suffix in _SUFFIXES:
        if name.endswith(suffix):
            return name[: -len(suffix)]
    return name
