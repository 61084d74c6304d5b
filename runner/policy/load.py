"""From a file or a preset's name to a policy that can take effect, or one line that says why not.

The file is read with bounds and without YAML's dangerous parts (`bounded_yaml`), and every key is checked strictly
(`document`). This is the only part of the policy core that touches a file, and it touches only the one it is handed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from runner.model.errors import PolicyInvalid
from runner.policy.bounded_yaml import MAX_BYTES, YamlRefused, read_yaml
from runner.policy.document import Policy
from runner.policy.faults import MAX_FAULTS, fault_lines, nearest
from runner.policy.presets import preset_names, preset_path

__all__ = ["LoadedPolicy", "load_policy", "parse_policy", "policy_digest"]

_LINT = "Correct the policy file; nothing was started."


@dataclass(frozen=True, slots=True)
class LoadedPolicy:
    """A policy, where it came from, and the digest that receipts name: equal policies have equal digests."""

    policy: Policy
    source: str
    digest: str


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
    try:
        document = read_yaml(content)
    except YamlRefused as error:
        raise PolicyInvalid(f"{source}:{error.line}: the file {error.reason}", hint=_LINT) from error
    if not isinstance(document.data, dict):
        raise PolicyInvalid(f"{source}:1: the file is no mapping; expected keys such as `writeAllow:`", hint=_LINT)
    try:
        policy = Policy.model_validate(document.data)
    except ValidationError as error:
        raise PolicyInvalid(_first(fault_lines(error, document), source), hint=_LINT) from error
    return LoadedPolicy(policy, source, policy_digest(policy))


def policy_digest(policy: Policy) -> str:
    """The SHA-256, in hex, of the policy's canonical JSON: all keys, defaults written out, sorted, no blanks."""
    data = policy.model_dump(mode="json", by_alias=True)
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


def _first(faults: list[tuple[int, str]], source: str) -> str:
    line, text = faults[0]
    least = "at least " if len(faults) == MAX_FAULTS else ""
    more = f" (and {least}{len(faults) - 1} more)" if len(faults) > 1 else ""
    return f"{source}:{line}: {text}{more}"
