from __future__ import annotations

from pathlib import Path

import pytest

from runner.gate.host_git import GitFailed, HostGit
from tests.support.repos import Commit, bare_repository


@pytest.fixture
def git(tmp_path: Path) -> HostGit:
    return HostGit(tmp_path / "state", ca_file=tmp_path / "ca.pem")


def shown_environment(git: HostGit) -> dict[str, str]:
    shown = git.run(["-c", "alias.look=!/usr/bin/env -0", "look"]).stdout.decode()
    return dict(line.split("=", 1) for line in shown.split("\0") if "=" in line)


def test_nothing_of_the_callers_environment_reaches_git(git: HostGit, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_DIR", "GIT_EXEC_PATH", "GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "SSH_AUTH_SOCK", "LD_PRELOAD", "X"):
        monkeypatch.setenv(name, "/tmp/evil")
    monkeypatch.setenv("PATH", "/tmp/evil")
    environment = shown_environment(git)

    assert "/tmp/evil" not in "\n".join(environment.values())
    assert "SSH_AUTH_SOCK" not in environment


def test_the_environment_is_closed(git: HostGit, tmp_path: Path) -> None:
    environment = shown_environment(git)

    assert environment["GIT_CONFIG_NOSYSTEM"] == "1"
    assert environment["GIT_ALLOW_PROTOCOL"] == "none"
    assert environment["GIT_TERMINAL_PROMPT"] == "0"
    assert environment["GIT_SSL_CAINFO"] == str(tmp_path / "ca.pem")
    assert list(Path(environment["HOME"]).iterdir()) == []


def test_a_users_configuration_is_not_read(git: HostGit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "user"
    home.mkdir()
    (home / ".gitconfig").write_text("[alias]\n\tx = !touch pwn\n")
    monkeypatch.setenv("HOME", str(home))

    assert git.run(["config", "--get", "alias.x"]).exit == 1


def test_without_an_address_no_protocol_is_allowed(git: HostGit, tmp_path: Path) -> None:
    remote = bare_repository(tmp_path / "r.git", [Commit({"a": "1"})])

    assert not git.run(["ls-remote", f"file://{remote}"]).ok


def test_a_failure_carries_what_git_said(git: HostGit) -> None:
    with pytest.raises(GitFailed) as failed:
        git.output(["no-such-command"])

    assert failed.value.subcommand == "no-such-command"
    assert "no-such-command" in failed.value.result.stderr


def test_output_over_the_bound_is_a_failure(git: HostGit, tmp_path: Path) -> None:
    repository = bare_repository(tmp_path / "r.git", [Commit({"a": b"x" * 5000})])

    with pytest.raises(GitFailed) as failed:
        git.output(["cat-file", "blob", "refs/heads/main:a"], repository=repository, max_stdout_bytes=100)

    assert failed.value.result.overflowed
