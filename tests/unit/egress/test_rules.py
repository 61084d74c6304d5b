"""Which hosts an allowlist reaches, and what stands next to each and is refused."""

from __future__ import annotations

import pytest

from runner.egress.rules import EgressRules, decide_connect, parse_authority
from runner.model.errors import PolicyInvalid

ROLES = {"npm": "packages.example.com", "local": "mirror:4873"}


def rules(*allow: str) -> EgressRules:
    return EgressRules.compile(allow, ROLES)


@pytest.mark.parametrize(
    ("entry", "host", "port"),
    [
        ("example.com", "example.com", 443),
        ("example.com", "EXAMPLE.com", 443),
        ("example.com", "example.com.", 443),
        ("Example.COM.", "example.com", 443),
        ("example.com:8443", "example.com", 8443),
        ("*.example.com", "a.example.com", 443),
        ("*.example.com", "a.b.example.com", 443),
        ("*.example.com:8443", "a.example.com", 8443),
        ("bücher.example", "xn--bcher-kva.example", 443),
        ("npm", "packages.example.com", 443),
        ("local", "mirror", 4873),
        ("mirror:4873", "mirror", 4873),
    ],
)
def test_an_entry_allows_what_it_names_and_says_that_it_did(entry: str, host: str, port: int) -> None:
    verdict = decide_connect(rules(entry), host, port)
    assert (verdict.allowed, verdict.rule) == (True, f"egress.allow:{entry}")


@pytest.mark.parametrize(
    ("entry", "host", "port", "rule"),
    [
        ("example.com", "evil-example.com", 443, "egress.host"),
        ("example.com", "example.com.evil", 443, "egress.host"),
        ("example.com", "a.example.com", 443, "egress.host"),
        ("example.com", "example.com", 80, "egress.host"),
        ("example.com:8443", "example.com", 443, "egress.host"),
        ("*.example.com", "example.com", 443, "egress.host"),
        ("*.example.com", "evilexample.com", 443, "egress.host"),
        ("*.example.com", "a.example.com.evil", 443, "egress.host"),
        ("npm", "npm", 443, "egress.host"),
        ("example.com", "example.com@evil", 443, "egress.target"),
        ("example.com", "user:pw@example.com", 443, "egress.target"),
        ("example.com", "example%2ecom", 443, "egress.target"),
        ("example.com", "example。com", 443, "egress.target"),
        ("example.com", "exаmple.com", 443, "egress.target"),  # noqa: RUF001 - a Cyrillic letter
        ("example.com", "example.com..", 443, "egress.target"),
        ("example.com", ".example.com", 443, "egress.target"),
        ("example.com", "example.com\n", 443, "egress.target"),
        ("example.com", " example.com", 443, "egress.target"),
        ("example.com", "example.com\0.evil", 443, "egress.target"),
        ("example.com", "", 443, "egress.target"),
        ("example.com", "example.com", 0, "egress.target"),
        ("example.com", "example.com", 65536, "egress.target"),
        ("*.example.com", "a_b.example.com", 443, "egress.target"),
        ("*.example.com", "-a.example.com", 443, "egress.target"),
        ("*.example.com", "a" * 64 + ".example.com", 443, "egress.target"),
        ("*.example.com", "a." * 125 + "example.com", 443, "egress.target"),
    ],
)
def test_a_near_miss_is_refused(entry: str, host: str, port: int, rule: str) -> None:
    verdict = decide_connect(rules(entry), host, port)
    assert (verdict.allowed, verdict.rule) == (False, rule)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "0x7f000001", "017700000001", "::1"])
def test_an_address_in_any_notation_is_no_host(host: str) -> None:
    assert decide_connect(rules("*.example.com"), host, 443).rule == "egress.target"
    with pytest.raises(PolicyInvalid):
        rules(f"{host}:443")


def test_no_entries_allow_nothing() -> None:
    assert not rules().allows_any
    assert not decide_connect(rules(), "example.com", 443).allowed


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "*",
        "*.",
        "*.*.example.com",
        "a.*.com",
        "https://example.com",
        "example.com/path",
        "example.com:",
        "example.com:0",
        "example.com:0443",
        "example.com:65536",
        "example.com:443:80",
        "example.com:https",
        "example。com:443",
        "example\uff0ecom:443",
        "example\u2024com:443",
        "exa mple.com",
        "pypi",
        "localhost",
    ],
)
def test_an_entry_that_can_match_nothing_is_an_error_when_compiled(entry: str) -> None:
    with pytest.raises(PolicyInvalid) as caught:
        rules(entry)
    assert caught.value.hint


def test_a_role_with_a_bad_host_is_an_error_when_compiled() -> None:
    with pytest.raises(PolicyInvalid):
        EgressRules.compile(["npm"], {"npm": "https://packages.example.com/"})


def test_an_unused_role_does_not_matter() -> None:
    assert EgressRules.compile(["example.com"], {"npm": "not a host"}).allows_any


@pytest.mark.parametrize(
    "text",
    ["example.com", "example.com:", ":443", "example.com:443:80", "example.com:0", "example.com:0443", "a@b:443"],
)
def test_an_authority_in_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(it|a label) "):
        parse_authority(text)


def test_an_authority_is_normalised() -> None:
    assert parse_authority("Example.COM.:8443") == ("example.com", 8443)
