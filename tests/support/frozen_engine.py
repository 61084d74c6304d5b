"""A Unix socket in front of the engine's own, which can be frozen: bytes stop, connections stay."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path

__all__ = ["EngineProxy"]


class EngineProxy:
    """Listens at `path` and passes everything to the engine until `freeze`; `thaw` lets it flow again."""

    def __init__(self, path: Path, engine: str = "/var/run/docker.sock") -> None:
        self._engine = engine
        self._flowing = threading.Event()
        self._flowing.set()
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(str(path))
        self._server.listen()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def freeze(self) -> None:
        self._flowing.clear()

    def thaw(self) -> None:
        self._flowing.set()

    def close(self) -> None:
        self.thaw()
        for one in (self._server, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                engine = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                engine.connect(self._engine)
                self._open += [client, engine]
                for source, target in ((client, engine), (engine, client)):
                    threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._flowing.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
