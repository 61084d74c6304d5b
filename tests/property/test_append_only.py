from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runner.policy.append_only import decide_append

LINES = st.lists(st.sampled_from([b"a", b"b", b"", b"\r", b"ab"]), max_size=6)
CONTENT = st.tuples(LINES, st.booleans()).map(lambda parts: b"\n".join(parts[0]) + (b"\n" if parts[1] else b""))


def keeps(base: list[bytes], new: list[bytes]) -> bool:
    """The definition, spelled slowly: lines with their ends; the last may gain one."""
    if not base:
        return True
    if not new:
        return False
    same = base[0] == new[0] or (len(base) == 1 and not base[0].endswith(b"\n") and base[0] + b"\n" == new[0])
    return (same and keeps(base[1:], new[1:])) or keeps(base, new[1:])


def with_ends(content: bytes) -> list[bytes]:
    *lines, tail = content.split(b"\n")
    return [line + b"\n" for line in lines] + ([tail] if tail else [])


@given(CONTENT, CONTENT)
def test_the_linear_check_agrees_with_the_definition(base: bytes, new: bytes) -> None:
    assert decide_append(base, new).allowed == keeps(with_ends(base), with_ends(new))


@given(CONTENT, CONTENT)
def test_adding_at_the_end_is_allowed_once_the_last_line_is_ended(base: bytes, addition: bytes) -> None:
    ended = base if base.endswith(b"\n") or not base else base + b"\n"
    assert decide_append(base, ended + addition).allowed


@given(CONTENT, CONTENT, CONTENT)
def test_two_allowed_steps_are_one_allowed_step(base: bytes, middle: bytes, new: bytes) -> None:
    if decide_append(base, middle).allowed and decide_append(middle, new).allowed:
        assert decide_append(base, new).allowed


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_bytes_get_a_decision(base: bytes, new: bytes) -> None:
    assert decide_append(base, new).rule
