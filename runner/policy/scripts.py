"""Package scripts and other shell text, followed to the commands behind them.

A script of the repository may start any program; what it may not do is what no command may: push, skip hooks, run the
typechecker around the verification task, or execute scratch. Only these four codes come out of this module.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Sequence

from runner.model.decision import Decision
from runner.model.errors import ErrorCode
from runner.policy.argv_values import Call, deny_hooks, deny_typecheck
from runner.policy.environment_values import judge_variable
from runner.policy.manifest import around, judge_manifest, scripts_of, selected_scripts
from runner.policy.scratch import inside_workspace, judge_file, judge_loaded
from runner.policy.shell_text import assignment, commands_in
from runner.policy.typecheck import is_typecheck_module, is_typecheck_program, is_typecheck_script

__all__ = [
    "SHELLS",
    "judge_appended",
    "judge_command",
    "judge_lifecycle",
    "judge_script",
    "judge_shell_line",
    "program_name",
    "unwrap",
]

SHELLS = frozenset("sh bash dash ash zsh ksh mksh fish csh tcsh rbash busybox pwsh powershell cmd".split())
_JUDGED = frozenset({"git", "npm", "pnpm", "node", "mise"})
_WRAPPERS = frozenset(
    "env cross-env cross-env-shell dotenv dotenvx exec command builtin time nice nohup sudo xargs timeout stdbuf "
    "setsid npx pnpx bunx".split()
)
_RUNNERS = frozenset({"npm-run-all", "npm-run-all2", "run-s", "run-p"})
_HOOK_MANAGERS = frozenset({"husky", "lefthook", "pre-commit"})
_INSTALLERS = frozenset({"npm", "pnpm", "yarn"})
_CODE_RUNNERS = frozenset(  # installed tools that execute the files they are given
    "tsx ts-node ts-node-esm vite-node esno jiti babel-node nodemon mocha ava vitest jest c8 nyc zx tap uvu".split()
)
_CODE_FILE = re.compile(r".*\.[cm]?[jt]sx?")
_CODES = frozenset(
    {
        ErrorCode.GIT_PUSH_VIA_RUN_COMMAND,
        ErrorCode.GIT_HOOKS_SKIP_REFUSED,
        ErrorCode.DIRECT_TYPECHECK_REFUSED,
        ErrorCode.SCRATCH_EXECUTION_REFUSED,
    }
)
_STARTED = "node server.js"  # what package managers start where there is no script `start`
_GYP = "binding.gyp"  # describes a build that may run programs; it stands in for a missing install script
_NUMBER = re.compile(r"[\d.]+[smhd]?")
_ALL_PARAMETERS = re.compile(r"\"?\$\{?[@*]\}?\"?")  # "$@" and its kin, where a shell function takes up the extra words


def judge_shell_line(call: Call, text: str) -> Decision | None:
    """Refused when a command of the text would do what no command may."""
    if call.exhausted:
        return None
    for command in commands_in(text):
        for name, value in command.environment:
            # Switching hooks off for an install skips none: nothing is committed there.
            if command.words[:1] and program_name(command.words[0]) in _INSTALLERS:
                continue
            refused = _kept(judge_variable(call, name, value))
            if refused is not None:
                return refused
        refused = judge_command(call, command.words)
        if refused is not None:
            return refused
    return None


def judge_command(call: Call, words: Sequence[str]) -> Decision | None:
    """Refused when the command, started by a script or a launcher, would do what no command may."""
    call.progress.steps += 1
    if call.exhausted or not words:
        return None
    name = program_name(words[0])
    args = list(words[1:])
    if is_typecheck_program(words[0]) or ("/" in words[0] and is_typecheck_module(words[0])):
        return deny_typecheck(call, "typecheck.program", words[0])
    if name in _JUDGED:
        return _kept(call.judge(call.deeper(), [name, *args]))
    if name in _WRAPPERS:
        return _judge_wrapped(call, words)
    follow = _FOLLOWED.get(name)
    if follow is not None:
        return follow(call.deeper(), args)
    if name in SHELLS:
        return _judge_shell(call.deeper(), args)
    if name in _RUNNERS:
        return _first(_judge_named(call.deeper(), arg) for arg in args if not arg.startswith("-"))
    if name in _HOOK_MANAGERS and "uninstall" in args:
        return deny_hooks("git.hooks.manager", f"{name} uninstall")
    if name in _CODE_RUNNERS:
        return _judge_code_runner(call, args)
    return judge_file(call, words[0], "scratch.program") if "/" in words[0] else None


def judge_script(call: Call, folder: str, name: str, extra: Sequence[str] = ()) -> Decision | None:
    """Refused when the package script `name` of the folder, or what runs before and after it, is.

    Package managers append the `extra` words to the script's text, quoted, so they end up at its last command.
    """
    if is_typecheck_script(name):
        return deny_typecheck(call, "typecheck.script", f"the package script {name!r}")
    refused = judge_manifest(call, folder)
    if refused is not None or call.exhausted:
        return refused
    scripts = {"start": _STARTED, **scripts_of(call, folder)} if name == "start" else scripts_of(call, folder)
    root = inside_workspace(call, folder) or "."
    for script in selected_scripts(scripts, name):
        words = extra if script == name or script not in around(name) else ()
        key = (root, "\0".join((script, *words)))
        if key in call.progress.scripts:
            continue
        call.progress.scripts.add(key)
        if is_typecheck_script(script):
            return deny_typecheck(call, "typecheck.script", f"the package script {script!r}")
        refused = judge_appended(call.deeper(cwd=root), scripts[script], words)
        if refused is not None:
            return refused
    return None


def judge_appended(call: Call, line: str, extra: Sequence[str]) -> Decision | None:
    """Refused when the shell line with the extra words at its end is.

    Whether a leading `--` is passed on differs between package managers and their versions: both are judged.
    """
    if not extra:
        return judge_shell_line(call, line)
    given = [list(extra), list(extra[1:])] if extra[0] == "--" else [list(extra)]
    lines = (text for words in given for text in (f"{line} {shlex.join(words)}", _filled_in(line, words)))
    return _first(judge_shell_line(call, text) for text in dict.fromkeys(lines))


def judge_lifecycle(call: Call, folder: str, names: Iterable[str]) -> Decision | None:
    """Refused when one of these scripts, which a package manager runs by itself, does what no command may.

    In set-up a typechecker is let through: a package that is built when it is installed needs its build.
    """
    scripts = scripts_of(call, folder)
    gyp = inside_workspace(call, posixpath.join(folder, _GYP))
    if "install" in names and gyp is not None and not scripts.keys() & {"install", "preinstall"}:
        built = judge_loaded(call, gyp, "scratch.program")
        if built is not None:
            return built
    for name in names:
        refused = (
            judge_script(call, folder, name) if any(script in scripts for script in (name, *around(name))) else None
        )
        if refused is not None and not (call.phase == "setup" and refused.code is ErrorCode.DIRECT_TYPECHECK_REFUSED):
            return refused
    return None


def unwrap(words: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Assignments and the command behind programs that only start another: `cross-env A=1 sh` is `sh` with A."""
    environment: list[tuple[str, str]] = []
    rest = list(words)
    while rest and program_name(rest[0]) in _WRAPPERS:
        rest.pop(0)
        while rest:
            pair = assignment(rest[0])
            if pair is not None:
                environment.append(pair)
            elif not rest[0].startswith("-") and not _NUMBER.fullmatch(rest[0]):
                break
            rest.pop(0)
    return environment, rest


