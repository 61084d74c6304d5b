"""git in the closed world: a known verb with known options, re-emitted in one spelling that starts no program.

Aliases are expanded first, so that what runs is the verb itself. What is emitted does not depend on the repository's
configuration for pagers, external diffs, text conversion, signing and the file-system monitor. Hooks run as always.
Filters and merge drivers that the configuration names are beyond this; the closed world has no verb that sets any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from runner.model.tree import EntryKind
from runner.policy.argv_values import Call
from runner.policy.git_alias import merged, split_alias
from runner.policy.git_argv import read_git
from runner.policy.git_verbs import BUILTINS
from runner.policy.scratch import inside_workspace
from runner.policy.strict_git_options import Given, Reading, Verb, emit, read_verb
from runner.policy.strict_git_verbs import DEFAULT_SUBVERBS, SUBVERBS, VERBS, WHY_NOT
from runner.policy.strict_values import NotAllowed, closed, did_you_mean, outside

__all__ = ["GitWords", "canonical_git", "expanded", "has_known_globals"]

_MAX_ALIAS_STEPS = 20
_ALWAYS = ("--no-pager", "-c", "core.fsmonitor=false")
_IN_A_FOLDER = "safe.bareRepository=explicit"  # a folder shaped like a repository would bring its own configuration
_KEPT = ("--no-optional-locks", "--literal-pathspecs", "--no-replace-objects")
_INERT = frozenset(  # settings that change what is shown or who is named, and nothing that runs
    "color.ui core.quotepath user.name user.email log.date diff.renames merge.conflictstyle advice.detachedhead".split()
)
_PINNED = frozenset({_ALWAYS[2], _IN_A_FOLDER, *(setting for grammar in VERBS.values() for setting in grammar.pins)})
_ALL_SHOWN = frozenset(name.partition(" ")[0] for name in VERBS)
_FORMATS = frozenset({"format", "pretty"})


@dataclass(frozen=True, slots=True)
class GitWords:
    """git's words with aliases expanded: global options in order, the verb, and what follows it."""

    options: tuple[tuple[str, str], ...]
    verb: str
    args: tuple[str, ...]


def expanded(call: Call, words: Sequence[str]) -> GitWords | None:
    """The words after `git` down to a verb of git's own; None where they lead to none, or to a shell line."""
    command = read_git(words)
    options, verb, args = list(command.options), command.verb, command.args
    once = command.once
    for _ in range(_MAX_ALIAS_STEPS):
        if verb is None or verb in BUILTINS or verb in _ALL_SHOWN:
            break
        value = merged(once, call.tree.git_aliases()).get(verb.lower())
        if value is None:
            break
        inner = None if value.lstrip().startswith("!") else read_git(split_alias(value) or [])
        if inner is None or inner.verb is None:
            return None
        options.extend(inner.options)
        verb, args = inner.verb, (*inner.args, *args)
    return None if verb is None else GitWords(tuple(options), verb, tuple(args))


def canonical_git(call: Call, words: Sequence[str]) -> tuple[str, ...]:
    """The argv that runs for `git words`.

    Raises:
        NotAllowed: the verb, an option or a path is outside the closed world.
    """
    if list(words) in (["--version"], ["-v"], ["version"]):
        return ("git", "--version")
    found = expanded(call, words)
    if found is None:
        raise closed("strict.git.verb", "git without a verb of its own does nothing here", "Name a verb.")
    heads, settings, folder = _globals(call, found)
    if found.args == ("-h",) and found.verb in BUILTINS:
        return ("git", found.verb, "-h")
    name, written, args = _subverb(found.verb, found.args)
    grammar = VERBS[name]
    reading = read_verb(args, grammar)
    if name == "config":
        reading = _reads_config(call, reading)
    _check(replace(call, cwd=folder), name, grammar, reading)
    pins = [_ALWAYS[2], *grammar.pins, *((_IN_A_FOLDER,) if folder != "." else ())]
    prefix = ["git", _ALWAYS[0], *heads, *(word for setting in (*pins, *settings) for word in ("-c", setting))]
    return (*prefix, *written, *_emitted(grammar, reading))


def has_known_globals(call: Call, found: GitWords) -> bool:
    """Whether all global options are among those of the closed world."""
    try:
        _globals(call, found)
    except NotAllowed:
        return False
    return True


