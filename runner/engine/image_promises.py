"""What the workspace image promises, as data: an id, a sentence, and a probe that can find it broken.

A probe is a shell script that prints one line per breach and nothing when the promise is kept. It runs inside a
throw-away container of the image, so it trusts the image's own shell: it proves that our build did what it says, and is
no defence against an image that somebody made to lie. `images/README.md` lists the same ids.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runner.engine.docker_image_build import LABEL_BASE, LABEL_INPUTS
from runner.engine.docker_images import LABEL_CA, LABEL_REGISTRY, LABEL_VERSIONS
from runner.engine.image_sources import IMAGES, OPT_FILES, Versions, load_versions

if TYPE_CHECKING:
    from runner.engine.docker_images import DockerImages, ImageState

__all__ = ["PROMISES", "Promise", "PromiseResult", "check_promises"]


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise. `as_root`: the probe needs to see every folder; it has no capability all the same."""

    id: str
    sentence: str
    script: str
    as_root: bool = True


@dataclass(frozen=True, slots=True)
class PromiseResult:
    """How a promise was found. `breaches` is empty when it is kept."""

    promise: Promise
    breaches: tuple[str, ...]

    @property
    def kept(self) -> bool:
        """Whether nothing was found against it."""
        return not self.breaches


# Scripts see: VERSIONS ("name start" per line), OPT_SUMS (as sha256sum prints), STATE (what the host found), CA.
PROMISES = (
    Promise(
        "versions",
        "git, node, npm, pnpm, mise, ripgrep and Python have the versions that versions.toml pins.",
        """
        expect() {
            case "$2" in
            "$(printf '%s\\n' "$VERSIONS" | sed -n "s/^$1 //p")"*) ;;
            *) echo "$1 has version ${2:-none}" ;;
            esac
        }
        expect git "$(git --version 2>&1 | cut -d' ' -f3)"
        expect node "$(node --version 2>&1 | tr -d v)"
        expect npm "$(npm --version 2>&1)"
        expect pnpm "$(pnpm --version 2>&1)"
        expect mise "$(mise --version 2>&1 | cut -d' ' -f1)"
        expect ripgrep "$(rg --version 2>&1 | sed -n '1s/^ripgrep \\([^ ]*\\).*/\\1/p')"
        expect python3 "$(python3 --version 2>&1 | cut -d' ' -f2)"
        """,
        as_root=False,
    ),
    Promise(
        "default-user",
        "Whoever starts the image without naming a user is uid 1000, in no further group.",
        '[ "$(id -u) $(id -G)" = "1000 1000" ] || echo "runs as $(id)"',
        as_root=False,
    ),
    Promise(
        "users",
        "keeper is 900, relay 901 and agent 1000, each with a group of its own and no other member.",
        """
        for user in keeper:900 relay:901 agent:1000; do
            name=${user%%:*}
            [ "$(id -u "$name" 2>&1):$(id -G "$name" 2>&1)" = "${user#*:}:${user#*:}" ] || echo "$(id "$name" 2>&1)"
        done
        awk -F: '$4 != "" {print "group " $1 " has members"}' /etc/group
        """,
    ),
    Promise(
        "no-login",
        "Nobody can log in: every account has a shell that refuses, and a locked password.",
        """
        awk -F: '$7 !~ "/(nologin|false)$" {print $1 " has the shell " $7}' /etc/passwd
        awk -F: '$2 !~ "^[!*]" {print $1 " has a usable password"}' /etc/shadow
        """,
    ),
    Promise(
        "no-privilege",
        "No file gives privileges to who starts it: no setuid, no setgid, no file capability.",
        """
        find / -xdev -perm /6000 ! -path '/proc/*' -printf '%p has mode %m\\n'
        python3 -I -S - <<'END'
import os
for folder, _, names in os.walk("/"):
    if folder.split("/")[1] in ("proc", "sys", "dev"):
        continue
    for path in (os.path.join(folder, name) for name in names):
        if not os.path.islink(path) and "security.capability" in os.listxattr(path):
            print(path, "has capabilities")
END
        """,
    ),
    Promise(
        "nothing-writable",
        "Outside the mounts of a run nothing belongs to, or can be written by, a user other than root.",
        """
        find / -xdev ! -type l \\( -perm -0002 -o -not -user 0 -o -not -group 0 -perm /0020 \\) \\
            ! -path '/proc/*' ! -path '/dev/*' ! -path '/sys/*' ! -path /tmp ! -path /workspace ! -path /home/agent \\
            -printf '%p is %u:%g %m\\n'
        """,
    ),
    Promise(
        "our-files",
        "/opt/runner holds our files byte for byte, the helper compiled, and no others; only root may write them.",
        """
        cd /opt/runner || exit 0
        sum=$(for file in *; do [ "$file" = helper.pyc ] || sha256sum -- "$file"; done 2>&1)
        [ "$sum" = "$OPT_SUMS" ] || printf '%s\\n%s\\n' "$sum" "$OPT_SUMS" | sort | uniq -u
        /usr/bin/python3 -I -S -c 'import marshal
with open("helper.py", "rb") as source, open("helper.pyc", "rb") as compiled:
    same = marshal.loads(compiled.read()[16:]) == compile(source.read(), "helper.py", "exec")
print("" if same else "helper.pyc is not what helper.py compiles to")' 2>&1
        find /opt/runner \\( -not -user 0 -o -not -group 0 -o -perm /0022 \\) -printf '%p is %u:%g %m\\n'
        """,
    ),
    Promise(
        "no-caches",
        "No package manager's lists, caches, logs or mirrors are left in it.",
        """
        find /var/lib/apt/lists /var/cache /var/log /root /home /etc/apt/sources.list /etc/apt/sources.list.d \\
            -xdev -type f \\( -path '/root/.[bp]*rc' -prune -o -path '/root/.profile' -prune -o -print \\) 2>/dev/null
        """,
    ),
    Promise(
        "non-interactive",
        "git, npm, pnpm and mise ask nothing, advise nothing, update nothing and install nothing by themselves.",
        """
        expect() { [ "$2" = "$3" ] || echo "$1 is '$2'"; }
        cd /tmp
        expect core.editor "$(git config --system core.editor)" :
        expect protocol.ext.allow "$(git config --system protocol.ext.allow)" never
        expect gc.auto "$(git config --system gc.auto)" 0
        expect "npm update-notifier" "$(npm config get update-notifier 2>&1)" false
        expect "pnpm update-notifier" "$(pnpm config get update-notifier 2>&1)" false
        expect "pnpm manage-package-manager-versions" "$(pnpm config get manage-package-manager-versions 2>&1)" false
        expect "mise auto_install" "$(mise settings get auto_install 2>&1)" false
        """,
        as_root=False,
    ),
    Promise(
        "no-added-trust",
        "It trusts the authorities that Debian trusts, and one more only when it was built with --ca.",
        """
        for file in /usr/local/share/ca-certificates/*; do
            [ -e "$file" ] || continue
            [ "$(sha256sum <"$file" | cut -d' ' -f1)" = "$CA" ] || echo "$file is trusted"
        done
        """,
    ),
    Promise(
        "recorded",
        "Its labels say what it was made of, the sources in the tree are those, and build/images.json names its id.",
        '[ -z "$STATE" ] || printf \'%s\\n\' "$STATE"',
    ),
)