def program_name(word: str) -> str:
    """The name that a program goes by, without folder and Windows suffix."""
    base = posixpath.basename(word)
    return base.removesuffix(".cmd").removesuffix(".exe")


def _filled_in(line: str, words: Sequence[str]) -> str:
    """The line with the words in the place of its `"$@"`, as a shell function in it would use them."""
    return _ALL_PARAMETERS.sub(lambda _: shlex.join(words), line)


def _kept(decision: Decision | None) -> Decision | None:
    return decision if decision is not None and decision.code in _CODES else None


def _first(found: Iterable[Decision | None]) -> Decision | None:
    return next((decision for decision in found if decision is not None), None)


def _judge_wrapped(call: Call, words: Sequence[str]) -> Decision | None:
    environment, rest = unwrap(words)
    refused = _first(_kept(judge_variable(call, name, value)) for name, value in environment)
    if refused is not None or not rest:
        return refused
    if program_name(words[0]) == "cross-env-shell":
        return judge_shell_line(call.deeper(), " ".join(rest))
    # A wrapper's option may take a value that looks like the command (`npx -p typescript tsc`).
    known = next((i for i, word in enumerate(words) if i and _is_known(word)), None)
    return judge_command(call.deeper(), rest) or (judge_command(call.deeper(), words[known:]) if known else None)


