"""Which variables a repository may set for its set-up. Pure.

Refused are the names that would load code into every program, move the programs or the home, or steer git, mise and the
package managers around the policy. The values are the repository's own and reach only the sandbox.
"""

from __future__ import annotations

import re

__all__ = ["env_refusal"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_MAX_VALUE_CHARACTERS = 4096
_NAMES = frozenset(
    {
        "PATH",
        "HOME",
        "SHELL",
        "ENV",
        "BASH_ENV",
        "IFS",
        "CDPATH",
        "HUSKY",
        "CI",  # with it, mise trusts a repository's configuration on any verb
        "EDITOR",
        "VISUAL",
        "PAGER",
        "BROWSER",
        "SSH_ASKPASS",
        "PERL5OPT",
        "PERL5LIB",
        "RUBYOPT",
        "JAVA_TOOL_OPTIONS",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    }
)
_PREFIXES = ("GIT_", "LD_", "DYLD_", "MISE_", "PYTHON", "NODE_", "NPM_", "PNPM_", "COREPACK_", "GLIBC_", "RUNNER_")
_ALLOWED = frozenset({"NODE_ENV"})


def env_refusal(name: str, value: str) -> str | None:
    """Why a repository may not set this variable; None when it may."""
    upper = name.upper()
    if not _NAME.fullmatch(name):
        return "it is not the name of a variable"
    if upper in _NAMES or (upper.startswith(_PREFIXES) and upper not in _ALLOWED):
        return "it would change how programs are found, loaded or guarded"
    if "\0" in value or len(value) > _MAX_VALUE_CHARACTERS:
        return "its value holds NUL or is too long"
    return None
