"""A small npm registry over TLS, on the loopback interface, and lock files for the packages that it has."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import ssl
import tarfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.unit.egress.harness import make_certificate

__all__ = ["HOST", "Registry", "npm_lock", "npm_registry", "package_json", "pnpm_lock"]

HOST = "registry.test"
VERSION = "1.0.0"


@dataclass
class Registry:
    """A running registry. `seen` has the path of every request."""

    port: int
    certificate: Path
    packages: Mapping[str, bytes]
    seen: list[str] = field(default_factory=list)
    closed: bool = False

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self.port}/"

    @property
    def environment(self) -> dict[str, str]:
        """What an operator sets so that runs may reach it."""
        return {
            "RUNNER_NPM_REGISTRY": self.url,
            "RUNNER_NPM_REGISTRY_ADDRESS": "127.0.0.1",
            "SSL_CERT_FILE": str(self.certificate),
        }

    def integrity(self, name: str) -> str:
        return "sha512-" + base64.b64encode(hashlib.sha512(self.packages[name]).digest()).decode()

    def tarball(self, name: str) -> str:
        return f"{self.url}{name}/-/{name}-{VERSION}.tgz"

    def packument(self, name: str) -> dict[str, object]:
        dist = {"tarball": self.tarball(name), "integrity": self.integrity(name)}
        return {
            "name": name,
            "dist-tags": {"latest": VERSION},
            "versions": {VERSION: {"name": name, "version": VERSION, "dist": dist}},
        }


@contextmanager
def npm_registry(folder: Path) -> Iterator[Registry]:
    """A registry of three packages, each of which exports its own name; `closed` makes it hang up on everybody."""
    folder.mkdir(parents=True, exist_ok=True)
    certificate = make_certificate(folder, HOST)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = _Server(("127.0.0.1", 0), _Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.registry = Registry(server.server_address[1], certificate, _packages())
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server.registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    registry: Registry

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: some tests want a client that goes away."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        registry = self.server.registry
        if registry.closed:
            self.close_connection = True
            return
        registry.seen.append(self.path)
        name = self.path.split("/")[1]
        if name not in registry.packages:
            self._answer(404, b"{}")
        elif self.path.endswith(".tgz"):
            self._answer(200, registry.packages[name])
        else:
            self._answer(200, json.dumps(registry.packument(name)).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: tests read `seen`."""


def package_json(*names: str, **fields: object) -> str:
    """A package that depends on these."""
    return json.dumps({"name": "app", "version": "1.0.0", "dependencies": dict.fromkeys(names, VERSION), **fields})


def npm_lock(registry: Registry, *names: str) -> str:
    packages: dict[str, object] = {
        "": {"name": "app", "version": "1.0.0", "dependencies": dict.fromkeys(names, VERSION)}
    }
    for name in names:
        packages[f"node_modules/{name}"] = {
            "version": VERSION,
            "resolved": registry.tarball(name),
            "integrity": registry.integrity(name),
        }
    return json.dumps({"name": "app", "version": "1.0.0", "lockfileVersion": 3, "packages": packages})


def pnpm_lock(registry: Registry, *names: str, importers: Sequence[str] = (".",)) -> str:
    """As pnpm 10 writes it, the same dependencies for each importer."""
    lines = ["lockfileVersion: '9.0'", "", "settings:", "  autoInstallPeers: true"]
    lines += ["  excludeLinksFromLockfile: false", "", "importers:"]
    for importer in importers:
        lines += ["", f"  {importer}:", "    dependencies:"]
        for name in names:
            lines += [f"      {name}:", f"        specifier: {VERSION}", f"        version: {VERSION}"]
    lines += ["", "packages:"]
    for name in names:
        lines += ["", f"  {name}@{VERSION}:", f"    resolution: {{integrity: {registry.integrity(name)}}}"]
    lines += ["", "snapshots:"]
    for name in names:
        lines += ["", f"  {name}@{VERSION}: {{}}"]
    return "\n".join(lines) + "\n"


def _packages() -> dict[str, bytes]:
    noise = hashlib.shake_256(b"large").hexdigest(1024 * 1024)  # 2 MiB that pack to half
    return {"first": _package("first"), "second": _package("second"), "large": _package("large", noise)}


def _package(name: str, noise: str = "") -> bytes:
    files = {
        "noise.txt": noise,
        "package.json": json.dumps({"name": name, "version": VERSION, "main": "index.js"}),
        "index.js": f"module.exports = {name!r};\n",
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"package/{path}")
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(packed.getvalue(), mtime=0)
