"""Which environment variables a policy may hand to programs in the workspace.

The runner builds the environment from nothing. A variable that names a program, a library, a configuration file or a
way around the repository's hooks would undo other rules of the same policy, so it is refused when the policy loads.
"""

from __future__ import annotations

import re

__all__ = ["check_name", "check_value"]

MAX_VALUE_BYTES = 32_768
"""A quarter of Linux's bound on one string of the environment (MAX_ARG_STRLEN)."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")

_RUNS_PROGRAMS = "it makes programs load or start other programs"
_OWNED = "the runner sets it itself"
_SKIPS_HOOKS = "it skips the repository's hooks"
_PROXY = "the network section decides where traffic goes"
_TRUST = "the key `ca` decides which certificates are trusted"

_PREFIXES = {
    "GIT_": "it changes what git does, runs or reads",
    "LD_": _RUNS_PROGRAMS,
    "DYLD_": _RUNS_PROGRAMS,
    "BASH_": _RUNS_PROGRAMS,
    "SSH_": _RUNS_PROGRAMS,
    "LESS": _RUNS_PROGRAMS,
    "PERL": _RUNS_PROGRAMS,
    "PYTHON": _RUNS_PROGRAMS,
    "RUBY": _RUNS_PROGRAMS,
    "XDG_": "it moves the folders that configuration is read from",
    "MISE_": "it changes which configuration mise trusts",
    "COREPACK_": "it makes package managers fetch other programs",
    "HUSKY": _SKIPS_HOOKS,
    "LEFTHOOK": _SKIPS_HOOKS,
    "OVERCOMMIT_": _SKIPS_HOOKS,
    "NODE_REPL_": _RUNS_PROGRAMS,
    "PNPM_": "it changes which programs pnpm runs and where it reads its configuration",
    "RUNNER_": _OWNED,
}

_NAMES = {
    "NODE_OPTIONS": _RUNS_PROGRAMS,
    "NODE_PATH": _RUNS_PROGRAMS,
    "NODE_EXTRA_CA_CERTS": _TRUST,
    "NODE_TLS_REJECT_UNAUTHORIZED": _TRUST,
    "NODE_USE_ENV_PROXY": _PROXY,
    "SSL_CERT_FILE": _TRUST,
    "SSL_CERT_DIR": _TRUST,
    "CURL_CA_BUNDLE": _TRUST,
    "REQUESTS_CA_BUNDLE": _TRUST,
    "HTTP_PROXY": _PROXY,
    "HTTPS_PROXY": _PROXY,
    "ALL_PROXY": _PROXY,
    "NO_PROXY": _PROXY,
    "PATH": "programs are looked up on a fixed path outside the workspace",
    "HOME": _OWNED,
    "USER": _OWNED,
    "LOGNAME": _OWNED,
    "PWD": _OWNED,
    "OLDPWD": _OWNED,
    "TMPDIR": _OWNED,
    "SHELL": _RUNS_PROGRAMS,
    "ENV": _RUNS_PROGRAMS,
    "SHELLOPTS": _RUNS_PROGRAMS,
    "BASHOPTS": _RUNS_PROGRAMS,
    "IFS": _RUNS_PROGRAMS,
    "PS4": _RUNS_PROGRAMS,
    "CDPATH": _RUNS_PROGRAMS,
    "PROMPT_COMMAND": _RUNS_PROGRAMS,
    "EDITOR": _RUNS_PROGRAMS,
    "VISUAL": _RUNS_PROGRAMS,
    "PAGER": _RUNS_PROGRAMS,
    "MANPAGER": _RUNS_PROGRAMS,
    "BROWSER": _RUNS_PROGRAMS,
    "PREFIX": "npm reads its global configuration from beneath it",
    "SKIP": _SKIPS_HOOKS,
    "SKIP_SIMPLE_GIT_HOOKS": _SKIPS_HOOKS,
    "PRE_COMMIT_ALLOW_NO_CONFIG": _SKIPS_HOOKS,
}

_PACKAGE_MANAGER_PREFIXES = ("npm_config_", "pnpm_config_")

_PACKAGE_MANAGER_KEYS = frozenset(
    {
        "audit",
        "fetch_retries",
        "fetch_timeout",
        "fund",
        "loglevel",
        "prefer_offline",
        "progress",
        "registry",
        "update_notifier",
    }
)
"""The package managers' settings that neither run nor read anything; all others stay with the repository's files."""


def check_name(name: str) -> None:
    """Nothing happens when a policy may set the variable of this name.

    Raises:
        ValueError: with the reason, in words for the author of the policy.
    """
    if _NAME.fullmatch(name) is None:
        raise ValueError("is not a variable's name; expected letters, digits and underscores")
    reason = _reason(name)
    if reason is not None:
        raise ValueError(f"may not be set by a policy: {reason}")


def check_value(value: str) -> None:
    """Nothing happens when a variable can have this value.

    Raises:
        ValueError: with the reason, in words for the author of the policy.
    """
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("is a value that no environment can carry (NUL or not UTF-8)")
    if len(value.encode("utf-8")) > MAX_VALUE_BYTES:
        raise ValueError(f"is a value of more than {MAX_VALUE_BYTES} bytes")


def _reason(name: str) -> str | None:
    # Both spellings count: npm reads its variables in any case, curl and others the proxies' in lower case.
    for prefix in _PACKAGE_MANAGER_PREFIXES:
        if name.lower().startswith(prefix):
            key = name.lower().removeprefix(prefix)
            return None if key in _PACKAGE_MANAGER_KEYS else "this setting can name a program or a file to read"
    upper = name.upper()
    if upper in _NAMES:
        return _NAMES[upper]
    return next((reason for prefix, reason in _PREFIXES.items() if upper.startswith(prefix)), None)
