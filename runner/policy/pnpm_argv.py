"""pnpm's argv: as npm's, with the difference that a word it does not know is a script, or else a program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runner.model.decision import Decision
from runner.policy.argv_values import Call, deny_hooks, deny_program, deny_scratch
from runner.policy.launchers import judge_shell_option, judge_target
from runner.policy.manifest import judge_manifest, judge_new_manifests, scripts_of, selected_scripts
from runner.policy.package_settings import judge_setting_files, judge_settings
from runner.policy.pnpm_options import PASSED_TO_NPM
from runner.policy.pnpm_reading import PnpmCommand, read_pnpm
from runner.policy.scratch import inside_workspace
from runner.policy.scripts import judge_lifecycle, judge_script
from runner.policy.typecheck import is_typecheck_script

__all__ = ["SETTING_FILES", "judge_pnpm"]

_FETCHES = frozenset({"dlx", "create", "env", "self-update"})
# What only newer releases take for a command of theirs; the image's takes these words for scripts.
_FETCHES_LATER = frozenset({"runtime", "rt", "with"})
_SCRIPTS = {"restart": ("stop", "restart", "start"), "install-test": ("test",)}
_SHORT_SCRIPTS = {"t": "test", "tst": "test"}
_INSTALL = ("pnpm:devPreinstall", "preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare")
_PACK = ("prepack", "prepare", "postpack")
# What pnpm runs of the project's own scripts by itself; `add` and `remove` leave them alone.
_LIFECYCLE = {
    **dict.fromkeys("install ci install-test update dedupe prune link rebuild deploy".split(), _INSTALL),
    "pack": _PACK,
    "publish": ("prepublishOnly", *_PACK, "publish", "postpublish"),
}
SETTING_FILES = (".npmrc", ".pnpmfile.cjs", ".pnpmfile.mjs", "pnpm-workspace.yaml")


def judge_pnpm(call: Call, words: Sequence[str]) -> Decision | None:
    """Refused when pnpm would start what the policy does not allow, or be set up to do so later."""
    command = read_pnpm(words)
    refused = _judge_npm(call, words)
    for folder in _folders(command) if refused is None else ():
        root = inside_workspace(call, folder)
        if root is None:
            return deny_scratch("scratch.package", folder)
        here = call.deeper(cwd=root)
        refused = refused or _judge_command(here, command, words) or _judge_lifecycle(here, command)
    if refused is None and command.recursive:
        refused = judge_new_manifests(call)
    refused = refused or judge_settings(call, command.given.options, "pnpm")
    return refused or judge_setting_files(call, [".", *_folders(command)], SETTING_FILES)


def _folders(command: PnpmCommand) -> list[str]:
    """The folder that was named; with `-w` pnpm goes up to the workspace's own."""
    return list(dict.fromkeys([command.folder, *(["."] if command.given.has_switch("workspace-root") else [])]))


def _judge_npm(call: Call, words: Sequence[str]) -> Decision | None:
    return call.judge(call.deeper(), ["npm", *words]) if words and words[0] in PASSED_TO_NPM else None


def _judge_command(call: Call, command: PnpmCommand, words: Sequence[str]) -> Decision | None:
    name, params = command.name, command.params
    if command.implied:
        return _judge_implied(call, command, words)
    if name in _FETCHES:
        return _judge_fetch(call, name, params)
    if name == "exec":
        return _judge_exec(call, params, command)
    if name == "run":
        return judge_script(call, ".", params[0], params[1:]) if params else None
    if name in _SCRIPTS:
        return _first(judge_script(call, ".", script, params) for script in _SCRIPTS[name])
    if name in ("config", "set"):
        return _judge_config(call, params if name != "set" else ["set", *params])
    if name == "deploy" and any(".git" in word.split("/") for word in params):
        return deny_hooks("git.hooks.path", "pnpm deploy into git's own folder")
    return None


def _judge_lifecycle(call: Call, command: PnpmCommand) -> Decision | None:
    if command.name not in _LIFECYCLE or command.given.has_switch("ignore-scripts"):
        return None
    return judge_lifecycle(call, ".", _LIFECYCLE[command.name])


def _judge_fetch(call: Call, name: str, params: list[str]) -> Decision:
    target = judge_target(call, params, f"pnpm {name}")
    fetched = deny_program("launcher.fetch", f"pnpm {name} fetches a program and runs it")
    return target if target is not None and name == "dlx" else fetched


def _judge_exec(call: Call, params: list[str], command: PnpmCommand) -> Decision | None:
    target = params[1:] if params[:1] == ["--"] else params
    if command.given.has_switch("shell-mode"):
        return judge_shell_option(call, "pnpm exec --shell-mode", " ".join(target))
    return judge_target(call, target, "pnpm exec")


def _judge_implied(call: Call, command: PnpmCommand, words: Sequence[str]) -> Decision | None:
    """`pnpm NAME`: the script of that name, and where there is none the program."""
    if not command.params:
        return None
    name = _SHORT_SCRIPTS.get(command.params[0], command.params[0])
    if name in _FETCHES_LATER:
        return _judge_fetch(call, name, command.params[1:])
    found = is_typecheck_script(name) or selected_scripts(scripts_of(call, "."), name)
    if found or name in ("start", "stop", "test") or command.recursive:
        return judge_script(call, ".", name, command.params[1:])
    if words[0] in PASSED_TO_NPM:
        return None  # judged as npm's
    return judge_manifest(call, ".") or _judge_exec(call, command.program, command)


def _judge_config(call: Call, args: list[str]) -> Decision | None:
    if args[:1] not in (["set"], ["delete"]):
        return None
    name, equals, value = args[1].partition("=") if len(args) > 1 else ("", "", "")
    if not equals and len(args) > 2:
        value = args[2]
    return judge_settings(call, [(name, value)], "pnpm config set")


def _first(found: Iterable[Decision | None]) -> Decision | None:
    return next((decision for decision in found if decision is not None), None)
