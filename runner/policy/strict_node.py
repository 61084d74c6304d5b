"""node in the closed world: a file, or tests, that were in the clone and are unchanged, or lie in the full-write paths.

No program in the arguments or on standard input, nothing preloaded, no inspector, no file of variables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from runner.model.tree import EntryKind
from runner.policy.argv_values import Call, deny_scratch
from runner.policy.node_argv import NodeCommand, read_node
from runner.policy.scratch import executed_file, inside_workspace
from runner.policy.strict_values import NotAllowed, closed, did_you_mean, outside

__all__ = ["canonical_node"]

_FLAGS = frozenset(
    {
        *("--test", "--check", "--test-only", "--experimental-test-coverage", "--enable-source-maps", "--no-warnings"),
        *("--no-deprecation", "--trace-warnings", "--trace-uncaught", "--trace-deprecation", "--throw-deprecation"),
        *("--experimental-strip-types", "--experimental-transform-types", "--experimental-test-module-mocks"),
        *("--expose-gc", "--test-force-exit", "--test-update-snapshots"),
    }
)
_VALUED = {
    "--test-name-pattern": None,
    "--test-skip-pattern": None,
    "--test-reporter": re.compile("spec|tap|dot|junit|lcov"),
    "--test-concurrency": re.compile(r"\d{1,4}"),
    "--test-timeout": re.compile(r"\d{1,9}"),
    "--test-isolation": re.compile("none|process"),
    "--test-shard": re.compile(r"\d{1,4}/\d{1,4}"),
    "--unhandled-rejections": re.compile("strict|warn|none|throw|warn-with-error-codes"),
    "--max-old-space-size": re.compile(r"\d{1,6}"),
    "--stack-trace-limit": re.compile(r"\d{1,4}"),
}
_KNOWN = [name[2:] for name in (*_FLAGS, *_VALUED)]


def canonical_node(call: Call, words: Sequence[str]) -> tuple[str, ...]:
    """The argv that runs for `node words`.

    Raises:
        NotAllowed: an option or a file is outside the closed world.
    """
    if list(words) in (["--version"], ["-v"]):
        return ("node", "--version")
    command = read_node(list(words))
    if list(words[:1]) in (["inspect"], ["debug"]):
        raise closed("strict.node.option", "node inspect waits for a debugger", "Run the file itself.")
    options = [_option(name, value) for name, value in command.options]
    if command.has("--test"):
        return ("node", *options, *_tests(call, command))
    if command.script is None:
        raise closed("strict.node.file", "node without a file takes its program from elsewhere", "Name a file.")
    return ("node", *options, _file(call, command.script), *command.rest)


def _option(name: str, value: str) -> str:
    if name in _FLAGS and not value:
        return name
    if name not in _VALUED:
        hint = "Write the program to a file in the full-write paths and run that."
        inline = name in ("--eval", "--print")
        raise closed(
            "strict.node.option",
            f"node option {name[:80]} is not known",
            hint if inline else did_you_mean(name[2:], _KNOWN, dashes="--"),
        )
    form = _VALUED[name]
    if not value or (form is not None and form.fullmatch(value) is None):
        raise closed("strict.node.value", f"node option {name} may not have this value", f"Write {name}=VALUE.")
    return f"{name}={value}"


def _file(call: Call, path: str) -> str:
    inside = inside_workspace(call, path)
    if inside is None:
        raise outside("strict.node.path", path)
    file = executed_file(call, inside)
    if file is None:
        raise closed("strict.node.file", f"there is no file {path[:80]!r}", "Name a file of the workspace.")
    _unchanged(call, file)
    return f"./{file}" if file.startswith("-") else file


def _tests(call: Call, command: NodeCommand) -> list[str]:
    """Files, folders and globs; what they find of this run's making was judged before."""
    patterns = [] if command.script is None else [command.script, *command.rest]
    for pattern in patterns:
        inside = inside_workspace(call, pattern)
        if inside is None:
            raise outside("strict.node.path", pattern)
        if pattern.startswith("-"):
            raise closed("strict.node.option", f"{pattern[:80]!r} stands behind a file", "Put options first.")
        if call.tree.kind(inside) is EntryKind.FILE:
            _unchanged(call, inside)
    return patterns


def _unchanged(call: Call, file: str) -> None:
    changed = call.phase == "run" and (call.tree.created_by_run(file) or call.tree.changed_by_run(file))
    if changed and not call.policy.scratch_allowed(file):
        raise NotAllowed(deny_scratch("strict.node.changed", file))
