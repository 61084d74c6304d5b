"""The code host's credential: where it comes from, how git gets it, and how it is kept out of every text.

A token, or an ssh key for an ssh address, is read for one fetch or push and handed to git on a pipe. It is in no argv,
no environment and no file of ours on the host. git asks a helper that is configured for one scheme, host and port, so
no redirect and no other remote gets the token; ssh is given the key for the one host that it may connect to.
"""

from __future__ import annotations

import base64
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from runner.gate.address import Address
from runner.gate.process import run_program
from runner.model.errors import RepositoryUnavailable

__all__ = ["Credential", "CredentialKind", "CredentialSource", "Handover", "Redactor", "Secret", "SshKey"]

DEFAULT_USER = "x-access-token"
"""The user name sent with a token when the binding names none; code hosts that look at it at all accept this one."""

DEFAULT_SSH_USER = "git"
"""The login name on code hosts that are spoken to over ssh."""

_MAX_KEY_BYTES = 64 * 1024  # an RSA key of 16384 bits takes 13 KB
_MAX_TOKEN_BYTES = 8192  # far above any token in use, and small enough to fit a pipe without a reader
_COMMAND_SECONDS = 30.0
_TOKEN = re.compile(r"[\x21-\x7e]+")
_USER = re.compile(r"[\x21-\x39\x3b-\x7e]+")  # no colon: it separates user and password in basic authentication
_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----\n[\x20-\x7e\n]+\n-----END [A-Z ]*PRIVATE KEY-----")
_SECRET_LINE_CHARS = 16  # shorter lines of a key hold nothing to keep: base64 padding, or a header
_HIDDEN = "***"


_Read = TypeVar("_Read", "Credential", "SshKey")


class CredentialKind(StrEnum):
    """Where a token may come from. Never from the policy itself."""

    FILE = "file"
    ENV = "env"
    COMMAND = "command"


@dataclass(frozen=True, slots=True)
class CredentialSource:
    """Where a binding's token is. `value` is a path, a variable's name, or an argv, as the kind says.

    `environment` is the host's own, handed in by its one reader; a command is run with it. `on_read` is told the forms
    of what was read before anybody else has it, so that no record of the run can hold it.
    """

    kind: CredentialKind
    value: str | tuple[str, ...]
    user: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    on_read: Callable[[tuple[str, ...]], None] = field(default=lambda _secrets: None, repr=False, compare=False)

    def read_for(self, address: Address) -> Secret:
        """What the address's scheme takes, read now: an ssh key for ssh, else a token.

        Raises:
            RepositoryUnavailable: code `credential_unavailable`; the message never holds what was read.
        """
        return self.read_key() if address.scheme == "ssh" else self.read()

    def read(self) -> Credential:
        """The token, read now.

        Raises:
            RepositoryUnavailable: code `credential_unavailable`; the message never holds what was read.
        """
        raw = self._raw(_MAX_TOKEN_BYTES)
        token = raw.decode("ascii", "replace").strip("\r\n")
        if len(raw) > _MAX_TOKEN_BYTES or not _TOKEN.fullmatch(token):
            raise _unavailable(
                f"the credential {self.kind} does not hold one line with a token", "It must hold the token alone."
            )
        return self._told(Credential(user=self._user(DEFAULT_USER), token=token))

    def read_key(self) -> SshKey:
        """The private ssh key, read now.

        Raises:
            RepositoryUnavailable: code `credential_unavailable`; the message never holds what was read.
        """
        text = self._raw(_MAX_KEY_BYTES).decode("ascii", "replace").replace("\r\n", "\n").strip("\n")
        if len(text) > _MAX_KEY_BYTES or not _KEY.fullmatch(text):
            raise _unavailable(
                f"the credential {self.kind} does not hold a private ssh key",
                "For an ssh address, and to sign, it must hold one, in OpenSSH's or PEM form and without a passphrase.",
            )
        return self._told(SshKey(user=self._user(DEFAULT_SSH_USER), text=text))

    def _told(self, secret: _Read) -> _Read:
        self.on_read(secret.redactor().secrets)
        return secret

    def _user(self, default: str) -> str:
        user = self.user or default
        if not _USER.fullmatch(user):
            raise _unavailable("the credential's user name holds a space, a colon or a control character", "Mend it.")
        return user

    def _raw(self, max_bytes: int) -> bytes:
        read = {
            CredentialKind.FILE: self._from_file,
            CredentialKind.ENV: self._from_environment,
            CredentialKind.COMMAND: self._from_command,
        }[self.kind]
        return read(max_bytes)

    def _from_file(self, max_bytes: int) -> bytes:
        path = Path(str(self.value))
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        except OSError as error:
            raise _unavailable(
                f"the credential file cannot be read: {error.strerror}", f"Check the path {path} and its owner."
            ) from None
        with open(descriptor, "rb") as file:  # noqa: PTH123 - the open descriptor is judged, so no swap can follow
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise _unavailable("the credential file is not a regular file", f"Check the path {path}.")
            if status.st_mode & 0o077:
                raise _unavailable("others can read the credential file", f"Run: chmod 600 {path}")
            return file.read(max_bytes + 1)

    def _from_environment(self, _max_bytes: int) -> bytes:
        token = self.environment.get(str(self.value), "")
        if not token:
            raise _unavailable(
                f"the credential variable {self.value} is not set", "Set it where the runner is started."
            )
        return token.encode("utf-8", "surrogateescape")

    def _from_command(self, max_bytes: int) -> bytes:
        argv = (self.value,) if isinstance(self.value, str) else self.value
        hint = "Run it by hand and see what it says."
        try:
            output = run_program(
                argv, env=self.environment, deadline_seconds=_COMMAND_SECONDS, max_stdout_bytes=max_bytes
            )
        except OSError as error:
            raise _unavailable(f"the credential command cannot be started: {error.strerror}", hint) from None
        if output.timed_out or output.overflowed or output.exit != 0:
            # Its output is not shown: it may hold the token.
            raise _unavailable(f"the credential command failed (exit {output.exit})", hint)
        return output.stdout


