"""What the engine must have for a run, asked before anything is started; that each container has it, the proof says."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.engine.contract import EngineInfo
from runner.engine.runtimes import DEFAULT_RUNTIME, Kernel, choose_runtime, promised_kernel
from runner.model.errors import EngineUnavailable, UsageError

if TYPE_CHECKING:
    from runner.controller.prepare import Prepared

__all__ = ["NOTHING_REQUIRED", "Required", "required_of", "runtime_for"]

_RUNTIME = "runtime:"
_SAID = {
    "apparmor": ("AppArmor's profile on containers", "Load AppArmor on the engine's host, and restart the engine."),
    "userns": ("users of their own for containers", "Start the engine with `userns-remap`, or rootless."),
}


@dataclass(frozen=True, slots=True)
class Required:
    """What the operator wants of every run's engine: words of its security options, and a runtime, or none."""

    security: frozenset[str] = frozenset()
    runtime: str | None = None


NOTHING_REQUIRED = Required()


def required_of(words: Collection[str]) -> Required:
    """The setting RUNNER_REQUIRE_ENGINE, read.

    Raises:
        UsageError: it has a word that asks for nothing known, or two runtimes.
    """
    runtimes = {word.removeprefix(_RUNTIME) for word in words if word.startswith(_RUNTIME)}
    security = {word for word in words if not word.startswith(_RUNTIME)}
    if security - _SAID.keys() or len(runtimes) > 1 or "" in runtimes:
        raise UsageError(
            f"RUNNER_REQUIRE_ENGINE is {','.join(sorted(words))!r}",
            hint=f"Say any of {', '.join(_SAID)}, and at most one runtime:NAME, with commas between.",
        )
    return Required(frozenset(security), next(iter(runtimes), None))


def runtime_for(run: Prepared) -> str:
    """The runtime of all containers of the run. The engine has it, and whatever else the operator requires.

    Raises:
        EngineUnavailable: code `runtime_missing` or `control_missing`; nothing was started.
        UsageError: code `runtime_required`: the policy names another runtime than the operator.
    """
    asked, required = run.policy.runtime, run.host.required
    if required.runtime not in (None, asked):
        raise UsageError(
            f"runs on this host need the runtime {required.runtime}, and the policy names {asked}",
            hint=f"Say `runtime: {required.runtime}` in the policy.",
            code="runtime_required",
        )
    if asked == DEFAULT_RUNTIME and not required.security:
        return asked  # what every engine offers; one that does not refuses the container
    info = run.host.engine.info()
    runtime = choose_runtime(asked, info.runtimes, exactly=run.policy.require_runtime or required.runtime is not None)
    if runtime != asked:
        run.progress(f"the engine has no runtime {asked}: {runtime} takes its place, which is as strong")
    _require_security(required.security, info, runtime)
    return runtime


def _require_security(required: Collection[str], info: EngineInfo, runtime: str) -> None:
    for word in sorted(required):
        what, mend = _SAID[word]
        if promised_kernel(runtime) is Kernel.GVISOR:
            raise EngineUnavailable(
                f"{what}: required on this host, and not to be proved under {runtime}",
                hint=f"Take `{word}` out of RUNNER_REQUIRE_ENGINE for these runs, or use another runtime.",
                code="control_missing",
            )
        if word not in info.security and not (word == "userns" and "rootless" in info.security):
            raise EngineUnavailable(
                f"the engine lacks {what}, required on this host", hint=mend, code="control_missing"
            )
