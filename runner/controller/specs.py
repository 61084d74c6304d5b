"""What a run's containers are asked to be: a pure reading of policy, record and host.

A container is made for one run id, which it carries as a label for good. So a warm one is made for the id of a run that
may come, and both ways of having a container, warm and cold, are described here once.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from runner.controller.bindings import binding_for
from runner.controller.demand import Place, Shape
from runner.controller.host import GateMode, Host
from runner.engine.contract import Mount, SandboxLimits, SandboxSpec
from runner.gate.address import Address
from runner.policy.document import Policy

__all__ = ["CLEAN_UP_SECONDS", "deadline_of", "limits_of", "place_of", "room_spec", "shape_of", "workspace_spec"]

CLEAN_UP_SECONDS = 120
"""How long after its run the deadline label gives the controller to finish its report."""

_MEMORY_MIB = 3072  # index-pack and pack-objects of a repository of some gigabytes
_FILE_MIB = 64 * 1024  # the bound of a pack is git's caller's; this one only has to be above it
_OWN_MIB = 64
_OWN_INODES = 1000
_PIDS = 512  # git needs a few; under gVisor the threads of its kernel count too
_OPEN_FILES = 4096


def limits_of(policy: Policy) -> SandboxLimits:
    """The bounds of a run's workspace."""
    limits = policy.limits
    return SandboxLimits(
        run_seconds=limits.run_seconds,
        memory_mib=limits.memory_mib,
        cpus=limits.cpus,
        pids=limits.pids,
        open_files=limits.open_files,
        workspace_mib=limits.workspace_mib,
        workspace_inodes=limits.workspace_inodes,
        file_mib=limits.file_mib,
    )


def place_of(host: Host, policy: Policy, address: Address) -> Place:
    """What the gate's transfer room is fixed by, under this policy."""
    ca_file = Path(policy.ca) if policy.ca is not None else host.ca_file
    return Place(address, ca_file, pushes=binding_for(policy.bindings, address) is not None)


def shape_of(host: Host, policy: Policy, address: Address | None = None) -> Shape:
    """The shape of a workspace under this policy; with that of the room for `address`, where the gate has rooms."""
    place = None if address is None or host.gate is GateMode.HOST else place_of(host, policy, address)
    return Shape(policy.image or host.image, policy.runtime, limits_of(policy), place)


def deadline_of(host: Host, run_seconds: int, idle_seconds: int = 0) -> int:
    """The label's deadline of what is started now: after it, a sweep may take it away."""
    return int(host.unix()) + idle_seconds + run_seconds + CLEAN_UP_SECONDS


def workspace_spec(host: Host, run_id: str, shape: Shape, image_id: str, idle_seconds: int = 0) -> SandboxSpec:
    """The workspace. `image_id` is what was looked at, so that a tag moved meanwhile changes nothing."""
    return SandboxSpec(
        run_id=run_id,
        controller_id=host.state.controller_id,
        image=image_id,
        limits=shape.limits,
        deadline_unix=deadline_of(host, shape.limits.run_seconds, idle_seconds),
        runtime=shape.runtime,
        idle_seconds=idle_seconds,
    )


def room_spec(
    host: Host, run_id: str, shape: Shape, role: str, mounts: tuple[Mount, ...], idle_seconds: int = 0
) -> SandboxSpec:
    """A room of the gate, as long as the workspace, with bounds that suit git.

    Raises:
        EngineUnavailable: the gate's image is not there.
    """
    limits = replace(
        shape.limits,
        memory_mib=_MEMORY_MIB,
        pids=_PIDS,
        open_files=_OPEN_FILES,
        workspace_mib=_OWN_MIB,
        workspace_inodes=_OWN_INODES,
        file_mib=_FILE_MIB,
    )
    return replace(
        workspace_spec(host, run_id, shape, host.engine.image(host.gate_image).id, idle_seconds),
        limits=limits,
        role=role,
        # The controller's own user, so that mirrors stay its own: the container gives it no capability.
        user=f"{os.geteuid()}:{os.getegid()}",
        mounts=mounts,
    )
