"""How a policy names network destinations and code hosts. Names only: who may really be reached is the proxy's part."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

__all__ = ["FILE_HOST", "ROLES", "check_address", "check_allow_entry", "check_git_host", "host_of"]
__all__ += ["is_within", "sends_in_clear"]

ROLES = ("npm",)
"""Destinations that are named by what they are for; the host's settings say which host has the role."""

FILE_HOST = "file"
"""The code host of `file://` addresses and local paths."""

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_LOGIN = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
_SCP = re.compile(rf"(?:{_LOGIN}@)?(?P<host>{_LABEL}(?:\.{_LABEL})*):(?!//)[^-].*")
_SCHEMES = frozenset({"https", "http", "ssh", "file"})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_FORMS = "expected a role (" + ", ".join(ROLES) + "), a host, host:port, or *.host"


def check_allow_entry(entry: str) -> None:
    """Nothing happens when the entry can take effect at the proxy.

    Raises:
        ValueError: with the reason, in words for the author of the policy.
    """
    if entry in ROLES:
        return
    _refuse_url(entry)
    if entry.startswith("*."):
        host = entry.removeprefix("*.")
        if _HOST.fullmatch(host) is None:
            raise ValueError(f"is no wildcard of a host; {_FORMS}")
        if "." not in host:
            raise ValueError("would open a whole top-level domain; name at least two labels, as in *.example.com")
    else:
        host, colon, port = entry.partition(":")
        _check_host(host)
        if colon:
            _check_port(port)
        elif "." not in host:
            raise ValueError(f"is no known role, and a host without a dot needs a port; {_FORMS}")
    if _is_address(host):
        raise ValueError("is an address; the proxy matches names and refuses addresses, so it would match nothing")
    if host == "localhost" or host.endswith(".localhost"):
        raise ValueError("is the host itself, which the proxy always refuses")


def check_git_host(host: str) -> None:
    """Nothing happens when `host` can be a binding's `git.host`.

    Raises:
        ValueError: with the reason, in words for the author of the policy.
    """
    _refuse_url(host)
    name, colon, port = host.partition(":")
    _check_host(name)
    if colon:
        _check_port(port)


def check_address(address: str) -> None:
    """Nothing happens when a git address can be handed on: no option, no control character, no secret inside.

    Raises:
        ValueError: with the reason. The address is never repeated, since it may hold a secret.
    """
    if not address or address.startswith("-") or not address.isprintable() or " " in address:
        raise ValueError("is not a git address; expected https://… or file://…")
    if "::" in address.split("/", 1)[0]:
        raise ValueError("names a transport helper, which is a program to run; expected https://…")
    scheme, separator, _ = address.partition("://")
    if separator and scheme not in _SCHEMES:
        raise ValueError("has a scheme that is not spoken here; expected https, ssh, http or file")
    if _url_host(address) is not None and _has_secret(address):
        raise ValueError("holds a user name and password; a credential is never inline, use `credential`")


def is_within(entry: str, allowed: Sequence[str]) -> bool:
    """Whether one of the allowed entries reaches all that `entry` does. A role is within itself alone."""
    return any(_covers(one, entry) for one in allowed)


def sends_in_clear(address: str) -> bool:
    """Whether a credential used for the address would cross a network unencrypted."""
    return address.startswith("http://") and urlsplit(address).hostname not in _LOOPBACK


def host_of(address: str) -> str | None:
    """The host of an address, with its port when it has one, `file` for local ones; None for a short form."""
    if address.startswith(("/", "./", "../", "file://")):
        return FILE_HOST
    scp_like = None if "://" in address else _SCP.fullmatch(address)
    if scp_like is not None:
        return scp_like["host"]
    return _url_host(address)


def _covers(outer: str, inner: str) -> bool:
    if outer in ROLES or inner in ROLES:
        return outer == inner
    (name, port), (inner_name, inner_port) = (_with_port(entry) for entry in (outer, inner))
    if port != inner_port:
        return False
    return name == inner_name or (name.startswith("*.") and inner_name.endswith(name[1:]))


def _with_port(entry: str) -> tuple[str, str]:
    name, _, port = entry.partition(":")
    return name, port or "443"


def _url_host(address: str) -> str | None:
    """Host and port of an address with a host; None when it is none."""
    try:
        split = urlsplit(address)
        host, port = split.hostname, split.port
    except ValueError:
        return None
    if split.scheme not in ("http", "https", "ssh") or not host:
        return None
    return host if port is None else f"{host}:{port}"


def _has_secret(address: str) -> bool:
    split = urlsplit(address)
    # A lone user name is mostly a token; in an ssh address it is the login.
    return split.password is not None or (split.username is not None and split.scheme != "ssh")


def _refuse_url(text: str) -> None:
    """A URL is what people have in hand; of it the host is meant. A user name or password in it is not repeated."""
    if "/" in text:
        host = _url_host(text if "://" in text else f"https://{text}")
        name = "example.com" if host is None or _HOST.fullmatch(host.partition(":")[0]) is None else host
        raise ValueError(f"is a URL or a path; host only: write `{name}`")


def _check_host(host: str) -> None:
    if len(host) <= 253 and _HOST.fullmatch(host) is not None:
        return
    if host != host.lower() and _HOST.fullmatch(host.lower()) is not None:
        raise ValueError("is in upper case; write host names in lower case")
    raise ValueError(f"is no host name; {_FORMS}")


def _check_port(port: str) -> None:
    if not (port.isascii() and port.isdigit() and 1 <= int(port[:6]) <= 65_535 and not port.startswith("0")):
        raise ValueError("has no valid port; expected 1 to 65535")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        # Forms such as 127.1 or 0x7f.1: the last label of a name is never a number.
        last = host.rpartition(".")[2]
        return last.isdigit() or last.startswith("0x")
    return True
