"""What is known to be secret is let through in none of its usual forms, and nothing else is touched."""

from __future__ import annotations

import base64
import json
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
    for form in (secret, base64.b64encode(secret.encode()).decode()):
        told = scrubber.value({"a": [before + form + after], before + form: None})
        assert form.rstrip("=") not in json.dumps(told, ensure_ascii=False).replace(scrubber.text(before + after), "")


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
