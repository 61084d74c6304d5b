"""Git aliases: how git splits their text, what they expand to, and which the policy refuses to have defined."""

from __future__ import annotations

import re
from collections.abc import Mapping

from runner.model.decision import Decision
from runner.model.errors import ErrorCode
from runner.policy.argv_values import Call, deny_program
from runner.policy.scripts import judge_shell_line

__all__ = ["judge_alias", "judge_shell_alias", "judge_unseen_alias", "merged", "split_alias"]

_ALIAS_LINE = re.compile(
    r"^[ \t]*(?:\[alias\][ \t]*)?([a-z][a-z0-9-]*)[ \t]*=[ \t]*([^\r\n]*)", re.MULTILINE | re.IGNORECASE
)


def split_alias(text: str) -> list[str] | None:
    """The words of an alias as git splits them; None when git itself refuses the text.

    Not shell rules: a back-slash quotes any character, inside double quotes as well.
    """
    words: list[str] = []
    current: list[str] | None = None
    quote = ""
    letters = iter(text)
    for letter in letters:
        if letter == "\\" and quote != "'":
            letter = next(letters, "")
            if not letter:
                return None
        elif quote:
            if letter == quote:
                quote = ""
                continue
        elif letter in "'\"":
            quote = letter
            current = current or []
            continue
        elif letter.isspace():
            if current is not None:
                words.append("".join(current))
            current = None
            continue
        current = current or []
        current.append(letter)
    if current is not None:
        words.append("".join(current))
    return None if quote else words


def judge_alias(call: Call, name: str, value: str | None) -> Decision | None:
    """Refused when an alias of this value may not be defined."""
    if value is None:
        return deny_program("git.alias.unreadable", f"what alias {name!r} stands for cannot be read from the arguments")
    if value.lstrip().startswith("!"):
        return judge_shell_alias(call, name, value)
    words = split_alias(value)
    if not words:
        return None
    # Judged as it stands, without arguments, and without the other aliases: those are judged when it is used.
    refused = call.judge(call.deeper(), ["git", *words])
    if refused is not None and refused.code is ErrorCode.BIN_NOT_ALLOWLISTED:
        return deny_program("git.alias.value", f"alias {name!r} stands for a refused command ({refused.message})")
    return refused


def judge_shell_alias(call: Call, name: str, value: str) -> Decision:
    """Always refused; as a push or a hook skip when the shell text says so."""
    found = judge_shell_line(call, value.lstrip()[1:])
    return found or deny_program("git.alias.shell", f"alias {name!r} is a shell line")


def judge_unseen_alias(call: Call, verb: str, config: str) -> Decision:
    """Always refused: what a verb stands for in another repository is for that one's own git to say.

    The text of its config file is only looked at for what the refusal is called.
    """
    for name, value in _ALIAS_LINE.findall(call.tree.read_text(config) or ""):
        if name.lower() == verb.lower():
            found = judge_alias(call, name, value.strip())
            if found is not None:
                return found
    return deny_program(
        "git.alias.elsewhere",
        f"{verb!r} is no verb of git itself, and in another folder than the workspace's root it may be an alias",
        "Write out what it stands for.",
    )


def merged(once: Mapping[str, str], stored: Mapping[str, str]) -> dict[str, str]:
    """All aliases by lower-case name; those of the command line win."""
    return {**{name.lower(): value for name, value in stored.items()}, **once}
