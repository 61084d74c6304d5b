"""The published form of a line of outputs.jsonl: what a program said, or why a call was refused."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from runner.audit.forms import Count, Form

__all__ = ["Said", "Stream"]


class Stream(Form):
    """One stream of a program: whole, or its beginning and its end."""

    head: str
    cut_characters: Count
    tail: str


class Said(Form):
    """One line of outputs.jsonl. `full`: the file's bound was met, and nothing more is in it."""

    seq: Count
    kind: Literal["output", "refusal", "full"]
    stdout: Stream | None = None
    stderr: Stream | None = None
    timed_out: bool = False
    truncated: Annotated[bool, Field(description="The output's limit was met before this file's.")] = False
    killed_by: str | None = None
    limits_hit: list[str] = Field(default_factory=list)
    code: str = ""
    rule: str | None = None
    message: str = ""
    hint: str = ""
