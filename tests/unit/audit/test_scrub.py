"""What is known to be secret is let through in none of its usual forms, and nothing else is touched."""

from __future__ import annotations

import base64
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.audit.log import AuditLog
from runner.audit.scrub import MIN_SECRET_CHARACTERS, Scrubber
from runner.policy.redaction import secrets_of


def test_a_hidden_secret_stands_in_no_line_of_the_log(tmp_path: Path) -> None:
    scrubber = Scrubber(["tok-FAKE-1234"])
    log = AuditLog(tmp_path / "audit.jsonl", "run1", lambda: "2026-01-01T00:00:00.000+00:00", scrubber)
    scrubber.hide("a/b=c+d&e", "short")
    log.append("other", {"address": "https://u:a%2Fb%3Dc%2Bd%26e@host/"})
    log.append("decision", {"argv": ["git", "-c", "x=tok-FAKE-1234y"], "facts": {"tok-FAKE-1234": 1}, "w": "short"})
    log.close()
    text = log.path.read_text()
    assert "u:***@host" in text
    assert ("tok-FAKE-1234" in text, "x=***y" in text, "short" in text) == (False, True, True)


@given(st.text(min_size=MIN_SECRET_CHARACTERS), st.text(), st.text())
def test_no_form_of_a_secret_is_let_through(secret: str, before: str, after: str) -> None:
    scrubber = Scrubber([secret])
    data = secret.encode()
    percent = "".join(f"%{byte:02x}" for byte in data)
    for form in (secret, base64.b64encode(data).decode(), data.hex(), data.hex().upper(), percent, percent.upper()):
        told = scrubber.value({"a": [before + form + after], before + form: None})
        assert form.rstrip("=") not in json.dumps(told, ensure_ascii=False).replace(scrubber.text(before + after), "")


@pytest.mark.parametrize("before", ["", "x", "ab", "git:", "x-access-token:"])
@pytest.mark.parametrize("after", ["", "\n", "@host", ":end"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_token_in_basic_auth_is_hidden_wherever_it_lies_in_the_encoded(
    before: str, after: str, encode: Callable[[bytes], bytes]
) -> None:
    token = "ghp_tok~en?FAKE>1234"
    header = encode(f"{before}{token}{after}".encode()).decode()
    told = Scrubber([token]).text(f"Authorization: Basic {header}")
    assert "***" in told and len(told.removeprefix("Authorization: Basic ")) < len(header)
    left = told.removeprefix("Authorization: Basic ").split("***")
    # A digit at each end is shared with a neighbour; the rest of the token is gone.
    assert sum(map(len, left)) <= -(-len(before) * 4 // 3) + -(-len(after) * 4 // 3) + 6


@pytest.mark.parametrize(
    "text",
    ["a%2fb%3dc+d&e-1", "a%2Fb%3Dc%2bd%26e%2D1", "%61/b=%63+d&e-1", "%61%2f%62%3d%63%2b%64%26%65%2d%31"],
)
def test_a_secret_is_hidden_whichever_of_its_characters_are_percent_encoded(text: str) -> None:
    assert Scrubber(["a/b=c+d&e-1"]).value({"u": f"https://u:{text}@h/100%"}) == {"u": "https://u:***@h/100%"}


def test_a_secret_in_hexadecimal_is_hidden() -> None:
    token = "tok-FAKE-1234"
    digits = token.encode().hex()
    assert Scrubber([token]).text(f"0x{digits} {digits.upper()}") == "0x*** ***"


def test_a_secret_over_the_seam_of_two_texts_is_none() -> None:
    assert Scrubber(["one\0two-"]).value(["one", "two-"]) == ["one", "two-"]


@given(st.text(alphabet="abcdefgh", min_size=8, max_size=8), st.text(alphabet="0123456789/+=%ABCDEF ", max_size=400))
def test_a_short_secret_takes_nothing_with_it_that_is_not_its_own(secret: str, text: str) -> None:
    forms = {secret.encode().hex(), secret.encode().hex().upper()}
    assert Scrubber([secret]).text(text) == text or any(form in text for form in forms) or "%" in text


def test_a_secret_that_holds_another_leaves_nothing_over() -> None:
    assert Scrubber(["secret-1", "secret-1-and-more"]).text("x secret-1-and-more y secret-1") == "x *** y ***"


@pytest.mark.parametrize("value", [None, 1, 1.5, True, "plain", ["a", {"b": ()}], {}])
def test_what_holds_no_secret_is_let_through_as_it_is(value: Any) -> None:
    told = Scrubber(["a-secret-of-some-length"]).value(value)
    assert json.dumps(told) == json.dumps(value)


def test_lone_surrogates_are_hidden_too_and_break_nothing() -> None:
    assert Scrubber(["secret\udce9\ud800xx"]).text("-secret\udce9\ud800xx-") == "-***-"


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({"NODE_AUTH_TOKEN": "v"}, ["v"]),
        ({"npm_config__auth": "v"}, ["v"]),
        ({"db_password": "v", "AWS_SECRET_ACCESS_KEY": "w"}, ["v", "w"]),
        ({"DATABASE_URL": "postgres://u:pw@h/db"}, ["pw"]),
        ({"NODE_ENV": "test", "AUTHOR": "ada", "URL": "https://h/x:y@z", "KEYBOARD": "us"}, []),
    ],
)
def test_what_of_a_policys_env_is_secret_is_told_by_its_name_or_form(
    environment: dict[str, str], found: list[str]
) -> None:
    assert list(secrets_of(environment)) == found


@pytest.mark.parametrize("before", [65_520, 65_530, 65_535, 65_536, 131_070])
def test_a_percent_encoded_secret_is_hidden_wherever_a_long_text_is_cut(before: int) -> None:
    secret = "".join(f"%{ord(char):02x}" for char in "tok-abcdefgh")
    told = Scrubber(["tok-abcdefgh"]).text("x" * before + secret + "y" * 70_000)
    assert told == "x" * before + "***" + "y" * 70_000


def test_a_text_of_nothing_but_escapes_is_not_taken_apart_as_a_whole() -> None:
    text = "%41" * 700_000
    tracemalloc.start()
    try:
        assert Scrubber(["tok-abcdefgh"]).text(text) == text
        assert tracemalloc.get_traced_memory()[1] < 16 * len(text)
    finally:
        tracemalloc.stop()
