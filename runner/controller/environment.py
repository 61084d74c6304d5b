"""The environment of programs in the workspace: built from nothing, never inherited from the caller. Pure.

What is set here makes the five programs non-interactive and keeps configuration that the run can write from being
obeyed where the policy relies on it. It is a guard rail: a program may change its own environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["BASE_ENVIRONMENT", "OFFLINE", "command_environment"]

BASE_ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/home/agent",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        # git: an editor, a pager or a prompt would wait for somebody who isn't there.
        "GIT_EDITOR": "/bin/false",
        "GIT_SEQUENCE_EDITOR": "/bin/false",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "/bin/false",
        # A ~/.gitconfig that the run wrote could move the hooks away; the system file is the image's own.
        "GIT_CONFIG_GLOBAL": "/dev/null",
        # So could a ~/.npmrc or ~/.config/{pnpm,mise,git} that the run wrote name a shell, run a template or a filter:
        # the home folder's settings are read by nobody. The folder is not there, and the root file system is read-only.
        "npm_config_userconfig": "/dev/null",
        "XDG_CONFIG_HOME": "/etc/xdg",
        # mise obeys a hostile configuration by itself unless it is paranoid.
        "MISE_PARANOID": "1",
        "MISE_YES": "0",
        # npm and pnpm: no prompts, no calls home.
        "npm_config_yes": "false",
        "npm_config_audit": "false",
        "npm_config_fund": "false",
        "npm_config_update_notifier": "false",
    }
)


OFFLINE: Mapping[str, str] = MappingProxyType({"npm_config_fetch_retries": "0"})
"""For a phase without a network: npm and pnpm say at once that there is none, instead of after a minute of trying."""


def command_environment(policy: Mapping[str, str], extra: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """The base, then `extra` of the run's phase (proxy, certificates), then what the policy sets."""
    return {**BASE_ENVIRONMENT, **extra, **policy}
