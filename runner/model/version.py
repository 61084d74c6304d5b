"""The version of the package, for whatever writes it down."""

from __future__ import annotations

__all__ = ["VERSION"]

VERSION = "0.1.0"
