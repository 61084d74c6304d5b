"""What single values of the policy document may hold. Each check says what is wrong and what was expected."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from runner.policy.environment import check_name, check_value
from runner.policy.globs import names_git
from runner.policy.hosts import check_address, check_allow_entry, check_git_host
from runner.policy.patterns import check_pattern

__all__ = [
    "Address",
    "AllowEntry",
    "GitHost",
    "Globs",
    "GrantingGlobs",
    "HostPath",
    "OneLine",
    "PinnedImage",
    "PolicyVariable",
    "RuntimeName",
    "Setup",
    "Task",
    "VariableName",
    "VariableValue",
    "Version",
    "Words",
    "as_tuple",
]

MAX_PATTERNS = 1000
"""In one list. Each write is matched against all of them."""

_TASK = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_:./-]{0,199}")
_IMAGE = re.compile(r"[a-z0-9][a-z0-9._/:-]{0,254}@sha256:[0-9a-f]{64}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RUNTIME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}")


def as_tuple(value: object) -> object:
    """A list of the file as the tuple that a frozen value holds. What it holds is left as it is."""
    return tuple(value) if isinstance(value, list) else value


def _pattern(value: str) -> str:
    check_pattern(value)
    return value


def _granting_pattern(value: str) -> str:
    check_pattern(value)
    if names_git(value):
        raise ValueError("names `.git`, which is always denied, so it would never take effect")
    return value


def _allow_entry(value: str) -> str:
    check_allow_entry(value)
    return value


def _git_host(value: str) -> str:
    check_git_host(value)
    return value


def _address(value: str) -> str:
    check_address(value)
    return value


def _policy_variable(value: str) -> str:
    check_name(value)
    return value


def _variable_value(value: str) -> str:
    check_value(value)
    return value


def _one_line(value: str) -> str:
    if not value.strip() or not value.isprintable() or any(character in value for character in "<>"):
        raise ValueError("is empty, or has a control character or angle bracket; expected one line of text")
    return value


def _absolute(value: str) -> str:
    if not PurePosixPath(value).is_absolute() or not value.isprintable():
        raise ValueError("is not an absolute path; a path relative to an unknown folder would be a guess")
    return value


def _task(value: str) -> str:
    if _TASK.fullmatch(value) is None:
        raise ValueError("is not a task's name; expected something like os:red")
    return value


def _image(value: str) -> str:
    if _IMAGE.fullmatch(value) is None:
        raise ValueError("is not pinned; expected name@sha256:<64 hex digits>, or null for the image that was built")
    return value


def _variable(value: str) -> str:
    if _VARIABLE.fullmatch(value) is None:
        raise ValueError("is not a variable's name; expected letters, digits and underscores")
    return value


def _runtime(value: str) -> str:
    if _RUNTIME.fullmatch(value) is None:
        raise ValueError("is not a runtime's name; expected something like runc or runsc")
    return value


def _version(value: object) -> object:
    if type(value) is not int or value != 1:  # a literal alone would take true and 1.0
        raise ValueError("is not a version that is known here; expected 1")
    return value


def _argv(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value or not value[0] or any("\0" in word for word in value):
        raise ValueError("is not an argv; expected a list such as [pnpm, install], the program first")
    return value


def _setup(value: object) -> object:
    if value in ("auto", "off"):
        return value
    if not isinstance(value, list | tuple):
        raise ValueError("is no set-up; expected auto, off, or a list of argv such as [[pnpm, install]]; no shell runs")
    for number, argv in enumerate(value):
        if not isinstance(argv, list | tuple) or not all(isinstance(word, str) for word in argv):
            raise ValueError(f"has at {number} no argv; expected lists of text in a list, such as [[pnpm, install]]")
        _argv(tuple(argv))
    return tuple(tuple(argv) for argv in value)


_Argv = tuple[str, ...]
Words = Annotated[_Argv, BeforeValidator(as_tuple), AfterValidator(_argv)]
Globs = Annotated[
    tuple[Annotated[str, AfterValidator(_pattern)], ...], BeforeValidator(as_tuple), Field(max_length=MAX_PATTERNS)
]
GrantingGlobs = Annotated[
    tuple[Annotated[str, AfterValidator(_granting_pattern)], ...],
    BeforeValidator(as_tuple),
    Field(max_length=MAX_PATTERNS),
]
Address = Annotated[str, AfterValidator(_address)]
AllowEntry = Annotated[str, AfterValidator(_allow_entry)]
GitHost = Annotated[str, AfterValidator(_git_host)]
HostPath = Annotated[str, AfterValidator(_absolute)]
OneLine = Annotated[str, AfterValidator(_one_line), Field(max_length=200)]
PinnedImage = Annotated[str, AfterValidator(_image)]
PolicyVariable = Annotated[str, AfterValidator(_policy_variable)]
RuntimeName = Annotated[str, AfterValidator(_runtime)]
Setup = Annotated[Literal["auto", "off"] | tuple[_Argv, ...], BeforeValidator(_setup)]
Task = Annotated[str, AfterValidator(_task)]
VariableName = Annotated[str, AfterValidator(_variable)]
VariableValue = Annotated[str, AfterValidator(_variable_value)]
Version = Annotated[Literal[1], BeforeValidator(_version)]
