"""What a git in a room is given: its command line, its environment and its standard input."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any, cast

import pytest

from runner.engine.contract import SpawnRequest, SpawnResult
from runner.gate.address import Address, resolve_address
from runner.gate.credentials import Credential, Secret, SshKey
from runner.gate.room_git import RoomGit
from runner.model.errors import RepositoryUnavailable

KEY = SshKey("deploy", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjE\n-----END OPENSSH PRIVATE KEY-----")
TOKEN = Credential("ada", "tok-FAKE-1234")


class Room:
    """Keeps what was asked of it."""

    def __init__(self) -> None:
        self.asked: list[tuple[SpawnRequest, bytes]] = []

    def spawn(self, request: SpawnRequest) -> SpawnResult:
        self.asked.append((request, b"".join(request.stdin or ())))
        return SpawnResult(0, b"", b"words", 0, 5, False, False, 1.0)


class Way:
    def __init__(self, refused: str | None = None) -> None:
        self._refused = refused

    def to(self, address: Address) -> int:
        return 3128

    def refused(self) -> str | None:
        return self._refused


def asked(url: str, secret: Secret | None, known_hosts: Path | None = Path("/k h")) -> tuple[SpawnRequest, bytes]:
    room = Room()
    git = RoomGit(cast(Any, room), Way(), ca_file=Path("/ca.pem"), known_hosts=known_hosts)
    git.run(["ls-remote"], address=resolve_address(url, cwd=PurePosixPath("/")), credential=secret, stdin=[b"more"])
    return room.asked[0]


def ssh_of(url: str, secret: Secret | None = KEY) -> str:
    return asked(url, secret)[0].env["GIT_SSH_COMMAND"]


@pytest.mark.parametrize("secret", [KEY, TOKEN])
def test_a_secret_is_in_no_argument_and_no_environment_and_goes_first_into_standard_input(secret: Secret) -> None:
    url = "ssh://git@code.example.com/x.git" if secret is KEY else "https://code.example.com/x.git"
    request, stdin = asked(url, secret)
    shown = " ".join([*request.argv, *request.env.values()])

    assert stdin == secret.lines + b"more"
    assert not any(hidden in shown for hidden in secret.redactor().secrets)


def test_a_login_in_the_address_goes_before_the_bindings() -> None:
    assert "User=" not in ssh_of("ssh://alice@code.example.com/x.git")
    assert "User=" not in ssh_of("alice@code.example.com:x.git")
    assert "User=deploy" in ssh_of("ssh://code.example.com/x.git")
    assert "User=git" in ssh_of("code.example.com:x.git", None)


@pytest.mark.parametrize(
    ("url", "alias"),
    [
        ("ssh://git@code.example.com/x.git", "HostKeyAlias=code.example.com"),
        ("ssh://git@code.example.com:2222/x.git", "'HostKeyAlias=[code.example.com]:2222'"),
        ("ssh://git@[::1]/x.git", "HostKeyAlias=::1"),
        ("ssh://git@[::1]:2222/x.git", "'HostKeyAlias=[::1]:2222'"),
    ],
)
def test_a_host_is_looked_up_as_known_hosts_names_it(url: str, alias: str) -> None:
    assert f" {alias} " in ssh_of(url)


def test_ssh_trusts_nobody_that_the_operator_does_not_know() -> None:
    assert "StrictHostKeyChecking=yes" in ssh_of("git@code.example.com:x.git")
    with pytest.raises(RepositoryUnavailable) as refused:
        asked("git@code.example.com:x.git", KEY, known_hosts=None)
    assert refused.value.code == "ssh_host_key_unknown"


def test_https_goes_by_the_relay_and_http_to_where_the_relay_listens() -> None:
    assert "http.proxy=http://127.0.0.1:3128" in asked("https://code.example.com/x.git", TOKEN)[0].argv
    assert "http.proxy=" in asked("http://localhost:3000/x.git", None)[0].argv


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("egress.dns", "Could not resolve host: code.example.com"),
        ("egress.address.link-local", "link-local address"),
        ("egress.dial", "Failed to connect to code.example.com"),
    ],
)
def test_why_a_connection_was_not_made_is_said_before_gits_own_words(rule: str, words: str) -> None:
    git = RoomGit(cast(Any, Room()), Way(rule), ca_file=None, known_hosts=None)
    address = resolve_address("https://code.example.com/x.git", cwd=PurePosixPath("/"))
    said = git.run(["ls-remote"], address=address).stderr

    assert said.startswith("fatal: ") and words in said and said.endswith("words")
