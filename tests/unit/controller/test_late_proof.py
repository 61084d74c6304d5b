"""The checks of allowed hosts and hooks folders: what counts as seen, and what a silent probe amounts to."""

from __future__ import annotations

import pytest

from runner.controller.late_proof import AllowedHosts, _within
from runner.egress.rules import EgressRules
from runner.egress.values import EgressDialled, EgressEvent, EgressOpened
from runner.engine.fake import FakeOutcome, FakeSandbox

RULES = EgressRules.compile(["a.example.com", "b.example.com:8443", "*.example.org", "npm"], {"npm": "a.example.com"})
TWO = ["host reachable: a.example.com:443", "host reachable: b.example.com:8443"]


def checked(stdout: bytes, code: int = 0) -> dict[str, tuple[bool, str]]:
    sandbox = FakeSandbox({"python3": lambda _call: FakeOutcome(stdout=stdout, exit=code)})
    return {each.control: (each.active, each.seen) for each in AllowedHosts(RULES).checks(sandbox, {})}


def test_each_host_is_one_check_and_a_pattern_says_that_it_was_not_tried() -> None:
    assert checked(b"200\n502\n") == {
        TWO[0]: (True, "connected"),
        TWO[1]: (False, "the proxy says 502"),
        "host reachable: *.example.org:443": (True, "not tried: a pattern names no host"),
    }


@pytest.mark.parametrize(("stdout", "code"), [(b"", 0), (b"200\n", 0), (b"200\n200\n200\n", 0), (b"200\n200\n", 1)])
def test_a_probe_that_does_not_answer_for_each_has_reached_none(stdout: bytes, code: int) -> None:
    assert [checked(stdout, code)[control] for control in TWO] == [(False, "no answer")] * 2


def test_without_hosts_nothing_is_started() -> None:
    sandbox = FakeSandbox({})
    assert AllowedHosts(EgressRules()).checks(sandbox, {}) == []
    assert sandbox.spawned == []


def event(host: str, port: int, connection: int) -> EgressEvent:
    names = {"connection": connection, "host": host, "port": port, "allowed": False, "rule": "egress.closed"}
    rest = {name: 0 for name in EgressEvent.__dataclass_fields__ if name not in names}
    return EgressEvent(**{**rest, **names})  # type: ignore[arg-type]  # of no use here


def test_only_the_first_connection_to_each_host_is_the_proofs() -> None:
    hosts = AllowedHosts(RULES)
    asked = [("a.example.com", 443), ("a.example.com", 443), ("b.example.com", 443), ("b.example.com", 8443)]
    told = [hosts.is_proof(event(*target, connection)) for connection, target in enumerate(asked)]
    assert told == [True, False, False, True]


def test_all_that_is_told_of_the_proofs_connection_is_the_proofs() -> None:
    hosts = AllowedHosts(RULES)
    ours, other = (
        EgressOpened(7, "a.example.com", 443, "egress.host"),
        EgressOpened(8, "a.example.com", 443, "egress.host"),
    )
    assert [hosts.is_proof(told) for told in (ours, other)] == [True, False]
    dialled = [hosts.is_proof(EgressDialled(connection, "203.0.113.9")) for connection in (7, 8)]
    assert (
        dialled == [hosts.is_proof(event("a.example.com", 443, connection)) for connection in (7, 8)] == [True, False]
    )


@pytest.mark.parametrize("path", ["/tmp/hooks", "/dev/null/x", "..", "../x", "/workspace/../etc", "/workspacex"])
def test_a_hooks_folder_outside_the_clone_is_not_within(path: str) -> None:
    sandbox = FakeSandbox({})
    assert not _within(sandbox, path)


@pytest.mark.parametrize("path", [".githooks", "/workspace/.githooks", "/workspace/a/../.githooks"])
def test_a_hooks_folder_of_the_clone_is_within(path: str) -> None:
    sandbox = FakeSandbox({})
    sandbox.write(".githooks/pre-commit", b"")
    assert _within(sandbox, path)
