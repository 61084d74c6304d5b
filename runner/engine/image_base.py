"""A Debian base from packages, for hosts whose engine can pull nothing.

The same suite that the pinned pull has, made by mmdebstrap as a tar file that any engine imports. Packages come from
the Debian mirrors that this host is configured for; where it is configured for none of that suite, from the one that
mmdebstrap itself knows. Signatures are checked by apt either way. No mirror is named here or left in the image.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from runner.engine.image_sources import Progress, Versions
from runner.model.errors import EngineUnavailable

__all__ = ["DEBIAN_KEYRING", "bootstrap_base", "host_sources", "recipe"]

APT = Path("/etc/apt")
DEBIAN_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
BOOTSTRAP_SECONDS = 900  # takes about 20 s beside a mirror
INSTALL_SECONDS = 300

FORGET_HOST = 'rm -rf "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/* "$1"/etc/hostname "$1"/etc/resolv.conf'
"""Hook for mmdebstrap: a mirror's address may hold credentials, and this host's name has no business in an image."""

LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*", "/usr/share/lintian/*")
"""What a slim base has not got either: nothing in it is read by a program that a run starts."""


def bootstrap_base(versions: Versions, tar: Path, progress: Progress) -> None:
    """`tar` is a root file system of the suite with the listed packages.

    Raises EngineUnavailable with code `base_unavailable`: not root, no mmdebstrap, or mmdebstrap failed.
    """
    _require_root()
    _require_mmdebstrap(progress)
    progress(f"building Debian {versions.suite} from packages (about 30 s)")
    command = recipe(versions)
    if DEBIAN_KEYRING.is_file():
        command.append(f"--keyring={DEBIAN_KEYRING}")
    command += [versions.suite, str(tar)]
    with tempfile.NamedTemporaryFile("w", suffix=".list") as sources:
        if lines := host_sources(versions.suite):
            sources.write("\n".join(lines) + "\n")
            sources.flush()
            command.append(sources.name)
        done = _run(command, BOOTSTRAP_SECONDS)
    if done.returncode != 0:
        raise _unavailable(
            f"mmdebstrap failed: {done.stderr.strip()[-400:]}",
            "Check that `apt-get update` works on this host, or let the engine pull from a registry.",
        )


def recipe(versions: Versions) -> list[str]:
    """The part of the mmdebstrap call that is the same on every host. A base made by the same recipe is kept."""
    return [
        "mmdebstrap",
        "--variant=minbase",
        "--mode=root",
        "--format=tar",
        f"--architectures={versions.architecture}",
        f"--include={','.join(sorted(versions.packages))}",
        f"--customize-hook={FORGET_HOST}",
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT),
    ]


def host_sources(suite: str, apt: Path = APT) -> list[str]:
    """This host's own sources of the Debian suite and its updates, as one-line entries; empty where it has none."""
    wanted = {suite, f"{suite}-updates", f"{suite}-security"}
    files = [apt / "sources.list", *sorted(apt.glob("sources.list.d/*"))]
    found: list[str] = []
    for path in files:
        if path.suffix not in {".list", ".sources"} or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        found += _one_line(text, wanted) if path.suffix == ".list" else _deb822(text, wanted)
    return list(dict.fromkeys(found))


def _one_line(text: str, wanted: set[str]) -> Iterable[str]:
    for line in text.splitlines():
        words = line.split("#", 1)[0].split()
        if words[:1] != ["deb"]:
            continue
        options = " ".join(words[1:]).partition("]")[0] + "]" if len(words) > 1 and words[1].startswith("[") else ""
        rest = " ".join(words[1:])[len(options) :].split()
        if len(rest) >= 3 and rest[1] in wanted and "main" in rest[2:]:
            signed = [word for word in options.strip("[]").split() if word.lower().startswith("signed-by=")]
            yield " ".join(["deb", *([f"[{signed[0]}]"] if signed else []), rest[0], rest[1], "main"])


def _deb822(text: str, wanted: set[str]) -> Iterable[str]:
    for stanza in text.split("\n\n"):
        fields = {
            key.strip().lower(): value.strip()
            for key, colon, value in (line.partition(":") for line in stanza.splitlines() if line[:1] not in " \t#")
            if colon
        }
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() == "no":
            continue
        if "main" not in fields.get("components", "").split():
            continue
        signed = fields.get("signed-by", "")
        option = [f"[signed-by={signed}]"] if signed.startswith("/") else []
        for uri in fields.get("uris", "").split():
            for suite in fields.get("suites", "").split():
                if suite in wanted:
                    yield " ".join(["deb", *option, uri, suite, "main"])


def _require_root() -> None:
    if os.geteuid() != 0:
        raise _unavailable(
            "building the base from packages needs root, and the engine could not pull it",
            "Run `runner image build` as root, or let the engine pull from a registry.",
        )


def _require_mmdebstrap(progress: Progress) -> None:
    missing = [] if shutil.which("mmdebstrap") else ["mmdebstrap"]
    missing += [] if DEBIAN_KEYRING.is_file() else ["debian-archive-keyring"]
    if not missing:
        return
    hint = f"Install {' and '.join(missing)}, or let the engine pull from a registry."
    if not shutil.which("apt-get"):
        raise _unavailable(f"{' and '.join(missing)} is missing, and this host has no apt", hint)
    progress(f"installing {' and '.join(missing)}")
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *missing],
    ):
        if _run(command, INSTALL_SECONDS).returncode != 0:
            raise _unavailable(f"`{' '.join(command)}` failed", hint)


def _run(command: list[str], seconds: float) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["/usr/bin/env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _unavailable(
            f"{command[0]} did not end within {seconds:.0f} s", "Check the mirror and run again."
        ) from None


def _unavailable(message: str, hint: str) -> EngineUnavailable:
    return EngineUnavailable(message, hint=hint, code="base_unavailable")
