"""Packages of a registry, built by code: the tarball, its sha512, and the packument that names both."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

__all__ = ["NpmPackage"]


@dataclass(frozen=True)
class NpmPackage:
    """One version of a package. `manifest` is added to its package.json, `files` lie beside it.

    `integrity`, when given, is claimed instead of the tarball's own: a registry that lies.
    """

    name: str
    version: str
    files: Mapping[str, str] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)
    integrity: str | None = None

    @property
    def file(self) -> str:
        """The tarball's file name."""
        return f"{self.name.rpartition('/')[2]}-{self.version}.tgz"

    @cached_property
    def tarball(self) -> bytes:
        """The same bytes each time for the same content."""
        contents = {"package.json": json.dumps(self._manifest), **self.files}
        with io.BytesIO() as plain:
            with tarfile.open(fileobj=plain, mode="w:gz", compresslevel=1) as tar:
                for name, text in sorted(contents.items()):
                    entry = tarfile.TarInfo(f"package/{name}")
                    entry.size, entry.mode = len(text.encode()), 0o644
                    tar.addfile(entry, io.BytesIO(text.encode()))
            return plain.getvalue()

    @property
    def sha512(self) -> str:
        """The tarball's digest in the form that lock files hold."""
        return "sha512-" + base64.b64encode(hashlib.sha512(self.tarball).digest()).decode("ascii")

    @staticmethod
    def packument(versions: Sequence[NpmPackage], registry: str) -> bytes:
        """What a registry at this address says of one package; the last version is the latest."""
        document = {
            "name": versions[0].name,
            "dist-tags": {"latest": versions[-1].version},
            "versions": {package.version: package._entry(registry) for package in versions},
        }
        return json.dumps(document).encode()

    @property
    def _manifest(self) -> dict[str, Any]:
        return {"name": self.name, "version": self.version, **self.manifest}

    def _entry(self, registry: str) -> dict[str, Any]:
        address = f"{registry}/{self.name}/-/{self.file}"
        return {**self._manifest, "dist": {"tarball": address, "integrity": self.integrity or self.sha512}}
