"""A Docker daemon as far as its answers go: HTTP on a Unix socket, each answer scripted by method and path."""

from __future__ import annotations

import json
import re
import socketserver
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

__all__ = ["NO_ANSWER", "Daemon", "daemon"]

Answer = tuple[int, Any]
NO_ANSWER: Answer = (0, None)
"""The connection is cut once the request was read."""
VERSION: Answer = (200, {"Version": "20.10.24", "ApiVersion": "1.41", "MinAPIVersion": "1.12"})
INFO: Answer = (
    200,
    {
        "Runtimes": {"runc": {}, "other": {}},
        "SecurityOptions": ["name=seccomp,profile=default"],
        "CgroupVersion": "2",
        "Driver": "overlay2",
    },
)
_PREFIX = re.compile(r"^/v1\.\d+")


class Daemon:
    """`answers` maps `METHOD /path` to what is answered, in order; the last answer is given again and again."""

    def __init__(self, path: Path) -> None:
        self.environment: Mapping[str, str] = {"DOCKER_HOST": f"unix://{path}"}
        self.answers: dict[str, list[Answer]] = {"GET /version": [VERSION], "GET /info": [INFO]}
        self.asked: list[str] = []
        self.bodies: dict[str, Any] = {}

    def answer(self, request: str, *answers: Answer) -> None:
        """The request is answered so."""
        self.answers[request] = list(answers)

    def reply(self, request: str) -> Answer:
        """The next answer to the request; what was not scripted is not found."""
        self.asked.append(request)
        scripted = self.answers.get(request, [(404, {"message": f"no such thing: {request}"})])
        return scripted.pop(0) if len(scripted) > 1 else scripted[0]


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    daemon: Daemon


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = f"{self.command} {_PREFIX.sub('', self.path.partition('?')[0])}"
        status, answer = self.server.daemon.reply(request)
        if body:
            self.server.daemon.bodies[request] = json.loads(body)
        if (status, answer) == NO_ANSWER:
            self.close_connection = True
            return
        if status == 101:  # a held stream: the answer is what it says before it ends
            self.wfile.write(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n" + answer)
            self.close_connection = True
            return
        data = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = do_HEAD = _handle

    def address_string(self) -> str:
        return "test"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is said."""


@contextmanager
def daemon(folder: Path) -> Iterator[Daemon]:
    """A daemon that answers while the block runs."""
    path = folder / "engine.sock"
    made = Daemon(path)
    with _Server(str(path), _Handler) as server:
        server.daemon = made
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()
