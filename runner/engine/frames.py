"""The host's side of the helper's frames: bytes in, frames out, no IO.

A frame, in both directions:

    u32 big-endian   length of the head, at most 64 KiB
    u32 big-endian   length of the body, at most 1 MiB
    head             one JSON object
    body             bytes

A request's head holds `id`, `op` and the op's fields; an answer's head echoes `id` and holds `kind` and its fields.
What each op asks and answers is in the docstring of `images/workspace/helper.py`.

Everything that arrives is hostile. A length is judged before anything of that length is kept, a field before it is
used, and whatever is wrong ends as `SandboxLost`, never as another exception. The protocol has no floating-point
numbers, so NaN, infinity and rounding cannot occur.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn, TypeVar

from runner.model.errors import SandboxLost

__all__ = [
    "BODY_MAX_BYTES",
    "HEAD_MAX_BYTES",
    "PATH_MAX_BYTES",
    "Fields",
    "Frame",
    "FrameDecoder",
    "broken",
    "checked_path",
    "encode_frame",
    "parse_object",
]

HEAD_MAX_BYTES = 64 * 1024  # a path of 4096 bytes is at most 24 KiB once escaped
BODY_MAX_BYTES = 1024 * 1024
PATH_MAX_BYTES = 4096  # the kernel's PATH_MAX
INTEGER_MAX = (1 << 63) - 1

_LENGTHS = struct.Struct("!II")
_NOT_CANONICAL = re.compile(r"(?:^|/)\.{0,2}(?:/|\Z)")  # an empty, `.` or `..` part, a leading or trailing slash
_Word = TypeVar("_Word", bound=StrEnum)


def broken(what: str) -> NoReturn:
    """Never returns.

    Raises:
        SandboxLost: the helper broke the protocol, in the way that `what` says in our own words.
    """
    raise SandboxLost(f"its helper broke the protocol: {what}", hint="Start a new run.")


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame that kept the bounds. What its head says is still to be judged."""

    head: Fields
    body: bytes


def encode_frame(head: Mapping[str, Any], body: bytes = b"") -> bytes:
    """The bytes of a frame. `head` and `body` are ours and within the bounds; ValueError says that they are not."""
    text = _ENCODER.encode(head).encode("ascii")
    if len(text) > HEAD_MAX_BYTES or len(body) > BODY_MAX_BYTES:
        raise ValueError("a frame of ours is over its bounds")
    return _LENGTHS.pack(len(text), len(body)) + text + body


class FrameDecoder:
    """Gathers bytes into frames. Holds at most one frame and one read's worth of bytes beyond it."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """`data` is taken in."""
        self._buffer += data

    def next(self) -> Frame | None:
        """The next whole frame, None while it is not there yet.

        Raises:
            SandboxLost: for lengths over the bounds, and a head that is not one JSON object.
        """
        buffer = self._buffer
        if len(buffer) < _LENGTHS.size:
            return None
        head_size, body_size = _LENGTHS.unpack_from(buffer)
        if head_size > HEAD_MAX_BYTES or body_size > BODY_MAX_BYTES:
            broken("a frame is over its bounds")
        head_end = _LENGTHS.size + head_size
        end = head_end + body_size
        if len(buffer) < end:
            return None
        with memoryview(buffer) as view:
            head, body = bytes(view[_LENGTHS.size : head_end]), bytes(view[head_end:end])
        del buffer[:end]
        return Frame(Fields(parse_object(head)), body)


def parse_object(data: bytes) -> dict[str, Any]:
    """A JSON object from inside.

    Raises:
        SandboxLost: for anything else: other JSON, bad UTF-8, non-finite or fractional numbers, too deep nesting.
    """
    try:
        value = _JSON.decode(data.decode("utf-8"))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        broken("a head is not a JSON object")
    return value


def _refuse_number(literal: str) -> NoReturn:
    raise ValueError(f"not an integer: {literal[:20]}")


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)
_JSON = json.JSONDecoder(parse_float=_refuse_number, parse_constant=_refuse_number)


class Fields:
    """The fields of a head, each judged as it is taken. All methods raise SandboxLost for a field that does not fit."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def only(self, names: Collection[str]) -> None:
        """There are exactly these fields."""
        if self._values.keys() != set(names):
            broken("an answer does not have the fields it should have")

    def integer(self, name: str, *, low: int = 0, high: int = INTEGER_MAX) -> int:
        """An integer within bounds. A boolean is none."""
        value = self._values.get(name)
        if type(value) is not int or not low <= value <= high:
            broken(f"{name} is not an integer within its bounds")
        return value

    def integer_or_none(self, name: str, *, low: int = 0, high: int = INTEGER_MAX) -> int | None:
        """An integer within bounds, or null."""
        return None if self._is_null(name) else self.integer(name, low=low, high=high)

    def boolean(self, name: str) -> bool:
        """A boolean."""
        value = self._values.get(name)
        if not isinstance(value, bool):
            broken(f"{name} is not a boolean")
        return value

    def word(self, name: str, words: type[_Word]) -> _Word:
        """One of a closed set of words."""
        value = self._values.get(name)
        if not isinstance(value, str) or value not in words._value2member_map_:
            broken(f"{name} is not one of its words")
        return words(value)

    def word_or_none(self, name: str, words: type[_Word]) -> _Word | None:
        """One of a closed set of words, or null."""
        return None if self._is_null(name) else self.word(name, words)

    def text(self, name: str, *, max_chars: int = 1000) -> str:
        """A short text for people. Lone surrogates are replaced, so that it can be written anywhere."""
        value = self._values.get(name)
        if not isinstance(value, str) or len(value) > max_chars:
            broken(f"{name} is not a short text")
        return value.encode("utf-8", "replace").decode("utf-8")

    def path(self, name: str) -> str:
        """A canonical path below the root, or `.`."""
        value = self._values.get(name)
        if not isinstance(value, str):
            broken(f"{name} is not a path")
        return value if value == "." else checked_path(value)

    def texts(self, name: str, *, max_items: int, max_chars: int = PATH_MAX_BYTES) -> tuple[str, ...]:
        """A bounded list of short texts."""
        values = self._values.get(name)
        if not isinstance(values, list) or len(values) > max_items:
            broken(f"{name} is not a short list")
        return tuple(Fields({name: value}).text(name, max_chars=max_chars) for value in values)

    def _is_null(self, name: str) -> bool:
        return name in self._values and self._values[name] is None


def checked_path(path: str) -> str:
    """The path itself: relative, canonical, within the kernel's bound, and the same once written and read back.

    Raises:
        SandboxLost: for any other path.
    """
    if len(path) > PATH_MAX_BYTES or "\0" in path or _NOT_CANONICAL.search(path):
        broken("a path is not canonical")
    if not path.isascii():
        try:
            raw = path.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            broken("a path is not a file name")
        # Two surrogates that together are a character would name the same file in a second way.
        if len(raw) > PATH_MAX_BYTES or raw.decode("utf-8", "surrogateescape") != path:
            broken("a path is not a file name")
    return path
