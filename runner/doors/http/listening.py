"""Where the server listens: the loopback or a socket file, unless it is safe to be seen from further away."""

from __future__ import annotations

import ipaddress
import os
import socket
import stat
from dataclasses import dataclass
from pathlib import Path

from runner.model.errors import UsageError

__all__ = ["Place", "listen", "require_safe"]

_BACKLOG = 128


@dataclass(frozen=True, slots=True)
class Place:
    """Where, and with what protection. `uds` wins over host and port."""

    host: str = "127.0.0.1"
    port: int = 8765
    uds: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    behind_proxy: bool = False

    @property
    def shown(self) -> str:
        """The place as a user may type it."""
        if self.uds is not None:
            return f"unix:{self.uds}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls_cert else 'http'}://{host}:{self.port}"


def require_safe(place: Place, *, any_token: bool) -> None:
    """Tokens would not cross a network in the clear, and nobody listens there whom no token can reach.

    Raises:
        UsageError: with what is missing.
    """
    if (place.tls_cert is None) != (place.tls_key is None):
        raise UsageError("TLS needs both --tls-cert and --tls-key", hint="Name both files.")
    if place.uds is not None or _is_loopback(place.host):
        return
    if not any_token:
        hint = "Make one with `runner token create`, then start again."
        raise UsageError(f"{place.host} is beyond this machine, and there is no valid token", hint=hint)
    if place.tls_cert is None and not place.behind_proxy:
        hint = "Give --tls-cert and --tls-key, or say --behind-proxy where a proxy in front speaks TLS."
        raise UsageError(f"{place.host} is beyond this machine, and the connection would not be encrypted", hint=hint)


def _is_loopback(host: str) -> bool:
    # Names are not looked up: what `localhost` is today, another resolver may call something else tomorrow.
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(place: Place) -> socket.socket:
    """A listening socket; a socket file is its owner's alone.

    Raises:
        UsageError: the place cannot be had.
    """
    return _listen_file(place.uds) if place.uds is not None else _listen_port(place)


def _listen_port(place: Place) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        return socket.create_server((place.host, place.port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "Another program may listen there: choose another --port, or end it."
        raise UsageError(f"{place.host}:{place.port} cannot be listened on: {reason}", hint=hint) from error


def _listen_file(path: Path) -> socket.socket:
    _remove_stale(path)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        made.bind(str(path))
        made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        reason = error.strerror or str(error)
        raise UsageError(f"{path} cannot be listened on: {reason}", hint="Choose another --uds.") from error
    finally:
        os.umask(before)
    return made


def _remove_stale(path: Path) -> None:
    """A socket that nobody listens on any more is gone; anything else is left alone."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise UsageError(f"{path} is there already, and no socket", hint="Choose another --uds.")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
    raise UsageError(f"a server listens on {path} already", hint="End it, or choose another --uds.")
