"""Known flaws of engines that concern how we use them, and whether a version has them. Pure: versions in, findings out.

Not a list of all flaws: only of those on a way that hostile code in a run of ours might take. The archive calls
(`docker cp`) are not used on containers that run such code, nothing is built from a repository, no network plug-in,
image volume or authorisation plug-in is used, so their flaws are left out.

A distribution mends old versions without raising their number. Its package version shows the mend, or that it is
missing, where the table names the mended package of this release; elsewhere the version alone says nothing, and the
finding says that. It says so too of a version that cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from runner.model.errors import EngineUnavailable

__all__ = ["ACCEPT_ALL", "FLAWS", "Component", "Flaw", "FlawFound", "Verdict"]
__all__ += ["doubts", "find_flaws", "require_sound_engine"]

ACCEPT_ALL = "all"
"""Instead of single names: whatever the engine's version is known for."""

_NUMBERS = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:[-~]rc\.?(\d+))?")
# What package versions have and upstream's own do not: `+ds1`, `+dfsg1`, `-1+deb12u1`, `-0ubuntu1~22.04.1`, `.el9`.
_PACKAGED = re.compile(r"ds\d|dfsg|deb\d|ubuntu|\.el\d|\.fc\d|-\d+(?:\.\d+)?$")
# The release that a package was made for: Debian 12 or Ubuntu 22.04.
_RELEASE_MARK = re.compile(r"deb\d+(?=u)|~\d\d\.\d\d(?=\.)")
_Key = tuple[tuple[tuple[int, ...], int], ...]
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
    `packages` are the first sound versions of distributions' packages, at most one for each of their releases.
    """

    cve: str
    component: str
    fixed: tuple[str, ...]
    what: str
    escape: bool = False
    packages: tuple[str, ...] = ()


class Verdict(StrEnum):
    """What a version says about a flaw."""

    FLAWED = "flawed"
    UNCLEAR = "unclear"  # below the mended one and a distribution's own, or not to be read


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
        packages=("1.1.5+ds1-1+deb12u1", "1.1.7-0ubuntu1~20.04.2", "1.1.7-0ubuntu1~22.04.2"),
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
        packages=("1.6.20~ds1-1+deb12u2",),
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


def doubts(components: Sequence[Component]) -> tuple[str, ...]:
    """A line for each flaw by which a run could reach the host, where these versions leave open whether they have it.

    Runs start all the same: who reads their report has to know.
    """
    open_ones = [f for f in find_flaws(components) if f.flaw.escape and f.verdict is Verdict.UNCLEAR]
    return tuple(f"{f.component.name} {_told(f.component)}: {f.flaw.cve}, {f.flaw.what}" for f in open_ones)


def _told(component: Component) -> str:
    version = component.package if component.package[:1].isdigit() else component.version
    return version or "of no version"


def _judge(component: Component, flaw: Flaw) -> Verdict | None:
    """None for a version that is sound."""
    version = _parsed(component.version)
    if version is None:
        return Verdict.UNCLEAR
    if not _below(version, [_known(text) for text in flaw.fixed]):
        return None
    texts = [text for text in (component.version, component.package) if _parsed(text) and _PACKAGED.search(text)]
    if not texts:
        return Verdict.FLAWED
    known = [_order(text) >= _order(mended) for text in texts for mended in flaw.packages if _alike(text, mended)]
    if any(known):
        return None
    return Verdict.FLAWED if known else Verdict.UNCLEAR


def _alike(text: str, mended: str) -> bool:
    """Whether both are packages of one release of a distribution: by its mark, or made from the same sources."""
    marks = [_RELEASE_MARK.search(version) for version in (text, mended)]
    sources = {version.rpartition("-")[0] for version in (text, mended)}
    named = {mark[0] for mark in marks if mark is not None}
    return len(named) == 1 and (None not in marks or sources == {mended.rpartition("-")[0]})


def _order(text: str) -> tuple[_Key, _Key]:
    """A key that orders packages as Debian does: digits by value, `~` before the end, letters before all else."""
    upstream, _, revision = text.rpartition("-")
    return _key(upstream), _key(revision)


def _key(text: str) -> _Key:
    def weight(sign: str) -> int:
        if sign == "~":
            return -1
        return ord(sign) if sign.isalpha() else ord(sign) + 256

    parts = re.findall(r"(\D*)(\d*)", text)
    return tuple(((*map(weight, words), 0), int(digits or 0)) for words, digits in parts)


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
