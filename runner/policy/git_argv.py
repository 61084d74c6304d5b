"""git's argv, parsed as git parses it: global options, then the verb, then aliases until a real verb is reached.

Left to the gate, on purpose: plumbing that makes commits without running hooks (`commit-tree` with `update-ref`,
`fast-import`). It cannot be told from honest use by its arguments, and what leaves is judged as objects.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from runner.model.decision import Decision
from runner.model.errors import ErrorCode
from runner.model.tree import EntryKind
from runner.policy.argv_values import Call, deny_hooks, deny_program
from runner.policy.git_alias import judge_shell_alias, judge_unseen_alias, merged, split_alias
from runner.policy.git_config_keys import judge_setting
from runner.policy.git_verbs import BUILTINS, judge_verb
from runner.policy.hook_folder import into_hooks
from runner.policy.scratch import inside_workspace, judge_loaded

__all__ = ["GitCommand", "judge_git", "read_git"]

_MAX_ALIAS_STEPS = 20
_WITH_VALUE = frozenset({"--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--attr-source"})
_WITH_VALUE_ALONE = frozenset({"-C", "-c", "--shallow-file"})
_ENDS = frozenset({"--exec-path", "--html-path", "--man-path", "--info-path"})
_PATHS = frozenset({"-C", "--git-dir", "--work-tree"})
# Commands of git's own program folder that are no built-ins: git starts them before it looks at aliases.
_PROGRAMS = frozenset(
    """
    add--interactive bisect filter-branch http-fetch merge-octopus merge-one-file merge-resolve mergetool quiltimport
    request-pull submodule subtree
    """.split()
)


@dataclass(frozen=True, slots=True)
class GitCommand:
    """git's words in their parts. `verb` is None where git only prints something about itself."""

    options: tuple[tuple[str, str], ...] = ()
    verb: str | None = None
    args: tuple[str, ...] = ()
    once: dict[str, str] = field(default_factory=dict)  # aliases given with -c, by lower-case name


def read_git(words: Sequence[str]) -> GitCommand:
    """The words after `git`, in their parts. Global options are never abbreviated."""
    options: list[tuple[str, str]] = []
    index = 0
    while index < len(words):
        word = words[index]
        if not word.startswith("-"):
            return _command(options, word, words[index + 1 :])
        if word in ("--version", "-v"):
            return _command(options, "version", words[index + 1 :])
        if word in ("--help", "-h"):
            return _command(options, "help", words[index + 1 :])
        if word in _ENDS or word.startswith("--list-cmds="):
            return _command(options, None, ())
        index += 1
        name, equals, value = word.partition("=")
        if word in _WITH_VALUE or word in _WITH_VALUE_ALONE:
            value = words[index] if index < len(words) else ""
            index += 1
            options.append((word, value))
        elif equals:
            options.append((name, value))
        else:
            options.append((word, ""))
    return _command(options, None, ())


def judge_git(call: Call, words: Sequence[str]) -> Decision | None:
    """Refused when git, given these words, would push, skip hooks, or run or write what the policy does not allow."""
    command = read_git(words)
    if command.verb is not None and not _only_prints(command):
        refused = _judge_verbs(call, command)
        # A push stays a push, whatever else is wrong with the command.
        if refused is not None and refused.code is ErrorCode.GIT_PUSH_VIA_RUN_COMMAND:
            return refused
    else:
        refused = None
    held = into_hooks(words)
    if held is not None:
        return deny_hooks("git.hooks.path", f"git with the path {held!r}")
    return _judge_globals(call, command) or refused


def _command(options: list[tuple[str, str]], verb: str | None, args: Sequence[str]) -> GitCommand:
    once = {}
    for name, value in options:
        key, equals, text = value.partition("=")
        if name == "-c" and equals and key.lower().startswith("alias."):
            once[key[len("alias.") :].lower()] = text
    return GitCommand(tuple(options), verb, tuple(args), once)


