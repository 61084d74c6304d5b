"""Known flaws of engines that concern how we use them, and whether a version has them. Pure: versions in, findings out.

Not a list of all flaws: only of those on a way that hostile code in a run of ours might take. The archive calls
(`docker cp`) are not used on containers that run such code, nothing is built from a repository, no network plug-in,
image volume or authorisation plug-in is used, so their flaws are left out.

A distribution mends old versions without raising their number. Its package version shows the mend where the table
names it; where it does not, the version alone says nothing, and the finding says that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from runner.model.errors import EngineUnavailable

__all__ = ["ACCEPT_ALL", "FLAWS", "Component", "Flaw", "FlawFound", "Verdict", "find_flaws", "require_sound_engine"]

ACCEPT_ALL = "all"
"""Instead of single names: whatever the engine's version is known for."""

_NUMBERS = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-~]rc\.?(\d+))?")
# What package versions have and upstream's own do not: `+ds1`, `+dfsg1`, `-1+deb12u1`, `-0ubuntu1~22.04.1`, `.el9`.
_PACKAGED = re.compile(r"ds\d|dfsg|deb\d|ubuntu|\.el\d|\.fc\d|-\d+(?:\.\d+)?$")
_RELEASE = 1 << 30  # a release comes after all its candidates


@dataclass(frozen=True, slots=True)
class Component:
    """A part of the engine, as it names itself. `package` may be the distribution's version, or a commit."""

    name: str
    version: str
    package: str = ""


@dataclass(frozen=True, slots=True)
class Flaw:
    """`fixed` has the first sound version of each branch that was mended; branches above the last one are sound.

    `escape`: code in a run as we start it could use the flaw to reach the host, so that runs are refused.
    `packages` are distributions' versions that have the mend, each by how it begins and the first number after that.
    """

    cve: str
    component: str
    fixed: tuple[str, ...]
    what: str
    escape: bool = False
    packages: tuple[tuple[str, int], ...] = ()


class Verdict(StrEnum):
    """What a version says about a flaw."""

    FLAWED = "flawed"
    UNCLEAR = "unclear"  # below the mended one, and a distribution's own


@dataclass(frozen=True, slots=True)
class FlawFound:
    """A flaw that this engine has, or may have."""

    flaw: Flaw
    component: Component
    verdict: Verdict

    @property
    def refuses(self) -> bool:
        """Whether no run may start with it, unless the operator accepts it."""
        return self.flaw.escape and self.verdict is Verdict.FLAWED


FLAWS: Sequence[Flaw] = (
    Flaw("CVE-2021-30465", "runc", ("1.0.0-rc95",), "a mount may be led to the host through a link", escape=True),
    Flaw(
        "CVE-2024-21626",
        "runc",
        ("1.1.12",),
        "a folder of the host stays open in containers and in each exec",
        escape=True,
        packages=(("1.1.5+ds1-1+deb12u", 1),),
    ),
    *(
        # They need a container with mounts or a root of the attacker's choice; ours have neither, so runs go on.
        Flaw(cve, "runc", ("1.2.8", "1.3.3", "1.4.0-rc3"), what)
        for cve, what in (
            ("CVE-2025-31133", "a masked path may be swapped for a link while a container starts"),
            ("CVE-2025-52565", "the console's mount may be led to a file of the host"),
            ("CVE-2025-52881", "writes below /proc may be led elsewhere while a container starts"),
        )
    ),
    Flaw("CVE-2021-41091", "Engine", ("20.10.9",), "users of the host may enter the folders of containers"),
    Flaw(
        "CVE-2024-25621",
        "containerd",
        ("1.7.29", "2.0.7", "2.1.5", "2.2.0"),
        "users of the host may enter its folders",
        packages=(("1.6.20~ds1-1+deb12u", 2),),
    ),
)


def find_flaws(components: Sequence[Component], flaws: Sequence[Flaw] = FLAWS) -> tuple[FlawFound, ...]:
    """What of the table these components have, or may have, in the table's order."""
    present: Mapping[str, Component] = {component.name: component for component in components}
    found = []
    for flaw in flaws:
        component = present.get(flaw.component)
        verdict = _judge(component, flaw) if component is not None else None
        if component is not None and verdict is not None:
            found.append(FlawFound(flaw, component, verdict))
    return tuple(found)


def require_sound_engine(components: Sequence[Component], accepted: frozenset[str]) -> None:
    """Nothing happens when no flaw is known by which a run could reach the host, or the operator accepts it.

    Raises:
        EngineUnavailable: code `engine_flawed`, naming each such flaw that `accepted` does not.
    """
    refused = [f for f in find_flaws(components) if f.refuses and not {f.flaw.cve, ACCEPT_ALL} & accepted]
    if refused:
        said = "; ".join(f"{f.component.name} {f.component.version}: {f.flaw.cve}, {f.flaw.what}" for f in refused)
        names = ",".join(f.flaw.cve for f in refused)
        raise EngineUnavailable(
            f"the engine is known to let containers out: {said}",
            hint=f"Mend it with an update. To run all the same: RUNNER_ACCEPT_ENGINE={names}",
            code="engine_flawed",
        )


def _judge(component: Component, flaw: Flaw) -> Verdict | None:
    """None for a version that is sound, and for one that cannot be read: of that nothing is known."""
    version = _parsed(component.version)
    if version is None or not _below(version, [_known(text) for text in flaw.fixed]):
        return None
    texts = (component.version, component.package)
    if any(_has_mend(text, begins, first) for text in texts for begins, first in flaw.packages):
        return None
    packaged = any(_parsed(text) and _PACKAGED.search(text) for text in texts)
    return Verdict.UNCLEAR if packaged else Verdict.FLAWED


def _has_mend(text: str, begins: str, first: int) -> bool:
    number = re.match(r"\d+", text.removeprefix(begins))
    return text.startswith(begins) and number is not None and int(number[0]) >= first


def _below(version: tuple[int, int, int, int], fixed: list[tuple[int, int, int, int]]) -> bool:
    """Whether the version comes before the mended one of its own branch, or before every branch that was mended."""
    for mended in fixed:
        if version[:2] == mended[:2]:
            return version < mended
    return version < max(fixed)


def _parsed(text: str) -> tuple[int, int, int, int] | None:
    match = _NUMBERS.match(text)
    if match is None:
        return None
    major, minor, patch, candidate = match.groups()
    return int(major), int(minor), int(patch or 0), int(candidate) if candidate else _RELEASE


def _known(text: str) -> tuple[int, int, int, int]:
    parsed = _parsed(text)
    if parsed is None:
        raise AssertionError(f"the table has a version that is none: {text}")
    return parsed
