"""Slips that everybody makes once in a policy, and the words that get them out of it."""

from __future__ import annotations

import pytest

from runner.model.errors import PolicyInvalid
from runner.policy.load import parse_policy


def fault(text: str) -> str:
    with pytest.raises(PolicyInvalid) as refused:
        parse_policy(text.encode(), source="p.yml")
    return refused.value.message


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\nwriteAllow: [**]\n",
        "version: 1\nwriteAllow: [*.md]\n",
        "writeAllow:\n  - *.md\n",
        "writeAllow:\n  - **/*.md\n",
        "writeAllow:\n  - *\n",
        "version: 1\nwriteAllow: *\n",
        "version: 1\npush: {branches: [*]}\n",
        "network:\n  run: {allow: [*.example.com]}\n",
        "version: 1\nwriteAllow: [*name]\n",
    ],
)
def test_a_star_without_quotes_is_told_to_be_quoted(text: str) -> None:
    said = fault(text)
    assert said.startswith("p.yml:2: ") and "quote the pattern" in said


@pytest.mark.parametrize("text", ["writeAllow: ['**']\n", 'writeAllow:\n  - "*.md"\n', "writeAllow: [a*, src/**]\n"])
def test_a_star_in_quotes_or_within_a_word_is_a_pattern(text: str) -> None:
    assert parse_policy(text.encode(), source="p.yml").policy.write_allow


@pytest.mark.parametrize(
    "text",
    [
        "limits:\n\tpids: 64\n",
        "limits:\n  pids:\t64\n",
        "writeAllow:\n\t- a\n",
        "writeAllow:\n -\ta\n",
        "version: 1\n\twriteAllow: []\n",
    ],
)
def test_a_tab_is_called_a_tab_on_its_line(text: str) -> None:
    said = fault(text)
    assert said.startswith("p.yml:2: ") and "has a tab" in said and "spaces" in said


def test_a_tab_within_a_text_is_no_matter_of_indentation() -> None:
    assert parse_policy(b'setup: [[git, commit, -m, "a\tb"]]\n', source="p.yml").policy.setup


@pytest.mark.parametrize(
    ("entry", "write"),
    [
        ("https://example.com", "example.com"),
        ("https://example.com/", "example.com"),
        ("https://Example.com/a/b?c=d", "example.com"),
        ("http://example.com", "example.com"),
        ("example.com/path", "example.com"),
        ("https://example.com:8443/x", "example.com:8443"),
        ("https://user:s3cret-FAKE@example.com/x", "example.com"),
        ("https://*.example.com/x", "example.com"),
        ("ftp://files.example.org/x", "example.com"),
        ("https://[::1]/x", "example.com"),
        ("//", "example.com"),
    ],
)
def test_a_url_where_a_host_is_meant_is_answered_with_the_host_and_no_secret(entry: str, write: str) -> None:
    said = fault(f"version: 1\nnetwork: {{run: {{allow: ['{entry}']}}}}\n")
    assert said.startswith("p.yml:2: field `network.run.allow[0]`: ")
    assert said.endswith(f"host only: write `{write}`") and "s3cret-FAKE" not in said


def test_a_url_as_a_bindings_host_is_answered_in_the_same_way() -> None:
    said = fault("bindings:\n  - git: {host: 'https://code.example.com/x.git'}\n")
    assert said.endswith("host only: write `code.example.com`")


@pytest.mark.parametrize("value", ["@scope/a", "`a`", "%a", "[ab].ts", "{a,b}.ts"])
def test_a_value_that_begins_with_a_sign_of_yamls_is_told_to_be_quoted(value: str) -> None:
    assert "quote a value that begins with a sign" in fault(f"writeAllow:\n  - {value}\n")
