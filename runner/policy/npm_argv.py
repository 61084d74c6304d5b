"""npm's argv: launchers, scripts and settings. Commands may be abbreviated; options may stand anywhere."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from runner.model.decision import Decision
from runner.policy.argv_values import Call, deny_program, deny_scratch
from runner.policy.launchers import judge_shell_option, judge_target
from runner.policy.manifest import judge_new_manifests
from runner.policy.nopt import Given, read_options
from runner.policy.npm_options import NPM
from runner.policy.package_settings import judge_setting_files, judge_settings
from runner.policy.scratch import inside_workspace
from runner.policy.scripts import judge_lifecycle, judge_script

__all__ = ["judge_npm", "npm_command"]

_COMMANDS = frozenset(
    """
    access adduser approve-scripts audit bugs cache ci completion config dedupe deny-scripts deprecate diff dist-tag
    docs doctor edit exec explain explore find-dupes fund get help help-search init install install-ci-test
    install-scripts install-test link ll login logout ls org outdated owner pack ping pkg prefix profile prune publish
    query rebuild repo restart root run sbom search set shrinkwrap stage star stars start stop team test token trust
    undeprecate uninstall unpublish unstar update version view whoami
    """.split()
)
_ALIASES = {
    "create": "init",
    "innit": "init",
    "x": "exec",
    "run-script": "run",
    "rum": "run",
    "urn": "run",
    "c": "config",
    "tst": "test",
    "t": "test",
    "it": "install-test",
    "cit": "install-ci-test",
    "sit": "install-ci-test",
    "clean-install-test": "install-ci-test",
    "verison": "version",
    **dict.fromkeys("add i in ins inst insta instal isnt isnta isntal isntall".split(), "install"),
    **dict.fromkeys("clean-install ic install-clean isntall-clean".split(), "ci"),
    **dict.fromkeys("unlink remove rm r un".split(), "uninstall"),
    **{"author": "owner", "home": "docs", "issues": "bugs", "info": "view", "show": "view", "find": "search"},
    **{"rb": "rebuild", "list": "ls", "ln": "link", "u": "update", "up": "update", "s": "search", "se": "search"},
    **{"ddp": "dedupe", "v": "view", "why": "explain", "la": "ll", "hlep": "help", "dist-tags": "dist-tag"},
    **{"upgrade": "update", "udpate": "update", "ogr": "org", "add-user": "adduser"},
}
_SCRIPTS = {
    "test": ("test",),
    "start": ("start",),
    "stop": ("stop",),
    "restart": ("stop", "start", "restart"),
    "install-test": ("test",),
    "install-ci-test": ("test",),
    "version": ("version",),  # a release script may push
}


_INSTALL = ("preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare")
_PACK = ("prepack", "prepare", "postpack")
# What npm runs of the project's own scripts by itself, by its own list of life cycle operations.
_LIFECYCLE = {
    "install": _INSTALL,
    "ci": _INSTALL,
    "install-test": _INSTALL,
    "install-ci-test": _INSTALL,
    "link": _INSTALL,
    "rebuild": _INSTALL,
    "pack": _PACK,
    "publish": ("prepublishOnly", *_PACK, "publish", "postpublish"),
    "stage": ("prepublishOnly", *_PACK, "publish", "postpublish"),
}
_CHANGE_PACKAGES = frozenset("audit ci dedupe install install-ci-test install-test link prune uninstall update".split())
"""Where they changed something, npm runs the project's script `dependencies`, also with packages named."""
# With packages named, these two leave the project's own scripts alone.
_OF_THE_PROJECT_ALONE = frozenset({"install", "link"})


def npm_command(word: str) -> str:
    """The command that npm takes `word` for: exact, alias, or an abbreviation that fits one of them."""
    plain = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in word)
    if plain in _COMMANDS:
        return plain
    if plain in _ALIASES:
        return _ALIASES[plain]
    fitting = {name for name in (*_COMMANDS, *_ALIASES) if plain and name.startswith(plain)}
    if len(fitting) != 1:
        return plain
    name = fitting.pop()
    return _ALIASES.get(name, name)


