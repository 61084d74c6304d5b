"""mise's argv. `mise run <task>` is never refused as a typecheck: it is the way that the refusals point to."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from runner.model.decision import Decision
from runner.policy.argv_values import Call, deny_hooks, deny_program, deny_scratch
from runner.policy.environment import check_name
from runner.policy.environment_values import judge_variable
from runner.policy.hook_folder import into_hooks
from runner.policy.launchers import judge_shell_option, judge_target
from runner.policy.mise_tasks import judge_task_words
from runner.policy.package_settings import judge_setting_files
from runner.policy.scratch import inside_workspace, judge_loaded
from runner.policy.shell_text import assignment

__all__ = ["CONFIGS", "TASK_FOLDERS", "judge_mise"]

_VALUED = frozenset(
    {"-C", "--cd", "-E", "--env", "-P", "--profile", "-j", "--jobs", "--output", "--log-level"}
) | frozenset(
    {"-t", "--tool", "-s", "--shell", "--timeout"}  # of `mise run`, which mise also takes before a bare task name
)
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
    "tool-stub": "runs a program that a file names",
    "self-update": "replaces mise",
}
_SET = frozenset({"set", "ev", "env-vars"})
_HOOK_MANAGERS = ("HUSKY", "LEFTHOOK", "OVERCOMMIT_")  # their switches are judged by value
_GENERATE = frozenset({"generate", "gen", "g"})
_WRITES = re.compile(r"--(?:write|output|dir)(?:=.*)?|-[a-z]*[wod].*", re.DOTALL)
_TEMPLATE = re.compile(r"\{[{%]")
_READS_PLUGINS = frozenset({"ls", "list", "ls-remote", "list-remote"})
_GUARDED_SETTINGS = ("paranoid", "trusted_config_paths", "default_inline_shell_args", "default_file_shell_args")


def judge_mise(call: Call, words: Sequence[str]) -> Decision | None:
    """Refused when mise would start what the policy does not allow, or trust what the run has made."""
    options, rest = _split(list(words))
    folder = next((value for name, value in reversed(options) if name in ("-C", "--cd")), ".") or "."
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


def _split(words: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Options before the first other word, and everything from it on."""
    options: list[tuple[str, str]] = []
    index = 0
    while index < len(words) and words[index].startswith("-") and words[index] != "--":
        word = words[index]
        index += 1
        name, equals, value = word.partition("=")
        if not word.startswith("--"):
            name, value = _valued_letter(word)
        if name in _VALUED and not value and not equals and index < len(words):
            value = words[index]
            index += 1
        options.append((name, value))
    return options, words[index:]


def _valued_letter(word: str) -> tuple[str, str]:
    """The first letter of a bundle that takes a value, and what is glued to it; else the word itself."""
    for position in range(1, len(word)):
        if f"-{word[position]}" in _VALUED:
            return f"-{word[position]}", word[position + 1 :].removeprefix("=")
    return word, ""


def _judge_verb(call: Call, verb: str, args: list[str]) -> Decision | None:
    if verb in _EXEC:
        return _judge_exec(call, args)
    if verb in _TASKS:
        if args[:1] == ["edit"]:
            return deny_program("launcher.program", "mise tasks edit opens an editor")
        if next((word for word in args if not word.startswith("-")), "") == "add" and call.phase == "run":
            return deny_program("mise.trust", "mise tasks add writes a shell line to a config, which mise then trusts")
        return _judge_run(call, args[1:]) if args[:1] in (["run"], ["r"]) else None
    if verb in ("plugins", "plugin", "p") and (not args or args[0] in _READS_PLUGINS or args[0].startswith("-")):
        return None
    held = into_hooks(args)
    if held is not None and verb not in _RUN:
        return deny_hooks("git.hooks.mise", f"mise {verb} {held!r}")
    if verb in _GENERATE:
        return _judge_generate(args)
    if verb in _REFUSED:
        return deny_program("launcher.program", f"mise {verb} {_REFUSED[verb]}")
    if verb == "trust":
        return _judge_trust(call, args)
    if verb in _SET:
        return next((refused for word in args if (refused := _judge_set(call, word)) is not None), None)
    if verb in ("settings", "config", "cfg"):
        return _judge_settings(args)
    return _judge_run(call, args if verb in _RUN else [verb, *args])


def _judge_exec(call: Call, args: list[str]) -> Decision | None:
    if "--" in args:
        before, target = args[: args.index("--")], args[args.index("--") + 1 :]
    else:
        before, target = args, []
    for index, word in enumerate(before):
        if word in ("-c", "--command"):
            return judge_shell_option(call, f"mise exec {word}", " ".join(before[index + 1 : index + 2]))
        if word.startswith("--command=") or (word.startswith("-c") and word != "-c"):
            return judge_shell_option(call, "mise exec --command", word.partition("=")[2] or word[2:])
        folder = before[index + 1] if word in ("-C", "--cd") and index + 1 < len(before) else None
        root = None if folder is None else inside_workspace(call, folder)
        call = call if root is None else call.deeper(cwd=root)
    if not target:
        # Without `--`, mise takes tool names first and the rest as the program.
        target = [word for word in before if not word.startswith("-") and "@" not in word]
    return judge_target(call, target, "mise exec")


def _judge_run(call: Call, args: list[str]) -> Decision | None:
    """Tasks run; only a shell given by option, and a task file that this run made, do not."""
    for index, word in enumerate(args):
        if not word.startswith("-"):
            break
        if word in ("-s", "--shell") or word.startswith("--shell="):
            line = word.partition("=")[2] or " ".join(args[index + 1 : index + 2])
            return judge_shell_option(call, "mise run --shell", line)
    for index, task in enumerate(args):
        if not task.startswith("-"):
            return _judge_file_tasks(call, task) or judge_task_words(call, args[index:], CONFIGS)
    return None


def _judge_file_tasks(call: Call, task: str) -> Decision | None:
    for folder in TASK_FOLDERS:
        path = posixpath.normpath(posixpath.join(call.cwd, folder, task.replace(":", "/")))
        refused = None if path.startswith("..") else judge_loaded(call, path, "scratch.task")
        if refused is not None:
            return refused
    return None


def _judge_set(call: Call, word: str) -> Decision | None:
    """Refused unless the word of `mise set` gives a plain variable a plain value: mise trusts the config it writes."""
    pair = assignment(word)
    if pair is None:
        name = word.partition("=")[0]
        odd = name == "--file" or ("=" in word and not word.startswith("-")) or name.startswith("_.")
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
