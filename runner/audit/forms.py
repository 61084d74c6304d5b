"""The published form of an audit line: for each event, what its `data` holds.

These models are what docs/schemas is made of, and what tests hold every written line against. They describe; nothing
in a run goes through them, so that a form that lags behind cannot end a run. A key is added under the same version; one
that is taken away, or means something else, raises `AUDIT_VERSION`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

__all__ = [
    "EVENTS",
    "AuditLine",
    "CanarySeen",
    "Changes",
    "Check",
    "Count",
    "Depth",
    "Ending",
    "EngineTold",
    "Form",
    "Milliseconds",
    "Paths",
    "PushDone",
    "Repository",
    "SetupCache",
    "SetupFinished",
    "Sha256",
    "Teardown",
    "check_line",
]

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]
Milliseconds = Annotated[float, Field(ge=0)]


class Form(BaseModel):
    """A JSON object with exactly these keys."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class AuditLine(Form):
    """One line of audit.jsonl. `hash` is over the line without it, in canonical JSON; `prev` is the line before's."""

    v: Literal[1]
    seq: Annotated[int, Field(ge=1, description="The line's number.")]
    run: str
    at: Annotated[str, Field(description="ISO 8601, UTC.")]
    event: str
    data: dict[str, JsonValue]
    prev: Sha256
    hash: Sha256


Depth = Annotated[int | None, Field(ge=1, description="Commits of history that the workspace has; null: all.")]


class RunStarted(Form):
    """The first line: what the run was asked to be, by which controller, and the key that will seal it."""

    version: str
    repository: Annotated[str | None, Field(description="The address as it was checked; null without a workspace.")]
    ref: str | None
    depth: Depth
    policy: Annotated[str, Field(description="Where the policy came from.")]
    policy_sha256: Sha256
    tools: list[str]
    controller: str
    key: Annotated[str, Field(pattern="^sha256:[0-9a-f]{64}$")]


class RepositoryFetch(Form):
    """The repository is about to be fetched."""

    address: str
    ref: str | None


class Repository(Form):
    """The host's record of the remote, made at the start."""

    address: str
    base_commit: str
    branch: str | None
    default_branch: str | None
    depth: Depth


Warm = Annotated[bool, Field(description="It was up already, and is proved again.")]


class GateStart(Form):
    """A room of the gate is about to be started."""

    role: Literal["gate", "judge", "sign"]
    mounts: list[str]
    warm: Warm = False


class Check(Form):
    """One control of the posture proof."""

    control: str
    expected: str
    seen: str
    active: bool


class EngineTold(Form):
    """Flaws that let containers out, and of which the engine's versions do not say whether they are mended."""

    unclear: list[str]


class GatePosture(Form):
    """The posture of a room of the gate, as it was proved."""

    role: Literal["gate", "judge", "sign"]
    image: str
    checks: list[Check]


class WorkspaceStart(Form):
    """The workspace is about to be started, from this image's id."""

    image: str
    deadline_unix: int
    warm: Warm = False


class WarmRefused(Form):
    """A warm container was not what a fresh one would be; it is gone, and a fresh one is due."""

    role: Literal["workspace", "gate"]
    reason: Annotated[
        Literal["image", "mounts", "posture", "lost"],
        Field(description="Another image or other mounts are due, a control is off, or it does not answer."),
    ]
    checks: Annotated[list[Check], Field(description="The controls that were not active.")]


class Posture(Form):
    """The posture of the workspace, as it was proved."""

    checks: list[Check]


class SetupMise(Form):
    """Which mise configurations are trusted, and why others are not."""

    notes: list[str]


class SetupStep(Form):
    """A command of the set-up is about to run."""

    argv: list[str]
    why: str


class SetupFinished(Form):
    """A command of the set-up has ended."""

    argv: list[str]
    exit: int | None
    timed_out: bool
    duration_ms: Milliseconds


class SetupCache(Form):
    """What became of the package cache, or of the layer with what the install made."""

    outcome: Literal["off", "hit", "miss"]
    kept: bool
    why: str
    bytes: Count


Phase = Literal["setup", "run", "gate", "proof"]


class EgressOpen(Form):
    """An allowed connection is about to be made; an `egress` line with its phase and number tells its end."""

    phase: Phase
    connection: int
    host: str
    port: int
    rule: str


class EgressDial(Form):
    """The address that is about to be connected to."""

    phase: Phase
    connection: int
    address: str


