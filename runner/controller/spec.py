"""What a caller asks of a run: the repository, the ref, the policy and the tools that the task declares."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runner.model.errors import UsageError
from runner.policy.bounded_yaml import MAX_BYTES, YamlRefused, read_yaml
from runner.policy.load import LoadedPolicy
from runner.tools.registry import TOOLS

__all__ = ["MAX_DEPTH", "RunRequest", "SpecFile", "read_spec"]

_KEYS = "Keys: repo, ref, depth, policy, narrow, tools."

MAX_DEPTH = 1_000_000
"""More commits than the longest lines of history have, and few enough that git does not take it for no bound."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run to make. `repository` None means that the policy's binding names it. `tools` are those declared.

    `depth` is how many commits of each branch the workspace gets; None is the whole history.
    """

    repository: str | None
    ref: str | None
    policy: LoadedPolicy
    tools: frozenset[str]
    out: Path | None
    depth: int | None = None

    @property
    def needs_workspace(self) -> bool:
        """Whether any declared tool needs a clone; a task without one gets neither clone nor container."""
        return bool(self.tools)


class SpecFile(BaseModel):
    """The YAML file of `--spec`: what the options would say, and the tools that the task declares."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    repo: Annotated[str | None, Field(description="As --repo.")] = None
    ref: Annotated[str | None, Field(description="As --ref.")] = None
    depth: Annotated[int | None, Field(ge=1, le=MAX_DEPTH, description="As --depth.")] = None
    policy: Annotated[str | None, Field(description="As --policy.")] = None
    narrow: Annotated[list[str] | None, Field(description="As --narrow, each; options come after them.")] = None
    tools: Annotated[list[str] | None, Field(description="Declared tools; all when left out.")] = None


def read_spec(path: Path) -> SpecFile:
    """The spec in `path`.

    Raises:
        UsageError: naming the file, the field and what was expected.
    """
    try:
        raw = read_yaml(_read(path)).data
    except YamlRefused as error:
        raise UsageError(f"{path}:{error.line}: the spec {error.reason}", hint=_KEYS) from error
    if not isinstance(raw, dict):
        raise UsageError(f"the spec {path} must be a mapping", hint=_KEYS)
    try:
        spec = SpecFile.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part)[:64] for part in first["loc"])
        raise UsageError(f"{path}: {where}: {first['msg']}", hint=_KEYS) from None
    unknown = sorted(set(spec.tools or ()) - set(TOOLS))
    if unknown:
        raise UsageError(
            f"{path}: tools: there is no tool {unknown[0][:100]!r}", hint=f"The tools: {', '.join(TOOLS)}."
        )
    return spec


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():  # a FIFO would wait for ever, a device has no end
            raise UsageError(f"there is no spec {path}", hint="Name a readable file.")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a path"
        raise UsageError(f"the spec {path} cannot be read: {reason}", hint="Name a readable file.") from error
