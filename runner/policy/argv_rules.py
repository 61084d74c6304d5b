"""Own rules for command lines: data in the policy, read in order, the first that matches decides.

`match` is a list of patterns over the words of the argv, or, for git, over its verb and what follows it, with global
options taken off and aliases expanded. In a pattern `*` stands for any text within one word; a pattern that is `**`
stands for any number of words; `{any: [a, b]}` for one of several. No pattern is a regular expression.

A rule that denies decides before everything else. A rule that allows never switches off what the contract refuses:
it opens what the preset `strict` closes, and is an exception to the own rules behind it. Every rule carries examples
of what it matches and what it does not, and a rule that contradicts them is refused when the policy loads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from runner.model.decision import Decision
from runner.model.errors import ErrorCode
from runner.model.tree import EntryKind
from runner.policy import fields
from runner.policy.argv_values import ArgvPolicy, Call
from runner.policy.builtin_rules import BUILTIN_RULES, BuiltinRule
from runner.policy.strict_git import canonical_git, expanded, has_known_globals
from runner.policy.strict_values import NotAllowed

__all__ = [
    "BUILTIN_RULES",
    "MAX_RULES",
    "AnyOf",
    "BuiltinRule",
    "Examples",
    "GitMatch",
    "GitVerb",
    "ObligingTree",
    "Rule",
    "first_match",
    "matches",
]

MAX_RULES = 200
"""Each command is compared with all of them."""
_MAX_PATTERNS = 32
_MAX_EXAMPLES = 50
_MAX_WORDS = 200
_LONGEST_WORD = 2000

_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_HINT = "The policy of this run has a rule of its own here; do it another way."
_TUPLE = BeforeValidator(fields.as_tuple)


def _kebab(value: str) -> str:
    if _ID.fullmatch(value) is None or len(value) > 60:
        raise ValueError("is no id; expected words of lower-case letters and digits with dashes, such as no-stash")
    return value


def _sentence(value: str) -> str:
    if not value.strip() or not value.isprintable() or len(value) > 300:
        raise ValueError("is empty, longer than 300 characters, or has a control character; expected a sentence")
    return value


def _word(value: str) -> str:
    if "\0" in value or len(value) > _LONGEST_WORD or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ValueError("is no word that a program can be given")
    return value


def _pattern(value: str) -> str:
    if "**" in value and value != "**":
        raise ValueError("has `**` within a word; `**` stands alone and means any number of words, `*` any text")
    return _word(value)


def _shape(value: Any) -> str:
    return "words" if isinstance(value, list | tuple | str) else "parsed"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


_Pattern = Annotated[str, AfterValidator(_pattern)]


class AnyOf(_Part):
    """One word that one of these patterns matches."""

    any: Annotated[tuple[_Pattern, ...], _TUPLE, Field(min_length=1, max_length=_MAX_PATTERNS)]

    @model_validator(mode="after")
    def _each_is_one_word(self) -> Self:
        if "**" in self.any:
            raise ValueError("has `**`, which is no single word; expected words, or `*` in one")
        return self


_Token = Annotated[Annotated[_Pattern, Tag("words")] | Annotated[AnyOf, Tag("parsed")], Discriminator(_shape)]
_Tokens = Annotated[tuple[_Token, ...], _TUPLE, Field(min_length=1, max_length=_MAX_PATTERNS)]
_Argv = Annotated[tuple[Annotated[str, AfterValidator(_word)], ...], _TUPLE, Field(min_length=1, max_length=_MAX_WORDS)]
_Argvs = Annotated[tuple[_Argv, ...], _TUPLE, Field(min_length=1, max_length=_MAX_EXAMPLES)]


class GitVerb(_Part):
    """A verb of git, however it was reached, and what follows it; `args` left out means anything."""

    verb: _Token
    args: Annotated[tuple[_Token, ...], _TUPLE, Field(max_length=_MAX_PATTERNS)] = ("**",)


class GitMatch(_Part):
    """A pattern over git's parsed words."""

    git: GitVerb


_Match = Annotated[Annotated[_Tokens, Tag("words")] | Annotated[GitMatch, Tag("parsed")], Discriminator(_shape)]


class Examples(_Part):
    """Command lines that the rule matches, and near misses that it does not. Both are tried when the policy loads."""

    match: _Argvs
    no_match: _Argvs = Field(alias="noMatch")


