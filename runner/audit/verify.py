"""Whether a run's record is the one that its controller sealed. Pure: bytes and a public key in, a verdict out.

In this order; the first that does not hold is the verdict:

1. Each line of the log is whole, of one run, and follows the one before (`chain`).
2. There is a receipt, in its one form. Without one the log proves nothing about its end: it is `unsealed` at best, and
   broken when its last line says that the run came to its end, since then there was one.
3. The key that is trusted sealed exactly this receipt, and of the run that was asked for.
4. The log ends where the receipt says, with that very line: nothing is cut, added, or written anew.
5. The receipt says of the run what the log says.
6. The run's other files are those that were sealed. Of a whole record none may be missing; of a part that was handed
   over, the verdict names those that were not there to be looked at.

What it cannot find: a log that the holder of the key sealed anew, and anything about an unsealed log's missing end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runner.audit.canonical import canonical
from runner.audit.chain import BrokenChain, chained_lines
from runner.audit.keys import PublicKey
from runner.audit.receipt import Receipt, read_receipt
from runner.audit.summary import Summary

__all__ = ["Problem", "Verdict", "Word", "verify_record"]


class Word(StrEnum):
    """The verdict in one word."""

    VERIFIED = "verified"
    UNSEALED = "unsealed"
    BROKEN = "broken"


class Problem(StrEnum):
    """What is wrong, beside the words of `BrokenChain`. Fixed; texts may change."""

    TORN = "line-torn"
    CUT = "log-cut"
    APPENDED = "log-appended"
    ANOTHER_LOG = "receipt-of-another-log"
    ANOTHER_RUN = "receipt-of-another-run"
    RECEIPT_MISSING = "receipt-missing"
    RECEIPT_UNREADABLE = "receipt-unreadable"
    RECEIPT_CHANGED = "receipt-changed"
    CONTRADICTION = "receipt-contradicts-log"
    WRONG_KEY = "wrong-key"
    FILE_CHANGED = "file-changed"
    FILE_MISSING = "file-missing"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`lines` are whole and chained. `line` is the first bad one, where a line can be named.

    `not_checked` are sealed files that were not there.
    """

    word: Word
    lines: int
    message: str
    problem: str | None = None
    line: int | None = None
    run: str | None = None
    key_id: str | None = None
    not_checked: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "verdict": str(self.word),
            "run": self.run,
            "lines": self.lines,
            "problem": None if self.problem is None else str(self.problem),
            "line": self.line,
            "key_id": self.key_id,
            "not_checked": list(self.not_checked),
            "message": self.message,
        }


@dataclass(slots=True)
class _Log:
    """The log as far as its chain holds."""

    lines: int = 0
    run: str | None = None
    last_event: str = ""
    torn: bool = False
    broken: BrokenChain | None = None
    summary: Summary | None = None  # None: as a log that no controller wrote it


def verify_record(
    lines: Iterable[bytes],
    receipt: bytes | None,
    key: PublicKey | None,
    files: Mapping[str, str],
    *,
    run: str | None = None,
    whole: bool = False,
) -> Verdict:
    """The verdict on a log, its receipt (None: there is none), and the digests of the files that lie beside them.

    `key` None means that nothing is trusted; then no receipt verifies. `run` is the one that was asked for, None when
    whatever lies there was; `whole` says that all of a record has to be there.
    """
    sealed, why_not = _parse(receipt)
    log, hash_at_end = _walk(lines, None if sealed is None else sealed.lines)
    if receipt is None:
        return _another_run(log, log.run, run) or _without_receipt(log)
    if log.broken is not None and not (sealed is not None and log.lines >= sealed.lines):
        return _bad(log, log.broken.problem, f"{log.broken}", log.broken.number)
    if sealed is None:
        return _bad(log, Problem.RECEIPT_UNREADABLE, f"the receipt cannot be used: {why_not}")
    return (
        _signed(log, sealed, key)
        or _another_run(log, sealed.run, run)
        or _same_log(log, sealed, hash_at_end)
        or _same_facts(log, sealed)
        or _same_files(log, sealed, files, whole=whole)
    )


def _parse(receipt: bytes | None) -> tuple[Receipt | None, str]:
    if receipt is None:
        return None, ""
    try:
        return read_receipt(receipt), ""
    except ValueError as error:
        return None, str(error)


def _walk(lines: Iterable[bytes], end: int | None) -> tuple[_Log, str | None]:
    """The log, summed up as far as `end`, and the hash of the line there."""
    log, summary, hash_at_end, last_raw = _Log(), Summary(), None, [b""]
    try:
        for line in chained_lines(_noting(lines, last_raw)):
            log.lines, log.run, log.last_event = line["seq"], str(line["run"]), str(line["event"])
            if end is None or log.lines <= end:
                summary.take(line)
            if log.lines == end:
                hash_at_end = line["hash"]
        log.summary = summary
    except BrokenChain as broken:
        log.broken, log.summary = broken, summary
    except (KeyError, TypeError, AttributeError):
        log.lines -= 1  # a chained line with facts that no controller writes: somebody chained it anew
        log.broken = BrokenChain(log.lines + 1, "line-unreadable", "is not an audit line")
    log.torn = bool(last_raw[0]) and not last_raw[0].endswith(b"\n")
    return log, hash_at_end


