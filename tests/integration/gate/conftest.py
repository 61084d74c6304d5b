from __future__ import annotations

from tests.support.gate import clone_of, gate

__all__ = ["clone_of", "gate"]