class Egress(Form):
    """One connection, told when it was refused or ended. `host` is what the client asked for."""

    phase: Phase
    connection: int
    host: str
    port: int
    address: str
    allowed: bool
    rule: str
    ended_by: str
    bytes_up: Count
    bytes_down: Count
    milliseconds: Milliseconds


class CallStarted(Form):
    """A call got to its tool. Content in its arguments is replaced by `{sha256, bytes}`."""

    seq: Count
    tool: str
    arguments_sha256: Sha256
    arguments: dict[str, JsonValue]


class Subject(BaseModel):
    """What was judged; the further keys depend on the kind."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    kind: Literal["write", "append", "argv", "budget", "commit", "branch", "push"]


class DecisionMade(Form):
    """An allow or a deny of the policy, before it took effect, with what it was made on."""

    seq: Annotated[Count, Field(description="The call that it belongs to.")]
    allowed: bool
    rule: str
    code: str | None
    basis: Literal[1]
    subject: Subject
    facts: dict[str, JsonValue]


class CallFinished(Form):
    """A call was answered. `exit` is the program's, null for one that was killed and for calls that start none."""

    seq: Count
    tool: str
    ok: bool
    code: str | None
    ms: Milliseconds
    exit: int | None


class CallCrashed(Form):
    """A bug of the runner's ended the run in this call."""

    seq: Count
    error: str


class Paths(Form):
    """How many, and the first thousand."""

    count: Count
    paths: list[str]


class CommandReverted(Form):
    """What a command wrote outside the write patterns, taken back or not."""

    reverted: Paths
    not_reverted: Paths


class CommitSigned(Form):
    """A commit of the workspace's was signed; `commit` is its name with the signature."""

    unsigned: str
    commit: str


class PushAsked(Form):
    """A push is about to be judged."""

    branch: str
    commit: str


class PushDone(Form):
    """What became of a push."""

    branch: str
    commit: str
    status: Literal["pushed", "up_to_date", "refused"]


class CanaryPlanted(Form):
    """A secret that opens nothing was put into the home folder."""

    path: str
    token_sha256: Sha256


class CanarySeen(Form):
    """The canary showed up. `seq` is the call that it was seen in."""

    seq: Count | None
    place: Literal["arguments", "result", "setup", "egress", "push", "changes"]
    detail: str


class Changes(Form):
    """What differs from the base commit at the end. `paths_sha256` is over `git diff --name-only -z`."""

    file_count: Count
    paths_sha256: Sha256
    patch_bytes: Count
    truncated: bool
    failed: bool


class Teardown(Form):
    """Whether nothing of the run is left in the engine; what is, by name."""

    verified: bool
    leftovers: list[str]


class Ending(Form):
    """How the run ended. `code` is the error's that ended it early."""

    status: Literal["completed", "failed", "lost", "interrupted"]
    exit_code: int
    code: str | None
    teardown: Teardown


EVENTS: Mapping[str, type[BaseModel]] = MappingProxyType(
    {
        "run.started": RunStarted,
        "repository.fetch": RepositoryFetch,
        "repository.fetched": Repository,
        "gate.start": GateStart,
        "gate.posture": GatePosture,
        "workspace.start": WorkspaceStart,
        "warm.refused": WarmRefused,
        "posture": Posture,
        "setup.mise": SetupMise,
        "setup.step": SetupStep,
        "setup.finished": SetupFinished,
        "setup.cache": SetupCache,
        "setup.layer": SetupCache,
        "egress.open": EgressOpen,
        "egress.dial": EgressDial,
        "egress": Egress,
        "call.started": CallStarted,
        "decision": DecisionMade,
        "call.finished": CallFinished,
        "call.crashed": CallCrashed,
        "command.reverted": CommandReverted,
        "commit.signed": CommitSigned,
        "push.asked": PushAsked,
        "push.leaving": PushAsked,
        "push.done": PushDone,
        "canary.planted": CanaryPlanted,
        "canary.seen": CanarySeen,
        "changes": Changes,
        "run.ended": Ending,
    }
)
"""Every event that there is, in about the order of a run."""


def check_line(line: Mapping[str, Any]) -> None:
    """The line has the published form.

    Raises:
        ValueError: naming what has not.
    """
    told = AuditLine.model_validate(line)
    if told.event not in EVENTS:
        raise ValueError(f"there is no event {told.event!r}")
    EVENTS[told.event].model_validate(told.data)
