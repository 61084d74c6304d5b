"""A run in the test's own process, for cases that a subprocess can't see: threads, descriptors, calls side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from runner.app import compose
from runner.controller.run import Run, open_run
from runner.controller.spec import RunRequest
from runner.policy.load import parse_policy
from runner.settings import Settings
from runner.tools.registry import TOOLS

__all__ = ["open_here"]


@contextmanager
def open_here(
    repo: Path, policy: Mapping[str, Any], *, ref: str | None = "agent/x1", environment: Mapping[str, str] | None = None
) -> Iterator[Run]:
    """An open run under the policy document, on the real engine."""
    loaded = parse_policy(yaml.safe_dump(dict(policy)).encode(), source="test")
    request = RunRequest(str(repo), ref, loaded, frozenset(TOOLS), None)
    with compose(Settings.from_environment(environment)) as host, open_run(host, request, lambda _line: None) as run:
        yield run
        run.completed()
