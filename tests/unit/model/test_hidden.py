"""Which characters a reader would not see."""

from __future__ import annotations

import pytest

from runner.model.hidden import is_hidden

DEFAULT_IGNORABLE = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
"""Default_Ignorable_Code_Point of Unicode 16 (DerivedCoreProperties), code points that are not given out included."""


def test_every_code_point_that_unicode_lets_be_ignored_is_hidden() -> None:
    seen = [code for low, high in DEFAULT_IGNORABLE for code in range(low, high + 1) if not is_hidden(chr(code))]
    assert seen == []


def test_everything_that_terminals_act_on_is_hidden() -> None:
    codes = (*range(0x20), 0x7F, *range(0x80, 0xA0), 0x2028, 0x2029, 0xD800, 0xDFFF, 0xE000, 0xFFF9, 0xFFFB)
    assert [code for code in codes if not is_hidden(chr(code))] == []


@pytest.mark.parametrize("text", ["plain ~", "\u00a0\u3000", "\u00e9\u4e2d\u0628\U0001f600", "\u2010\ufffc\ufffd"])
def test_what_a_reader_sees_is_not(text: str) -> None:
    assert not any(map(is_hidden, text))
