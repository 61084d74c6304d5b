"""Policies and what narrows them, as a file would spell both."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from runner.model.errors import PolicyInvalid
from runner.policy.document import Policy
from runner.policy.load import LoadedPolicy, parse_narrowing, parse_policy
from tests.support.argv_trees import FakeTree

__all__ = ["MadeTree", "loaded", "narrowed", "refusal"]


class MadeTree(FakeTree):
    """A tree without links, which also tells what the run made."""

    def real_path(self, path: str) -> str:
        """The path itself."""
        return path

    def created_files(self) -> tuple[str, ...]:
        """What the run made."""
        return tuple(self.created)


def loaded(base: Mapping[str, object], *files: Mapping[str, object]) -> LoadedPolicy:
    """The policy, narrowed by each of the files."""
    policy = parse_policy(json.dumps(dict(base)).encode(), source="p.yml")
    for number, file in enumerate(files, start=1):
        policy = parse_narrowing(policy, json.dumps(dict(file)).encode(), source=f"n{number}.yml")
    return policy


def narrowed(base: Mapping[str, object], *files: Mapping[str, object]) -> Policy:
    """The same without where it came from."""
    return loaded(base, *files).policy


def refusal(base: Mapping[str, object], *files: Mapping[str, object]) -> str:
    """What is said of files that do not narrow."""
    with pytest.raises(PolicyInvalid) as caught:
        loaded(base, *files)
    return caught.value.message
