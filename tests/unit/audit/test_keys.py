"""The key that seals: made once, for the owner alone, and never used when others can read it."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

from runner.audit.keys import OWN_KEY, PUBLIC_KEY, AuditKeyUnusable, PublicKey, named_key, own_key
from runner.model.errors import ExitCode


def test_a_key_is_made_at_first_use_for_the_owner_alone_with_its_public_half_beside_it(tmp_path: Path) -> None:
    key = own_key(tmp_path)
    assert stat.S_IMODE((tmp_path / OWN_KEY).stat().st_mode) == 0o600
    assert PublicKey.in_file(tmp_path / PUBLIC_KEY).key_id == key.public.key_id
    assert own_key(tmp_path).public.key_id == key.public.key_id
    assert sorted(path.name for path in tmp_path.iterdir()) == [OWN_KEY, PUBLIC_KEY]


def test_a_keys_id_is_the_digest_that_openssl_gives_too(tmp_path: Path) -> None:
    public = own_key(tmp_path).public
    lines = public.pem.decode().splitlines()
    der = serialization.load_pem_public_key("\n".join(lines).encode()).public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    assert public.key_id == f"sha256:{hashlib.sha256(der).hexdigest()}"


def test_two_controllers_that_start_at_once_agree_on_one_key(tmp_path: Path) -> None:
    ready, found = threading.Barrier(4), []

    def start() -> None:
        ready.wait(60)
        found.append(own_key(tmp_path).public.key_id)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1 and len(found) == 4


def test_a_public_half_that_was_swapped_is_put_right(tmp_path: Path) -> None:
    key, other = own_key(tmp_path), own_key_in(tmp_path / "other")
    (tmp_path / PUBLIC_KEY).write_bytes(other)
    own_key(tmp_path)
    assert PublicKey.in_file(tmp_path / PUBLIC_KEY).key_id == key.public.key_id


def own_key_in(folder: Path) -> bytes:
    folder.mkdir()
    return own_key(folder).public.pem


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o602, 0o777])
def test_a_key_that_others_can_touch_signs_nothing(tmp_path: Path, mode: int) -> None:
    own_key(tmp_path)
    (tmp_path / OWN_KEY).chmod(mode)
    uses: list[Callable[[], object]] = [lambda: own_key(tmp_path), lambda: named_key(tmp_path / OWN_KEY)]
    for use in uses:
        with pytest.raises(AuditKeyUnusable) as refused:
            use()
        assert (refused.value.code, refused.value.exit_code) == ("audit_key_unusable", ExitCode.USAGE)


def pem(key: ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey, password: bytes = b"") -> bytes:
    how = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"nonsense",
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        pem(rsa.generate_private_key(65537, 1024)),
        pem(ed25519.Ed25519PrivateKey.generate(), b"secret"),
    ],
    ids=["empty", "text", "damaged", "rsa", "password"],
)
def test_what_is_no_plain_ed25519_key_is_refused_without_repeating_it(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "key.pem"
    file.touch(mode=0o600)
    file.write_bytes(content)
    with pytest.raises(AuditKeyUnusable) as refused:
        named_key(file)
    assert b"PRIVATE" not in refused.value.message.encode()


def test_a_named_key_is_used_and_never_made(tmp_path: Path) -> None:
    with pytest.raises(AuditKeyUnusable):
        named_key(tmp_path / "absent.pem")
    assert list(tmp_path.iterdir()) == []
    file = tmp_path / "key.pem"
    file.touch(mode=0o600)
    file.write_bytes(pem(ed25519.Ed25519PrivateKey.generate()))
    key = named_key(file)
    assert key.public.made(key.sign(b"m"), b"m") and not key.public.made(key.sign(b"m"), b"n")


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "key.pem"
    os.mkfifo(path, 0o600) if kind == "fifo" else path.mkdir(mode=0o700)
    with pytest.raises(AuditKeyUnusable):
        named_key(path)
    with pytest.raises(AuditKeyUnusable):
        PublicKey.in_file(path)


def test_a_private_key_is_no_public_one(tmp_path: Path) -> None:
    own_key(tmp_path)
    with pytest.raises(AuditKeyUnusable):
        PublicKey.in_file(tmp_path / OWN_KEY)
