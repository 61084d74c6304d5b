from __future__ import annotations

import pytest

from runner.policy.environment import check_name, check_value


@pytest.mark.parametrize(
    "name",
    [
        *("GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "git_dir", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS"),
        *("NODE_PATH", "PATH", "Path", "HOME", "npm_config_script_shell", "NPM_CONFIG_SCRIPT_SHELL", "npm_config_git"),
        *("npm_config_node-options", "npm_config_userconfig", "pnpm_config_shell_emulator", "PNPM_HOME", "HUSKY"),
        *("HUSKY_SKIP_HOOKS", "LEFTHOOK", "SKIP", "BASH_ENV", "ENV", "EDITOR", "PAGER", "https_proxy", "HTTPS_PROXY"),
        *("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "MISE_PARANOID", "XDG_CONFIG_HOME"),
        *("npm_config_fund2", "pnpm_config_git", "RUNNER_", "LESSOPEN", "OVERCOMMIT_DISABLE", "NODE_REPL_HISTORY"),
        *("PYTHONPATH", "PERL5OPT", "SSH_ASKPASS", "RUNNER_RUN", "TMPDIR", "", "1A", "A-B", "A B", "A=B", "Ä", "A\n"),
    ],
)
def test_a_variable_that_would_undo_another_rule_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"may not be set|is not a variable's name"):
        check_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "CI",
        "LANG",
        "NODE_ENV",
        "npm_config_registry",
        "pnpm_config_fund",
        "NPM_CONFIG_LOGLEVEL",
        "TZ",
        "PATHS",
        "SKIPPED",
        "_A1",
    ],
)
def test_an_ordinary_variable_is_accepted(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize("value", ["a\0b", "\ud800", "a\udfffb", "é" * 16_385, "x" * 32_769])
def test_a_value_that_no_environment_carries_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match=r"value"):
        check_value(value)


@pytest.mark.parametrize("value", ["", "a\nb", "\ud7ff\ue000", "é" * 16_384, "x" * 32_768])
def test_other_values_are_accepted(value: str) -> None:
    check_value(value)
