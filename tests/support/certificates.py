"""A throw-away authority for tests, and the server certificates that it signs.

Validity is wide, so that no test depends on the clock of the machine that it runs on.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

__all__ = ["Authority", "Certificates", "make_certificates"]


@dataclass(frozen=True)
class Certificates:
    """An authority's certificate, and a server's key and certificate signed by it."""

    ca_file: Path
    server_file: Path


class Authority:
    """An authority that nobody else trusts. `ca_file` is its certificate, for who shall trust it."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"throw-away {name}")])
        certificate = (
            _builder(self._name, self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.ca_file = folder / f"{name}.pem"
        self.ca_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, names: Sequence[str], addresses: Sequence[str]) -> bytes:
        """A new private key and its certificate for these host names and IP addresses, in one PEM text."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, (*names, *addresses)[0])])
        alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
        alternatives += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        leaf = (
            _builder(subject, self._name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return private + leaf.public_bytes(serialization.Encoding.PEM)


def make_certificates(folder: Path, name: str = "ca") -> Certificates:
    """A new authority and a certificate of it for localhost and 127.0.0.1, in `folder`."""
    authority = Authority(folder, name)
    server_file = folder / f"{name}-server.pem"
    server_file.write_bytes(authority.issue(["localhost"], ["127.0.0.1"]))
    server_file.chmod(0o600)
    return Certificates(authority.ca_file, server_file)


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.datetime(2000, 1, 1))
        .not_valid_after(datetime.datetime(2120, 1, 1))
    )