def judge_npm(call: Call, words: Sequence[str]) -> Decision | None:
    """Refused when npm would start what the policy does not allow, or be set up to do so later."""
    given = read_options(words, NPM)
    everything = given.words + given.verbatim
    if not everything:
        return judge_settings(call, given.options, "npm")
    command, args = npm_command(everything[0]), everything[1:]
    if command not in _COMMANDS:
        # npm would stop here too; saying so keeps a misread option from hiding the command behind it.
        return deny_program("npm.command", f"{everything[0][:200]!r} is no command of npm")
    folder = (given.values("prefix") or ["."])[-1] or "."
    if inside_workspace(call, folder) is None and command in ("run", *_SCRIPTS):
        return deny_scratch("scratch.package", folder)
    refused = _judge_command(call, command, args, folder, given) or _judge_lifecycle(call, command, args, given)
    if refused is None and (given.has_switch("workspaces") or given.values("workspace")):
        refused = judge_new_manifests(call)
    if refused is not None:
        return refused
    return judge_settings(call, given.options, "npm") or judge_setting_files(call, [".", folder], [".npmrc"])


def _judge_command(call: Call, command: str, args: list[str], folder: str, given: Given) -> Decision | None:
    if command == "exec":
        return _judge_exec(call, args, given)
    if command == "run":
        return _judge_run(call, args[0], folder, given, args[1:]) if args else None
    if command == "version" and given.has_switch("ignore-scripts"):
        return None
    if command in _SCRIPTS:
        found = (_judge_run(call, name, folder, given, args) for name in _SCRIPTS[command])
        return next((refused for refused in found if refused is not None), None)
    if command == "init" and args:
        return deny_program("launcher.fetch", f"npm init {args[0]} fetches a program and runs it")
    if command == "edit":
        return deny_program("launcher.program", "npm edit opens an editor")
    if command == "explore":
        return judge_target(call, args[1:], "npm explore")
    if command in ("config", "set"):
        return _judge_config(call, args if command == "config" else ["set", *args])
    return None


def _judge_exec(call: Call, args: list[str], given: Given) -> Decision | None:
    lines = given.values("call")
    if lines:
        return judge_shell_option(call, "npm exec --call", lines[-1])
    refused = judge_target(call, args, "npm exec")
    if refused is None and given.values("package"):
        return deny_program("launcher.fetch", "npm exec --package fetches a program and runs it")
    return refused


def _judge_run(call: Call, name: str, folder: str, given: Given, extra: Sequence[str]) -> Decision | None:
    found = (judge_script(call, path, name, extra) for path in _packages(call, folder, given))
    return next((refused for refused in found if refused is not None), None)


def _packages(call: Call, folder: str, given: Given) -> list[str]:
    """The folder of the project and those of the workspaces that are named by their path."""
    named = [posixpath.join(folder, workspace) for workspace in given.values("workspace")]
    return [folder, *(path for path in named if inside_workspace(call, path) is not None)]


def _judge_lifecycle(call: Call, command: str, args: list[str], given: Given) -> Decision | None:
    folder = (given.values("prefix") or ["."])[-1] or "."
    others = [word for word in args if posixpath.normpath(word) != "."]
    if given.has_switch("ignore-scripts"):
        return None
    names = () if command in _OF_THE_PROJECT_ALONE and others else _LIFECYCLE.get(command, ())
    names = (*names, "dependencies") if command in _CHANGE_PACKAGES else names
    found = (judge_lifecycle(call, path, names) for path in _packages(call, folder, given))
    return next((refused for refused in found if refused is not None), None)


def _judge_config(call: Call, args: list[str]) -> Decision | None:
    if args[:1] == ["edit"]:
        return deny_program("launcher.program", "npm config edit opens an editor", "Set one key at a time.")
    if args[:1] not in (["set"], ["delete"]):
        return None
    pairs = args[1:]
    if args[0] == "set" and len(pairs) == 2 and "=" not in pairs[0]:
        settings = [(pairs[0], pairs[1])]
    else:
        settings = [(name, value) for name, _, value in (pair.partition("=") for pair in pairs)]
    return judge_settings(call, settings, "npm config set")
