"""Which of two values of a policy's key is narrower, key by key, and what is said of one that is wider."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from runner.policy.bounded_yaml import Location
from runner.policy.document import Binding, Budget, Limits
from runner.policy.hosts import is_within

__all__ = ["COMPARED", "kept_bindings"]

_ONLY = "a narrowing may only take away"
_MAX_NAMED = 8
Faults = Iterator[tuple[Location, str]]
Compare = Callable[[Any, Any], Faults]


def _at_most(said: float | None, own: float | None) -> Faults:
    """A number, or null for no bound at all."""
    if own is None or (said is not None and said <= own):
        return
    text = "null" if said is None else str(said)
    yield (), f"is {text}, and the policy has {own}; {_ONLY}: write at most {own}, or leave it out"


def _not_before(order: Sequence[object], said: object, own: object) -> Faults:
    """One of few words, from the widest to the narrowest."""
    if order.index(said) < order.index(own):
        yield (), f"is {_word(said)}, and the policy has {_word(own)}; {_ONLY}: write {_word(own)}, or leave it out"


def _some_of(said: Sequence[str], own: Sequence[str]) -> Faults:
    for index, name in enumerate(said):
        if name not in own:
            yield (index,), f"is {name}, which the policy does not have; {_ONLY}: expected some of {_listed(own)}"


def _reached(said: Sequence[str], own: Sequence[str]) -> Faults:
    for index, entry in enumerate(said):
        if not is_within(entry, own):
            yield (index,), f"is {entry}, which lies in no entry of the policy; {_ONLY}: it may reach {_listed(own)}"


def _set_up(said: object, own: object) -> Faults:
    if said not in ("off", own):
        yield (), f"is another than the policy's; {_ONLY}: write off, or leave it out"


def _bound_hosts(said: Sequence[Binding], own: Sequence[Binding]) -> Faults:
    """Hosts of the policy; what is said of one beyond its name has to be as there. Nothing of a binding is repeated."""
    by_host = {binding.git.host: binding for binding in own}
    kept = {binding.git.host for binding in said}
    for index, binding in enumerate(said):
        same = by_host.get(binding.git.host)
        if same is None:
            yield (index,), f"binds a host that the policy does not bind; {_ONLY}"
        elif not _as_there(binding, same):
            yield (index,), "has another address or credential than the policy's; name the host alone: {git: {host: …}}"
        elif any(before not in kept for before in _shadowing(binding.git.host, own)):
            # The first of them speaks for the host: without it, another credential would go where that one went.
            yield (index,), "comes behind another binding of this host in the policy, which has to be kept with it"


def _as_there(binding: Binding, same: Binding) -> bool:
    git = all(getattr(binding.git, name) == getattr(same.git, name) for name in binding.git.model_fields_set)
    return git and ("credential" not in binding.model_fields_set or binding.credential == same.credential)


def _shadowing(host: str, own: Sequence[Binding]) -> Iterator[str]:
    """The hosts of earlier bindings that may be the same host under another port."""
    for binding in own:
        if binding.git.host == host:
            return
        if binding.git.host.partition(":")[0] == host.partition(":")[0]:
            yield binding.git.host


def kept_bindings(said: Sequence[Binding], own: Sequence[Binding]) -> tuple[Binding, ...]:
    """The policy's own bindings of the hosts that are named, as they are and in its order."""
    kept = {binding.git.host for binding in said}
    return tuple(binding for binding in own if binding.git.host in kept)


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(names[:_MAX_NAMED]) + more if names else "nothing"


def _numbers() -> Iterator[str]:
    for section, model in (("budget", Budget), ("limits", Limits)):
        for name, field in model.model_fields.items():
            yield f"{section}.{field.alias or name}"
    yield from ("push.maxCommits", "push.maxMiB")


COMPARED: Mapping[str, Compare] = {
    **dict.fromkeys(_numbers(), _at_most),
    "argv.preset": partial(_not_before, ("default", "strict")),
    "commandWrites": partial(_not_before, ("report", "revert")),
    "requireRuntime": partial(_not_before, (False, True)),
    "bins": _some_of,
    "network.setup.allow": _reached,
    "network.run.allow": _reached,
    "setup": _set_up,
    "bindings": _bound_hosts,
}
"""What a key's two values are compared by: each fault with its place within the value. A key that is not here, and that
`narrowing` does not ask or join, may not differ at all."""