def _globals(call: Call, found: GitWords) -> tuple[list[str], list[str], str]:
    """The global options as they are kept, the inert settings among them, and the folder that git starts in."""
    heads: list[str] = []
    settings: list[str] = []
    folder = "."
    for name, value in found.options:
        if name == "-C":
            folder = _folder(call, folder, value)
            heads.extend(("-C", value) if value else ())
        elif name in _KEPT and not value:
            heads.append(name)
        elif name == "-c" and value in _PINNED:
            continue
        elif name == "-c" and value.partition("=")[0].lower() in _INERT:
            settings.append(value)
        elif name not in ("--no-pager", "-P"):
            shown = f"{name} {value.partition('=')[0]}" if name == "-c" else name
            raise closed(
                "strict.git.global", f"global option {shown[:80]!r} is not known", did_you_mean(name, (*_KEPT, "-C"))
            )
    return heads, settings, folder


def _folder(call: Call, base: str, value: str) -> str:
    if value == "":
        return base
    inside = inside_workspace(replace(call, cwd=base), value)
    if inside is None:
        raise outside("strict.git.path", value)
    parts = [] if inside == "." else inside.split("/")
    for depth in range(1, len(parts) + 1):
        above = "/".join(parts[:depth])
        if call.tree.kind(f"{above}/.git") is not None or call.tree.kind(f"{above}/HEAD") is EntryKind.FILE:
            raise closed("strict.git.folder", f"{above[:80]!r} is a repository of its own", "Work in the clone itself.")
    return inside


def _subverb(verb: str, args: tuple[str, ...]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The grammar's name, the words that name it to git, and the words that are left."""
    if verb in SUBVERBS:
        first = args[0] if args else ""
        # `git stash WORD` never means `git stash push WORD`; `git reflog main` is `git reflog show main`.
        if first in SUBVERBS[verb] or (first and not first.startswith("-") and verb != "reflog"):
            sub, args = first, args[1:]
        else:
            sub = DEFAULT_SUBVERBS.get(verb, "list")
        name = f"{verb} {sub}".rstrip()
        if name not in VERBS:
            known = [other.partition(" ")[2] for other in VERBS if other.startswith(f"{verb} ")]
            raise closed(
                "strict.git.verb", f"git {verb} {first[:80]} is not among the verbs", did_you_mean(first, known)
            )
        return name, tuple(word for word in (verb, sub) if word), args
    if verb not in VERBS:
        hint = WHY_NOT.get(verb) or did_you_mean(verb, _ALL_SHOWN, dashes="git ")
        raise closed("strict.git.verb", f"git {verb[:80]} is not among the verbs", hint)
    return verb, (verb,), args


def _reads_config(call: Call, reading: Reading) -> Reading:
    """The same with its action spelled out; `git config KEY` reads, every other form has to say so."""
    actions = {"list", "get", "get-all", "get-regexp"}
    given = [part for part in reading.options if part.option.name in actions]
    operands = len(reading.operands)
    if not given and operands == 1:
        get = Given(VERBS["config"].by_name["get"])
        return Reading((get, *reading.parts), reading.after)
    if not given and operands == 2 and call.phase == "setup":
        return reading  # which settings may be made was judged before
    if len(given) != 1 or bool(operands) == (given[0].option.name == "list"):
        raise closed("strict.git.config", "git config is for reading here", "Use git config --get KEY, or --list.")
    return reading


def _check(call: Call, name: str, grammar: Verb, reading: Reading) -> None:
    operands = reading.operands
    if grammar.most is not None and len(operands) > grammar.most:
        raise closed("strict.git.operand", f"git {name} takes at most {grammar.most} words", "Leave the others out.")
    for given in reading.options:
        value = given.value or ""
        if given.option.kind == "@" and inside_workspace(call, value) is None:
            raise outside("strict.git.path", value)
        if given.option.name in _FORMATS and "%G" in value:
            raise closed("strict.git.value", "%G in a format checks signatures with a program", "Leave %G out.")
    if name == "symbolic-ref" and len(operands) != 1:
        raise closed("strict.git.operand", "git symbolic-ref is for reading here", "Name one reference.")
    for operand in operands:
        leaves = operand.startswith("/") or ".." in operand.split("/")
        if leaves and ":" not in operand and inside_workspace(call, operand) is None:
            raise outside("strict.git.path", operand)


def _emitted(grammar: Verb, reading: Reading) -> list[str]:
    words = list(grammar.forced)
    forced = {word[2:] for word in grammar.forced}
    if not reading.options:
        words.extend(grammar.usual)
    for part in reading.parts:
        if isinstance(part, Given):
            words.extend(emit(part) if part.option.name not in forced else [])
        elif not grammar.paths:
            words.append(part)
    if grammar.paths:
        return [*words, "--", *reading.operands] if reading.operands else words
    return words if reading.after is None else [*words, "--", *reading.after]
