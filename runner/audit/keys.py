"""The Ed25519 key that seals runs, and the public half that checks seals.

A controller's own key is made at first use in its state folder, for the owner alone; the operator may name another
file, which is then never made, so that a wrong path cannot pass for a key. A private key that others can read signs
nothing: whoever could read it could have signed too. A key's id is the SHA-256 of its public half in DER form
(SubjectPublicKeyInfo), which `openssl pkey -pubin -outform DER | sha256sum` gives as well.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from runner.model.errors import UsageError

__all__ = ["OWN_KEY", "PUBLIC_KEY", "AuditKeyUnusable", "PublicKey", "SigningKey", "named_key", "own_key"]

OWN_KEY = "audit-key.pem"
PUBLIC_KEY = "audit-key.pub"
_MAX_KEY_BYTES = 16 * 1024  # an Ed25519 key in PEM has 119 bytes; the rest is room for remarks
_MAKE_ONE = "Make one: (umask 077; openssl genpkey -algorithm ed25519 -out FILE)."


class AuditKeyUnusable(UsageError):
    """The key of the audit log cannot be used as it is; nothing was started, since nothing could be sealed."""

    code = "audit_key_unusable"


@dataclass(frozen=True, slots=True)
class PublicKey:
    """What checks seals. Safe to hand to anybody."""

    raw: Ed25519PublicKey

    @classmethod
    def of_pem(cls, pem: bytes) -> PublicKey:
        """The key in the text.

        Raises:
            AuditKeyUnusable: it holds no Ed25519 public key.
        """
        try:
            key = serialization.load_pem_public_key(pem)
        except (ValueError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PublicKey):
            raise AuditKeyUnusable("that is no Ed25519 public key in PEM form", hint="Name the file audit-key.pub.")
        return cls(key)

    @classmethod
    def in_file(cls, path: Path) -> PublicKey:
        """The key in the file. Raises AuditKeyUnusable."""
        return cls.of_pem(_read(path, private=False))

    @property
    def pem(self) -> bytes:
        """The key as text."""
        return self.raw.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)

    @property
    def key_id(self) -> str:
        """`sha256:` and the digest of the key."""
        der = self.raw.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        return f"sha256:{hashlib.sha256(der).hexdigest()}"

    def made(self, signature: bytes, message: bytes) -> bool:
        """Whether the private half made this signature of the message."""
        try:
            self.raw.verify(signature, message)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True)
class SigningKey:
    """What makes seals. Its text is never shown."""

    _raw: Ed25519PrivateKey

    @property
    def public(self) -> PublicKey:
        """The half that may be handed out."""
        return PublicKey(self._raw.public_key())

    def sign(self, message: bytes) -> bytes:
        """The 64 bytes of the signature."""
        return self._raw.sign(message)


def own_key(folder: Path) -> SigningKey:
    """The controller's own key in its state folder, made when there is none; its public half lies beside it.

    Raises:
        AuditKeyUnusable: it cannot be made, or is not for the owner alone.
    """
    path = folder / OWN_KEY
    try:
        if not path.exists():
            _make(path)
        key = _of_pem(path, _read(path, private=True))
        _lay_beside(folder / PUBLIC_KEY, key.public.pem)
    except OSError as error:
        raise AuditKeyUnusable(
            f"the key {path} cannot be made: {error.strerror}", hint="Choose another folder with RUNNER_STATE_DIR."
        ) from error
    return key


def named_key(path: Path) -> SigningKey:
    """The key in the file that the operator names.

    Raises:
        AuditKeyUnusable: there is none, it is of another kind, or it is not for the owner alone.
    """
    return _of_pem(path, _read(path, private=True))


def _make(path: Path) -> None:
    pem = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    # Written aside and linked: two controllers that start at once agree on one whole key.
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor made for the owner alone
            file.write(pem)
            file.flush()
            os.fsync(descriptor)  # a key that is lost with the power could never be checked by again
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()


def _lay_beside(path: Path, pem: bytes) -> None:
    with suppress(OSError):
        if path.read_bytes() == pem:
            return
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    draft.write_bytes(pem)
    draft.replace(path)


def _read(path: Path, *, private: bool) -> bytes:
    """The file's text. It is judged by its descriptor, so that no swap can follow."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a path"
        raise AuditKeyUnusable(f"the key {path} cannot be read: {reason}", hint=_MAKE_ONE if private else "") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise AuditKeyUnusable(f"the key {path} is no regular file", hint="Name a PEM file.")
        if private and (status.st_mode & 0o077 or status.st_uid != os.geteuid()):
            raise AuditKeyUnusable(
                f"others than its owner can read the key {path}, or it is somebody else's",
                hint="Run: chmod 600, as the user that starts the runner. Where others have read it, make a new one.",
            )
        return os.read(descriptor, _MAX_KEY_BYTES)
    finally:
        os.close(descriptor)


def _of_pem(path: Path, pem: bytes) -> SigningKey:
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it wants a password
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise AuditKeyUnusable(f"{path} holds no Ed25519 private key without a password", hint=_MAKE_ONE)
    return SigningKey(key)
