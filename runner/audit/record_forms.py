"""The published forms of receipt.json, report.json and outputs.jsonl, and the JSON Schemas of a run's record.

As with the lines of the log, the models describe and nothing goes through them; tests hold what is written against
them, and docs/schemas against what they give.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema

from runner.audit.forms import (
    EVENTS,
    AuditLine,
    CanarySeen,
    Changes,
    Check,
    Count,
    Depth,
    Ending,
    EngineTold,
    Form,
    Milliseconds,
    Paths,
    PushDone,
    Repository,
    SetupCache,
    SetupFinished,
    Sha256,
    Teardown,
)
from runner.audit.output_forms import Said

__all__ = ["ReceiptFile", "ReportFile", "record_schemas"]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


class PolicyNamed(Form):
    """Which policy the run was under."""

    source: str | None
    sha256: Sha256 | None


class RepositoryNamed(Form):
    """The remote; the base commit is null when it was never fetched."""

    address: str | None
    base_commit: str | None
    branch: str | None = None
    default_branch: str | None = None
    depth: Depth = None


class Images(Form):
    """Ids of the images that were started; null for one that was not."""

    workspace: str | None
    gate: str | None


class Proof(Form):
    """A posture proof in short: the digest of its list of checks, and whether every control was active."""

    sha256: Sha256
    checks: Count
    all_active: bool


class RoomProof(Proof):
    """The same of a room of the gate."""

    role: str


class Postures(Form):
    """Of the workspace, and of each kind of the gate's rooms."""

    workspace: Proof | None
    gate: list[RoomProof]


class Call(Form):
    """One call: `outcome` is `ok`, an error's code, `crashed` or `unfinished`."""

    seq: Count
    tool: str
    arguments_sha256: Sha256 | None
    outcome: str
    exit: int | None
    ms: Milliseconds | None


class Calls(Form):
    """All calls counted, the first of them listed; `sha256` is over every one, as canonical JSON lines."""

    count: Count
    ok: Count
    refused: Count
    unfinished: Count
    sha256: Sha256
    listed: list[Call]


class Decisions(Form):
    """Decisions of the policy, counted; denials by rule."""

    allowed: Count
    denied: Count
    denied_by: dict[str, Count]


class Traffic(Form):
    """Connections and bytes, added up."""

    connections: Count
    refused: Count
    bytes_up: Count
    bytes_down: Count


class Destination(Traffic):
    """The connections of one phase to one destination, as the clients named it."""

    phase: str
    host: str
    port: int


class EgressTold(Traffic):
    """All connections; those to destinations beyond the list are counted in `unlisted`."""

    destinations: list[Destination]
    unlisted: Count


class Chain(Form):
    """The end of the log, which pins all of it."""

    lines: Count
    last_hash: Sha256


class Statement(Form):
    """What is signed."""

    v: Literal[1]
    kind: Literal["runner.receipt"]
    run: str
    controller: str | None
    version: str | None
    started: str | None
    ended: str | None
    ending: Ending
    policy: PolicyNamed
    repository: RepositoryNamed
    images: Images
    posture: Postures
    calls: Calls
    decisions: Decisions
    egress: EgressTold
    changes: Changes | None
    pushes: list[PushDone]
    canary: dict[str, Count]
    chain: Chain
    files: Annotated[dict[str, Sha256], Field(description="The run's other files, by name.")]


class Signature(Form):
    """Ed25519 over the line `runner audit receipt, version 1` and the statement in canonical JSON."""

    algorithm: Literal["ed25519"]
    key_id: Annotated[str, Field(pattern="^sha256:[0-9a-f]{64}$")]
    value: Annotated[str, Field(description="Base64.")]


class ReceiptFile(Form):
    """receipt.json: canonical JSON and a newline."""

    statement: Statement
    signature: Signature


class ErrorTold(Form):
    """What ended a run early."""

    code: str
    message: str
    hint: str


class RequestTold(Form):
    """What the run was asked to be."""

    version: str
    repository: str | None
    ref: str | None
    depth: Depth
    policy: str
    policy_sha256: Sha256
    tools: list[str]


class ImageTold(Form):
    """The workspace's image."""

    reference: str
    id: str


class Room(Form):
    """A room of the gate with its proof."""

    role: str
    image: str
    checks: list[Check]


