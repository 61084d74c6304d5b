"""The canary is found in what carries it in a usual form, and in nothing that does not."""

from __future__ import annotations

import base64
import itertools
import json
import re
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.audit.canary import Canary, CanaryStream

CORE = "0123456789abcdef0123456789abcdef01234567"
CANARY = Canary(CORE)

FORMS = {
    "as it is": CANARY.token,
    "without its prefix": CORE,
    "upper case": CORE.upper(),
    "reversed": CORE[::-1],
    "hexadecimal": CORE.encode().hex(),
    "base64": base64.b64encode(CANARY.token.encode()).decode(),
    "base64 of a line": base64.b64encode(f"DEPLOY_TOKEN={CANARY.token}\n".encode()).decode(),
    "base64 for addresses": base64.urlsafe_b64encode(f"x={CANARY.token}".encode()).decode(),
}


@pytest.mark.parametrize("form", list(FORMS))
def test_each_usual_form_is_found_in_texts_bytes_and_values(form: str) -> None:
    said = f"before {FORMS[form]} after"
    for value in (said, said.encode(), {"a": [{"b": said}]}, {said: 1}, [None, 1, ("x", said)]):
        assert CANARY.within(value)
    assert CANARY.within([b"x", said.encode()]) and CANARY.within(MappingProxyType({"a": said}))


@pytest.mark.parametrize("where", range(3))
def test_it_is_found_in_long_texts_and_among_them(where: int) -> None:
    texts = ["x" * 100_000, "y", "z" * 100_000]
    assert not CANARY.within(texts)
    texts[where] += CANARY.token + texts[where]
    assert CANARY.within(texts) and CANARY.within({"content": texts}) and CANARY.within(texts[where])


def test_halves_in_two_texts_are_not_taken_for_the_whole() -> None:
    assert not CANARY.within([CORE[:20], CORE[20:], {CORE[:20]: CORE[20:]}])


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_base64_of_anything_around_it_is_found(before: bytes, after: bytes) -> None:
    assert CANARY.within(base64.b64encode(before + CORE.encode() + after))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_what_does_not_carry_it_never_raises_the_alarm(value: Any) -> None:
    assert not CANARY.within(value)


def test_neither_another_runs_token_nor_a_part_of_it_nor_a_commits_name_raises_the_alarm() -> None:
    other = Canary("f" * 40)
    for said in (CORE[:-1], CORE[1:], json.dumps([CORE[:20], CORE[20:]]), "DEPLOY_TOKEN=dpl_", "a" * 40):
        assert not CANARY.within(said) and not other.within(said)


@given(st.lists(st.integers(0, 120), max_size=8))
def test_a_token_that_is_cut_between_two_pieces_is_found(cuts: list[int]) -> None:
    whole = b"x" * 30 + CORE.encode() + b"y" * 30
    places = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    stream = CanaryStream(CANARY)
    for start, end in itertools.pairwise(places):
        stream.take(whole[start:end])
    assert stream.seen


def test_a_stream_without_it_is_quiet_and_keeps_little() -> None:
    stream = CanaryStream(CANARY)
    for _ in range(100):
        stream.take(b"0123 abcd " * 7)
    assert not stream.seen and len(stream._end) < CANARY.longest


def test_a_token_looks_like_one() -> None:
    assert re.fullmatch(r"dpl_[0-9a-f]{40}", CANARY.token)
