"""From a file or a preset's name to a policy that can take effect, or one line that says why not; narrowed by others.

The file is read with bounds and without YAML's dangerous parts (`bounded_yaml`), and every key is checked strictly
(`document`). This is the only part of the policy core that touches a file, and it touches only the one it is handed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from runner.model.errors import PolicyInvalid
from runner.policy.bounded_yaml import MAX_BYTES, YamlDocument, YamlRefused, read_yaml
from runner.policy.document import Policy
from runner.policy.effective import ASKED, flat
from runner.policy.faults import MAX_FAULTS, fault_lines, located, nearest
from runner.policy.narrowing import NarrowingFile, Widens, narrow
from runner.policy.presets import preset_names, preset_path

__all__ = ["LoadedPolicy", "NarrowedBy", "load_narrowing", "load_policy", "parse_narrowing", "parse_policy"]
__all__ += ["policy_digest"]

MAX_NARROWINGS = 10
"""Files that narrow one policy. Each write and each command is judged once more for each of them."""

_LINT = "Correct the policy file; nothing was started."
_Document = TypeVar("_Document", bound=Policy)


@dataclass(frozen=True, slots=True)
class NarrowedBy:
    """A file that narrowed a policy: where it came from, the digest of what it has, and the keys that it has."""

    source: str
    digest: str
    keys: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LoadedPolicy:
    """A policy, where it came from, and the digest that receipts name: equal policies have equal digests.

    `policy` and `digest` are of the policy as it takes effect: with all that `narrowed_by`, in their order, took away.
    """

    policy: Policy
    source: str
    digest: str
    narrowed_by: tuple[NarrowedBy, ...] = ()

    @property
    def name(self) -> str:
        """Where all of it came from, in one line."""
        if not self.narrowed_by:
            return self.source
        return f"{self.source}, narrowed by {', '.join(file.source for file in self.narrowed_by)}"


def load_policy(path_or_name: str | Path) -> LoadedPolicy:
    """The policy in a file, or the preset of that name. A bare word is a preset, anything else is a path.

    Raises:
        PolicyInvalid: the policy cannot be read or cannot take effect; the message is one line, FILE:LINE first.
    """
    path = _locate(path_or_name)
    return parse_policy(_read(path), source=str(path))


def parse_policy(content: bytes, *, source: str) -> LoadedPolicy:
    """The policy in `content`; `source` is what messages call it.

    Raises:
        PolicyInvalid: as `load_policy`.
    """
    policy, _ = _parsed(Policy, content, source)
    return LoadedPolicy(policy, source, policy_digest(policy))


def load_narrowing(loaded: LoadedPolicy, path_or_name: str | Path) -> LoadedPolicy:
    """The policy, narrowed by a file that is found as `load_policy` finds one.

    Raises:
        PolicyInvalid: the file cannot be read, cannot take effect, or would widen the policy; FILE:LINE first.
    """
    path = _locate(path_or_name)
    return parse_narrowing(loaded, _read(path), source=str(path))


def parse_narrowing(loaded: LoadedPolicy, content: bytes, *, source: str) -> LoadedPolicy:
    """The policy, narrowed by `content`; `source` is what messages call it.

    Raises:
        PolicyInvalid: as `load_narrowing`.
    """
    number = len(loaded.narrowed_by) + 1
    if number > MAX_NARROWINGS:
        raise PolicyInvalid(
            f"{source}: is one narrowing too many", hint=f"At most {MAX_NARROWINGS}: put some together."
        )
    said, document = _parsed(NarrowingFile, content, source)
    try:
        policy = narrow(loaded.policy, said, number)
    except Widens as error:
        raise _invalid(located(error.faults, document), source) from error
    keys = said.model_dump(mode="json", by_alias=True, exclude_unset=True)
    narrowed_by = (*loaded.narrowed_by, NarrowedBy(source, _digest(keys), keys))
    return LoadedPolicy(policy, loaded.source, policy_digest(policy), narrowed_by)


def _parsed(form: type[_Document], content: bytes, source: str) -> tuple[_Document, YamlDocument]:
    try:
        document = read_yaml(content)
    except YamlRefused as error:
        raise _invalid([(error.line, f"the file {error.reason}")], source) from error
    if not isinstance(document.data, dict):
        raise _invalid([(1, "the file is no mapping; expected keys such as `writeAllow:`")], source)
    try:
        return form.model_validate(document.data), document
    except ValidationError as error:
        raise _invalid(fault_lines(error, document), source) from error


def policy_digest(policy: Policy) -> str:
    """The SHA-256, in hex, of the policy's canonical JSON: all keys, defaults written out, sorted, no blanks.

    Of one that is narrowed, with the keys of each reading that are asked beside its own.
    """
    data = policy.model_dump(mode="json", by_alias=True)
    if policy.narrower:
        readings = [flat(reading.model_dump(mode="json", by_alias=True)) for _, reading in policy.narrower]
        data = {"policy": data, "narrower": [{key: reading[key] for key in ASKED} for reading in readings]}
    return _digest(data)


def _digest(data: Mapping[str, Any]) -> str:
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _locate(path_or_name: str | Path) -> Path:
    text = str(path_or_name)
    if isinstance(path_or_name, Path) or "/" in text or text.endswith((".yml", ".yaml", ".json")):
        return Path(path_or_name)
    preset = preset_path(text)
    if preset is not None:
        return preset
    names = preset_names()
    guess = nearest(text, names)
    suggestion = f"did you mean {guess}?" if guess else f"the presets are {', '.join(names)}."
    raise PolicyInvalid(
        f"no preset is called {text[:80]!r}", hint=f"{suggestion} A file needs a slash or .yml in its name."
    )


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():  # a FIFO would wait for ever
            raise PolicyInvalid(f"{path}: no such file", hint="Give the path of a policy file or a preset's name.")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "is not a path"
        raise PolicyInvalid(
            f"{path}: cannot be read: {reason}", hint="The controller must be able to read it."
        ) from error


def _invalid(faults: list[tuple[int, str]], source: str) -> PolicyInvalid:
    lines = [f"{source}:{line}: {text}" for line, text in faults]
    at_least = len(lines) == MAX_FAULTS
    least = "at least " if at_least else ""
    more = f" (and {least}{len(lines) - 1} more)" if len(lines) > 1 else ""
    told = [*lines, f"{source}: and more; mend these first"] if at_least else lines
    return PolicyInvalid(lines[0] + more, hint=_LINT, faults=told)
