"""Paths and patterns that are made up of few letters, so that they meet often."""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["NAMES", "PATHS", "PATTERNS"]

NAMES = st.text(alphabet="ab.-A", min_size=1, max_size=4).filter(lambda name: name not in (".", ".."))
PATHS = st.lists(NAMES, min_size=1, max_size=5).map("/".join)
PARTS = st.one_of(
    NAMES,
    st.sampled_from(["*", "**", "*a", "a*", "*.b", "a*b", "?", "a?", "[ab]", "[a-b]A", "*a*b*", "**a"]),
)
PATTERNS = st.tuples(st.lists(PARTS, min_size=1, max_size=4).map("/".join), st.sampled_from(["", "/"])).map("".join)
"""As an author might write them; not each of them passes `check_pattern`."""