def check_promises(images: DockerImages, source: Path = IMAGES) -> list[PromiseResult]:
    """Every promise, probed in two containers: one as the image's own user, one as root without capabilities.

    Raises EngineUnavailable when the image is not there or a probe cannot run.
    """
    environment = _expectations(images.state(), load_versions(source), source)
    found: dict[str, tuple[str, ...]] = {}
    for as_root in (False, True):
        chosen = [promise for promise in PROMISES if promise.as_root is as_root]
        output = images.probe(_program(chosen), user="0:0" if as_root else "", environment=environment)
        found |= _sections(output)
    # A probe that printed not even its heading did not run: that is a breach, never a pass.
    return [
        PromiseResult(promise, found.get(promise.id, ("the probe did not run to its end",))) for promise in PROMISES
    ]


def _program(promises: list[Promise]) -> str:
    parts = ["HOME=/tmp; export HOME"]
    for promise in promises:
        parts += [f"echo '== {promise.id}'", f"(\n{promise.script}\n) 2>&1", f"echo '-- {promise.id}'"]
    return "\n".join([*parts, "exit 0"])


def _sections(output: str) -> dict[str, tuple[str, ...]]:
    sections: dict[str, tuple[str, ...]] = {}
    lines: list[str] = []
    for line in output.splitlines():
        if line.startswith("== "):
            lines = []
        elif line.startswith("-- "):
            sections[line[3:]] = tuple(lines)
        elif line.strip():
            lines.append(line)
    return sections


def _expectations(state: ImageState, versions: Versions, source: Path) -> Mapping[str, str]:
    files = sorted({path for pattern in OPT_FILES for path in (source / "workspace").glob(pattern)})
    pinned = {**versions.packages, **{tool.name: tool.version for tool in versions.tools}}
    return {
        "VERSIONS": "\n".join(f"{name} {start}" for name, start in pinned.items()),
        "OPT_SUMS": "\n".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in files),
        "STATE": "\n".join(_record_breaches(state)),
        "CA": state.labels.get(LABEL_CA, ""),
    }


def _record_breaches(state: ImageState) -> list[str]:
    labels = (LABEL_BASE, LABEL_INPUTS, LABEL_REGISTRY, LABEL_VERSIONS)
    breaches = [f"the label {label} is missing" for label in labels if not state.labels.get(label)]
    if not state.current:
        breaches.append("the sources in the tree are not those that it was made of")
    if not state.recorded:
        breaches.append("build/images.json does not name this image as built here; `runner image build` mends that")
    try:
        json.loads(state.labels.get(LABEL_VERSIONS, "{}"))
    except ValueError:
        breaches.append(f"the label {LABEL_VERSIONS} is no JSON")
    return breaches
