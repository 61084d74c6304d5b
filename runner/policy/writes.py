"""Who may write where: the write policy over one path, and whether a file that the run made may be executed.

The order of the rules, the first that applies decides:

1. `.git`, in any spelling and at any depth: denied.
2. `writeDeny`: denied.
3. The path goes through a link: denied. A file tool never writes through one.
4. Neither `writeAllow` nor `rewriteAllow` names the path: denied. With both empty, everything is.
5. The file was there when the run started, and is add-only: lines may be added, it may not be deleted.
6. The file was there when the run started: only `rewriteAllow` lets it be changed.
7. Allowed.

Nothing here looks at content, or at whether something is at the path now, so no refusal tells of either. That a file
was there at the start does show in rule 6; the rule is about just that. Whether the lines of an add-only file survive
is `append_only`'s to say, when `must_append` holds. Paths that leave the root never come here: `paths` and the
sandbox's resolution refuse them.

A policy that is narrowed is asked first, and then the reading of each file that narrows it, by the same rules. All have
to allow, and what one of them lets only be added to may only be added to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from runner.model.decision import Decision
from runner.model.errors import ErrorCode
from runner.policy.document import Policy
from runner.policy.globs import GlobSet, names_git
from runner.policy.paths import shown

__all__ = ["PathFacts", "WriteIntent", "WriteOp", "WriteRules", "decide_write", "executable_scratch", "must_append"]
__all__ += ["executable_in", "must_append_in", "within_write_globs"]

_HINT_PATTERNS = 8
"""Patterns that a hint lists; a refusal is read by a model, so it stays short."""


class WriteOp(StrEnum):
    """What a caller wants to do to a path."""

    WRITE = "write"  # create, or replace the content
    EDIT = "edit"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class WriteIntent:
    """What is asked for. `path` is what the caller wrote, for messages; the decision is about the real path."""

    op: WriteOp
    path: str


@dataclass(frozen=True, slots=True)
class PathFacts:
    """What is true of the path, from the sandbox's resolution and the ledger.

    `real_path` is root-relative with all links resolved; `via_link` says that there was one, the last part included.
    What was not there at the start is the run's own.
    """

    real_path: str
    via_link: bool
    existed_at_start: bool


class WriteRules:
    """The write section of a policy, compiled once for a run. `layers` are all that have to allow, itself first."""

    __slots__ = ("append_bound", "append_permit", "deny", "execute", "hint", "layers", "rewrite", "root_names", "write")

    def __init__(
        self, *, write: GlobSet, rewrite: GlobSet, deny: GlobSet, append_permit: GlobSet, append_bound: GlobSet
    ) -> None:
        self.write = write
        self.rewrite = rewrite
        self.deny = deny
        # Add-only both permits (a line in a file that may not be rewritten) and binds (a file that otherwise might be):
        # the first is read narrowly, the second widely.
        self.append_permit = append_permit
        self.append_bound = append_bound
        # `package.json` as a full-write path lets the run rewrite such a file in any folder, as gitignore reads it.
        # That does not make every folder where the run puts one a package whose scripts may be executed.
        self.root_names = frozenset(pattern for pattern in rewrite.patterns if _is_plain_name(pattern))
        self.execute = GlobSet.granting([p for p in rewrite.patterns if p not in self.root_names])
        self.hint = _hint(write.patterns, rewrite.patterns)
        self.layers: tuple[tuple[int, WriteRules], ...] = ((0, self),)

    @classmethod
    def compile(cls, policy: Policy) -> WriteRules:
        """The rules of the policy, whose patterns have been checked when it was loaded."""
        rules = cls._of(policy)
        for number, reading in policy.narrower:
            layer = cls._of(reading)
            rules.layers = (*rules.layers, (number, layer))
        if len(rules.layers) > 1:
            hint = _narrowed_hint([layer.hint for _, layer in rules.layers])
            for _, layer in rules.layers:
                layer.hint = hint
        return rules

    @classmethod
    def _of(cls, policy: Policy) -> WriteRules:
        return cls(
            write=GlobSet.granting(policy.write_allow),
            rewrite=GlobSet.granting(policy.rewritable),
            deny=GlobSet.denying(policy.write_deny),
            append_permit=GlobSet.granting(policy.append_only),
            append_bound=GlobSet.denying(policy.append_only),
        )


def decide_write(rules: WriteRules, intent: WriteIntent, facts: PathFacts) -> Decision:
    """Whether the write may go on, by the seven rules above. Never raises."""
    found = _decide(rules, intent, facts)
    for number, layer in rules.layers[1:]:
        if not found.allowed:
            return found
        said = _decide(layer, intent, facts).by(number)
        found = found if said.allowed and found.rule == "write.allow.append" else said
    return found


def _decide(rules: WriteRules, intent: WriteIntent, facts: PathFacts) -> Decision:
    """By these rules alone."""
    path = facts.real_path
    name = shown(intent.path)
    if names_git(path) or names_git(intent.path):  # 1
        return _deny("write.deny.git", f"{name} is in `.git`, which is never written by a tool.", rules)
    pattern = rules.deny.match(path)
    if pattern is not None:  # 2
        return _deny("write.deny.pattern", f"{name} is matched by writeDeny pattern {shown(pattern)}.", rules)
    if facts.via_link:  # 3
        return _deny("write.deny.link", f"{name} goes through a symbolic link; name the real file.", rules)
    rewritable = rules.rewrite.match(path)
    allowed = rewritable if rewritable is not None else rules.write.match(path)
    if allowed is None:  # 4
        return _deny("write.allow.none", f"{name} is matched by no writeAllow or rewriteAllow pattern.", rules)
    if not facts.existed_at_start:  # 7, the run's own file
        return Decision.allow("write.allow.created")
    if must_append_in(rules, facts):  # 5
        return _decide_add_only(intent, name)
    if rewritable is None:  # 6
        return _deny(
            "write.rewrite.none",
            f"{name} was there when the run started; writeAllow pattern {shown(allowed)} lets only new files be made.",
            rules,
        )
    return Decision.allow("write.allow.rewrite")  # 7


def must_append(rules: WriteRules, facts: PathFacts) -> bool:
    """Whether an allowed write of this path must keep all lines that the file had when the run started."""
    return any(must_append_in(layer, facts) for _, layer in rules.layers)


def must_append_in(rules: WriteRules, facts: PathFacts) -> bool:
    """The same by these rules alone, whatever narrows them."""
    if not facts.existed_at_start:
        return False
    if rules.rewrite.match(facts.real_path) is not None:
        return rules.append_bound.match(facts.real_path) is not None
    return rules.append_permit.match(facts.real_path) is not None


def executable_scratch(rules: WriteRules, path: str) -> bool:
    """Whether a file that the run made at this real path may be executed: inside the full-write paths, not denied.

    For this question a pattern that is a plain name, such as `package.json`, stands for that path at the root only.
    """
    return all(executable_in(layer, path) for _, layer in rules.layers)


def executable_in(rules: WriteRules, path: str) -> bool:
    """The same by these rules alone, whatever narrows them."""
    if names_git(path) or rules.deny.match(path) is not None:
        return False
    return path.partition("/")[0] in rules.root_names or rules.execute.match(path) is not None


def within_write_globs(rules: WriteRules, path: str) -> bool:
    """Whether the path is within the write patterns: writeAllow and rewriteAllow, less writeDeny and `.git`."""
    return all(_within(layer, path) for _, layer in rules.layers)


def _within(rules: WriteRules, path: str) -> bool:
    if names_git(path) or rules.deny.match(path) is not None:
        return False
    return rules.write.match(path) is not None or rules.rewrite.match(path) is not None


def _is_plain_name(pattern: str) -> bool:
    return not any(character in pattern for character in "/*?[")


def _decide_add_only(intent: WriteIntent, name: str) -> Decision:
    if intent.op is WriteOp.DELETE:
        return Decision.deny(
            ErrorCode.WORKSPACE_APPEND_ONLY,
            "append.delete",
            f"{name} is add-only and was there when the run started, so it may not be deleted.",
            "Keep the file; lines may be added to it.",
        )
    return Decision.allow("write.allow.append")


def _deny(rule: str, message: str, rules: WriteRules) -> Decision:
    return Decision.deny(ErrorCode.WORKSPACE_WRITE_NOT_ALLOWED, rule, message, rules.hint)


def _hint(write: tuple[str, ...], rewrite: tuple[str, ...]) -> str:
    if not write and not rewrite:
        return "This run may not write any file."
    if set(write) == set(rewrite):
        return f"Writable here: {_listed(write)}."
    return f"New files may be made at: {_listed(write)}. Files of the repository may be changed at: {_listed(rewrite)}."


def _narrowed_hint(hints: Sequence[str]) -> str:
    """What each reading would let be written, the same one said once."""
    return " Narrowed for this run: ".join(dict.fromkeys(hints))


def _listed(patterns: tuple[str, ...]) -> str:
    if not patterns:
        return "nothing"
    text = ", ".join(shown(pattern) for pattern in patterns[:_HINT_PATTERNS])
    more = len(patterns) - _HINT_PATTERNS
    return f"{text} and {more} more" if more > 0 else text
