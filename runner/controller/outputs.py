"""What the programs of a run said and why calls were refused, for people: outputs.jsonl, one line a call.

The audit log holds no content, on purpose. This file has the beginning and the end of what programs wrote, within
bounds, so that somebody who looks at a run sees what the caller saw. Contents of files and matches of searches are not
in it. It is sealed with the report; it is no condition of an act, so a full disk ends the file and not the run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from runner.audit.canonical import canonical
from runner.audit.scrub import Scrubber
from runner.audit.seal import SAID

__all__ = ["MAX_FILE_BYTES", "MAX_HEAD_CHARACTERS", "MAX_TAIL_CHARACTERS", "Outputs"]

MAX_HEAD_CHARACTERS = 4 * 1024
MAX_TAIL_CHARACTERS = 12 * 1024
"""Of one stream of one call: what went wrong mostly stands at its end."""

MAX_FILE_BYTES = 16 * 1024 * 1024
"""Of one run; a page that shows more is not read by anybody."""

_MAX_TEXT_CHARACTERS = 4 * 1024
_FLAGS = ("timed_out", "truncated", "killed_by", "limits_hit")


class Outputs:
    """Appends to one file, until its bound or the first failure."""

    def __init__(self, folder: Path, scrubber: Scrubber) -> None:
        self._scrubber = scrubber
        self._size = 0
        self._file: int | None = None
        with suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            self._file = os.open(folder / SAID, flags, 0o600)

    def keep(self, seq: int, answer: Mapping[str, Any]) -> None:
        """What a person wants to see of the answer is in the file, where there is something, and room."""
        told = _refusal(answer["error"]) if not answer["ok"] else _output(answer["result"], self._scrubber)
        if told is None or self._file is None:
            return
        line = canonical({"seq": seq, **self._scrubber.value(told)}) + b"\n"
        if self._size + len(line) > MAX_FILE_BYTES:
            self._write(canonical({"seq": seq, "kind": "full"}) + b"\n")
            self.close()
            return
        self._write(line)

    def _write(self, line: bytes) -> None:
        if self._file is None:
            return
        try:
            written = os.write(self._file, line)
        except OSError:
            written = -1
        self._size += len(line)
        if written != len(line):
            self.close()

    def close(self) -> None:
        """Nothing more is kept."""
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
            self._file = None


def _refusal(error: Mapping[str, Any]) -> dict[str, Any]:
    details = error["details"]
    hint = details.get("hint")
    message = str(error["message"])
    if isinstance(hint, str):
        message = message.removesuffix(hint).rstrip()
    told = {"message": message[:_MAX_TEXT_CHARACTERS], "hint": str(hint or "")[:_MAX_TEXT_CHARACTERS]}
    return {"kind": "refusal", "code": str(error["code"]), "rule": details.get("rule"), **told}


def _output(result: Any, scrubber: Scrubber) -> dict[str, Any] | None:
    if not isinstance(result, Mapping) or not isinstance(result.get("stdout"), str):
        return None
    streams = {name: _stream(scrubber.text(result[name])) for name in ("stdout", "stderr")}
    return {"kind": "output", **streams, **{name: result[name] for name in _FLAGS if result.get(name)}}


def _stream(text: str) -> dict[str, Any]:
    cut = len(text) - MAX_HEAD_CHARACTERS - MAX_TAIL_CHARACTERS
    if cut <= 0:
        return {"head": text, "cut_characters": 0, "tail": ""}
    return {"head": text[:MAX_HEAD_CHARACTERS], "cut_characters": cut, "tail": text[-MAX_TAIL_CHARACTERS:]}
