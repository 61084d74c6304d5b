"""A policy's own examples: calls, what is true of the tree, and what the policy must say to them.

They stand in `NAME.test.yml` beside `NAME.yml`, as a list:

    - call: {tool: workspace.write_file, arguments: {path: README.md, content: ""}}
      facts: {README.md: existed}
      expect: allow
      why: documentation is what this policy is for

`facts` gives a path's state, or `{state, text}`; for a commit and a push they are what it would change. `branch` is the
one to be pushed, and the remote's default branch is main. `expect` is `allow` or the code of the refusal, and `why` is
for the reader who breaks it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError, field_validator

from runner.model.errors import ErrorCode, PolicyInvalid
from runner.policy.bounded_yaml import YamlRefused, read_yaml
from runner.policy.facts_file import Fact, FactState

__all__ = ["Example", "ToldFact", "parse_examples"]

_MEND = "Correct the examples; docs/POLICY.md shows their form."


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _state(value: object) -> object:
    return {"state": value} if isinstance(value, str) else value


class ToldFact(_Part):
    """What is true of one path."""

    state: Annotated[FactState, Field(strict=False)]
    text: str | None = None

    def fact(self) -> Fact:
        """The fact as rules read it."""
        return Fact(self.state, self.text)


class ToldCall(_Part):
    """A call, as a calls file has it."""

    tool: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)


class Example(_Part):
    """One call and the answer that the policy must give."""

    call: ToldCall
    facts: dict[str, Annotated[ToldFact, BeforeValidator(_state)]] = Field(default_factory=dict)
    branch: str = "agent/work"
    expect: str
    why: Annotated[str, Field(min_length=1)]

    @field_validator("expect")
    @classmethod
    def _is_an_outcome(cls, value: str) -> str:
        if value != "allow" and value not in set(ErrorCode):
            raise ValueError("is no outcome; expected `allow` or an error's code")
        return value

    def told(self) -> Mapping[str, Fact]:
        """The facts by path."""
        return {path: fact.fact() for path, fact in self.facts.items()}


class _Examples(_Part):
    examples: Annotated[
        tuple[Example, ...], BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value)
    ]


def parse_examples(content: bytes, *, source: str) -> tuple[Example, ...]:
    """The examples in `content`, at least one; `source` is what messages call it.

    Raises:
        PolicyInvalid: with FILE:LINE, for what is no list of examples.
    """
    try:
        document = read_yaml(content)
    except YamlRefused as error:
        raise PolicyInvalid(f"{source}:{error.line}: the file {error.reason}", hint=_MEND) from error
    try:
        examples = _Examples.model_validate({"examples": document.data}).examples
    except ValidationError as error:
        raise _fault(error, document.lines, source) from error
    if not examples:
        # An empty list would pass, and so prove nothing.
        raise PolicyInvalid(f"{source}:1: there is no example", hint=_MEND)
    return examples


def _fault(error: ValidationError, lines: Mapping[Any, int], source: str) -> PolicyInvalid:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = tuple(first["loc"])[1:]
    line = next((lines[place[:length]] for length in range(len(place), 0, -1) if place[:length] in lines), 1)
    field = ".".join(str(part) for part in place[:4])
    return PolicyInvalid(f"{source}:{line}: example {field}: {first['msg']}", hint=_MEND)
