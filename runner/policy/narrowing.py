"""A file that narrows a policy: of a policy's own form, and what it has may only take away.

Only the keys that are in the file count. What has an order (numbers, words, lists of hosts or programs) is compared,
and a value that would give more is a fault, never a smaller value without a word. What only a path, a branch or a
command line can settle is not compared, since no text says whether one pattern lies within another: the policy is read
once more with the file's keys in place of its own, and both readings have to allow (`effective.ASKED`). Keys that are
neither narrower nor wider, only other, may not differ; so may not a key that nobody has thought of here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from pydantic import BaseModel, model_validator

from runner.model.errors import ToolError
from runner.policy.argv import decide_argv
from runner.policy.argv_policy import setup_argv_policy
from runner.policy.argv_rule_check import require_effect_together
from runner.policy.argv_rules import ObligingTree, Rule
from runner.policy.bounded_yaml import Location
from runner.policy.document import Argv, Budget, Commit, Limits, Network, Policy, Push, Reach
from runner.policy.effective import ASKED
from runner.policy.narrower_values import COMPARED, kept_bindings

__all__ = ["JOINED", "NarrowingFile", "Widens", "narrow"]

JOINED = ("push.forbid", "version")
"""Keys that can only add a refusal, or nothing, whatever the file has."""

_FREE = frozenset({*JOINED, *ASKED} - set(COMPARED))

_OTHER = "is another than the policy's, neither narrower nor wider; leave it out, a narrowing may only take away"

_SECTIONS = (Argv, Budget, Commit, Limits, Network, Push, Reach)
_Section = TypeVar("_Section", bound=BaseModel)


class _NarrowingArgv(Argv):
    @model_validator(mode="after")
    def _each_rule_can_take_effect(self) -> Self:
        return self  # whether it can depends on the policy's preset; `narrow` asks


class NarrowingFile(Policy):
    """What a narrowing file may hold: as a policy, each value checked as there."""

    argv: _NarrowingArgv = _NarrowingArgv()


class Widens(ValueError):
    """What the file would give beyond the policy: where in the file, and in words for its author."""

    def __init__(self, faults: list[tuple[Location, str]]) -> None:
        super().__init__(faults[0][1])
        self.faults = faults


@dataclass(frozen=True, slots=True)
class _Key:
    """One key that the file has: where, its value, and the policy's."""

    place: tuple[str, ...]
    said: Any
    own: Any

    @property
    def name(self) -> str:
        return ".".join(self.place)


def narrow(policy: Policy, said: NarrowingFile, number: int) -> Policy:
    """The policy without what the file takes away. `number` is the file's, from 1, and names its refusals.

    Raises:
        Widens: a key would give more than the policy does, would change what has no narrower, or has no effect.
    """
    now = _asking(policy.narrower[-1][1], policy) if policy.narrower else policy.narrowed({}, ())
    faults = [fault for key in _keys(said, now) for fault in _faults(key)]
    faults += _rules_without_effect(policy, now, said)
    if faults:
        raise Widens(faults)
    reading = _read(now, said)
    readings = policy.narrower if _asking(now, reading) == reading else (*policy.narrower, (number, reading))
    # Other limits are other containers: kept warm, those of one request would take the place of everybody's.
    cold = {"pool": 0} if reading.limits != policy.limits else {}
    return _asking(policy, reading).narrowed(cold, readings)


def _keys(said: BaseModel, own: BaseModel, above: tuple[str, ...] = ()) -> Iterator[_Key]:
    for name, field in type(own).model_fields.items():
        if name not in said.model_fields_set:
            continue
        key = _Key((*above, field.alias or name), getattr(said, name), getattr(own, name))
        if isinstance(key.own, _SECTIONS):
            yield from _keys(key.said, key.own, key.place)
        else:
            yield key


def _faults(key: _Key) -> Iterator[tuple[Location, str]]:
    if key.name in _FREE:
        return
    compare = COMPARED.get(key.name)
    if compare is not None:
        for inner, text in compare(key.said, key.own):
            yield (*key.place, *inner), text
    elif key.said != key.own:
        yield key.place, _OTHER


def _read(now: Policy, said: NarrowingFile) -> Policy:
    """The policy with the file's keys in place of its own, and refusals of both."""
    joined: Mapping[str, Callable[[_Key], Any]] = {
        "argv.rules": lambda key: (*key.said, *key.own),
        "push.forbid": lambda key: tuple(dict.fromkeys((*key.own, *key.said))),
        "bindings": lambda key: kept_bindings(key.said, key.own),
    }
    reading = _replaced(now, said, lambda key: joined[key.name](key) if key.name in joined else key.said)
    if "write_allow" in said.model_fields_set and "rewrite_allow" not in said.model_fields_set:
        reading = reading.narrowed({"rewrite_allow": None}, ())  # absent: the same as writeAllow, here as in any policy
    return reading


def _replaced(own: _Section, said: BaseModel, value: Callable[[_Key], Any], above: tuple[str, ...] = ()) -> _Section:
    keys: dict[str, Any] = {}
    for name, field in type(own).model_fields.items():
        if name in said.model_fields_set:
            key = _Key((*above, field.alias or name), getattr(said, name), getattr(own, name))
            section = isinstance(key.own, _SECTIONS)
            keys[name] = _replaced(key.own, key.said, value, key.place) if section else value(key)
    return own.model_copy(update=keys)


def _asking(asked: Policy, rest: Policy) -> Policy:
    """`rest` with the keys of `asked` that are settled by asking (`ASKED`)."""
    names = ("write_allow", "rewrite_allow", "write_deny", "append_only", "bins", "argv")
    push = rest.push.model_copy(update={"branches": asked.push.branches})
    return rest.narrowed({**{name: getattr(asked, name) for name in names}, "push": push}, ())


def _rules_without_effect(policy: Policy, now: Policy, said: NarrowingFile) -> Iterable[tuple[Location, str]]:
    """Own rules of the file that nothing would ever come of."""
    rules = said.argv.rules
    preset = said.argv.preset if "preset" in said.argv.model_fields_set else now.argv.preset
    bins = said.bins if "bins" in said.model_fields_set else now.bins
    try:
        require_effect_together(rules, preset)
    except ValueError as error:
        yield ("argv", "rules"), str(error)
    for index, rule in enumerate(rules):
        place = ("argv", "rules", index)
        if not any(argv[0] in bins for argv in rule.examples.match):
            yield place, f"has the rule {rule.id} for programs that are not in `bins`"
        elif rule.decision == "allow" and (refused := _refused(policy, rule)) is not None:
            yield place, f"allows what {refused} of the policy refuses, and a narrowing cannot, so it has no effect"


def _refused(policy: Policy, rule: Rule) -> str | None:
    """The rule by which the policy refuses an example that the own rule matches."""
    asked = setup_argv_policy(policy)
    for argv in rule.examples.match:
        try:
            decision = decide_argv(argv, asked, ObligingTree())
        except ToolError as error:
            return error.rule
        if not decision.allowed:
            return decision.rule
    return None
