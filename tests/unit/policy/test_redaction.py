"""What an audit log keeps of a call's arguments: what decisions read, within bounds, and digests of the rest."""

from __future__ import annotations

import hashlib

import pytest

from runner.policy.redaction import MAX_KEPT_BYTES, digest_of, is_digest, redact_arguments


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("path", "src/a"), ("path", None), ("path", "x" * MAX_KEPT_BYTES), ("argv", ["git", "log"]), ("argv", [])),
        *(("args", "status"), ("globs", ("a", "b")), ("pattern", "a.*"), ("argv", ["x" * (MAX_KEPT_BYTES - 4)])),
        *(("startLine", 3), ("limit", None), ("maxResults", 1), ("ignoreCase", True), ("regex", False)),
        ("replaceAll", True),
    ],
)
def test_what_decisions_read_is_kept_as_it_is(name: str, value: object) -> None:
    assert redact_arguments({name: value}) == {name: value}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("content", "x"), ("message", "x"), ("PATH", "x"), ("limit", "x"), ("limit", 1.5), ("regex", [True])),
        *(("path", 7), ("path", {"a": 1}), ("argv", ["git", 7]), ("argv", ["git", None])),
        *(("path", "x" * (MAX_KEPT_BYTES + 1)), ("argv", ["x" * (MAX_KEPT_BYTES - 3)])),
        ("argv", [""] * (MAX_KEPT_BYTES // 4 + 1)),
    ],
)
def test_everything_else_is_a_digest(name: str, value: object) -> None:
    assert redact_arguments({name: value}) == {name: digest_of(value)}


def test_a_digest_is_of_the_text_itself_and_of_the_canonical_json_of_anything_else() -> None:
    assert digest_of("é") == {"sha256": hashlib.sha256("é".encode()).hexdigest(), "bytes": 2}
    assert digest_of({"b": 1, "a": [2, 3]}) == digest_of('{"a":[2,3],"b":1}')
    assert digest_of("\ud800")["bytes"] == 3


@pytest.mark.parametrize("piece", ["x", "é", "\U0001f600", "\ud800"])
def test_the_digest_of_a_long_text_is_that_of_the_whole(piece: str) -> None:
    whole = (piece * 70_000).encode("utf-8", "surrogatepass")
    assert digest_of(piece * 70_000) == {"sha256": hashlib.sha256(whole).hexdigest(), "bytes": len(whole)}


def test_a_digest_is_known_by_its_two_keys() -> None:
    assert is_digest(digest_of("x"))
    for other in ({}, {"sha256": "x"}, {"sha256": "x", "bytes": 1, "more": 2}, ["sha256", "bytes"], "x", None):
        assert not is_digest(other)


def test_a_call_keeps_twenty_fields_and_sixty_four_characters_of_a_name() -> None:
    assert len(redact_arguments({f"f{number}": "x" for number in range(21)})) == 20
    assert list(redact_arguments({"n" * 65: "x"})) == ["n" * 64]
    assert redact_arguments(["x"]) == digest_of(["x"])
