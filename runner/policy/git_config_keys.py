"""Which git settings the policy refuses to have set, on the command line or in a config file.

A setting whose value is a program, a shell line, a file of settings or another hook folder turns every later git
command into that program. Section and variable are matched without case, as git does; a subsection in between never
saves a key. Values that start nothing (`cat`, `true`, a boolean, empty) are fine.
"""

from __future__ import annotations

import posixpath

from runner.model.decision import Decision
from runner.policy.argv_values import Call, deny_hooks, deny_program, deny_push
from runner.policy.git_alias import judge_alias
from runner.policy.scratch import inside_workspace

__all__ = ["is_hooks_key", "judge_section", "judge_setting"]


def _keys(section: str, variables: str) -> frozenset[str]:
    return frozenset(f"{section}.{variable}" for variable in variables.split())


_PROGRAMS = frozenset().union(
    _keys("core", "editor pager sshcommand gitproxy askpass fsmonitor alternaterefscommand"),
    _keys("sequence", "editor"),
    _keys("interactive", "difffilter"),
    _keys("diff", "external command textconv"),
    _keys("difftool", "cmd path"),
    _keys("mergetool", "cmd path"),
    _keys("merge", "driver"),
    _keys("filter", "clean smudge process"),
    _keys("gpg", "program defaultkeycommand"),
    _keys("credential", "helper"),
    _keys("uploadpack", "packobjectshook"),
    _keys("trailer", "command cmd"),
    _keys("remote", "uploadpack receivepack vcs"),
    _keys("url", "insteadof pushinsteadof"),
    _keys("init", "templatedir"),
    _keys("man", "cmd path viewer"),
    _keys("browser", "cmd path"),
    _keys("web", "browser"),
    _keys("instaweb", "httpd browser modulepath"),
    _keys("guitool", "cmd"),
    _keys("tar", "command"),
    _keys("imap", "tunnel"),
    _keys("hook", "command"),
    _keys("sendemail", "smtpserver sendmailcmd tocmd cccmd headercmd"),
)
_BOOLEANS = frozenset({"true", "false", "yes", "no", "on", "off", "0", "1"})
_HARMLESS = frozenset({"", "cat", ":"}) | _BOOLEANS
_NO_AUTOCORRECT = frozenset({"", "0", "false", "no", "off", "never", "show", "prompt"})
_PLAIN_PROTOCOLS = frozenset({"file", "git", "http", "https", "ssh"})
_SECTIONS = frozenset(key.split(".")[0] for key in _PROGRAMS) | {"alias", "pager", "include", "includeif", "protocol"}


def is_hooks_key(key: str) -> bool:
    """Whether the key is core.hooksPath in any spelling."""
    return _normal(key) == "core.hookspath"


def judge_setting(call: Call, key: str, value: str | None) -> Decision | None:
    """Refused when `key` may not be set to `value`; None stands for a value that cannot be read from argv."""
    normal = _normal(key)
    section = normal.split(".")[0]
    if normal == "core.hookspath":
        return _judge_hooks_path(call, value)
    if section == "alias":
        return judge_alias(call, key.partition(".")[2], value)
    if section in ("include", "includeif"):
        return _judge_include(call, key, value)
    if normal == "help.autocorrect" and (value is None or value.lower() not in _NO_AUTOCORRECT):
        return deny_push("git.config.autocorrect", f"{key} lets a misspelt verb run as another one, which")
    return _judge_program(call, key, normal, value)


def judge_section(name: str) -> Decision | None:
    """Refused when renaming a section to `name`, or removing it, would bring a refused setting about."""
    section = name.partition(".")[0].lower()
    if section == "core":
        return deny_hooks("git.hooks.config", f"changing section {name!r} as a whole")
    if section in _SECTIONS:
        return deny_program("git.config.section", f"section {name!r} can hold settings that name programs")
    return None


def _judge_hooks_path(call: Call, value: str | None) -> Decision | None:
    if call.phase == "setup" and value and not value.startswith("~") and not posixpath.isabs(value):
        # Set-up may switch the repository's own hooks on: a folder of the clone, and nothing else.
        inside = inside_workspace(call, value)
        if inside is not None and inside.split("/")[0] != ".git":
            return None
    return deny_hooks("git.hooks.config", "core.hooksPath")


def _judge_include(call: Call, key: str, value: str | None) -> Decision | None:
    if value == "":
        return None
    path = None if value is None else inside_workspace(call, value)
    text = None if path is None else call.tree.read_text(path)
    if text is not None and "hookspath" not in text.lower():
        return deny_program("git.config.include", f"{key} reads settings from a file, which may name programs")
    return deny_hooks("git.config.include", f"{key} reads settings from a file, which")


def _judge_program(call: Call, key: str, normal: str, value: str | None) -> Decision | None:
    section, _, variable = normal.partition(".")
    text = value.strip().lower() if value is not None else None
    named = deny_program("git.config.program", f"the value of {key} is a program or a shell line")
    if normal in _PROGRAMS or section == "pager":
        return None if text in _HARMLESS else named
    if section == "protocol" and variable == "allow":
        plain = key.split(".")[1].lower() in _PLAIN_PROTOCOLS
        return None if plain or text in ("never", "user") else named
    if normal == "submodule.update" and (text is None or text.startswith("!")):
        return named
    if normal in ("remote.url", "remote.pushurl", "submodule.url") and (
        text is None or text.startswith(("ext::", "fd::"))
    ):
        return named
    if normal == "core.worktree":
        inside = None if value is None else inside_workspace(call, value)
        if inside is None:
            return deny_program("git.config.worktree", f"{key} would leave the workspace")
        if ".git" in inside.split("/"):
            return deny_hooks("git.hooks.path", f"{key}={value}")
    return None


def _normal(key: str) -> str:
    """Section and variable in lower case, without the subsection: the form in which the tables name keys."""
    section, _, rest = key.partition(".")
    return f"{section}.{rest.rpartition('.')[2]}".lower()
