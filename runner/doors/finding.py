"""What the doctor found of one thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `mend` is one line, and empty where nothing is to be mended or made stronger."""

    check: str
    state: Literal["ok", "warn", "fail"]
    found: str
    mend: str = ""
