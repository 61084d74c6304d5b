"""Environment, stopwatch, bindings and the registry's host: small parts that others lean on."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from runner.controller.bindings import binding_for, credential_of
from runner.controller.environment import BASE_ENVIRONMENT, command_environment
from runner.controller.guest_git import GuestGit
from runner.controller.network import deliver_ca, network, prove_cut
from runner.controller.specs import shape_of
from runner.controller.stopwatch import Stopwatch, utc
from runner.controller.tree_view import SandboxTree
from runner.egress.registry import Roles, host_of_registry
from runner.engine.fake import FakeCall, FakeOutcome, FakeSandbox
from runner.gate.address import resolve_address
from runner.gate.credentials import CredentialKind
from runner.model.errors import PostureFailed, RepositoryUnavailable
from tests.support.clocks import ManualClock
from tests.support.fake_run import FakeRun, fake_run
from tests.support.narrowed import narrowed
from tests.support.policies import policy
from tests.support.run_bench import Bench


def test_the_environment_is_the_base_then_the_phase_then_the_policy() -> None:
    built = command_environment({"CI": "1", "TERM": "policy"}, {"TERM": "phase", "LANG": "phase"})
    assert (built["CI"], built["TERM"], built["LANG"]) == ("1", "policy", "phase")
    assert built["PATH"] == "/usr/local/bin:/usr/bin:/bin"
    assert command_environment({}) == dict(BASE_ENVIRONMENT)


def test_each_call_gets_an_environment_of_its_own() -> None:
    command_environment({})["PATH"] = "/workspace"
    assert command_environment({})["PATH"] == "/usr/local/bin:/usr/bin:/bin"


@pytest.mark.parametrize("name", ["GIT_TERMINAL_PROMPT", "GIT_CONFIG_GLOBAL", "MISE_PARANOID", "npm_config_yes"])
def test_programs_are_kept_from_prompting_and_from_configuration_of_the_runs_own(name: str) -> None:
    assert BASE_ENVIRONMENT[name] in {"0", "1", "false", "/dev/null"}


def test_phases_are_timed_one_at_a_time_and_the_same_phase_adds_up() -> None:
    clock = ManualClock()
    watch = Stopwatch(clock)
    for phase, seconds in (("fetch", 1.0), ("calls", 0.25), ("fetch", 0.5)):
        watch.start(phase)
        clock.advance(seconds)
    watch.stop()
    clock.advance(9)
    watch.stop()
    assert watch.milliseconds == {"fetch": 1500.0, "calls": 250.0}


def test_a_time_is_written_in_utc_to_the_millisecond() -> None:
    assert utc(0.0015) == "1970-01-01T00:00:00.001+00:00"


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://registry.example.com/", "registry.example.com"),
        ("https://registry.example.com:8443/npm/", "registry.example.com:8443"),
        ("https://user:secret@registry.example.com/", "registry.example.com"),
    ],
)
def test_a_registrys_host_is_its_host_and_port_without_who_asks(address: str, host: str) -> None:
    assert host_of_registry(address) == host


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ({"file": "/etc/token"}, CredentialKind.FILE),
        ({"env": "TOKEN"}, CredentialKind.ENV),
        ({"command": ["get-token"]}, CredentialKind.COMMAND),
    ],
)
def test_the_binding_of_the_addresss_host_speaks_for_it_and_no_other(
    tmp_path: Path, source: dict[str, object], kind: CredentialKind
) -> None:
    bindings = policy(
        bindings=[
            {"git": {"host": "file"}},
            {"git": {"host": "code.example.com"}, "credential": {**source, "user": "ada"}},
        ]
    ).bindings
    there = resolve_address("https://code.example.com/a/b.git", cwd=PurePosixPath(tmp_path), bindings=[])
    elsewhere = resolve_address("https://code.example.com.evil.test/a/b.git", cwd=PurePosixPath(tmp_path), bindings=[])
    found = binding_for(bindings, there)
    assert found is bindings[1] and binding_for(bindings, elsewhere) is None
    hidden: list[str] = []
    credential = credential_of(found, {"TOKEN": "tok-FAKE"}, lambda *secrets: hidden.extend(secrets))
    assert credential is not None and (credential.kind, credential.user) == (kind, "ada")
    credential.on_read(("tok-FAKE", "eDp0b2stRkFLRQ=="))
    assert hidden == ["tok-FAKE", "eDp0b2stRkFLRQ=="]
    assert credential_of(bindings[0], {}, print) is None and credential_of(None, {}, print) is None


def test_no_network_is_no_environment_and_no_process(tmp_path: Path) -> None:
    sandbox = FakeSandbox()  # without streams: opening one would end the run
    with fake_run(tmp_path) as run, network(sandbox, (), Roles(), run.audit, "run") as environment:
        assert environment == {}


def test_the_cut_is_proved_by_a_probe_inside() -> None:
    open_box = FakeSandbox({"python3": lambda _call: FakeOutcome(exit=1)})
    closed_box = FakeSandbox({"python3": lambda _call: FakeOutcome(exit=0)})
    prove_cut(closed_box, {})
    with pytest.raises(PostureFailed):
        prove_cut(open_box, {})


def test_the_trust_store_is_delivered_byte_for_byte_and_bounded(tmp_path: Path) -> None:
    seen: list[bytes] = []

    def tee(call: FakeCall) -> FakeOutcome:
        seen.append(call.stdin)
        return FakeOutcome(stdout=call.stdin)

    bundle = tmp_path / "ca.pem"
    bundle.write_bytes(b"-----BEGIN\n" * 10_000)
    variables = deliver_ca(FakeSandbox({"tee": tee}), bundle, {})
    assert seen == [bundle.read_bytes()] and variables
    assert deliver_ca(FakeSandbox(), None, {}) == {}
    bundle.write_bytes(b"x" * (4 * 1024 * 1024 + 1))
    for unusable in (bundle, tmp_path / "absent.pem"):
        with pytest.raises(RepositoryUnavailable):
            deliver_ca(FakeSandbox({"tee": tee}), unusable, {})
    bundle.write_bytes(b"x")
    with pytest.raises(RepositoryUnavailable):
        deliver_ca(FakeSandbox({"tee": lambda _call: FakeOutcome(exit=1)}), bundle, {})


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("package.json", '{"scripts": {"hi": "echo hi"}}\n'),
        ("/workspace/package.json", '{"scripts": {"hi": "echo hi"}}\n'),
        ("src/leaf", "# R0\n"),  # a link
        ("src/link-docs/guide.md", "# Guide\n"),
        ("src", None),
        ("absent", None),
        ("src/link-out", None),
        ("src/loop", None),
        ("../x", None),
        ("large", None),
    ],
)
def test_the_text_that_a_rule_asks_for_does_not_depend_on_what_was_asked_before(
    run: FakeRun, path: str, text: str | None, known: bool
) -> None:
    run.sandbox.tree.put_file("large", b"", size_claimed=1024 * 1024 + 1)
    git = GuestGit(run.sandbox, {}, "/workspace/.git/hooks", 30.0)
    tree = SandboxTree(run.sandbox, run.ledger, git)
    if known:
        tree.kind(path)
    assert tree.read_text(path) == text
    assert tree.real_path(path) == SandboxTree(run.sandbox, run.ledger, git).real_path(path)


def test_a_warm_run_has_the_shape_of_the_narrowed_policy(tmp_path: Path) -> None:
    base, file = {"pool": 1, "writeAllow": ["src/**"]}, {"limits": {"pids": 50}}
    host = Bench(tmp_path).host
    shape = shape_of(host, narrowed(base, file))
    assert (shape.limits.pids, shape == shape_of(host, narrowed(base))) == (50, False)
    # Other limits are other containers, which one request must not have kept warm in the place of everybody's.
    assert [narrowed(base, each).pool for each in (file, {"writeDeny": ["x"]})] == [0, 1]
    assert shape_of(host, narrowed(base, {"writeDeny": ["x"]})) == shape_of(host, narrowed(base))
