"""What is wrong with a policy document, in one line each: the field, the fault, what was expected, the nearest key.

Values are never repeated: what stands in the wrong place may be a secret.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from runner.policy.bounded_yaml import Location, YamlDocument
from runner.policy.document import Policy

__all__ = ["MAX_FAULTS", "fault_lines", "located", "nearest"]

MAX_FAULTS = 100
"""Described of one document, in the order of the file: nobody mends more at once, and each takes some work."""

_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", type(None): "null"}
_MAX_KEY_CHARACTERS = 60


def fault_lines(error: ValidationError, document: YamlDocument) -> list[tuple[int, str]]:
    """The first faults in the order of the file: line, and text without the file's name. At least one."""
    found = error.errors(include_url=False, include_context=False)
    found.sort(key=lambda details: document.lines.get(_place(details["loc"], document), 1))
    return sorted({_fault(details, document) for details in found[:MAX_FAULTS]})


def located(faults: Iterable[tuple[Location, str]], document: YamlDocument) -> list[tuple[int, str]]:
    """Faults that were found in a document's values, in the same form and order as `fault_lines` has them."""
    lines = [(document.lines.get(place, 1), f"field `{_name(place)}`: {text}") for place, text in faults]
    return sorted(set(lines))[:MAX_FAULTS]


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that a misspelt word was most likely meant to be; None when none is near."""
    folded = {candidate.lower(): candidate for candidate in candidates}
    found = difflib.get_close_matches(word[:_MAX_KEY_CHARACTERS].lower(), folded, n=1, cutoff=0.7)
    return folded[found[0]] if found else None


def _fault(details: ErrorDetails, document: YamlDocument) -> tuple[int, str]:
    place = _place(details["loc"], document)
    line = document.lines.get(place, 1)
    field = _name(place)
    if details["type"] == "extra_forbidden":
        return line, f"field `{field}`: is no key of a policy; {_known(place)}"
    if details["type"] == "missing":
        key = str(details["loc"][-1])
        return line, f"field `{_name((*place, key))}`: is missing; expected it beside the others"
    return line, f"field `{field}`: {_reason(details)}" if field else _reason(details)


def _place(loc: Location, document: YamlDocument) -> Location:
    """The part of a validator's location that stands in the file; the rest names the validator's own branches."""
    for length in range(len(loc), 0, -1):
        if loc[:length] in document.lines:
            return loc[:length]
    return ()


def _name(place: Location) -> str:
    name = ""
    for part in place:
        if isinstance(part, int):
            name += f"[{part}]"
        else:
            shown = part if part.isprintable() else ascii(part)
            name += ("." if name else "") + shown[:_MAX_KEY_CHARACTERS]
    return name


def _reason(details: ErrorDetails) -> str:
    message = details["msg"]
    if details["type"] == "value_error":
        return message.removeprefix("Value error, ")
    if details["type"] == "tuple_type":
        expected = "a list"
    elif details["type"] == "model_type":
        expected = "a mapping of keys"
    else:
        expected = message.removeprefix("Input should be ").removeprefix("a valid ")
    return f"is {_kind(details['input'])}; expected {expected}"


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return _KINDS.get(type(value), "a mapping")


def _known(place: Location) -> str:
    keys = _keys_of(_model_at(place[:-1]))
    guess = nearest(str(place[-1]), keys) if place else None
    return f"did you mean `{guess}`?" if guess else f"expected one of {', '.join(keys)}"


def _keys_of(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_at(place: Location) -> type[BaseModel]:
    """The section of the document that a location is in."""
    model: type[BaseModel] = Policy
    for part in place:
        for name, field in model.model_fields.items():
            if (field.alias or name) == part:
                model = next(_models_in(field.annotation), model)
                break
    return model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
