"""What a caller asks of a run: the repository, the ref, the policy and the tools that the task declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runner.model.errors import UsageError
from runner.policy.load import LoadedPolicy
from runner.tools.registry import TOOLS

__all__ = ["RunRequest", "SpecFile", "read_spec"]

_MAX_SPEC_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run to make. `repository` None means that the policy's binding names it. `tools` are those declared."""

    repository: str | None
    ref: str | None
    policy: LoadedPolicy
    tools: frozenset[str]
    out: Path | None

    @property
    def needs_workspace(self) -> bool:
        """Whether any declared tool needs a clone; a task without one gets neither clone nor container."""
        return bool(self.tools)


class SpecFile(BaseModel):
    """The YAML file of `--spec`: what the options would say, and the tools that the task declares."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    repo: Annotated[str | None, Field(description="As --repo.")] = None
    ref: Annotated[str | None, Field(description="As --ref.")] = None
    policy: Annotated[str | None, Field(description="As --policy.")] = None
    tools: Annotated[list[str] | None, Field(description="Declared tools; all when left out.")] = None


def read_spec(path: Path) -> SpecFile:
    """The spec in `path`.

    Raises:
        UsageError: naming the file, the field and what was expected.
    """
    try:
        text = path.read_bytes()[: _MAX_SPEC_BYTES + 1]
        if len(text) > _MAX_SPEC_BYTES:
            raise UsageError(f"the spec {path} is larger than {_MAX_SPEC_BYTES} bytes")
        raw: Any = yaml.safe_load(text)
    except OSError as error:
        raise UsageError(f"the spec {path} cannot be read: {error.strerror}", hint="Name a readable file.") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UsageError(f"the spec {path} is not YAML: {str(error).splitlines()[0]}") from error
    if not isinstance(raw, Mapping):
        raise UsageError(f"the spec {path} must be a mapping", hint="Keys: repo, ref, policy, tools.")
    try:
        spec = SpecFile.model_validate(dict(raw))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{path}: {where}: {first['msg']}", hint="Keys: repo, ref, policy, tools.") from None
    unknown = sorted(set(spec.tools or ()) - set(TOOLS))
    if unknown:
        raise UsageError(f"{path}: tools: there is no tool {unknown[0]!r}", hint=f"The tools: {', '.join(TOOLS)}.")
    return spec
