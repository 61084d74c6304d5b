"""Answers of the runner, as the judges of the demo get them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from examples.session import Answer
from examples.verdict import Scene

CANARY = "canary-0123456789abcdef"

MakeAnswer = Callable[..., Answer]
MakeScene = Callable[..., Scene]


def _refusal(code: str, rule: str = "") -> Answer:
    return Answer(False, None, {"code": code, "message": code, "details": {"rule": rule} if rule else {}})


def _command(facts: Any = None, **changes: Any) -> Answer:
    stdout = "" if facts is None else json.dumps(facts) + "\n"
    result = {"code": 0, "stdout": stdout, "stderr": "", "truncated": False, "timed_out": False, "killed_by": None}
    return Answer(True, {**result, **changes})


def _scene(*answers: Answer, **seen: Any) -> Scene:
    return Scene(answers, CANARY, **seen)


@pytest.fixture
def refusal() -> MakeAnswer:
    """refusal(code, rule) → a refused call."""
    return _refusal


@pytest.fixture
def command() -> MakeAnswer:
    """command(facts, **changes) → a command that printed these facts and ended with 0, or otherwise as changed."""
    return _command


@pytest.fixture
def scene() -> MakeScene:
    """scene(*answers, **what the host saw)."""
    return _scene
