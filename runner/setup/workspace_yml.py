"""`.os/workspace.yml`: a repository's own word on its set-up, read as hostile input. Pure.

| key | form | says |
|---|---|---|
| `run` (or `setup`) | list of argv lists | the set-up's commands; left out: what is detected |
| `env` | map | variables of the set-up's commands |
| `tools` | map of tool to version | what the repository was made with; compared with the image, never fetched |
| `verify` | list of argv lists, or one | how the repository checks itself; shown, never run by us |
| `cache` | `false`, or list of `pnpm`, `npm` | which package caches may be kept between runs |

Every other key is an error: what is not acted on must not look as if it were. A file can add commands, never
permissions: what it asks for passes the same guard as every command.

The text is bounded before it is parsed; anchors, aliases, tags and repeated keys are refused, and depth is bounded, so
a small file cannot grow; every scalar is taken as the string that was written, so nothing is constructed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from runner.model.errors import ErrorCode, RepositoryUnavailable
from runner.setup.env_names import env_refusal

__all__ = ["WORKSPACE_FILE", "CacheName", "WorkspaceFile", "parse_workspace_file", "workspace_schema_text"]

WORKSPACE_FILE = ".os/workspace.yml"

_MAX_BYTES = 64 * 1024
_MAX_DEPTH = 4  # document, key, command, word
_MAX_COMMANDS = 50
_MAX_WORDS = 200
_MAX_VARIABLES = 64
_MAX_TOOLS = 32
_TOOL = re.compile(r"[a-z][a-z0-9._-]{0,63}")
_VERSION = re.compile(r"[A-Za-z0-9*^~<>=|+._/ -]{1,64}")  # versions and ranges as tools write them

CacheName = Literal["pnpm", "npm"]
_Word = Annotated[str, Field(max_length=8192)]
_Argv = Annotated[tuple[_Word, ...], Field(min_length=1, max_length=_MAX_WORDS)]
_Commands = Annotated[tuple[_Argv, ...], Field(max_length=_MAX_COMMANDS)]


class WorkspaceFile(BaseModel):
    """What a repository says of its set-up and checks to whoever works on it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run: Annotated[
        _Commands | None, Field(description="Commands of the set-up; none when empty. Left out: what is detected.")
    ] = None
    env: Annotated[
        Mapping[str, str], Field(max_length=_MAX_VARIABLES, description="Variables of the set-up's commands.")
    ] = Field(default_factory=dict)
    tools: Annotated[
        Mapping[str, str],
        Field(max_length=_MAX_TOOLS, description="Tool to version; compared with the image, never fetched."),
    ] = Field(default_factory=dict)
    verify: Annotated[
        _Commands, Field(description="How the repository checks itself; shown, never run by itself.")
    ] = ()
    cache: Annotated[
        tuple[CacheName, ...] | None,
        Field(max_length=2, description="Package caches that may be kept between runs; false: none. Left out: any."),
    ] = None

    @model_validator(mode="after")
    def _judge(self) -> Self:
        for argv in (*(self.run or ()), *self.verify):
            if not argv[0] or any("\0" in word for word in argv):
                raise ValueError("a command holds NUL or an empty program name")
        for name, value in self.env.items():
            refusal = env_refusal(name, value)
            if refusal is not None:
                raise ValueError(f"the variable {name[:64]!r} may not be set: {refusal}")
        for tool, version in self.tools.items():
            if not _TOOL.fullmatch(tool) or not _VERSION.fullmatch(version):
                raise ValueError(f"the tool {tool[:64]!r} is not a plain name with a version")
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
    fields = _plain_forms(_one_name_for_run(document))
    _require_argv_form(fields.get("run"), "run")
    _require_argv_form(fields.get("verify"), "verify")
    try:
        return WorkspaceFile.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part)[:64] for part in first["loc"])
        raise _invalid(f"{place or 'content'}: {first['msg']}") from None


def workspace_schema_text() -> str:
    """The JSON Schema as it is checked in, in `docs/workspace.schema.json`. What names may hold, the parser checks."""
    schema = _scalars(WorkspaceFile.model_json_schema())
    properties = schema["properties"]
    commands = {key: properties["verify"].pop(key) for key in ("type", "items", "maxItems")}
    properties["verify"]["anyOf"] = [commands, commands["items"]]
    properties["cache"]["anyOf"][1] = {"const": False}  # in the place of null, which the file cannot say
    properties["run"] = {**properties["run"]["anyOf"][0], **{"description": properties["run"]["description"]}}
    properties["setup"] = {**properties["run"], "description": "The same as `run`, under another name."}
    for field in properties.values():
        field.pop("title", None)
        field.pop("default", None)
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": WORKSPACE_FILE,
        "not": {"required": ["run", "setup"]},
    }
    return json.dumps(whole, indent=2, sort_keys=True) + "\n"


def _scalars(schema: Any) -> Any:
    """The schema with every text field taking all plain values: `node: 22` is read as the text that was written."""
    if isinstance(schema, list):
        return [_scalars(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _scalars(value) for key, value in schema.items()}
    if inner.get("type") == "string" and "enum" not in inner:
        inner["type"] = ["string", "number", "boolean"]
    return inner


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
    if "setup" not in document:
        return document
    if "run" in document:
        raise _invalid("`run` and `setup` are two names of one key; use one")
    return {"run" if key == "setup" else key: value for key, value in document.items()}


def _plain_forms(fields: dict[str, object]) -> dict[str, object]:
    """`cache: false` is no cache, and one command after `verify` is a list of one."""
    verify = fields.get("verify")
    if isinstance(verify, list) and verify and all(isinstance(word, str) for word in verify) and " " not in verify[0]:
        fields = {**fields, "verify": [verify]}
    return {**fields, "cache": []} if fields.get("cache") == "false" else fields


def _require_argv_form(commands: object, key: str) -> None:
    """A command in one string would need a shell to be taken apart, and there is none."""
    listed = commands if isinstance(commands, list) else [commands]
    if any(isinstance(command, str) and command for command in listed):
        raise RepositoryUnavailable(
            f"{WORKSPACE_FILE} gives a command as a string",
            hint=f'Write each command as a list of words: {key}: [["pnpm", "install"]].',
            code=str(ErrorCode.BIN_NOT_ALLOWLISTED),
        )


def _invalid(reason: str) -> RepositoryUnavailable:
    return RepositoryUnavailable(
        f"{WORKSPACE_FILE} cannot be used: {reason}",
        hint="It may hold `run`, `env`, `tools`, `verify` and `cache`; docs/WORKSPACE.md has each.",
        code="workspace_file_invalid",
    )
