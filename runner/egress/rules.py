"""Which hosts a run may reach. Pure: text in, verdict out, no DNS.

- An entry of the policy is a role (`npm`), an exact `host[:port]`, or `*.host[:port]`; the port is 443 when not given.
- A role stands for the host that the operator or the image names for it, so that no policy has to repeat it. An entry
  with neither a dot, a port nor a star is a role.
- `*.host` matches every name below `host`, and not `host` itself.
- Names are compared as lower-case A-labels without a final dot. What is not a host name in that form never matches:
  addresses (in any notation that a resolver might take for one), user information, percent escapes, Unicode dots.
- No entries allow nothing.

Which addresses those names may lead to is `addresses.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from encodings import idna

from runner.egress.values import Verdict
from runner.model.errors import PolicyInvalid

__all__ = ["DEFAULT_PORT", "EgressRules", "decide_connect", "normalise_host", "parse_authority"]

DEFAULT_PORT = 443
_MAX_HOST = 253  # RFC 1035 section 2.3.4, in presentation form without the final dot
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_FOREIGN_DOTS = frozenset("\u3002\uff0e\uff61")  # RFC 3490 section 3.1
# A last label that is a number makes a resolver read the whole name as an IPv4 address: 127.1, 0x7f.1, 2130706433.
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")


@dataclass(frozen=True, slots=True)
class _Entry:
    host: str
    port: int
    below: bool  # names below `host`, and not `host` itself
    rule: str

    def matches(self, host: str, port: int) -> bool:
        if port != self.port:
            return False
        return host.endswith("." + self.host) if self.below else host == self.host


@dataclass(frozen=True, slots=True)
class EgressRules:
    """A compiled allowlist. Made by `compile`."""

    entries: tuple[_Entry, ...] = ()

    @classmethod
    def compile(cls, allow: Sequence[str], roles: Mapping[str, str]) -> EgressRules:
        """The allowlist of a policy; `roles` maps a role's name to its `host[:port]`.

        Raises:
            PolicyInvalid: an entry can match nothing, is an address, or is a role that nobody gave a host.
        """
        return cls(tuple(_compile(entry, roles) for entry in allow))

    @property
    def allows_any(self) -> bool:
        """Whether any connection could be allowed: without one, no relay is started."""
        return bool(self.entries)


def decide_connect(rules: EgressRules, host: str, port: int) -> Verdict:
    """Whether the host may be connected to at that port. The allowing entry's rule id is `egress.allow:ENTRY`."""
    try:
        name = normalise_host(host)
    except ValueError as error:
        return Verdict(False, "egress.target", f"The target is not a host name: {error}.")
    if not 1 <= port <= 65535:
        return Verdict(False, "egress.target", "The port is not between 1 and 65535.")
    for entry in rules.entries:
        if entry.matches(name, port):
            return Verdict(True, entry.rule)
    return Verdict(False, "egress.host", "The policy's network allowlist has no entry for this host and port.")


def normalise_host(text: str) -> str:
    """The name in lower case without its final dot.

    Raises:
        ValueError: it is not a host name in ASCII form; the message says why and does not repeat it.
    """
    name = text.lower().removesuffix(".") if text.isascii() else ""
    if not name or len(name) > _MAX_HOST:
        raise ValueError("it is empty, too long or not ASCII")
    labels = name.split(".")
    if not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError("a label holds other characters than letters, digits and inner hyphens")
    if _NUMERIC_LABEL.fullmatch(labels[-1]):
        raise ValueError("it is an address")
    return name


def parse_authority(text: str) -> tuple[str, int]:
    """Host (normalised) and port of `host:port`, where the port must be there.

    Raises:
        ValueError: it has any other form.
    """
    host, colon, port = text.partition(":")
    if not colon or not _PORT.fullmatch(port) or int(port) > 65535:
        raise ValueError("it is not host:port")
    return normalise_host(host), int(port)


def _compile(entry: str, roles: Mapping[str, str]) -> _Entry:
    if not any(mark in entry for mark in ".:*"):
        return _compile_role(entry, roles)
    try:
        return _parse_entry(entry, f"egress.allow:{entry}")
    except ValueError as error:
        hint = "Write a role, host[:port] or *.host[:port]."
        raise PolicyInvalid(f"network allow entry {entry!r} cannot be used: {error}", hint=hint) from None


def _compile_role(role: str, roles: Mapping[str, str]) -> _Entry:
    if role not in roles:
        known = ", ".join(sorted(roles)) or "none"
        hint = f"Roles with a host: {known}. A host of one label is written with its port."
        raise PolicyInvalid(f"network allow entry {role!r} is a role that has no host", hint=hint)
    try:
        return _parse_entry(roles[role], f"egress.allow:{role}")
    except ValueError as error:
        hint = "Correct the host that the image's label or the host settings give for it."
        raise PolicyInvalid(f"the host of network role {role!r} cannot be used: {error}", hint=hint) from None


def _parse_entry(text: str, rule: str) -> _Entry:
    below = text.startswith("*.")
    host = text.removeprefix("*.")
    port = DEFAULT_PORT
    if ":" in host:
        host, _, digits = host.partition(":")
        if not _PORT.fullmatch(digits) or int(digits) > 65535:
            raise ValueError("the port is not a number from 1 to 65535 without leading zeros")
        port = int(digits)
    return _Entry(normalise_host(_to_ascii(host)), port, below, rule)


def _to_ascii(host: str) -> str:
    """A-labels of a name that an operator wrote. Only the ASCII dot separates: what others take for one is refused."""
    if host.isascii():
        return host
    try:
        labels = [idna.ToASCII(label).decode("ascii") for label in host.split(".")]
    except UnicodeError:
        raise ValueError("it has no ASCII form") from None
    if _FOREIGN_DOTS.intersection(host) or any("." in label for label in labels):
        raise ValueError("it holds a dot that is not the ASCII one")
    return ".".join(labels)
