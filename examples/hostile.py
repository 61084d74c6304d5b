"""The hostile twin: the sample with everything in it that a repository can bring along against whoever works on it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from examples.remote import copy_sample

__all__ = ["LEAF", "PAYLOAD_TRACE", "spoil", "spoil_set_up"]

PAYLOAD_TRACE = "/tmp/payload-ran"  # noqa: S108 - inside the container
"""Where a hook leaves word that it ran: proof that the trap was sprung, wherever that was."""

LEAF = "/tmp/leaf.js"  # noqa: S108 - inside the container
"""Where the links beneath src lead: out of the clone, to a place that the run's user could write."""

_ATTACKS = Path(__file__).resolve().parent / "twin" / "attack"
_LINKS = {
    "docs/users.txt": "/etc/passwd",
    "docs/system": "/etc",
    "src/out": "/tmp",  # noqa: S108 - inside a folder that the run may write
    "src/leaf.js": LEAF,
}
_SCRIPTS = ("preinstall", "install", "postinstall", "prepare", "pretest", "posttest")


def spoil(folder: Path, host_trap: Path) -> None:
    """`folder` has the twin. Its traps write to `host_trap`, a path that only exists on the host."""
    copy_sample(folder)
    shutil.copytree(_ATTACKS, folder / "attack")
    for name, target in _LINKS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(target)
    payload = f"#!/bin/sh\necho caught >> '{host_trap}'\necho ran >> {PAYLOAD_TRACE}\n[ -t 0 ] || cat\nexit 0\n"
    for hook in ("pre-commit", "pre-push", "post-commit", "reference-transaction"):
        _executable(folder / ".githooks" / hook, payload)
    _executable(folder / "attack" / "payload", payload)
    # A filter or a diff driver is a program; the attributes choose it, and attack/config.mjs names it in .git/config.
    (folder / ".gitattributes").write_text("* filter=trap diff=trap\n", encoding="utf-8")
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    package["scripts"].update({name: f"echo caught >> '{host_trap}'" for name in _SCRIPTS})
    (folder / "package.json").write_text(json.dumps(package, indent=2) + "\n", encoding="utf-8")


def spoil_set_up(folder: Path) -> None:
    """`folder` has the sample, and a set-up that asks for a shell."""
    copy_sample(folder)
    (folder / ".os" / "workspace.yml").write_text('run:\n  - [bash, -lc, "id"]\n', encoding="utf-8")


def _executable(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