class Rule(_Part):
    """One rule. `code` belongs to a rule that denies; left out, it is bin_not_allowlisted."""

    id: Annotated[str, AfterValidator(_kebab)]
    reason: Annotated[str, AfterValidator(_sentence)]
    match: _Match
    decision: Literal["deny", "allow"]
    code: (
        Literal[
            "bin_not_allowlisted",
            "git_push_via_run_command",
            "git_hooks_skip_refused",
            "direct_typecheck_refused",
            "scratch_execution_refused",
        ]
        | None
    ) = None
    message: Annotated[str, AfterValidator(_sentence)] | None = None
    hint: Annotated[str, AfterValidator(_sentence)] | None = None
    examples: Examples

    @model_validator(mode="after")
    def _is_whole_and_does_what_its_examples_say(self) -> Self:
        if self.decision == "allow" and (self.code, self.message, self.hint) != (None, None, None):
            raise ValueError("allows, and has a code, message or hint; those belong to a rule that denies")
        for argv in self.examples.match:
            if not matches(self, _example_call(), argv):
                raise ValueError(f"does not match its own example {_shown(argv)}")
        for argv in self.examples.no_match:
            if matches(self, _example_call(), argv):
                raise ValueError(f"matches {_shown(argv)}, which it says it does not")
        return self

    @property
    def rule(self) -> str:
        """The id that decisions carry."""
        return f"own.{self.id}"

    def refusal(self) -> Decision:
        """The decision of this rule when it denies."""
        code = ErrorCode(self.code or "bin_not_allowlisted")
        text = (self.message or self.reason).rstrip(".")
        return Decision.deny(code, self.rule, f"Refused by {self.rule}: {text}.", self.hint or _HINT)


class ObligingTree:
    """A tree where every file is there and nothing was made by the run: what examples are judged over."""

    def kind(self, path: str) -> EntryKind | None:
        """Always a file, but never a repository."""
        return None if path.endswith(("/.git", "/HEAD")) else EntryKind.FILE

    def read_text(self, path: str) -> str | None:
        """Nothing."""
        return None

    def created_by_run(self, path: str) -> bool:
        """Never."""
        return False

    def changed_by_run(self, path: str) -> bool:
        """Never."""
        return False

    def git_aliases(self) -> dict[str, str]:
        """None."""
        return {}


def first_match(rules: Sequence[Rule], call: Call, words: Sequence[str]) -> Rule | None:
    """The first of the rules that matches the argv."""
    return next((rule for rule in rules if matches(rule, call, words)), None)


def matches(rule: Rule, call: Call, words: Sequence[str]) -> bool:
    """Whether the rule matches the argv.

    git's words are tried as written, and where the closed world can read them also with abbreviations spelled out. A
    rule that allows a verb allows no global options that the closed world does not know.
    """
    if not isinstance(rule.match, GitMatch):
        return _all_match(rule.match, words)
    if words[0] != "git":
        return False
    wanted = (rule.match.git.verb, *rule.match.git.args)
    found = expanded(call, words[1:])
    if found is None or (rule.decision == "allow" and not has_known_globals(call, found)):
        return False
    return _all_match(wanted, (found.verb, *found.args)) or _all_match(wanted, _in_full(call, words))


def _in_full(call: Call, words: Sequence[str]) -> tuple[str, ...]:
    """The verb of git and what follows it in the canonical spelling; empty where the closed world cannot read it."""
    try:
        found = expanded(call, canonical_git(call, words[1:])[1:])
    except NotAllowed:
        return ()
    return () if found is None else (found.verb, *found.args)


def _all_match(patterns: Sequence[str | AnyOf], words: Sequence[str]) -> bool:
    """Greedy, with one step back to the latest `**`: never more than patterns times words comparisons."""
    at = word = 0
    resume: tuple[int, int] | None = None
    while word < len(words):
        if at < len(patterns) and patterns[at] == "**":
            resume, at = (at, word), at + 1
        elif at < len(patterns) and _matches_word(patterns[at], words[word]):
            at, word = at + 1, word + 1
        elif resume is not None:
            resume = (resume[0], resume[1] + 1)
            at, word = resume[0] + 1, resume[1]
        else:
            return False
    return all(pattern == "**" for pattern in patterns[at:])


def _matches_word(pattern: str | AnyOf, word: str) -> bool:
    if isinstance(pattern, AnyOf):
        return any(_glob(one, word) for one in pattern.any)
    return _glob(pattern, word)


def _glob(pattern: str, word: str) -> bool:
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == word
    last = rest.pop()
    if not word.startswith(first) or not word.endswith(last) or len(word) < len(first) + len(last):
        return False
    at, end = len(first), len(word) - len(last)
    for part in rest:
        found = word.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _example_call() -> Call:
    everything = ArgvPolicy(frozenset(), "verify", lambda _path: True)
    return Call(everything, ObligingTree(), lambda _call, _words: None)


def _shown(argv: Sequence[str]) -> str:
    return ascii(list(argv))[:120]
