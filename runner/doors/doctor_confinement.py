"""What the doctor says of the ways in which this engine can keep containers apart from its host, and from each other.

What is weaker than it could be is no warning by itself: it is told with its mend, and only what the operator requires
(RUNNER_REQUIRE_ENGINE) and is not there fails.
"""

from __future__ import annotations

from collections.abc import Iterator

from runner.controller.confinement import Required, required_of
from runner.doors.finding import Finding
from runner.engine.docker_images import EngineHealth
from runner.engine.runtimes import Kernel, promised_kernel
from runner.model.errors import UsageError

__all__ = ["confinement"]

_SECCOMP = "Start the engine on a kernel with seccomp, without `unconfined`."
_APPARMOR = "Load AppArmor on the engine's host and restart the engine; its docker-default is then on each container."
_USERNS = "Start the engine with `userns-remap` (or rootless): root of a container is then nobody on the host."
_RUNTIME = (
    "For a kernel of its own, install gVisor or Kata, add it to the engine's `runtimes`, say `runtime:` in a policy."
)


def confinement(health: EngineHealth, words: frozenset[str]) -> Iterator[Finding]:
    """One finding each for the system call filter, AppArmor, users, runtimes, and what `words` require."""
    try:
        required = required_of(words)
    except UsageError as error:
        yield Finding("required", "fail", error.message, error.hint)
        required = Required()
    seccomp = Finding("seccomp", "ok", "on; each run brings its own filter, and proves it")
    yield seccomp if health.seccomp else Finding("seccomp", "fail", "off", _SECCOMP)
    there = set(health.security)
    yield _control("apparmor", "apparmor" in there, "docker-default, proved in each run", _APPARMOR, required)
    yield _control(
        "userns", bool(there & {"userns", "rootless"}), "users remapped, proved in each run", _USERNS, required
    )
    yield _runtimes(health.runtimes, required.runtime)


def _control(name: str, there: bool, found: str, mend: str, required: Required) -> Finding:
    if there:
        return Finding(name, "ok", found)
    if name in required.security:
        return Finding(name, "fail", "not on this engine, and RUNNER_REQUIRE_ENGINE asks for it", mend)
    return Finding(name, "ok", "not on this engine", mend)


def _runtimes(offered: tuple[str, ...], required: str | None) -> Finding:
    kernels = {name: promised_kernel(name) for name in offered}
    found = ", ".join(
        name if kernel is Kernel.HOST else f"{name} ({kernel} kernel)" for name, kernel in kernels.items()
    )
    if required is not None and required not in offered:
        mend = f"Install {required} and add it to the engine's `runtimes`, or change RUNNER_REQUIRE_ENGINE."
        return Finding("runtimes", "fail", f"{found}; {required} is required", mend)
    stronger = any(kernel is not Kernel.HOST for kernel in kernels.values())
    return Finding("runtimes", "ok", f"{found}; each run proves which it has", "" if stronger else _RUNTIME)
