"""May this argv run, and in which spelling? Own rules first, then what the contract refuses, then the preset.

The preset `default` lets the rest run as given. `strict` runs what its grammars know, in their canonical spelling;
an own rule that allows can open what `strict` closes, and never what the contract refuses.

Pure, but for questions to the `TreeView`, asked only where the answer decides. Each program's argv is read as that
program reads it, launchers and scripts are followed to the command behind them, and every name is judged by the same
rules wherever it was found. No shell is ever involved.

Left to others: finding the program on a fixed PATH outside the workspace, building the environment, and everything
that an interpreter does by itself (`node -e`), where the container and the gate are the boundary.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

from runner.model.decision import Decision
from runner.model.errors import ErrorCode, ToolError
from runner.model.tree import TreeView
from runner.policy.argv_rules import first_match
from runner.policy.argv_values import ArgvPolicy, ArgvVerdict, Call, Phase, Tool, deny_program
from runner.policy.git_argv import judge_git
from runner.policy.mise_argv import judge_mise
from runner.policy.node_argv import judge_node
from runner.policy.npm_argv import judge_npm
from runner.policy.pnpm_argv import judge_pnpm
from runner.policy.strict import canonical
from runner.policy.strict_values import NotAllowed
from runner.policy.tree_questions import BoundedTree, TooManyQuestions

__all__ = [
    "ArgvPolicy",
    "ArgvVerdict",
    "decide_argv",
    "judge_argv",
    "split_git_args",
    "validate_argv",
    "validate_command",
]

MAX_ELEMENTS = 10_000
MAX_BYTES = 1024 * 1024  # half of what Linux takes for argv and environment together
MAX_WORD_BYTES = 128 * 1024 - 1  # Linux's MAX_ARG_STRLEN, less the NUL at its end

_JUDGES: dict[str, Callable[[Call, Sequence[str]], Decision | None]] = {
    "git": judge_git,
    "npm": judge_npm,
    "pnpm": judge_pnpm,
    "node": judge_node,
    "mise": judge_mise,
}


def validate_argv(value: object) -> list[str]:
    """The value as an argv that a program can be given.

    Raises:
        ToolError: argv_required when it is missing, empty, or not an array of strings; bin_not_allowlisted when the
            first word can name no program; invalid_arguments when another word cannot be passed on, or it is too big.
    """
    if not isinstance(value, list | tuple) or not value:
        raise _required("argv must be a non-empty array of strings.")
    if len(value) > MAX_ELEMENTS:
        raise _invalid(f"argv has more than {MAX_ELEMENTS} elements.")
    words: list[str] = []
    size = 0
    for word in value:
        if not isinstance(word, str):
            raise _required("argv must hold strings only.")
        size += len(word)
        if size > MAX_BYTES:  # in characters, which are not more than bytes: before any other work on them
            raise _invalid(f"argv is larger than {MAX_BYTES} bytes.")
        words.append(word)
    _check_text(words)
    return words


def validate_command(value: object) -> list[str]:
    """As `validate_argv`, for an argv that a caller wants started: no word is longer than the kernel lets one be.

    Raises:
        ToolError: as `validate_argv` says; invalid_arguments for a word that is too long.
    """
    words = validate_argv(value)
    for position, word in enumerate(words):
        if len(word.encode()) > MAX_WORD_BYTES:
            raise _invalid(f"argv[{position}] is larger than {MAX_WORD_BYTES} bytes; write it to a file and name that.")
    return words


def split_git_args(args: object) -> list[str]:
    """The arguments of the `git` tool as a list; one string is split by shell quoting rules, without a shell.

    Raises:
        ToolError: argv_required when there are none, or they are not text; invalid_arguments when quotes are not
            balanced, or a word cannot be passed on.
    """
    words = _split(args) if isinstance(args, str) else args
    if not isinstance(words, list | tuple) or not words:
        return validate_argv(words)
    return validate_command(["git", *words])[1:]  # the program is git, so no word of these can name another


def _split(args: str) -> list[str]:
    if len(args) > MAX_BYTES:
        raise _invalid(f"args is larger than {MAX_BYTES} bytes.")
    try:
        return shlex.split(args)
    except ValueError as error:
        raise _invalid(f"args cannot be split: {error}.") from error


def decide_argv(
    argv: Sequence[str], policy: ArgvPolicy, tree: TreeView, *, tool: Tool = "run_command", phase: Phase = "run"
) -> Decision:
    """Whether the argv may run, by which rule; `judge_argv` without the argv to run.

    Raises:
        ToolError: as `validate_argv` says.
    """
    return judge_argv(argv, policy, tree, tool=tool, phase=phase).decision


def judge_argv(
    argv: Sequence[str], policy: ArgvPolicy, tree: TreeView, *, tool: Tool = "run_command", phase: Phase = "run"
) -> ArgvVerdict:
    """Whether the argv may run, by which rule, and the argv to run. For the tool `git`, `argv` has `git` in front.

    In the phase `setup`, the repository's own hooks may be switched on: core.hooksPath set to a folder of the clone;
    and `strict` lets an install through. A policy that is narrowed allows what it and each reading of it allow.

    Raises:
        ToolError: as `validate_argv` says.
    """
    words = tuple(validate_argv(list(argv)))
    bounded = BoundedTree(tree)
    verdicts: list[ArgvVerdict] = []
    for number, layer in ((0, policy), *policy.narrower):
        verdict = _judged(layer, bounded, tool, phase, words)
        if not verdict.decision.allowed:
            return ArgvVerdict(verdict.decision.by(number), words)
        verdicts.append(verdict)
    if all(verdict.argv == verdicts[0].argv for verdict in verdicts):
        return verdicts[0]
    return _agreed(policy, bounded, phase, tool, words, verdicts)


def _agreed(
    policy: ArgvPolicy,
    tree: BoundedTree,
    phase: Phase,
    tool: Tool,
    words: tuple[str, ...],
    verdicts: Sequence[ArgvVerdict],
) -> ArgvVerdict:
    """One reading lets the words run as given, another in a canonical spelling: that one runs, if all allow just it."""
    spelled = next(verdict.argv for verdict in verdicts if verdict.argv != words)
    for number, layer in ((0, policy), *policy.narrower):
        again = _judged(layer, tree, tool, phase, spelled)
        if not again.decision.allowed:
            return ArgvVerdict(again.decision.by(number), words)
        if again.argv != spelled:
            refused = deny_program("narrow.spelling", "the policy and what narrows it spell it differently")
            return ArgvVerdict(refused, words)
    return ArgvVerdict(verdicts[-1].decision, spelled)


def _judged(policy: ArgvPolicy, tree: BoundedTree, tool: Tool, phase: Phase, words: tuple[str, ...]) -> ArgvVerdict:
    """By this policy alone, whatever narrows it."""
    if words[0] not in policy.bins:
        hint = f"Use one of: {', '.join(sorted(policy.bins)) or 'none'}; by bare name, without a path."
        return ArgvVerdict(deny_program("argv.bin", f"{tool} may not start {words[0][:200]!r}", hint), words)
    try:
        return _verdict(policy, tree, phase, words)
    except TooManyQuestions:
        refused = deny_program("argv.size", "the command names too many files", "Name fewer files in one command.")
        return ArgvVerdict(refused, words)


def _verdict(policy: ArgvPolicy, tree: TreeView, phase: Phase, words: tuple[str, ...]) -> ArgvVerdict:
    own = first_match(policy.rules, _call(policy, tree, phase), words)
    if own is not None and own.decision == "deny":
        return ArgvVerdict(own.refusal(), words)
    refused = _judge(_call(policy, tree, phase), words)
    if refused is not None:
        return ArgvVerdict(refused, words)
    if policy.preset == "default":
        return ArgvVerdict(Decision.allow("argv.default" if own is None else own.rule), words)
    try:
        spelled = canonical(_call(policy, tree, phase), words)
    except NotAllowed as answer:
        return ArgvVerdict(answer.decision if own is None else Decision.allow(own.rule), words)
    # What runs is what is judged: a grammar that reads a word otherwise than the rules cannot let it slip by.
    refused = _judge(_call(policy, tree, phase), spelled)
    return ArgvVerdict(refused or Decision.allow("argv.strict"), words if refused else spelled)


def _call(policy: ArgvPolicy, tree: TreeView, phase: Phase) -> Call:
    return Call(policy, tree, _judge, phase)


def _judge(call: Call, words: Sequence[str]) -> Decision | None:
    call.progress.steps += 1
    if call.exhausted:
        return deny_program("argv.depth", "the command leads through too many others")
    judge = _JUDGES.get(words[0])
    return judge(call, list(words[1:])) if judge is not None else None


def _check_text(words: list[str]) -> None:
    if "\0" in words[0] or not _encodable(words[0]):
        raise ToolError(
            ErrorCode.BIN_NOT_ALLOWLISTED, "Refused by argv.bin: the first word names no program.", rule="argv.bin"
        )
    size = 0
    for position, word in enumerate(words):
        if "\0" in word or not _encodable(word):
            raise _invalid(f"argv[{position}] holds a NUL or a lone surrogate; no program can be given it.")
        size += len(word.encode())
    if size > MAX_BYTES:
        raise _invalid(f"argv is larger than {MAX_BYTES} bytes.")


def _encodable(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def _required(message: str) -> ToolError:
    return ToolError(ErrorCode.ARGV_REQUIRED, message, rule="argv.required")


def _invalid(message: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENTS, message, rule="argv.form")
