"""The verb `git config`: what it would set, in every spelling of old and new git."""

from __future__ import annotations

from collections.abc import Sequence

from runner.model.decision import Decision
from runner.policy.argv_values import Call, deny_hooks, deny_program
from runner.policy.git_config_keys import is_hooks_key, judge_section, judge_setting
from runner.policy.git_grammar import GRAMMARS, Option, abbreviates, read_words

__all__ = ["judge_config"]

# git 2.46 took sub-verbs in place of the options; an older git reads them as key names and fails.
_SUBVERBS = {
    "list": "list",
    "get": "get",
    "set": "set",
    "unset": "unset",
    "rename-section": "rename-section",
    "remove-section": "remove-section",
    "edit": "edit",
}
_ACTIONS = ("list", "edit", "unset-all", "unset", "rename-section", "remove-section", "replace-all", "add")
_SHORTEST = {"list": 3, "edit": 1, "add": 1}  # `--lo` is --local; elsewhere the word must tell its action
_READS = frozenset({"list", "get"})


def judge_config(call: Call, args: Sequence[str]) -> Decision | None:
    """Refused when the command would set, move or remove a setting that the policy holds; reading is free."""
    words = read_words(args, GRAMMARS["config"])
    actions = {action for option in words.options if (action := _action(option)) is not None}
    operands = list(words.others)
    if operands and operands[0] in _SUBVERBS:
        actions.add(_SUBVERBS[operands.pop(0)])
    if "edit" in actions:
        return deny_program("git.config.edit", "git config --edit opens an editor", "Set one key at a time.")
    if actions and actions <= _READS:
        return None
    if actions & {"rename-section", "remove-section"}:
        return next((refused for name in operands if (refused := judge_section(name)) is not None), None)
    if not operands:
        return None
    key, value = operands[0], operands[1] if len(operands) > 1 else None
    if actions & {"unset", "unset-all"}:
        return deny_hooks("git.hooks.config", "unsetting core.hooksPath") if is_hooks_key(key) else None
    if value is None and not actions:
        return None  # `git config KEY` reads
    return judge_setting(call, key, value)


def _action(option: Option) -> str | None:
    if not option.long:
        return {"l": "list", "e": "edit"}.get(option.name)
    if option.name.startswith("get"):
        return "get"
    for action in _ACTIONS:
        if abbreviates(option.name, action, shortest=_SHORTEST.get(action, 3)):
            return action
    return None
