"""Where a recorded run lies: its log by the run's id, or by a path that somebody names, and what lies beside it.

Whoever names a path may be shown somebody else's files, so sizes are bounded and nothing but a regular file is read.
"""

from __future__ import annotations

from pathlib import Path

from runner.audit.keys import PUBLIC_KEY, PublicKey, named_key
from runner.audit.receipt import MAX_RECEIPT_BYTES
from runner.audit.seal import RECEIPT
from runner.model.errors import UsageError
from runner.settings import Settings

__all__ = ["AUDIT", "MAX_AUDIT_BYTES", "audit_file", "own_public_key", "receipt_beside", "run_of_record"]

AUDIT = "audit.jsonl"
MAX_AUDIT_BYTES = 512 * 1024 * 1024  # half a million calls


def audit_file(name: str, settings: Settings) -> Path:
    """The log of a run, by its id, its folder or the log itself.

    Raises:
        UsageError: there is none, or it is too large to be read.
    """
    path = Path(name)
    try:
        if "/" not in name and name.isalnum():
            recorded = settings.state_dir / "runs" / name / AUDIT
            path = recorded if recorded.is_file() else path
        path = path / AUDIT if path.is_dir() else path
        if not path.is_file():  # a FIFO would wait for ever
            raise UsageError(
                f"there is no run and no audit log called {name[:200]}", hint=f"A run's --out folder holds {AUDIT}."
            )
        if path.stat().st_size > MAX_AUDIT_BYTES:
            raise UsageError(f"{path} is larger than {MAX_AUDIT_BYTES} bytes", hint="No run writes such a log.")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a path"
        raise UsageError(f"{name[:200]} cannot be read: {reason}", hint=f"Name a readable {AUDIT}.") from error
    return path


def run_of_record(audit: Path, settings: Settings) -> str | None:
    """The run whose whole record the log has to be part of, by its folder in the state folder; None elsewhere."""
    folder = audit.absolute().parent  # not resolved: a link to another run's folder is no record of this one
    return folder.name if folder.parent.resolve() == (settings.state_dir / "runs").resolve() else None


def receipt_beside(audit: Path) -> bytes | None:
    """The receipt that lies beside the log, None when there is none.

    Raises:
        UsageError: it cannot be read.
    """
    path = audit.parent / RECEIPT
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(MAX_RECEIPT_BYTES)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", hint="Mend its mode or owner.") from error


def own_public_key(settings: Settings) -> PublicKey | None:
    """The public half of this host's key; None where no run was ever sealed. No key is made by asking.

    Raises:
        AuditKeyUnusable: it is there, and is none.
    """
    if settings.audit_key is not None:
        return named_key(settings.audit_key).public
    path = settings.state_dir / PUBLIC_KEY
    return PublicKey.in_file(path) if path.is_file() else None
