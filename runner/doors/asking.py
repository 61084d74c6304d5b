"""From what a caller of any door says to the request of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.controller.spec import MAX_DEPTH, RunRequest
from runner.model.errors import UsageError
from runner.policy.load import LoadedPolicy, load_narrowing, load_policy, parse_narrowing, parse_policy
from runner.tools.registry import TOOLS

__all__ = ["DEFAULT_POLICY", "NarrowSource", "PolicySource", "loaded_policy", "request_of"]

DEFAULT_POLICY = "default"

PolicySource = str | Path | Mapping[str, Any] | LoadedPolicy
"""A preset's name, a policy file, the policy itself as a mapping, or one that is loaded already."""

NarrowSource = str | Path | bytes | Mapping[str, Any]
"""What narrows a policy: a file, a preset's name, the text of one as bytes, or its keys as a mapping."""


def request_of(
    repo: str | Path | None,
    *,
    ref: str | None = None,
    depth: int | None = None,
    policy: PolicySource = DEFAULT_POLICY,
    narrow: Sequence[NarrowSource] | None = None,
    tools: Iterable[str] | None = None,
    out: str | Path | None = None,
) -> RunRequest:
    """The request; `out` exists. `tools` None declares all. Each of `narrow` takes away from the policy, in its order.

    Raises:
        UsageError: no repository is named, a tool is unknown, `depth` is out of bounds, or `out` cannot be made.
        PolicyInvalid: the policy cannot take effect, or what is to narrow it would widen it.
    """
    loaded = loaded_policy(policy, narrow)
    if repo is None and not any(binding.git.repo for binding in loaded.policy.bindings):
        hint = "Pass --repo ADDRESS-OR-PATH, or name one in a binding's git.repo."
        raise UsageError("no repository is named", hint=hint)
    if depth is not None and not 1 <= depth <= MAX_DEPTH:
        raise UsageError(f"depth {depth} is out of bounds", hint=f"Say 1 to {MAX_DEPTH}, or leave it out for all.")
    return RunRequest(
        repository=None if repo is None else str(repo),
        ref=ref,
        policy=loaded,
        tools=_declared(tools),
        out=_folder(out),
        depth=depth,
    )


def loaded_policy(policy: PolicySource, narrow: Sequence[NarrowSource] | None = None) -> LoadedPolicy:
    """The policy, with what each of `narrow` takes away.

    Raises:
        UsageError: what was given is no plain data.
        PolicyInvalid: the policy cannot take effect, or what is to narrow it would widen it.
    """
    if isinstance(narrow, str | bytes | Mapping):  # each of their letters, or keys, would be taken for a file
        raise UsageError("`narrow` is no list", hint="Give a list, as in narrow=[FILE].")
    loaded = _policy(policy)
    for number, source in enumerate(narrow or (), start=1):
        loaded = _narrowed(loaded, source, f"narrow {number}")
    return loaded


def _narrowed(loaded: LoadedPolicy, said: NarrowSource, name: str) -> LoadedPolicy:
    if isinstance(said, bytes):
        return parse_narrowing(loaded, said, source=name)
    if isinstance(said, Mapping):
        return parse_narrowing(loaded, _text(said), source=name)
    return load_narrowing(loaded, said)


def _policy(said: PolicySource) -> LoadedPolicy:
    if isinstance(said, LoadedPolicy):
        return said
    if isinstance(said, Mapping):
        return parse_policy(_text(said), source="policy")
    return load_policy(said)


def _text(said: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(dict(said)).encode("ascii")
    except (TypeError, ValueError) as error:
        hint = "A policy is made of mappings, lists, texts, numbers and booleans."
        raise UsageError(f"the policy is no plain data: {error}", hint=hint) from None


def _declared(tools: Iterable[str] | None) -> frozenset[str]:
    declared = frozenset(TOOLS if tools is None else tools)
    unknown = sorted(declared - set(TOOLS))
    if unknown:
        raise UsageError(f"there is no tool {unknown[0][:100]!r}", hint=f"The tools: {', '.join(TOOLS)}.")
    return declared


def _folder(out: str | Path | None) -> Path | None:
    if out is None:
        return None
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out} cannot be made: {error.strerror}", hint="Name another folder.") from error
    return folder
