"""Characters that a reader does not see, or that change how others are shown."""

from __future__ import annotations

import unicodedata

__all__ = ["is_hidden"]

_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
"""What a terminal acts on, or does not show: control, format, private, surrogate, separators of lines."""

# Letters, marks and code points not given out by category, and shown as nothing or as a blank: Unicode's whole
# Default_Ignorable_Code_Point beyond the categories above, and the blank of Braille. A text can be hidden in the
# variation selectors alone.
_BLANK = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2065, 0x2065),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0xE0000, 0xE0FFF),
)


def is_hidden(character: str) -> bool:
    """Whether the character is one of them. Blanks of any width are not, being seen as such."""
    if character.isascii():
        return not (" " <= character <= "~")
    code = ord(character)
    return unicodedata.category(character) in _CATEGORIES or any(low <= code <= high for low, high in _BLANK)
