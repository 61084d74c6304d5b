"""The explanation of a command line: program, git's own parts, scripts, what was asked of the tree, the rule."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runner.policy.answers import RecordingTree
from runner.policy.argv import judge_argv, validate_argv
from runner.policy.argv_policy import argv_policy
from runner.policy.document import Policy
from runner.policy.facts_file import Terrain
from runner.policy.git_argv import read_git
from runner.policy.paths import shown
from runner.policy.shell_text import commands_in
from runner.policy.steps import Explanation, Step
from runner.policy.writes import WriteRules

__all__ = ["explain_argv"]

_MAX_SHOWN = 12
_KINDS = {"kind": "is", "created": "made by the run:", "changed": "changed by the run:"}


def explain_argv(policy: Policy, argv: Sequence[str], tool: str, tree: Terrain) -> Explanation:
    """The steps and the decision for an argv; for the tool `git`, `argv` has `git` in front.

    Raises:
        ToolError: as `judge_argv`, for an argv that no program can be given.
    """
    words = validate_argv(list(argv))
    asked = RecordingTree(tree)
    rules = argv_policy(policy, WriteRules.compile(policy), asked)
    verdict = judge_argv(words, rules, asked, tool="git" if tool == "git" else "run_command")
    answers = asked.answers()
    without = next((n for n, layer in ((0, policy), *policy.narrower) if words[0] not in layer.bins), None)
    listed = "one of `bins`" if without is None else "not one of `bins`" + (f" of narrow.{without}" if without else "")
    steps = [Step("program", f"{shown(words[0])} is {listed}")]
    if without is None:
        parts = _git_steps(words[1:], answers) if words[0] == "git" else [Step("words", _shown(words[1:]))]
        steps += [*parts, *_scripts(words, answers), *_questions(answers)]
    if list(verdict.argv) != words:
        steps.append(Step("runs as", _shown(verdict.argv)))
    steps.append(Step("rule", verdict.decision.rule))
    return Explanation(tuple(steps), verdict.decision)


def _git_steps(words: Sequence[str], answers: Mapping[str, Any]) -> Iterator[Step]:
    command = read_git(words)
    said = [f"{name}={value}" if value else name for name, value in command.options]
    yield Step("global options", _shown(said))
    yield Step("verb", shown(command.verb) if command.verb is not None else "none")
    aliases = {**answers.get("aliases", {}), **command.once}
    if command.verb is not None and command.verb.lower() in aliases:
        yield Step("alias", f"{shown(command.verb)} is {shown(aliases[command.verb.lower()])}")
    yield Step("words", _shown(command.args))


def _scripts(words: Sequence[str], answers: Mapping[str, Any]) -> Iterator[Step]:
    """The package scripts that the words name, and those that their commands name in turn."""
    scripts: dict[str, str] = {}
    for text in answers.get("text", {}).values():
        scripts |= _scripts_in(text)
    todo, told = list(words), set[str]()
    while todo and len(told) < _MAX_SHOWN:
        name = todo.pop(0)
        if name in scripts and name not in told:
            told.add(name)
            yield Step("script", f"{shown(name)} is {shown(scripts[name])}")
            todo += [word for command in commands_in(scripts[name]) for word in command.words]


def _scripts_in(manifest: str | None) -> dict[str, str]:
    """The scripts of a recorded package.json, which is JSON with text alone, or no JSON."""
    try:
        told = json.loads((manifest or "").removeprefix("\ufeff"))
    except ValueError:
        return {}
    scripts: dict[str, str] = told.get("scripts", {})
    return scripts


def _questions(answers: Mapping[str, Any]) -> Iterator[Step]:
    """What the rules asked of the tree, one line each; a long list is cut."""
    told = [
        Step("tree", f"{shown(path)} {words} {_answer(question, answer)}")
        for question, words in _KINDS.items()
        for path, answer in answers.get(question, {}).items()
    ]
    if "created_files" in answers:
        told.append(Step("tree", f"made by the run: {_shown(answers['created_files'])}"))
    yield from told[:_MAX_SHOWN]
    if len(told) > _MAX_SHOWN:
        yield Step("tree", f"and {len(told) - _MAX_SHOWN} more questions")


def _answer(question: str, answer: object) -> str:
    if question == "kind":
        return "not there" if answer is None else f"a {answer}"
    return "yes" if answer else "no"


def _shown(words: Sequence[str]) -> str:
    told = " ".join(shown(word) for word in words[:_MAX_SHOWN])
    return f"{told} and {len(words) - _MAX_SHOWN} more" if len(words) > _MAX_SHOWN else told or "none"
