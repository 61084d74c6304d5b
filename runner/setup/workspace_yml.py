"""`.os/workspace.yml`: a repository's own word on its set-up, read as hostile input. Pure.

Understood: `run` (or `setup`, the same under another name), a list of argv lists, and `env`, a map of variables. Every
other key is an error, those that are reserved for later too: what is not acted on must not look as if it were.

A file can add commands, never permissions: what it asks for passes the same guard as every command. The text is bounded
before it is parsed; anchors, aliases, tags and repeated keys are refused, and depth is bounded, so a small file
cannot grow; every scalar is taken as the string that was written, so nothing is constructed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from runner.model.errors import ErrorCode, RepositoryUnavailable
from runner.setup.env_names import env_refusal

__all__ = ["WORKSPACE_FILE", "WorkspaceFile", "parse_workspace_file"]

WORKSPACE_FILE = ".os/workspace.yml"

_MAX_BYTES = 64 * 1024
_MAX_DEPTH = 4  # document, key, command, word
_MAX_COMMANDS = 50
_MAX_WORDS = 200
_MAX_VARIABLES = 64
_NOT_YET = frozenset({"tools", "cache", "verify"})

_Word = Annotated[str, Field(max_length=8192)]
_Argv = Annotated[tuple[_Word, ...], Field(min_length=1, max_length=_MAX_WORDS)]


class WorkspaceFile(BaseModel):
    """A workspace file that can be acted on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: Annotated[tuple[_Argv, ...], Field(max_length=_MAX_COMMANDS)] = ()
    env: Annotated[Mapping[str, str], Field(max_length=_MAX_VARIABLES)] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _judge(self) -> Self:
        if any("\0" in word for argv in self.run for word in argv) or any(not argv[0] for argv in self.run):
            raise ValueError("a command holds NUL or an empty program name")
        for name, value in self.env.items():
            refusal = env_refusal(name, value)
            if refusal is not None:
                raise ValueError(f"the variable {name[:64]!r} may not be set: {refusal}")
        return self


def parse_workspace_file(data: bytes) -> WorkspaceFile:
    """The file's content, understood whole.

    Raises:
        RepositoryUnavailable: code `workspace_file_invalid`, or `bin_not_allowlisted` for a command that is not
            written as an argv list.
    """
    if len(data) > _MAX_BYTES:
        raise _invalid(f"it is larger than {_MAX_BYTES} bytes")
    try:
        document = _document(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise _invalid("it is not UTF-8") from None
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark is not None else ""
        raise _invalid(f"it is not valid YAML{where}") from None
    fields = _one_name_for_run(document)
    _require_argv_form(fields.get("run"))
    try:
        return WorkspaceFile.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part)[:64] for part in first["loc"])
        raise _invalid(f"{place or 'content'}: {first['msg']}") from None


def _document(text: str) -> object:
    _refuse_growth(text)
    node = yaml.compose(text, Loader=yaml.BaseLoader)
    return {} if node is None else _plain(node)


def _refuse_growth(text: str) -> None:
    """The events of the parser, before anything is built from them. It reads no further than the first refusal."""
    depth = 0
    documents = 0
    for event in yaml.parse(text, Loader=yaml.BaseLoader):
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise _invalid("anchors and aliases are not allowed")
        if getattr(event, "tag", None) is not None:
            raise _invalid("tags are not allowed")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MAX_DEPTH or documents > 1:
            raise _invalid("it is nested too deeply, or is more than one document")


def _plain(node: yaml.Node) -> object:
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, object] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _invalid("a key is not a plain word")
            if key.value in mapping:
                raise _invalid(f"the key {key.value[:64]!r} is there twice")
            mapping[key.value] = _plain(value)
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item) for item in node.value]
    return str(node.value)


def _one_name_for_run(document: object) -> dict[str, object]:
    if not isinstance(document, dict):
        raise _invalid("it is not a map")
    later = sorted(_NOT_YET & document.keys())
    if later:
        raise _invalid(f"the key {later[0]!r} is not supported yet", hint="Take it out of the file.")
    if "setup" not in document:
        return document
    if "run" in document:
        raise _invalid("`run` and `setup` are two names of one key; use one")
    return {"run" if key == "setup" else key: value for key, value in document.items()}


def _require_argv_form(run: object) -> None:
    """A command in one string would need a shell to be taken apart, and there is none."""
    commands = run if isinstance(run, list) else [run]
    if any(isinstance(command, str) and command for command in commands):
        raise RepositoryUnavailable(
            f"{WORKSPACE_FILE} gives a command as a string",
            hint='Write each command as a list of words: run: [["pnpm", "install"]].',
            code=str(ErrorCode.BIN_NOT_ALLOWLISTED),
        )


def _invalid(reason: str, *, hint: str = "") -> RepositoryUnavailable:
    return RepositoryUnavailable(
        f"{WORKSPACE_FILE} cannot be used: {reason}",
        hint=hint or "It may hold `run` (a list of argv lists) and `env` (a map of variables).",
        code="workspace_file_invalid",
    )
