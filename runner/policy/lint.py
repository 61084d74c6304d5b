"""What is legal in a policy and may surprise its author.

Whether one pattern lies within another is not decided in general. A pattern is tried on sample paths made from it: one
whose every sample is denied, or out of reach, is told. That finds the slips that people make, not contrived ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from runner.policy.document import Policy
from runner.policy.hosts import FILE_HOST
from runner.policy.patterns import split_classes
from runner.policy.writes import WriteRules

__all__ = ["Surprise", "surprises"]

_SAMPLE_NAMES = ("q7zk", "q7zk.v3")  # names that no pattern means: only a wildcard matches them
_MAX_FOLDERS = 20
_MAX_COMPARED = 200  # patterns of one key; each is tried on all of writeDeny
_MIB_PER_GIB = 1024


@dataclass(frozen=True, slots=True)
class Surprise:
    """Something legal that may not be meant: the key, and what follows from its value."""

    key: str
    text: str


def surprises(policy: Policy, *, host_memory_mib: int | None = None) -> tuple[Surprise, ...]:
    """What is legal in the policy and may not be meant, in the order of its keys."""
    found = [*_of_patterns(policy), *_of_commands(policy), *_of_limits(policy, host_memory_mib), *_of_remotes(policy)]
    above = policy
    for number, reading in policy.narrower:
        found += (Surprise(f"narrow.{number}.{key}", text) for key, text in _of_narrowing(above, reading))
        above = reading
    return tuple(found)


def _of_narrowing(above: Policy, reading: Policy) -> Iterator[tuple[str, str]]:
    """Patterns of a narrowing that let nothing through, since what they narrow does not reach there."""
    wide, none = WriteRules.compile(above.narrowed({}, ())), "has no effect: what it narrows reaches nothing there"
    own = {"writeAllow": above.write_allow, "rewriteAllow": above.rewritable, "appendOnly": above.append_only}
    reaches = {
        "writeAllow": lambda path: wide.write.match(path) or wide.rewrite.match(path),
        "rewriteAllow": lambda path: wide.rewrite.match(path) or wide.append_permit.match(path),
        "appendOnly": lambda path: wide.write.match(path) or wide.rewrite.match(path),
    }
    named = {"writeAllow": reading.write_allow, "rewriteAllow": reading.rewrite_allow or ()}
    for key, patterns in {**named, "appendOnly": reading.append_only}.items():
        for pattern in patterns[:_MAX_COMPARED]:
            if pattern not in own[key] and not any(reaches[key](path) for path in _samples(pattern, ())):
                yield key, f"`{pattern}` {none}"
    lost = [p for p in above.append_only if p not in reading.append_only] if reading.append_only else []
    if lost:
        yield "appendOnly", f"leaves out `{lost[0]}`: where only that let lines be added, nothing may be changed now"


def _of_patterns(policy: Policy) -> Iterator[Surprise]:
    rules = WriteRules.compile(policy)
    if not policy.write_allow and not policy.rewritable:
        yield Surprise("writeAllow", "is empty: no tool writes, nothing can be committed")
    named = (("writeAllow", policy.write_allow), ("rewriteAllow", policy.rewrite_allow or ()))
    folders = [folder for _, patterns in named for folder in map(_fixed_folder, patterns) if folder]
    for key, patterns in (*named, ("appendOnly", policy.append_only)):
        if len(patterns) > _MAX_COMPARED:
            yield Surprise(key, f"has {len(patterns)} patterns; only the first {_MAX_COMPARED} were looked at here")
        for pattern in patterns[:_MAX_COMPARED]:
            samples = _samples(pattern, folders[:_MAX_FOLDERS])
            if all(rules.deny.match(path) is not None for path in samples):
                yield Surprise(key, f"`{pattern}` has no effect: writeDeny covers all of it")
            elif key == "rewriteAllow" and not any(rules.write.match(path) for path in samples):
                yield Surprise(key, f"`{pattern}` is outside writeAllow: new files may be made there all the same")
            elif key == "appendOnly" and not any(rules.write.match(p) or rules.rewrite.match(p) for p in samples):
                yield Surprise(key, f"`{pattern}` permits nothing: neither writeAllow nor rewriteAllow reaches it")


def _of_commands(policy: Policy) -> Iterator[Surprise]:
    if not policy.bins:
        yield Surprise("bins", "is empty: no command may run")
    if policy.setup == "off" and policy.network.setup.allow:
        yield Surprise("network.setup.allow", "is never used: setup is off")


def _of_limits(policy: Policy, host_memory_mib: int | None) -> Iterator[Surprise]:
    limits = policy.limits
    if limits.command_seconds > limits.run_seconds:
        yield Surprise("limits.commandSeconds", "is longer than limits.runSeconds, which ends a command first")
    if limits.file_mib > limits.workspace_mib:
        yield Surprise("limits.fileMiB", "is larger than limits.workspaceMiB, which fills up first")
    asked = limits.memory_mib + limits.workspace_mib
    if host_memory_mib is not None and asked > host_memory_mib:
        gib = host_memory_mib / _MIB_PER_GIB
        yield Surprise("limits.memoryMiB", f"and limits.workspaceMiB ask for {asked} MiB; this host has {gib:.1f} GiB")


def _of_remotes(policy: Policy) -> Iterator[Surprise]:
    if policy.bindings and not policy.push.branches:
        yield Surprise("push.branches", "is empty: nothing may be pushed, whatever the bindings say")
    for binding in policy.bindings:
        if binding.credential is None and binding.git.host != FILE_HOST:
            yield Surprise("bindings", f"{binding.git.host} has no credential: its host must take pushes from anybody")


def _fixed_folder(pattern: str) -> str:
    """The folders of a pattern before its first wildcard: `src/lib` of `src/lib/*.ts`."""
    parts = pattern.rstrip("/").split("/")
    fixed = list(takewhile(_is_plain, parts))
    return "/".join(fixed if len(fixed) < len(parts) else fixed[:-1])


def _is_plain(part: str) -> bool:
    return not any(character in part for character in "*?[")


def _samples(pattern: str, folders: Sequence[str]) -> tuple[str, ...]:
    """Paths that the pattern names, with names in the place of wildcards that nobody chose.

    A pattern that names something at any depth is tried in the folders as well.
    """
    parts = [part for part in pattern.split("/") if part]
    found = []
    for name in _SAMPLE_NAMES:
        words = [name if part == "**" else _sample_part(part, name) for part in parts]
        folder = pattern.endswith("/")
        found.append("/".join([*words, name] if folder else words))
        if "**" in parts[:-1]:
            shorter = [word for word, part in zip(words, parts, strict=True) if part != "**"]
            found.append("/".join([*shorter, name] if folder or not shorter else shorter))
    if "/" not in pattern.rstrip("/") or parts[0] == "**":
        found += [f"{folder}/{path}" for folder in folders for path in found]
    return tuple(dict.fromkeys(found))


def _sample_part(part: str, name: str) -> str:
    letters = {"*": name, "?": "q"}
    return "".join(letters.get(token, token if len(token) == 1 else _member(token)) for token in split_classes(part))


def _member(token: str) -> str:
    inner = token[1:-1]
    if inner[0] not in "!^":
        return inner[0]
    return next(letter for letter in "qjzxkv0_" if letter not in inner)
