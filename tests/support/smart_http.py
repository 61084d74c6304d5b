"""A small smart-HTTP git server for tests: `git http-backend` behind http.server, on the loopback interface.

It can ask for a token, speak TLS under a throw-away authority, answer every request with a redirect, and it remembers
every request, so that a test can prove what an onlooker would have seen.
"""

from __future__ import annotations

import base64
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.certificates import Certificates

__all__ = ["Seen", "SmartHttp", "smart_http"]


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    authorization: str | None


@dataclass
class SmartHttp:
    """A running server. `url` has no final slash; a repository `x.git` below the root is at `url + "/x.git"`."""

    url: str
    host: str
    seen: list[Seen] = field(default_factory=list)

    def saw(self, text: str) -> bool:
        """Whether `text` was in any request's path, or in its decoded basic authentication."""
        return any(text in request.path or text in _decoded(request.authorization) for request in self.seen)


@contextmanager
def smart_http(
    root: Path,
    *,
    token: str | None = None,
    certificates: Certificates | None = None,
    redirect_to: str | None = None,
    writable: bool = True,
) -> Iterator[SmartHttp]:
    """Serve the bare repositories below `root`. With `token`, any user name with that password is let in."""
    server = _Server(("127.0.0.1", 0), _Handler)
    scheme = "http"
    if certificates is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.server_file)
        # The handshake belongs to the request's thread: a client that refuses the certificate must not stop the server.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        scheme = "https"
    host = f"127.0.0.1:{server.server_address[1]}"
    running = SmartHttp(url=f"{scheme}://{host}", host=host)
    _Handler.sites[server.server_address[1]] = _Site(root, token, redirect_to, writable, running.seen)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        del _Handler.sites[server.server_address[1]]


@dataclass(frozen=True)
class _Site:
    root: Path
    token: str | None
    redirect_to: str | None
    writable: bool
    seen: list[Seen]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: a client that refuses the certificate, or is killed, is what some tests want."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"  # one request a connection
    sites: dict[int, _Site] = {}  # noqa: RUF012 - one process serves several sites, by port

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: tests read `seen`."""

    def _answer(self) -> None:
        site = self.sites[self.server.server_address[1]]  # type: ignore[index]  # an internet address is a tuple
        site.seen.append(Seen(self.command, self.path, self.headers.get("Authorization")))
        body = self._body()
        if site.redirect_to is not None:
            self.send_response(302)
            self.send_header("Location", site.redirect_to + self.path)
            self._finish(b"")
        elif site.token is not None and not _decoded(self.headers.get("Authorization")).endswith(f":{site.token}"):
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="test"')
            self._finish(b"")
        else:
            self._run_backend(site, body)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = bytearray()
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return bytes(body)

    def _run_backend(self, site: _Site, body: bytes) -> None:
        parts = urlsplit(self.path)
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(site.root),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_COUNT": "2",
            "GIT_CONFIG_KEY_0": "http.receivepack",
            "GIT_CONFIG_VALUE_0": "true" if site.writable else "false",
            "GIT_CONFIG_KEY_1": "safe.directory",
            "GIT_CONFIG_VALUE_1": "*",
            "GIT_PROJECT_ROOT": str(site.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": parts.path,
            "QUERY_STRING": parts.query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_USER": "tester",
            "REMOTE_ADDR": "127.0.0.1",
        }
        finished = subprocess.run(
            ["git", "http-backend"], env=environment, input=body, capture_output=True, check=False
        )
        head, _, payload = finished.stdout.partition(b"\r\n\r\n")
        headers = [line.partition(": ")[::2] for line in head.decode("latin-1").split("\r\n") if line]
        status = next((value for name, value in headers if name == "Status"), "200 OK")
        self.send_response(int(status.split()[0]))
        for name, value in headers:
            if name != "Status":
                self.send_header(name, value)
        self._finish(payload)

    def _finish(self, payload: bytes) -> None:
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


def _decoded(authorization: str | None) -> str:
    if authorization is None or not authorization.startswith("Basic "):
        return ""
    return base64.b64decode(authorization.removeprefix("Basic ")).decode("utf-8", "replace")
