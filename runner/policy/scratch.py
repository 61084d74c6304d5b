"""Which files a command would execute, and whether this run made them outside the full-write paths.

Names are resolved as Node resolves them: the exact file, then the extensions, then a folder's package.json `main`,
then its index. Outside the workspace only the read-only image may be executed from: /tmp, the home folder and /proc
hold nothing that was there before the run.
"""

from __future__ import annotations

import json
import posixpath
from urllib.parse import unquote

from runner.model.decision import Decision
from runner.model.tree import EntryKind
from runner.policy.argv_values import Call, deny_scratch

__all__ = ["WORKSPACE", "executed_file", "inside_workspace", "judge_file", "judge_loaded", "judge_module"]

WORKSPACE = "/workspace"
"""Where the clone is inside the container."""

_IMAGE_FOLDERS = ("/usr/", "/opt/", "/bin/", "/lib/", "/lib64/", "/etc/")
_HARMLESS_DEVICES = frozenset({"/dev/null", "/dev/stdin"})  # standard input is empty

# Node tries .js, .json and .node; the others cost a question only where nothing else matched.
_EXTENSIONS = (".js", ".json", ".node", ".mjs", ".cjs", ".ts", ".mts", ".cts")


def inside_workspace(call: Call, path: str) -> str | None:
    """The workspace-relative form of `path` as a program started in the call's folder sees it; None when outside."""
    absolute = posixpath.normpath(posixpath.join(WORKSPACE, call.cwd, path))
    absolute = "/" + absolute.lstrip("/")  # POSIX lets `//x` stay as it is
    if absolute == WORKSPACE:
        return "."
    return absolute[len(WORKSPACE) + 1 :] if absolute.startswith(WORKSPACE + "/") else None


def executed_file(call: Call, path: str) -> str | None:
    """The workspace-relative file that Node runs for the workspace-relative `path`; None when there is none."""
    kind = call.tree.kind(path)
    if kind is EntryKind.FILE:
        return path
    found = _with_extension(call, path)
    if found is None and kind is EntryKind.DIR:
        found = _main_of(call, path) or _with_extension(call, posixpath.join(path, "index"))
    return found


def judge_file(call: Call, path: str, rule: str) -> Decision | None:
    """Refused when running `path` would execute a file that this run made outside the full-write paths."""
    relative = inside_workspace(call, path)
    if relative is None:
        absolute = posixpath.normpath(posixpath.join(WORKSPACE, call.cwd, path))
        if absolute in _HARMLESS_DEVICES or ("/" + absolute.lstrip("/")).startswith(_IMAGE_FOLDERS):
            return None
        return deny_scratch(rule, path)
    file = executed_file(call, relative)
    return None if file is None else judge_loaded(call, file, rule)


def judge_loaded(call: Call, relative: str, rule: str) -> Decision | None:
    """Refused when the workspace-relative file was made by this run and may not be executed."""
    if not call.tree.created_by_run(relative) or call.policy.scratch_allowed(relative):
        return None
    return deny_scratch(rule, relative)


def judge_module(call: Call, specifier: str, rule: str) -> Decision | None:
    """Refused when the module that `specifier` names, as `require` or `import` takes it, is scratch of this run."""
    if specifier.startswith("node:"):
        return None
    path = specifier
    if specifier.startswith("file:"):
        path = unquote(specifier.removeprefix("file:").split("?")[0].split("#")[0])
    elif not specifier.startswith((".", "/")):
        # A bare name is a package; the same name as a path catches options that take either.
        found = judge_file(call, posixpath.join("node_modules", specifier), rule)
        if found is not None:
            return found
    bare = path.split("?")[0].split("#")[0]  # import specifiers are URLs, require's are paths
    return judge_file(call, path, rule) or (judge_file(call, bare, rule) if bare != path else None)


def _with_extension(call: Call, path: str) -> str | None:
    if path in (".", ".."):
        return None
    return next((path + ext for ext in _EXTENSIONS if call.tree.kind(path + ext) is EntryKind.FILE), None)


def _main_of(call: Call, folder: str) -> str | None:
    text = call.tree.read_text(posixpath.join(folder, "package.json"))
    if text is None:
        return None
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError):
        return None
    main = manifest.get("main") if isinstance(manifest, dict) else None
    if not isinstance(main, str) or not main:
        return None
    target = posixpath.normpath(posixpath.join(folder, main))
    if target == ".." or target.startswith(("../", "/")):
        return None
    if call.tree.kind(target) is EntryKind.FILE:
        return target
    return _with_extension(call, target) or _with_extension(call, posixpath.join(target, "index"))
