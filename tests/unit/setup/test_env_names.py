from __future__ import annotations

import pytest

from runner.setup.env_names import env_refusal


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "path",
        "HOME",
        "GIT_DIR",
        "GIT_SSH_COMMAND",
        "git_config_count",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "NODE_OPTIONS",
        "NODE_PATH",
        "npm_config_script_shell",
        "NPM_CONFIG_SCRIPT_SHELL",
        "pnpm_config_script_shell",
        "BASH_ENV",
        "ENV",
        "SHELL",
        "HUSKY",
        "MISE_PARANOID",
        "CI",
        "PYTHONPATH",
        "HTTPS_PROXY",
        "https_proxy",
        "SSL_CERT_FILE",
        "",
        "A B",
        "A=B",
        "1A",
        "A-B",
        "Ä",
        "A\n",
        "X" * 200,
    ],
)
def test_a_name_that_steers_programs_is_refused(name: str) -> None:
    assert env_refusal(name, "x") is not None


@pytest.mark.parametrize(
    "name", ["APP_MODE", "NODE_ENV", "PATHS", "HOMEPAGE", "GITHUB_X", "_X", "A1", "LDAP_URL", "CIRCLE"]
)
def test_an_ordinary_name_is_accepted(name: str) -> None:
    assert env_refusal(name, "x") is None


@pytest.mark.parametrize("value", ["a\0b", "x" * 32_769])
def test_a_value_that_cannot_be_set_is_refused(value: str) -> None:
    assert env_refusal("A", value) is not None
