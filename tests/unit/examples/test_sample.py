"""The sample project and its twin are what the demo says they are."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import yaml

from examples.attempts import Ground, attempts
from examples.demo import POLICY
from examples.host_watch import HostWatch, host_addresses
from examples.hostile import spoil, spoil_set_up
from examples.remote import SAMPLE, copy_sample, make_remote
from runner.policy.load import load_policy
from runner.setup.workspace_yml import parse_workspace_file


def test_the_lock_file_names_no_registry_host() -> None:
    lock = (SAMPLE / "pnpm-lock.yaml").read_text(encoding="utf-8")
    assert "://" not in lock
    assert set(yaml.safe_load(lock)["importers"]["."]) == {"dependencies"}


def test_the_sample_sets_itself_up_with_its_hooks() -> None:
    file = parse_workspace_file((SAMPLE / ".os" / "workspace.yml").read_bytes())
    assert [argv[:2] for argv in file.run or ()] == [("pnpm", "install"), ("git", "config")]


def test_the_sample_is_copied_without_installed_packages_and_with_executable_hooks(tmp_path: Path) -> None:
    copy_sample(tmp_path / "copy")
    assert not (tmp_path / "copy" / "node_modules").exists()
    assert all(hook.stat().st_mode & 0o111 for hook in (tmp_path / "copy" / ".githooks").iterdir())


def test_a_remote_has_one_commit_on_main(tmp_path: Path) -> None:
    remote = make_remote(tmp_path / "sample.git", copy_sample)
    assert list(remote.refs()) == ["refs/heads/main"]
    assert remote.commit("main").parents == ()


def test_the_twin_has_links_out_and_traps(tmp_path: Path) -> None:
    spoil(tmp_path / "twin", tmp_path / "trap")
    twin = tmp_path / "twin"
    assert (twin / "docs" / "users.txt").readlink() == Path("/etc/passwd")
    assert str(tmp_path / "trap") in (twin / ".githooks" / "pre-commit").read_text(encoding="utf-8")
    assert not (tmp_path / "trap").exists()


def test_the_spoilt_set_up_is_a_file_that_can_be_read_and_asks_for_a_shell(tmp_path: Path) -> None:
    spoil_set_up(tmp_path / "set-up")
    file = parse_workspace_file((tmp_path / "set-up" / ".os" / "workspace.yml").read_bytes())
    assert file.run is not None and file.run[0][0] == "bash"


def test_there_are_many_attempts_each_of_its_own_name_with_its_attack_at_hand(tmp_path: Path) -> None:
    ground = Ground(load_policy(str(POLICY)).policy, "/remote.git", ("192.0.2.1",), 4000)
    every = attempts(ground)
    assert len({attempt.name for attempt in every}) == len(every) >= 14
    spoil(tmp_path / "twin", tmp_path / "trap")
    calls = [call for attempt in every for call in (*attempt.before, *attempt.calls)]
    scripts = {script for call in calls for script in re.findall(r"attack/\w+\.mjs", str(call.arguments))}
    assert scripts
    assert all((tmp_path / "twin" / script).is_file() for script in scripts)


def test_reaching_the_host_tries_the_port_that_is_watched_on_every_address() -> None:
    ground = Ground(load_policy(str(POLICY)).policy, "/remote.git", ("192.0.2.1", "192.0.2.2"), 4000)
    reach = next(attempt for attempt in attempts(ground) if attempt.name == "reach the host")
    argv = reach.calls[0].arguments["argv"]
    assert {"192.0.2.1:4000", "192.0.2.2:4000"} <= set(argv)


def test_the_watch_counts_connections_after_its_own_trial() -> None:
    with HostWatch() as watch:
        assert watch.contacts == 0
        with socket.create_connection(("127.0.0.1", watch.port), timeout=5):
            assert watch.wait_for_contact(seconds=5)
        assert watch.contacts == 1


def test_host_addresses_leave_loopback_out() -> None:
    assert not [address for address in host_addresses() if address.startswith("127.")]
