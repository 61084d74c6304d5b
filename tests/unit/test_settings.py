"""Host settings: from a mapping alone, with defaults that work, and secrets that no message shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.settings import DEFAULT_IMAGE, Settings


def test_every_setting_has_its_variable(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.write_text("")
    settings = Settings.from_environment(
        {
            "RUNNER_STATE_DIR": "/srv/state",
            "RUNNER_IMAGE": "mine:1",
            "RUNNER_NPM_REGISTRY": "https://npm.example.com/",
            "RUNNER_NPM_REGISTRY_ADDRESS": "10.1.2.3",
            "RUNNER_CACHE_MIB": "100",
            "RUNNER_MAX_RUNS": "3",
            "RUNNER_QUEUE_SECONDS": "20",
            "RUNNER_POOL_MAX": "3",
            "SSL_CERT_FILE": str(bundle),
            "DOCKER_HOST": "unix:///run/docker.sock",
            "DOCKER_TLS_VERIFY": "1",
            "DOCKER_CERT_PATH": "/certs",
        }
    )
    assert (settings.state_dir, settings.image) == (Path("/srv/state"), "mine:1")
    assert (settings.npm_registry, settings.ca_file) == ("https://npm.example.com/", bundle)
    assert (settings.npm_registry_address, settings.cache_mib) == ("10.1.2.3", "100")
    assert (settings.max_runs, settings.queue_seconds) == ("3", "20")
    assert settings.pool_max == "3"
    assert settings.docker == {
        "DOCKER_HOST": "unix:///run/docker.sock",
        "DOCKER_TLS_VERIFY": "1",
        "DOCKER_CERT_PATH": "/certs",
    }


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"RUNNER_STATE_DIR": "/a", "XDG_STATE_HOME": "/b", "HOME": "/c"}, "/a"),
        ({"XDG_STATE_HOME": "/b", "HOME": "/c"}, "/b/runner"),
        ({"HOME": "/c"}, "/c/.local/state/runner"),
        ({"RUNNER_STATE_DIR": "", "XDG_STATE_HOME": "", "HOME": "/c"}, "/c/.local/state/runner"),
        ({}, "/.local/state/runner"),
    ],
)
def test_the_state_folder_is_the_first_that_is_named(environment: dict[str, str], folder: str) -> None:
    assert Settings.from_environment(environment).state_dir == Path(folder)


def test_an_empty_variable_is_none(tmp_path: Path) -> None:
    settings = Settings.from_environment({"RUNNER_IMAGE": "", "RUNNER_NPM_REGISTRY": "", "DOCKER_HOST": ""})
    assert (settings.image, settings.npm_registry, settings.docker) == (DEFAULT_IMAGE, None, {})


def test_a_trust_store_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert Settings.from_environment({"SSL_CERT_FILE": str(tmp_path / "absent")}).ca_file is None
    assert Settings.from_environment({"SSL_CERT_FILE": str(tmp_path)}).ca_file is None


def test_a_mapping_is_read_and_the_process_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNNER_IMAGE", "of-the-process")
    monkeypatch.setenv("DOCKER_HOST", "unix:///of-the-process")
    handed = Settings.from_environment({})
    assert (handed.image, handed.docker, handed.secrets) == (DEFAULT_IMAGE, {}, {})
    assert Settings.from_environment().image == "of-the-process"


def test_secrets_are_there_for_a_credential_and_in_no_text() -> None:
    settings = Settings.from_environment({"CODE_TOKEN": "tok-FAKE-1234"})
    assert settings.secrets["CODE_TOKEN"] == "tok-FAKE-1234"
    assert "tok-FAKE-1234" not in repr(settings) and "CODE_TOKEN" not in str(settings)


def test_settings_do_not_change_when_the_environment_does() -> None:
    environment = {"CODE_TOKEN": "a"}
    settings = Settings.from_environment(environment)
    environment["CODE_TOKEN"] = "b"
    assert settings.secrets["CODE_TOKEN"] == "a"
