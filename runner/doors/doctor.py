"""`runner doctor`: whether this host can run a repository, one finding per thing that must hold, each with its mend.

It looks and changes nothing. `ok` needs no action, and a mend beside it says how the host could be stronger; `warn`
names what is weaker than it should be, `fail` keeps runs from starting or from being contained.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Literal, Protocol

import typer

from runner.doors import render
from runner.doors.doctor_confinement import confinement
from runner.doors.doctor_next import extras, next_step
from runner.doors.finding import Finding
from runner.doors.rows import Format, Output, print_rows
from runner.engine.docker_images import LABEL_BASE, DockerImages, EngineHealth, ImageState, build_folder
from runner.engine.image_sources import GATE, WORKSPACE, ImageKind
from runner.engine.known_flaws import ACCEPT_ALL, find_flaws
from runner.model.errors import ExitCode, RunnerError
from runner.settings import Settings

__all__ = ["Finding", "Looks", "doctor", "run_doctor"]

OLDEST_ENGINE = (20, 10)  # the first with every limit that a run sets on cgroup v2; what the tests run on
OLDEST_GIT = (2, 39)  # Debian 12's, which the gate's fetch and push are tested with
SLOW_STORAGE = ("vfs", "devicemapper", "aufs")  # copy whole layers, or are no longer maintained
WARN_FREE_BYTES = 5_000_000_000  # the image and its build take about 3 GB
FAIL_FREE_BYTES = 1_000_000_000
GIT_SECONDS = 10
_NO_ENGINE = (
    "Install Docker Engine (Debian, Ubuntu: `apt-get install docker.io`; in a checkout: `make engine`), start it, and "
    "have the right to use its socket; or name another's address in DOCKER_HOST."
)


class Looks(Protocol):
    """What the doctor asks of an engine."""

    def health(self) -> EngineHealth:
        """What the engine says of itself. Raises RunnerError when it does not answer."""
        ...

    def state(self) -> ImageState:
        """The workspace image. Raises RunnerError when it cannot be looked at."""
        ...

    def close(self) -> None:
        """Give back what was taken."""
        ...


def run_doctor(
    settings: Settings, connect: Callable[[], Looks] | None = None, connect_gate: Callable[[], Looks] | None = None
) -> list[Finding]:
    """Every finding, host first, then engine and image. Never raises for what it finds."""
    findings = [_python(), _git(settings.secrets.get("PATH")), _state_dir(settings.state_dir), _ca(settings.ca_file)]
    findings.append(_space("disk: state", settings.state_dir))
    try:
        with closing((connect or _connect(settings))()) as engine:
            health = engine.health()
            findings += _engine(health)
            findings += confinement(health, settings.require_engine)
            findings += _flaws(health, settings.accept_engine)
            findings += _image(engine)
        findings.append(_gate(settings, connect_gate or _connect(settings, GATE)))
    except RunnerError as error:
        findings.append(Finding("engine", "fail", error.message, _NO_ENGINE))
    return findings + extras(settings.secrets.get("PATH"))


def doctor(output: Output = Format.TABLE) -> None:
    """Say whether this host can run repositories safely, how to mend what keeps it from that, and what to do next.

    Exit 3 on a failure.

    Example: runner doctor -o json
    """
    findings = run_doctor(Settings.from_environment())
    rows = [{"check": one.check, "state": one.state, "found": one.found, "mend": one.mend} for one in findings]
    if output is Format.TABLE:  # what needs a person stands out
        rows = [{**row, "state": row["state"] if row["state"] == "ok" else row["state"].upper()} for row in rows]
    print_rows(rows, ("check", "state", "found", "mend"), output)
    render.progress(next_step(findings))
    if any(finding.state == "fail" for finding in findings):
        raise typer.Exit(int(ExitCode.ENGINE))


def _connect(settings: Settings, kind: ImageKind = WORKSPACE) -> Callable[[], Looks]:
    reference = settings.gate_image if kind is GATE else settings.image
    folder = build_folder(settings.state_dir)
    return lambda: DockerImages(settings.docker, kind=kind, reference=reference, build=folder)


def _gate(settings: Settings, connect: Callable[[], Looks]) -> Finding:
    if settings.gate == "host":
        mend = "Unset RUNNER_GATE: git would then run in a container, unless the engine is on another machine."
        return Finding("gate", "warn", "git parses what repositories send on this host", mend)
    with closing(connect()) as engine:
        state = engine.state()
    if state.id is None:
        return Finding("gate", "fail", f"{state.reference} is not there", "Build it with `runner image build`.")
    if not state.current:
        return Finding(
            "gate", "warn", f"{state.reference} is older than its sources", "Rebuild it with `runner image build`."
        )
    if not state.recorded:
        return _unrecorded("gate", state)
    return Finding("gate", "ok", f"{state.reference} {state.id.removeprefix('sha256:')[:12]}, up to date")


def _python() -> Finding:
    found = ".".join(str(part) for part in sys.version_info[:3])
    return Finding("python", "ok", found)  # an older one cannot import this package: the metadata and `make` refuse it


def _git(path: str | None) -> Finding:
    git = shutil.which("git", path=path)
    if git is None:
        return Finding("git", "fail", "git is not on the PATH", "Install git: fetching and pushing need it.")
    try:
        said = subprocess.run(
            [git, "--version"], capture_output=True, text=True, errors="replace", timeout=GIT_SECONDS, check=True
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return Finding("git", "fail", f"{git} does not run", "Reinstall git.")
    if _version(said) < OLDEST_GIT:
        return Finding("git", "warn", said, f"Install git {OLDEST_GIT[0]}.{OLDEST_GIT[1]} or newer.")
    return Finding("git", "ok", f"{said} ({git})")


def _state_dir(path: Path) -> Finding:
    there = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        return Finding("state", "fail", f"{path} cannot be written", "Set RUNNER_STATE_DIR to a folder of your own.")
    if there != path:
        return Finding("state", "ok", f"{path} (made by the first run)")
    facts = path.stat()
    if facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) & 0o077:
        return Finding("state", "warn", f"{path} is open to other users", f"Run `chmod 700 {path}` as its owner.")
    return Finding("state", "ok", str(path))


def _ca(path: Path | None) -> Finding:
    mend = "Install ca-certificates, or set SSL_CERT_FILE: set-ups with a network cannot verify anybody without."
    if path is None:
        return Finding("authorities", "warn", "this host has no trust store", mend)
    try:
        count = path.read_bytes().count(b"-----BEGIN CERTIFICATE-----")
    except OSError as error:
        return Finding("authorities", "warn", f"{path} cannot be read: {error.strerror}", mend)
    if count == 0:
        return Finding("authorities", "warn", f"{path} holds no certificate", mend)
    return Finding("authorities", "ok", f"{path} ({count} certificates)")


def _space(check: str, path: Path) -> Finding:
    there = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    free = shutil.disk_usage(there).free
    found = f"{free / 1e9:.1f} GB free at {there}"
    if free >= WARN_FREE_BYTES:
        return Finding(check, "ok", found)
    return Finding(check, "fail" if free < FAIL_FREE_BYTES else "warn", found, "Free some space there.")


def _engine(health: EngineHealth) -> Iterator[Finding]:
    old = _version(health.version) < OLDEST_ENGINE
    wanted = f"Install Docker {OLDEST_ENGINE[0]}.{OLDEST_ENGINE[1]} or newer." if old else ""
    yield Finding("engine", "warn" if old else "ok", f"Docker {health.version} on {health.architecture}", wanted)
    yield _limits(health)
    slow = health.storage in SLOW_STORAGE
    yield Finding(
        "storage", "warn" if slow else "ok", health.storage, "Use the engine's overlay2 driver." if slow else ""
    )
    if Path(health.data_root).is_dir():  # a remote engine's folder is not here to be measured
        yield _space("disk: engine", Path(health.data_root))


def _flaws(health: EngineHealth, accepted: frozenset[str]) -> Iterator[Finding]:
    """One finding for each version, with all that is known of it: what refuses runs fails until it is accepted."""
    for component in health.components:
        found = [f for f in find_flaws(health.components) if f.component == component]
        if not found:
            continue
        failing = [f for f in found if f.refuses and not {f.flaw.cve, ACCEPT_ALL} & accepted]
        told = failing or found
        said = "; ".join(f"{f.flaw.cve} ({f.verdict}): {f.flaw.what}" for f in told)
        mend = f"Update {component.name}; runs are refused until then (RUNNER_ACCEPT_ENGINE starts them all the same)."
        if not failing:
            mend = f"Update {component.name}, or look in its changelog whether the distribution has mended it."
        version = component.package if component.package[:1].isdigit() else component.version
        state: Literal["warn", "fail"] = "fail" if failing else "warn"
        yield Finding(f"flaws: {component.name}", state, f"{version}: {said}", mend)


def _limits(health: EngineHealth) -> Finding:
    missing = health.limits_missing
    if not missing:
        return Finding("limits", "ok", f"memory, swap, processes and cpu (cgroup v{health.cgroup_version})")
    # Without swap accounting a run may use swap beyond its memory, and the posture proof refuses it.
    only_swap = missing == ("swap",)
    return Finding(
        "limits",
        "fail",
        f"the engine cannot limit {', '.join(missing)}",
        "Turn on swap accounting (swapaccount=1), or have no swap." if only_swap else "Mount the cgroup controllers.",
    )


def _image(engine: Looks) -> Iterator[Finding]:
    state = engine.state()
    if state.id is None:
        yield Finding("image", "fail", f"{state.reference} is not there", "Build it with `runner image build`.")
        return
    if not state.current:
        yield Finding(
            "image", "warn", f"{state.reference} is older than its sources", "Rebuild it with `runner image build`."
        )
    elif not state.recorded:
        yield _unrecorded("image", state)
    else:
        yield Finding("image", "ok", f"{state.reference} {state.id.removeprefix('sha256:')[:12]}, up to date")
    origin = state.labels.get(LABEL_BASE, "")
    if origin:
        yield Finding("base", "ok", origin)
    else:
        yield Finding(
            "base", "warn", "the image does not say what it was made of", "Rebuild it with `runner image build`."
        )


def _unrecorded(check: str, state: ImageState) -> Finding:
    """As `runner image verify` has it: the labels say so, and those of an image that was made from it would too."""
    found = f"{state.reference} says that it is of these sources; build/images.json does not name it as built here"
    return Finding(check, "warn", found, "Run `runner image build`, which takes what it can from the engine's cache.")


def _version(text: str) -> tuple[int, int]:
    """The first two numbers of a version, (0, 0) where there are none, which counts as too old."""
    match = re.search(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)