@dataclass(frozen=True, slots=True)
class Handover:
    """What a git invocation needs to get the credential: options before the subcommand, and the pipe to pass on."""

    options: tuple[str, ...]
    descriptor: int


@dataclass(frozen=True, slots=True)
class Credential:
    """A user name and a token, in memory for the length of one fetch or push."""

    user: str
    token: str = field(repr=False)

    @contextmanager
    def handover(self, address: Address) -> Iterator[Handover]:
        """A pipe that holds the answer to one credential question, for this address's scheme, host and port alone."""
        reader, writer = os.pipe()
        try:
            # Shorter than a pipe's buffer by the bound on tokens, so this does not wait for a reader.
            os.write(writer, f"username={self.user}\npassword={self.token}\n".encode("ascii"))
            os.close(writer)
            # git appends `get`, `store` or `erase`; only `get` reads. The empty value drops every other helper.
            # By path, since dash redirects from descriptors of one digit only.
            helper = f'!f() {{ if test "$1" = get; then exec cat /proc/self/fd/{reader}; fi; }}; f'
            scope = f"credential.{address.scheme}://{address.host}"
            yield Handover(("-c", "credential.helper=", "-c", f"{scope}.helper={helper}"), reader)
        finally:
            os.close(reader)

    def redactor(self) -> Redactor:
        """What removes this token from texts."""
        basic = base64.b64encode(f"{self.user}:{self.token}".encode()).decode()
        return Redactor((self.token, quote(self.token, safe=""), basic))

    @property
    def lines(self) -> bytes:
        """As the gate's container takes it on standard input, before git's own."""
        return f"{self.user}\n{self.token}\n".encode("ascii")


@dataclass(frozen=True, slots=True)
class SshKey:
    """A login name and a private key, in memory for the length of one fetch or push."""

    user: str
    text: str = field(repr=False)

    @property
    def lines(self) -> bytes:
        """As the gate's container takes it on standard input, before git's own: a count of lines, and the lines."""
        return f"{self.text.count(chr(10)) + 1}\n{self.text}\n".encode("ascii")

    def redactor(self) -> Redactor:
        """What removes this key from texts, line by line."""
        inner = self.text.split("\n")[1:-1]  # between the lines that every key begins and ends with
        return Redactor(tuple(line for line in inner if len(line) >= _SECRET_LINE_CHARS))


Secret = Credential | SshKey
"""What a code host is shown."""


@dataclass(frozen=True, slots=True)
class Redactor:
    """Removes secrets, in the forms that git and HTTP give them, from a text before it leaves the gate."""

    secrets: tuple[str, ...] = field(default=(), repr=False)

    def scrub(self, text: str) -> str:
        """`text` with every secret replaced by `***`."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, _HIDDEN)
        return text


def _unavailable(message: str, hint: str) -> RepositoryUnavailable:
    return RepositoryUnavailable(message, hint=hint, code="credential_unavailable")
