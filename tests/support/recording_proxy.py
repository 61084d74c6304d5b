"""A Unix socket in front of the engine's own that notes what the engine is asked."""

from __future__ import annotations

import re
import threading
from collections import Counter
from pathlib import Path

from tests.support.fault_proxy import After, FaultProxy, Moment

__all__ = ["RecordingProxy"]

_REQUEST = re.compile(rb"(?:^|\r?\n)(GET|POST|PUT|DELETE|HEAD) /(?:v[0-9.]+/)?([^ ?]+)\S* HTTP/1\.1\r\n")
_NAMES = re.compile(r"/(?:[0-9a-f]{64}|sha256:[0-9a-f]{64}|[^/]*:[^/]*)(?=/|$)")


class RecordingProxy(FaultProxy):
    """`asked` counts requests by method and path, names and ids left out."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, Moment(b"never said"), lambda: After.GO_ON)
        self.asked: Counter[str] = Counter()
        self._count = threading.Lock()

    def _watch(self, tail: bytes, data: bytes) -> bytes:
        with self._count:
            for method, path in _REQUEST.findall(data):
                self.asked[f"{method.decode()} {_NAMES.sub('/ID', '/' + path.decode())}"] += 1
        return b""
