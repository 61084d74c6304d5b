"""The gate of one run: where its git runs, what that place sees of this host, and its one way out.

Containers from the gate's image, which runs no code of a repository:

- the transfer room, for the run's whole life. It sees this repository's mirror, and reaches this repository's address
  and nothing else. The credential is in it for the length of each git that needs it.
- the judging room, a fresh one for each push. It takes in what the workspace hands over; it has no way out, meets no
  credential, and sees the mirror read-only. What it let pass is all that the transfer room sees of the workspace.
- the signing room, where the policy has commits signed (`signing`). It has no way out and sees nothing of this host.

Each is proved before its first use, as the workspace is. Where the operator chose `RUNNER_GATE=host`, both are git on
the host.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from runner.controller import posture
from runner.controller.demand import Place
from runner.controller.gate_way import GateWay
from runner.controller.handover import hand_over, prove_sandbox
from runner.controller.host import GateMode, Host
from runner.controller.records import RunRecord
from runner.controller.specs import room_spec
from runner.engine.contract import Engine, Mount, Sandbox, SandboxSpec
from runner.gate.address import Address
from runner.gate.git import Git
from runner.gate.host_git import HostGit
from runner.gate.local import common_folder
from runner.gate.mirror import mirror_folder
from runner.gate.own_folders import folders_of
from runner.gate.room_git import RoomGit
from runner.model.errors import EngineUnavailable, RepositoryUnavailable

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared

__all__ = ["TRANSFER", "judging_git", "quarantine_folder", "signing_room", "transfer_git", "transfer_mounts"]

TRANSFER = "gate"
"""The role of the transfer room, as its label and the log have it."""

_KNOWN_HOSTS = Path("/etc/ssh/known_hosts")
# Mounted over, these would take the image's own programs away.
_TAKEN = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/opt/runner", "/proc", "/run", "/sbin", "/sys", "/usr")


def quarantine_folder(run: RunRecord) -> Path:
    """Where the judging room takes in what would leave; it exists."""
    folder = run.folder / "quarantine"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def transfer_mounts(host: Host, record: RunRecord, place: Place) -> tuple[Mount, ...]:
    """What the transfer room sees of this host.

    Raises:
        RepositoryUnavailable: a local repository whose place cannot be shown to a container.
    """
    address, ca_file = place.address, place.ca_file
    known_hosts = _known_hosts(host, address)
    mounts = [
        Mount(str(mirror_folder(host.state.mirrors, address)), writable=True),
        Mount(str(quarantine_folder(record))),
        *([] if ca_file is None else [Mount(str(ca_file))]),
        # At a place of our choice: ssh would take a blank in the path for the end of it.
        *([] if known_hosts is None else [Mount(str(known_hosts), at=str(_KNOWN_HOSTS))]),
        *_local_mounts(address, writable=place.pushes),
    ]
    if address.scheme == "ssh":
        mounts.append(Mount(str(_passwd(record)), at="/etc/passwd"))
    return tuple(mounts)


def transfer_git(run: Prepared, place: Place) -> Git:
    """Git that may connect to the place's address.

    Raises:
        EngineUnavailable, PostureFailed: the room could not be started as asked.
        RepositoryUnavailable: a local repository whose place cannot be shown to a container.
    """
    run.facts["gate"] = {"place": str(run.host.gate), "rooms": []}
    if run.host.gate is GateMode.HOST:
        return HostGit(run.host.state.path / "gate", ca_file=place.ca_file)
    room = _start(run, TRANSFER, transfer_mounts(run.host, run.record, place))
    way = GateWay(room, run.audit)
    run.gate.callback(way.close)
    known_hosts = _known_hosts(run.host, place.address)
    return RoomGit(room, way, ca_file=place.ca_file, known_hosts=None if known_hosts is None else _KNOWN_HOSTS)


@contextmanager
def judging_git(run: Prepared, transfer: Git, mirror: Path) -> Iterator[Git]:
    """Git for what the workspace hands over, in a room of its own while the block runs.

    Raises:
        EngineUnavailable, PostureFailed: the room could not be started as asked.
    """
    if run.host.gate is GateMode.HOST:
        yield transfer
        return
    mounts = (Mount(str(mirror.parent)), Mount(str(quarantine_folder(run.record)), writable=True))
    room = _start(run, "judge", mounts)
    try:
        yield RoomGit(room, None, ca_file=None, known_hosts=None)
    finally:
        room.remove()
        run.containers.remove(room)


def signing_room(run: Prepared) -> Sandbox:
    """A room for signatures, for the rest of the run: without a way out, and with nothing of this host but a name.

    Raises:
        EngineUnavailable, PostureFailed: the room could not be started as asked.
    """
    return _start(run, "sign", (Mount(str(_passwd(run.record)), at="/etc/passwd"),))


def _start(run: Prepared, role: str, mounts: tuple[Mount, ...]) -> Sandbox:
    """A room, proved: the warm one where there is one, else a fresh one."""
    spec = room_spec(run.host, run.record.run_id, run.shape, role, mounts)
    told = {"role": role, "mounts": [mount.said for mount in mounts]}
    warm = None if run.warm is None or role != TRANSFER else run.warm.room
    checks = None
    if warm is not None:
        run.audit.append("gate.start", {**told, "warm": True})
        checks = hand_over(run, warm, spec)
    if warm is not None and checks is not None:
        room = warm.sandbox
    else:
        run.audit.append("gate.start", {**told, "warm": False})
        room = _started(run.host.engine, spec)
        run.containers.append(room)
        checks = prove_sandbox(room, spec)
    proof = {"role": role, "image": spec.image, "checks": [asdict(check) for check in checks]}
    run.facts["gate"]["rooms"].append(proof)
    run.audit.append("gate.posture", proof)
    posture.require(checks)
    return room


def _started(engine: Engine, spec: SandboxSpec) -> Sandbox:
    try:
        return engine.start(spec)
    except EngineUnavailable as error:
        if "bind source path does not exist" not in error.message:
            raise
        raise EngineUnavailable(
            "the engine does not see this host's folders, which the gate's container needs",
            hint="With an engine on another machine, set RUNNER_GATE=host.",
            code="gate_mount_failed",
        ) from error


def _known_hosts(host: Host, address: Address) -> Path | None:
    file = host.ssh_known_hosts
    return file if address.scheme == "ssh" and file is not None and file.is_file() else None


def _passwd(record: RunRecord) -> Path:
    """A file that names the controller's user: ssh and ssh-keygen work for nobody else; the image cannot know it."""
    file = record.folder / "passwd"
    lines = ["root:x:0:0::/:/bin/false", "keeper:x:900:900::/:/bin/false", "relay:x:901:901::/:/bin/false"]
    if os.geteuid() not in (0, 900, 901):
        lines.append(f"gate:x:{os.geteuid()}:{os.getegid()}::/tmp:/bin/false")
    file.write_text("\n".join(lines) + "\n", encoding="ascii")
    return file


def _local_mounts(address: Address, *, writable: bool) -> list[Mount]:
    if address.path is None:
        return []
    path = Path(address.path)
    if not path.is_dir():
        return []  # the fetch says so in its own words
    mounts = [Mount(str(folder)) for folder in folders_of(path)]
    if writable:
        common = Path(os.path.normpath(common_folder(path)))
        mounts = [mount for mount in mounts if mount.path != str(common)] + [Mount(str(common), writable=True)]
    for mount in mounts:
        if mount.path in ("/", "/tmp") or any(Path(mount.path).is_relative_to(taken) for taken in _TAKEN):  # noqa: S108
            raise RepositoryUnavailable(
                f"the folder {mount.path} cannot be shown to the gate's container: the container has its own",
                hint="Clone the repository to another place, or set RUNNER_GATE=host.",
                code="repository_place_unsupported",
            )
    return mounts
