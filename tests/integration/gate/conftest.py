from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.gate import clone_of
from tests.support.gate_room import gate, gate_room, open_gate

__all__ = ["clone_of", "gate", "gate_room", "open_gate"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test here needs the gate's container."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.docker)
