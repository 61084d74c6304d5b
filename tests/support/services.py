"""Real servers for tests, each in a container of the tests' image: a code host over https, one over ssh, a registry.

A server lives for the session, and every test finds it empty. What it serves is put in by tests; repositories are made
with real git and copied in as they are, so that a hostile one can be served. Each is reached by `ip` from the host and
from containers on the engine's bridge; `name` is in its certificate, for code that a test hands a resolver of its own.
"""

from __future__ import annotations

import json
import socket
import ssl
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.support.certificates import Authority
from tests.support.npm_packages import NpmPackage
from tests.support.service_box import ServiceBox
from tests.support.web_logs import GIT_LOCATION, PORT, Request, nginx_configuration, packages_location, parse_requests

__all__ = [
    "CodeHostHttps",
    "CodeHostSsh",
    "NpmRegistry",
]

SSH_PORT = 2222
_SSH_CONFIGURATION = f"""Port {SSH_PORT}
HostKey /srv/etc/host_key
AuthorizedKeysFile /srv/etc/authorized_keys
AuthenticationMethods publickey
UsePAM no
StrictModes no
PidFile none
LogLevel VERBOSE
DisableForwarding yes
PermitTTY no
AcceptEnv GIT_PROTOCOL
SetEnv GIT_TRACE2_EVENT=/srv/log/commands
""".encode()


class _Web:
    """What both servers behind nginx are: an address, a certificate that names it, and a log."""

    name: str

    def __init__(self, box: ServiceBox, authority: Authority, location: str, more: dict[str, bytes]) -> None:
        self.box = box
        self.ip = box.ip
        self.port = PORT
        self.ca_file = authority.ca_file
        self.host = f"{self.ip}:{PORT}"
        self.url = f"https://{self.host}"
        certificate = authority.issue([self.name], [self.ip])
        configuration = nginx_configuration(location)
        box.configure({"nginx.conf": configuration, "server.pem": certificate, **more}, PORT)

    def requests(self) -> list[Request]:
        """Every request since the test began that was answered to its end."""
        self._pass_through_the_worker()
        return parse_requests(self.box.output("cat", "/srv/log/requests"))[:-1]

    def saw(self, text: str) -> bool:
        """Whether `text` was in the line or the authorization of any request."""
        return any(text in part for seen in self.requests() for part in (seen.line, seen.authorization, seen.password))

    def forget(self) -> None:
        """The log is empty."""
        self._pass_through_the_worker()
        self.box.output("truncate", "--size=0", "/srv/log/requests")

    def _pass_through_the_worker(self) -> None:
        """A request of our own has been logged, so all that ended before it are in the log."""
        context = ssl.create_default_context(cafile=self.ca_file)
        with socket.create_connection((self.ip, PORT), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname=self.name) as secure:
                secure.sendall(b"GET /.mark HTTP/1.0\r\n\r\n")
                # Its line is written before the connection is closed.
                while secure.recv(4096):
                    pass


class _Repositories:
    """The bare repositories of a code host, below /srv/repos."""

    box: ServiceBox

    def put(self, repository: Path, name: str) -> None:
        """The bare repository is served as `name`, byte for byte as it is here, with its flaws."""
        self.box.put(repository, f"/srv/repos/{name}")

    def git(self, name: str, *arguments: str) -> str:
        """What git prints in a served repository, without the final newline."""
        return self.box.output("git", f"--git-dir=/srv/repos/{name}", *arguments)

    def clear(self) -> None:
        """No repository is left."""
        self.box.output("find", "/srv/repos", "-mindepth", "1", "-delete")


class CodeHostHttps(_Web, _Repositories):
    """Smart HTTP, read and write, over TLS for a user with a token: git's own backend behind nginx."""

    name = "code.example.test"
    user = "x-access-token"
    token = "tok-FAKE-https-1234"

    def __init__(self, box: ServiceBox, authority: Authority) -> None:
        super().__init__(box, authority, GIT_LOCATION, {"users": f"{self.user}:{{PLAIN}}{self.token}\n".encode()})

    def address(self, name: str) -> str:
        """Where the repository is."""
        return f"{self.url}/{name}"


class CodeHostSsh(_Repositories):
    """sshd with git-shell, one host key (ed25519), and one key that is let in."""

    name = "ssh.example.test"
    user = "git"
    port = SSH_PORT

    def __init__(self, box: ServiceBox, folder: Path) -> None:
        self.box = box
        self.ip = box.ip
        folder.mkdir()
        self.client_key = folder / "client_key"
        allowed = _new_key(self.client_key)
        self.host_key_line = _new_key(folder / "host_key")
        self.known_hosts = self._known_hosts(folder / "known_hosts", self.host_key_line)
        self.wrong_known_hosts = self._known_hosts(folder / "wrong_known_hosts", _new_key(folder / "wrong_host_key"))
        self.wrong_client_key = folder / "wrong_client_key"
        _new_key(self.wrong_client_key)
        host_key = (folder / "host_key").read_bytes()
        files = {"sshd_config": _SSH_CONFIGURATION, "host_key": host_key, "authorized_keys": allowed.encode() + b"\n"}
        box.configure(files, SSH_PORT)

    def address(self, name: str) -> str:
        """Where the repository is."""
        return f"ssh://{self.user}@{self.ip}:{SSH_PORT}/srv/repos/{name}"

    def log(self) -> str:
        """What sshd wrote since the test began."""
        return self.box.output("cat", "/srv/log/sshd")

    def commands(self) -> list[list[str]]:
        """The argv of every program of git that was started here since the test began."""
        events = [json.loads(line) for line in self.box.output("cat", "/srv/log/commands").splitlines()]
        return [event["argv"] for event in events if event["event"] == "start"]

    def forget(self) -> None:
        """The logs are empty."""
        self.box.output("truncate", "--size=0", "/srv/log/sshd", "/srv/log/commands")

    def _known_hosts(self, path: Path, key: str) -> Path:
        path.write_text(f"[{self.ip}]:{SSH_PORT},[{self.name}]:{SSH_PORT} {key}\n", encoding="ascii")
        return path


class NpmRegistry(_Web):
    """What npm and pnpm need of a registry: packuments, and tarballs with their sha512. With `token`, for it alone."""

    name = "registry.example.test"

    def __init__(self, box: ServiceBox, authority: Authority, token: str | None = None) -> None:
        self.token = token
        super().__init__(box, authority, packages_location(token), {})

    def publish(self, *packages: NpmPackage) -> None:
        """These are all versions of their names that there are."""
        for name in dict.fromkeys(package.name for package in packages):
            versions = [package for package in packages if package.name == name]
            self.box.output("mkdir", "-p", f"/srv/packages/{name}/-")
            files = {f"{name}/-/{package.file}": package.tarball for package in versions}
            files[f"{name}/packument.json"] = NpmPackage.packument(versions, "https://registry.invalid")
            self.box.write({f"/srv/packages/{path}": content for path, content in files.items()})

    def clear(self) -> None:
        """No package is left."""
        self.box.output("find", "/srv/packages", "-mindepth", "1", "-delete")


def _new_key(path: Path) -> str:
    """The public half, as one line, of a new key; the private half is at `path`."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    path.write_bytes(private)
    path.chmod(0o600)
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return public.decode("ascii")