def _noting(lines: Iterable[bytes], last: list[bytes]) -> Iterable[bytes]:
    for raw in lines:
        last[0] = raw
        yield raw


def _without_receipt(log: _Log) -> Verdict:
    whole = f"unsealed, chain intact up to line {log.lines}"
    if log.broken is not None and log.torn and log.broken.number == log.lines + 1:
        said = f"{whole}; line {log.lines + 1} was never written to its end"
        return Verdict(Word.UNSEALED, log.lines, said, Problem.TORN, log.lines + 1, log.run)
    if log.broken is not None:
        return _bad(log, log.broken.problem, str(log.broken), log.broken.number)
    if log.last_event == "run.ended":
        return _bad(log, Problem.RECEIPT_MISSING, "the log says that the run ended, and its receipt is missing")
    said = f"{whole}: its controller was killed, or is still at work; what came after that line cannot be known"
    return Verdict(Word.UNSEALED, log.lines, said, None, None, log.run)


def _signed(log: _Log, sealed: Receipt, key: PublicKey | None) -> Verdict | None:
    if key is None or sealed.key_id != key.key_id:
        trusted = "no key is trusted" if key is None else f"the trusted key is {key.key_id}"
        return _bad(log, Problem.WRONG_KEY, f"the receipt says it is sealed by the key {sealed.key_id}; {trusted}")
    if not sealed.signed_by(key):
        return _bad(log, Problem.RECEIPT_CHANGED, "the receipt was changed after it was sealed, or the seal is forged")
    return None


def _another_run(log: _Log, found: str | None, asked: str | None) -> Verdict | None:
    """A record of another run, genuine as it may be, proves nothing of the one that was asked for."""
    if asked is None or found is None or found == asked:
        return None
    return _bad(log, Problem.ANOTHER_RUN, f"this is the record of the run {found}, not of {asked}")


def _same_log(log: _Log, sealed: Receipt, hash_at_end: str | None) -> Verdict | None:
    if log.run is not None and log.run != sealed.run:
        said = f"the receipt is of the run {sealed.run}, the log of {log.run}"
        return _bad(log, Problem.ANOTHER_RUN, said)
    if log.lines < sealed.lines:
        said = f"the log is cut: it ends with line {log.lines}, and {sealed.lines} were sealed"
        return _bad(log, Problem.CUT, said, log.lines + 1)
    if sealed.lines and hash_at_end != sealed.last_hash:
        said = "the log is a chain, but not the sealed one: it was written anew, from a line that cannot be told"
        return _bad(log, Problem.ANOTHER_LOG, said)
    if log.lines > sealed.lines or log.broken is not None:
        said = f"line {sealed.lines + 1} was added after the log was sealed"
        return _bad(log, Problem.APPENDED, said, sealed.lines + 1)
    return None


def _same_facts(log: _Log, sealed: Receipt) -> Verdict | None:
    told = {} if log.summary is None else log.summary.as_json()
    differing = sorted(name for name in told if canonical(sealed.statement.get(name)) != canonical(told[name]))
    if log.summary is not None and log.summary.ended is not None:
        if canonical(sealed.statement.get("ending")) != canonical(log.summary.ended):
            differing.append("ending")
    if differing:
        return _bad(log, Problem.CONTRADICTION, f"the receipt says other things than the log: {', '.join(differing)}")
    return None


def _same_files(log: _Log, sealed: Receipt, files: Mapping[str, str], *, whole: bool) -> Verdict:
    told = sealed.statement.get("files")
    kept: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    changed = sorted(name for name, made in files.items() if kept.get(name) != made)
    if changed:
        return _bad(log, Problem.FILE_CHANGED, f"{', '.join(changed)}: not the file that was sealed")
    missing = tuple(sorted(kept.keys() - files.keys()))
    if missing and whole:
        return _bad(log, Problem.FILE_MISSING, f"{', '.join(missing)}: sealed, and missing")
    said = f"verified: {log.lines} lines of run {sealed.run}, sealed by {sealed.key_id}"
    if missing:
        said += f"; not checked, since not here: {', '.join(missing)}"
    return Verdict(Word.VERIFIED, log.lines, said, None, None, log.run, sealed.key_id, missing)


def _bad(log: _Log, problem: str, message: str, line: int | None = None) -> Verdict:
    return Verdict(Word.BROKEN, log.lines, message, problem, line, log.run)
