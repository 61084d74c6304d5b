"""What a runtime promises by its name: whose kernel the programs of its containers meet. Pure.

A name is what an operator of the engine wrote down, and nothing keeps them from calling runc `runsc`. So a promise is
proved from inside each container (`controller.posture`), and a name that promises nothing must show the host's kernel.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from runner.model.errors import EngineUnavailable

__all__ = ["DEFAULT_RUNTIME", "Kernel", "choose_runtime", "promised_kernel", "seen_kernel"]

DEFAULT_RUNTIME = "runc"
_LIKE_RUNC = frozenset({"crun", "youki"})  # other programs for the same features of the same kernel


class Kernel(StrEnum):
    """Whose kernel answers the programs in a container."""

    HOST = "the host's"
    GVISOR = "gVisor's"
    OWN = "a virtual machine's"


def promised_kernel(runtime: str) -> Kernel:
    """The kernel that a runtime of this name must show."""
    name = runtime.lower()
    if "runsc" in name or "gvisor" in name:
        return Kernel.GVISOR
    return Kernel.OWN if "kata" in name else Kernel.HOST


def seen_kernel(host_release: str, guest_release: str, *, names_gvisor: bool) -> Kernel:
    """The kernel that was seen from inside. One that the engine's host has too is the host's, whatever else is said."""
    if guest_release == host_release:
        return Kernel.HOST
    return Kernel.GVISOR if names_gvisor or "gvisor" in guest_release.lower() else Kernel.OWN


def choose_runtime(asked: str, offered: Collection[str], *, exactly: bool) -> str:
    """The runtime for a run: the one that was asked for, or one as strong where another will do (`exactly` is false).

    Raises:
        EngineUnavailable: code `runtime_missing`. What may be stronger than runc is never given up for it.
    """
    if asked in offered:
        return asked
    if not exactly and asked in _LIKE_RUNC and DEFAULT_RUNTIME in offered:
        return DEFAULT_RUNTIME
    raise EngineUnavailable(
        f"the engine has no runtime {asked!r}",
        hint=f"Install it and name it in the engine's configuration, or change the policy's `runtime`. The engine has: "
        f"{', '.join(sorted(offered))}.",
        code="runtime_missing",
    )
