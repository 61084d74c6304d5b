"""From what a caller of any door says to the request of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from runner.controller.spec import MAX_DEPTH, RunRequest
from runner.model.errors import UsageError
from runner.policy.load import LoadedPolicy, load_policy, parse_policy
from runner.tools.registry import TOOLS

__all__ = ["DEFAULT_POLICY", "PolicySource", "request_of"]

DEFAULT_POLICY = "default"

PolicySource = str | Path | Mapping[str, Any] | LoadedPolicy
"""A preset's name, a policy file, the policy itself as a mapping, or one that is loaded already."""


def request_of(
    repo: str | Path | None,
    *,
    ref: str | None = None,
    depth: int | None = None,
    policy: PolicySource = DEFAULT_POLICY,
    tools: Iterable[str] | None = None,
    out: str | Path | None = None,
) -> RunRequest:
    """The request; `out` exists. `tools` None declares all.

    Raises:
        UsageError: no repository is named, a tool is unknown, `depth` is out of bounds, or `out` cannot be made.
        PolicyInvalid: the policy cannot take effect.
    """
    loaded = _policy(policy)
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


def _policy(said: PolicySource) -> LoadedPolicy:
    if isinstance(said, LoadedPolicy):
        return said
    if isinstance(said, Mapping):
        try:
            text = json.dumps(dict(said))
        except (TypeError, ValueError) as error:
            hint = "A policy is made of mappings, lists, texts, numbers and booleans."
            raise UsageError(f"the policy is no plain data: {error}", hint=hint) from None
        return parse_policy(text.encode("ascii"), source="policy")
    return load_policy(said)


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