def _only_prints(command: GitCommand) -> bool:
    # `git WORD --help` is `git help WORD`, aliases too; a built-in with `-h` alone prints its usage.
    return command.args[:1] == ("--help",) or (command.verb in BUILTINS and command.args == ("-h",))


def _judge_globals(call: Call, command: GitCommand) -> Decision | None:
    here = call
    for name, value in command.options:
        refused: Decision | None = None
        if name == "--exec-path":
            refused = deny_program("git.exec-path", f"{name} names a folder of programs")
        elif name == "-c":
            key, equals, text = value.partition("=")
            refused = judge_setting(call, key, text if equals else "true")
        elif name == "--config-env":
            refused = judge_setting(call, value.rpartition("=")[0], None)
        elif name in _PATHS:
            refused = _judge_path(here, name, value)
            if name == "-C" and refused is None:  # the next path counts from there
                here = replace(here, cwd=inside_workspace(here, value) or ".")
        if refused is not None:
            return refused
    if ".git" in here.cwd.split("/") and any(name == "--work-tree" for name, _ in command.options):
        return deny_hooks("git.hooks.path", f"--work-tree with -C {here.cwd}")
    return None


def _judge_path(call: Call, name: str, value: str) -> Decision | None:
    if value == "":
        return None
    inside = inside_workspace(call, value)
    if inside is None:
        return Decision.deny(
            ErrorCode.PATH_OUTSIDE_WORKSPACE,
            "git.path.outside",
            f"Refused by git.path.outside: {name} leads out of the workspace.",
            "Name a folder of the workspace, relative to its root.",
        )
    if name == "--work-tree":
        # Whatever is checked out there replaces git's own files, the hooks among them.
        return deny_hooks("git.hooks.path", f"{name} {value}") if ".git" in inside.split("/") else None
    if posixpath.basename(inside) == ".git":
        return None
    # A folder shaped like a repository brings its own config, which may name programs.
    if call.tree.kind(posixpath.join(inside, "HEAD")) is EntryKind.FILE:
        return judge_loaded(call, posixpath.join(inside, "config"), "scratch.git-dir")
    return None


def _judge_verbs(call: Call, command: GitCommand) -> Decision | None:
    """The verb judged; a word that is no built-in is judged by its name and as every alias that it leads to."""
    verb, args = command.verb or "", command.args
    elsewhere = _repository(call, command)
    seen: set[str] = set()
    while verb not in BUILTINS:
        refused = judge_verb(call, verb, args)
        if refused is not None:
            return refused
        aliases = merged(command.once, call.tree.git_aliases())
        value = aliases.get(verb.lower())
        if elsewhere is not None and verb not in _PROGRAMS and verb.lower() not in command.once:
            return judge_unseen_alias(call, verb, elsewhere)
        if value is None or verb.lower() in seen:
            return None  # git stops too: no such command, or a loop
        if len(seen) >= _MAX_ALIAS_STEPS:
            return deny_program("git.alias.depth", "the alias leads through too many others")
        seen.add(verb.lower())
        if value.lstrip().startswith("!"):
            return judge_shell_alias(call, verb, value)
        inner = read_git(split_alias(value) or [])
        refused = _judge_globals(call, inner)
        if refused is not None or inner.verb is None:
            return refused
        elsewhere = _repository(call, inner) or elsewhere
        verb, args = inner.verb, (*inner.args, *args)
    return judge_verb(call, verb, args)


def _repository(call: Call, command: GitCommand) -> str | None:
    """The config file of the repository whose aliases git reads, where that may be another than the workspace's own.

    A link can make any folder lead into another repository, so only the workspace's root counts as itself.
    """
    folder, git_dir = call.cwd, None
    for name, value in command.options:
        if name == "-C" and value:
            folder = posixpath.normpath(posixpath.join(folder, value))
        elif name == "--git-dir" and value:
            git_dir = value
        elif name == "--bare":
            git_dir = git_dir or "."
    inside = replace(call, cwd=inside_workspace(replace(call, cwd="."), folder) or ".")
    found = inside_workspace(inside, git_dir or ".git")
    return None if found == ".git" else posixpath.join(found or "/", "config")