class Gate(Form):
    """Where the gate's git ran."""

    place: Literal["container", "host"]
    rooms: list[Room]


class WarmLoss(Form):
    """A warm container that was not used, and why."""

    role: str
    reason: str


class WarmTold(Form):
    """What was warm; missing in a process that keeps nothing warm."""

    workspace: bool
    gate: bool
    refused: list[WarmLoss]


class Hooks(Form):
    """The hooks that commits start."""

    path: str
    active: list[str]


class Step(SetupFinished):
    """A command of the set-up, with the end of what it said."""

    timeout_secs: float
    stdout: str
    stderr: str


class Verification(Form):
    """A command that the repository says it checks itself with, and whether the policy would run it."""

    argv: list[str]
    allowed: bool
    code: str | None


class ToolVersion(Form):
    """A version that the repository asks for, beside the image's."""

    tool: str
    wanted: str
    by: str
    has: str | None
    fit: str


class RefusedHost(Form):
    """A connection that the set-up's network refused."""

    host: str
    port: int
    rule: str


class Setup(Form):
    """The set-up. A key is missing when the run did not get that far."""

    source: str
    note: str
    steps: list[Step]
    tools: list[ToolVersion] | None = None
    verify: list[Verification] | None = None
    cache: SetupCache | None = None
    layer: SetupCache | None = None
    refused_hosts: list[RefusedHost] | None = None


class Pointers(Paths):
    """LFS pointers; `at_least`: not all files were looked at."""

    at_least: bool


class LeftOut(Form):
    """What of the base commit is not in the clone."""

    submodules: Paths
    lfs_pointers: Pointers


class CallCounts(Form):
    """Calls, counted."""

    calls: Count
    ok: Count
    refused: Count


class Denial(Form):
    """A call that was answered with an error."""

    seq: Count
    tool: str
    code: str
    rule: str | None


class Pushed(PushDone):
    """A push, and where it went."""

    remote: str


class ChangesTold(Changes):
    """The same with the first thousand paths. `reason` says why they could not be told, where `failed`."""

    files: list[str]
    reason: str | None = None


class CanaryTold(Form):
    """Where the canary lies (null: it was never planted), how often it was seen, and the first hundred places."""

    path: str | None
    count: Count
    seen: list[CanarySeen]


class ReportFile(Form):
    """report.json. A key that has a default is missing when the run did not get that far."""

    version: Literal[1]
    run: str
    status: Literal["completed", "failed", "lost", "interrupted"]
    exit_code: int
    ended: ErrorTold | None
    request: RequestTold
    limits: dict[str, float] | None = None
    image: ImageTold | None = None
    engine: EngineTold | None = None
    gate: Gate | None = None
    warm: WarmTold | None = None
    repository: Repository | None = None
    posture: list[Check] | None = None
    setup: Setup | None = None
    left_out: LeftOut | None = None
    hooks: Hooks | None = None
    calls: CallCounts
    denials: list[Denial]
    pushes: list[Pushed]
    changes: ChangesTold | None
    canary: CanaryTold
    audit: Chain
    milliseconds: dict[str, float]
    teardown: Teardown


def record_schemas() -> Mapping[str, dict[str, Any]]:
    """JSON Schema by file name, for everything that a run's record holds."""
    return {
        "audit-line.schema.json": _line_schema(),
        "output-line.schema.json": {"$schema": _DIALECT, **Said.model_json_schema()},
        "receipt.schema.json": {"$schema": _DIALECT, **ReceiptFile.model_json_schema()},
        "report.schema.json": {"$schema": _DIALECT, **ReportFile.model_json_schema()},
    }


def _line_schema() -> dict[str, Any]:
    """An audit line, whose data has the form of its event."""
    models: list[type[BaseModel]] = list(dict.fromkeys(EVENTS.values()))
    named, definitions = models_json_schema([(model, "validation") for model in models])
    cases = [
        {"properties": {"event": {"const": event}, "data": named[(model, "validation")]}}
        for event, model in EVENTS.items()
    ]
    line = AuditLine.model_json_schema()
    defs = {**line.pop("$defs", {}), **definitions["$defs"]}
    return {"$schema": _DIALECT, **line, "oneOf": cases, "$defs": defs}
