"""What the egress tests share: a stream over a socket pair, the real relay as a child process, local servers."""

from __future__ import annotations

import datetime
import queue
import select
import socket
import ssl
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from ipaddress import IPv4Address, ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from runner.egress.frames import Frame, FrameKind, FrameReader
from runner.egress.network import begin_connect
from runner.egress.proxy import EgressProxy
from runner.egress.rules import EgressRules
from runner.egress.values import (
    EgressDialled,
    EgressEvent,
    EgressLimits,
    EgressOpened,
    EgressTold,
    IPAddress,
    Judge,
    Resolver,
    Verdict,
)
from runner.engine.contract import ByteStream
from runner.model.errors import SandboxLost

RELAY = Path(__file__).parents[3] / "images" / "workspace" / "relay.py"
WAIT_SECONDS = 10.0
LOOPBACK = ip_address("127.0.0.1")


class SocketStream:
    """A `ByteStream` over a connected socket."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end

    def write(self, data: bytes) -> None:
        try:
            self.end.sendall(data)
        except OSError as error:
            raise SandboxLost("gone") from error

    def read(self, timeout: float) -> bytes:
        try:
            if not select.select([self.end], [], [], timeout)[0]:
                raise TimeoutError
            return self.end.recv(256 * 1024)
        except (ValueError, ConnectionError):
            return b""

    def close(self) -> None:
        with suppress(OSError):
            self.end.shutdown(socket.SHUT_RDWR)
        self.end.close()


class ManualClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Audit:
    """Collects ends and refusals, for which `next` waits, and what was told before them in `begun`."""

    def __init__(self) -> None:
        self._events: queue.Queue[EgressEvent] = queue.Queue()
        self.begun: list[EgressOpened | EgressDialled] = []

    def __call__(self, told: EgressTold) -> None:
        if isinstance(told, EgressEvent):
            self._events.put(told)
        else:
            self.begun.append(told)

    def next(self) -> EgressEvent:
        return self._events.get(timeout=WAIT_SECONDS)

    def next_within(self, seconds: float) -> EgressEvent | None:
        with suppress(queue.Empty):
            return self._events.get(timeout=seconds)
        return None

    def rest(self) -> list[EgressEvent]:
        found = []
        with suppress(queue.Empty):
            while True:
                found.append(self._events.get_nowait())
        return found


def allow_loopback_for_tests_only(address: IPAddress) -> Verdict:
    return Verdict(address == LOOPBACK, "egress.address.test")


def names_at_loopback(host: str, port: int) -> list[IPv4Address]:
    return [IPv4Address("127.0.0.1")]


def make_proxy(
    stream: ByteStream,
    audit: Callable[[EgressTold], None],
    allow: list[str],
    *,
    resolver: Resolver = names_at_loopback,
    judge: Judge = allow_loopback_for_tests_only,
    judges: Mapping[tuple[str, int], Judge] | None = None,
    limits: EgressLimits | None = None,
    clock: ManualClock | None = None,
) -> EgressProxy:
    return EgressProxy(
        stream,
        rules=EgressRules.compile(allow, {}),
        judge=judge,
        judges=judges or {},
        resolver=resolver,
        dialer=begin_connect,
        audit=audit,
        limits=limits,
        clock=clock or ManualClock(),
    )


@contextmanager
def real_relay(port: int = 0) -> Iterator[tuple[SocketStream, subprocess.Popen[bytes]]]:
    """The relay as it runs in the workspace, on a port that the kernel picks unless one is given."""
    ours, theirs = socket.socketpair()
    argv = [sys.executable, "-I", "-S", str(RELAY), "--port", str(port)]
    with theirs:
        process = subprocess.Popen(argv, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL)
    try:
        yield SocketStream(ours), process
    finally:
        ours.close()
        process.kill()
        process.wait()


class ScriptedRelay:
    """The relay's end of a stream in the hands of a test."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self._reader = FrameReader()
        self._frames: list[Frame] = []

    def say(self, data: bytes) -> None:
        self.end.sendall(data)

    def hear(self) -> Frame | None:
        """The next frame from the proxy; None when it closed the stream."""
        self.end.settimeout(WAIT_SECONDS)
        while not self._frames:
            try:
                data = self.end.recv(65536)
            except ConnectionError:
                return None
            if not data:
                return None
            self._frames = self._reader.feed(data)
        return self._frames.pop(0)

    def hear_until_close(self, connection: int) -> bytes:
        """All data for the connection up to its CLOSE."""
        data = b""
        while (frame := self.hear()) is not None:
            if frame.connection != connection:
                continue
            if frame.kind is FrameKind.CLOSE:
                return data
            data += frame.payload
        raise AssertionError("the stream ended before the connection did")

    def is_hung_up(self) -> bool:
        while self.hear() is not None:
            pass
        return True


def connect_through(port: int, target: str) -> tuple[int, bytes, socket.socket]:
    """Status, body and socket of a CONNECT."""
    client = socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS)
    return (*send_request(client, f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode()), client)


def send_request(client: socket.socket, request: bytes) -> tuple[int, bytes]:
    client.sendall(request)
    head = b""
    while b"\r\n\r\n" not in head:
        piece = client.recv(1)
        if not piece:
            return 0, head
        head += piece
    status = int(head.split(b" ")[1])
    return status, b"" if status == 200 else read_all(client)


def read_all(client: socket.socket) -> bytes:
    data = b""
    with suppress(ConnectionError):
        while piece := client.recv(65536):
            data += piece
    return data


def read_exactly(stream: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        piece = stream.recv(min(65536, count - len(data)))
        if not piece:
            raise ConnectionError("ended early")
        data += piece
    return bytes(data)


class RawServer:
    """Accepts, and records what arrives."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.received: queue.Queue[bytes] = queue.Queue()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            with peer:
                self.received.put(read_all(peer))

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(WAIT_SECONDS)


class EchoServer:
    """TLS for the given name: reads a u32 length and so many bytes, and sends them back."""

    def __init__(self, folder: Path, name: str) -> None:
        self.certificate = make_certificate(folder, name)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(self.certificate)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._echo, args=(peer,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _echo(self, peer: socket.socket) -> None:
        peer.settimeout(WAIT_SECONDS)
        with closing(peer), suppress(OSError), self._context.wrap_socket(peer, server_side=True) as tls:
            size = struct.unpack(">I", read_exactly(tls, 4))[0]
            tls.sendall(read_exactly(tls, size))

    def client_context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(WAIT_SECONDS)


def echo(tunnel: socket.socket, context: ssl.SSLContext, name: str, body: bytes) -> bytes:
    """What the echo server sends back through an open tunnel. Sends from a thread, so that no side waits for ever."""
    with context.wrap_socket(tunnel, server_hostname=name) as tls:
        tls.sendall(struct.pack(">I", len(body)) + body)
        return read_exactly(tls, len(body))


def client_hello(name: str | None) -> bytes:
    """The first flight of the standard library's TLS client."""
    context = ssl.create_default_context()
    context.check_hostname = False
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


def make_certificate(folder: Path, name: str) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path
