"""mise's argv. `mise run <task>` is never refused as a typecheck: it is the way that the refusals point to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from runner.model.decision import Decision
from runner.policy.argv_values import Call, deny_hooks, deny_program, deny_scratch
from runner.policy.environment import check_name
from runner.policy.environment_values import judge_variable
from runner.policy.hook_folder import into_hooks
from runner.policy.launchers import judge_shell_option, judge_target
from runner.policy.mise_options import BEFORE_VERB, EXEC, RUN, read_options
from runner.policy.mise_tasks import judge_file_tasks, judge_task_words
from runner.policy.package_settings import judge_setting_files
from runner.policy.scratch import inside_workspace, judge_loaded
from runner.policy.shell_text import assignment

__all__ = ["CONFIGS", "TASK_FOLDERS", "VERBS", "judge_mise"]

CONFIGS = (
    *("mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".tool-versions", "mise/config.toml"),
    *(".mise/config.toml", ".config/mise.toml", ".config/mise/config.toml"),
)
TASK_FOLDERS = ("mise-tasks", ".mise-tasks", "mise/tasks", ".mise/tasks", ".config/mise/tasks")
_EXEC = frozenset({"x", "exec"})
_RUN = frozenset({"run", "r", "watch", "w"})
_TASKS = frozenset({"tasks", "task", "t"})
_REFUSED = {
    "en": "starts a shell",
    "link": "puts a folder's programs in a tool's place",
    "ln": "puts a folder's programs in a tool's place",
    "install-into": "writes a tool to a folder that its words name",
    "bootstrap": "runs what a config lists",
    "bs": "runs what a config lists",
    "dotfiles": "writes files that a config lists",
    "dot": "writes files that a config lists",
    "ssh": "opens a session",
    "use": "fetches a tool and changes the tool list",
    "u": "fetches a tool and changes the tool list",
    "edit": "opens an editor",
    "plugins": "fetches code and runs it",
    "plugin": "fetches code and runs it",
    "p": "fetches code and runs it",
    "plugin-list": "fetches code and runs it",
    "tool-stub": "runs a program that a file names",
    "self-update": "replaces mise",
    "test-tool": "fetches a tool and runs it",
    "hook-not-found": "fetches a tool",
}
_INSTALLS = frozenset({"deps", "dep", "prepare"})  # they have the package manager install, whichever it is
_SET = ("set", "ev", "env-vars")
_SETTINGS = ("settings", "config", "cfg", "toml")
_HOOK_MANAGERS = ("HUSKY", "LEFTHOOK", "OVERCOMMIT_")  # their switches are judged by value
_GENERATE = frozenset({"generate", "gen", "g"})
_WRITES = re.compile(r"--(?:write|output|dir)(?:=.*)?|-[a-z]*[wod].*", re.DOTALL)
VERBS = (_EXEC, _RUN, _TASKS, _REFUSED, _INSTALLS, _SET, _SETTINGS, _GENERATE)
"""Verbs that are judged, with all their aliases."""
_TEMPLATE = re.compile(r"\{[{%]")
_PLUGINS = ("plugins", "plugin", "p", "plugin-list")
_READS_PLUGINS = frozenset({"ls", "list", "ls-remote", "list-remote"})
_GUARDED_SETTINGS = ("paranoid", "trusted_config_paths", "default_inline_shell_args", "default_file_shell_args")


def judge_mise(call: Call, words: Sequence[str]) -> Decision | None:
    """Refused when mise would start what the policy does not allow, or trust what the run has made."""
    options, rest = read_options(words, BEFORE_VERB)
    folder = _named_folder(options)
    root = inside_workspace(call, folder)
    if root is None:
        return deny_scratch("scratch.settings", folder)
    shell = next((value for name, value in options if name in ("-s", "--shell")), None)
    if shell is not None:
        return judge_shell_option(call, "mise --shell", shell)
    inner = call.deeper(cwd=root)
    refused = _judge_verb(inner, rest[0], rest[1:]) if rest else None
    return refused or judge_setting_files(call, [".", folder], CONFIGS) or _judge_new_tasks(call)


def _judge_new_tasks(call: Call) -> Decision | None:
    """Templates in the head of a task file are run by every verb that only lists the tasks."""
    folders = [f"{folder}/" for folder in TASK_FOLDERS if call.tree.kind(folder) is not None]
    for path in call.policy.created_files() if folders else ():
        if path.startswith(tuple(folders)):
            text = call.tree.read_text(path)
            refused = judge_loaded(call, path, "scratch.task") if text is None or _TEMPLATE.search(text) else None
            if refused is not None:
                return refused
    return None


def _judge_verb(call: Call, verb: str, args: list[str]) -> Decision | None:
    if verb in _EXEC:
        return _judge_exec(call, args)
    if verb in _TASKS:
        if args[:1] == ["edit"]:
            return deny_program("launcher.program", "mise tasks edit opens an editor")
        if next((word for word in args if not word.startswith("-")), "") == "add" and call.phase == "run":
            return deny_program("mise.trust", "mise tasks add writes a shell line to a config, which mise then trusts")
        return _judge_run(call, args[1:]) if args[:1] in (["run"], ["r"]) else None
    if verb in _PLUGINS and (not args or args[0] in _READS_PLUGINS or args[0].startswith("-")):
        return None
    held = into_hooks(args)
    if held is not None and verb not in _RUN:
        return deny_hooks("git.hooks.mise", f"mise {verb} {held!r}")
    if verb in _GENERATE:
        return _judge_generate(args)
    if verb in _REFUSED:
        return deny_program("launcher.program", f"mise {verb} {_REFUSED[verb]}")
    if verb in _INSTALLS:
        return call.judge(call.deeper(), ["npm", "install"]) or call.judge(call.deeper(), ["pnpm", "install"])
    if verb == "trust":
        return _judge_trust(call, args)
    if verb in (*_SET, *_SETTINGS):
        return _judge_settings(args) if verb in _SETTINGS else _judge_sets(call, args)
    return _judge_run(call, args if verb in _RUN else [verb, *args])


def _judge_exec(call: Call, args: list[str]) -> Decision | None:
    dashes = args.index("--") if "--" in args else len(args)
    options, tools = read_options(args[:dashes], EXEC, anywhere=True)
    lines = [value for name, value in options if name in ("-c", "--command")]
    if lines:
        return judge_shell_option(call, "mise exec --command", lines[-1])
    folder = _named_folder(options)
    root = inside_workspace(call, folder)
    if root is None:
        return deny_scratch("scratch.settings", folder)
    # Without `--`, mise takes tool names first and the rest as the program.
    target = args[dashes + 1 :] or [word for word in tools if "@" not in word]
    return judge_target(call.deeper(cwd=root), target, "mise exec")


def _judge_run(call: Call, args: list[str]) -> Decision | None:
    """Tasks run; only a shell given by option, and a task file that this run made, do not."""
    options, words = read_options(args, RUN)
    shell = next((value for name, value in options if name in ("-s", "--shell")), None)
    if shell is not None:
        return judge_shell_option(call, "mise run --shell", shell)
    folder = _named_folder(options)
    root = inside_workspace(call, folder)
    if root is None:
        return deny_scratch("scratch.settings", folder)
    call = call.deeper(cwd=root)
    words = [word for index, word in enumerate(words) if index or word != "--"]
    refused = judge_setting_files(call, ["."], CONFIGS)
    return refused or judge_file_tasks(call, words, TASK_FOLDERS) or judge_task_words(call, words, CONFIGS)


def _named_folder(options: list[tuple[str, str]]) -> str:
    """The folder that mise is told to work in."""
    return next((value for name, value in reversed(options) if name in ("-C", "--cd")), ".") or "."


def _judge_sets(call: Call, args: list[str]) -> Decision | None:
    return next((refused for word in args if (refused := _judge_set(call, word)) is not None), None)


def _judge_set(call: Call, word: str) -> Decision | None:
    """Refused unless the word of `mise set` gives a plain variable a plain value: mise trusts the config it writes."""
    pair = assignment(word)
    if pair is None:
        name = word.partition("=")[0]
        odd = name in ("--file", "--path") or ("=" in word and not word.startswith("-")) or name.startswith("_.")
        return deny_program("mise.setting", f"mise set {name[:200]} is more than a variable's value") if odd else None
    refused = judge_variable(call, *pair)
    if refused is None and _TEMPLATE.search(pair[1]):
        return deny_program("mise.setting", f"the value of {pair[0][:200]} is a template, which runs programs")
    if refused is None and not pair[0].startswith(_HOOK_MANAGERS):
        try:
            check_name(pair[0])
        except ValueError as reason:
            return deny_program("mise.setting", f"mise set {pair[0][:200]}: {reason}")
    return refused


def _judge_generate(args: list[str]) -> Decision | None:
    """Generators print; what they write is a hook, a workflow or a program."""
    what = next((word for word in args if not word.startswith("-")), "")
    written = next((word for word in args if _WRITES.fullmatch(word)), None)
    if written is not None and "pre-commit" in what:
        return deny_hooks("git.hooks.mise", f"mise generate {what} {written}")
    prints = "-n" in args or "--dry-run" in args
    if written is not None or what in ("task-stubs", "tool-stub") or (what == "config" and not prints):
        return deny_program("mise.generate", f"mise generate {what} {written or ''} writes a file")
    return None


def _judge_trust(call: Call, args: list[str]) -> Decision | None:
    if call.phase == "setup" or args[:1] in (["--show"], ["--untrust"]):
        return None  # at set-up the config is the base commit's
    return deny_program("mise.trust", "mise trust would trust a config as the run left it")


def _judge_settings(args: list[str]) -> Decision | None:
    sets = args[:1] in (["set"], ["add"], ["unset"]) or any("=" in word for word in args) or len(args) == 2
    named = next((word for word in args if any(key in word for key in _GUARDED_SETTINGS)), None)
    if sets and named is not None and args[:1] != ["get"]:
        return deny_program("mise.setting", f"the mise setting {named!r} decides what is trusted or started")
    return None