def _is_known(word: str) -> bool:
    return program_name(word) in _JUDGED | SHELLS or is_typecheck_program(word)


def _judge_code_runner(call: Call, args: list[str]) -> Decision | None:
    """Refused when a file among the words, or among the options' values, is scratch of this run."""
    for arg in args:
        value = arg.partition("=")[2] if arg.startswith("-") else arg
        # Other words are outputs and filters; a name outside the workspace counts only when it is code.
        if value and (_CODE_FILE.fullmatch(value) or inside_workspace(call, value) is not None):
            refused = judge_file(call, value, "scratch.tool.file")
            if refused is not None:
                return refused
    return None


def _judge_shell(call: Call, args: list[str]) -> Decision | None:
    for index, arg in enumerate(args):
        if arg.startswith("-") and not arg.startswith("--") and "c" in arg:
            return _judge_shell_words(call, args[index + 1], args[index + 2 :]) if index + 1 < len(args) else None
        if not arg.startswith("-"):
            return judge_file(call, arg, "scratch.shell")
    return None


def _judge_shell_words(call: Call, line: str, rest: list[str]) -> Decision | None:
    """`sh -c LINE $0 $1 …`: a line with parameters may start what the words name."""
    refused = judge_shell_line(call, line)
    if refused is not None or "$" not in line:
        return refused
    passed = judge_shell_line(call, _filled_in(line, rest[1:]))
    return passed or judge_command(call, rest) or judge_command(call, rest[1:])


def _judge_yarn(call: Call, args: list[str]) -> Decision | None:
    words = [arg for arg in args if not arg.startswith("-")]
    if words[:1] in (["exec"], ["dlx"]):
        return judge_command(call, words[1:])
    names = words[1:] if words[:1] == ["run"] else words
    extra = args[args.index(names[0]) + 1 :] if names else []
    return (judge_script(call, call.cwd, names[0], extra) or judge_command(call, names)) if names else None


def _judge_lines(call: Call, args: list[str]) -> Decision | None:
    for arg in args:
        script = re.fullmatch(r"(?:npm|pnpm|yarn):(.+)", arg, re.DOTALL)
        refused = _judge_named(call, script[1]) if script else judge_shell_line(call, arg)
        if refused is not None:
            return refused
    return None


def _judge_named(call: Call, text: str) -> Decision | None:
    """A script by name in one word, which may hold extra words after blanks: `npm-run-all "lint -- --fix"`."""
    name, *extra = text.split() or [""]
    return judge_script(call, call.cwd, name, extra)


def _judge_export(call: Call, args: list[str]) -> Decision | None:
    pairs = (assignment(arg) for arg in args)
    return _first(_kept(judge_variable(call, *pair)) for pair in pairs if pair is not None)


def _judge_source(call: Call, args: list[str]) -> Decision | None:
    return judge_file(call, args[0], "scratch.shell") if args else None


_FOLLOWED: dict[str, Callable[[Call, list[str]], Decision | None]] = {
    "yarn": _judge_yarn,
    "bun": _judge_yarn,
    "concurrently": _judge_lines,
    "eval": lambda call, args: judge_shell_line(call, " ".join(args)),
    "export": _judge_export,
    "source": _judge_source,
    ".": _judge_source,
}
