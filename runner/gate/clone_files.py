"""The files that a fresh repository consists of, and one archive of them. Pure, but that it reads the shipment.

A repository made by a dozen programs costs a dozen starts inside. Its files are few and of a published form
(gitrepository-layout), so the host writes them down and one program unpacks them, the pack on its way through.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from runner.gate.shipment import Part, Shipment
from runner.model.errors import RepositoryUnavailable

__all__ = ["Entry", "archive", "bare_repository", "core", "repository"]

_BLOCK = 512
_END = bytes(2 * _BLOCK)  # of an archive
_FOLDERS = ("", "hooks", "info", "objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags")


@dataclass(frozen=True, slots=True)
class Entry:
    """A file with `content`, which may be that part of a shipment; a folder where there is none."""

    path: str
    content: bytes | Part | None = None


def repository(folder: str, *, head: str, config: str, refs: Mapping[str, str], shallow: Sequence[str]) -> list[Entry]:
    """A repository without objects. `head` is the content of its HEAD; the refs are packed, as in a clone by git."""
    entries = [Entry(f"{folder}/{name}".rstrip("/")) for name in _FOLDERS]
    files = {"HEAD": f"{head}\n".encode("utf-8", "surrogateescape"), "info/exclude": b""}
    files["config"] = config.encode("utf-8", "surrogateescape")
    if refs:
        files["packed-refs"] = _packed(refs)
    if shallow:  # without this file, git takes the missing parents for damage
        files["shallow"] = "".join(f"{name}\n" for name in shallow).encode("ascii")
    return [*entries, *(Entry(f"{folder}/{name}", content) for name, content in files.items())]


def bare_repository(folder: str, objects: str, refs: Mapping[str, str], shallow: Sequence[str]) -> list[Entry]:
    """The same, bare, with those objects that lie in the folder `objects`."""
    made = repository(folder, head="ref: refs/heads/main", config=core(bare=True), refs=refs, shallow=shallow)
    return [*made, Entry(f"{folder}/objects/info/alternates", f"{objects}\n".encode())]


def core(*, bare: bool) -> str:
    """The section of a configuration that says what kind of repository it is, as `git init` writes it."""
    words = {"repositoryformatversion": 0, "filemode": "true", "bare": str(bare).lower()}
    log = "" if bare else "\tlogallrefupdates = true\n"
    return "[core]\n" + "".join(f"\t{key} = {value}\n" for key, value in words.items()) + log


def archive(entries: Iterable[Entry], shipped: Shipment | None = None) -> Iterator[bytes]:
    """A tar archive of the entries, in pieces.

    Raises:
        RepositoryUnavailable: a part of the shipment is shorter than it was when it was begun.
    """
    for entry in entries:
        if isinstance(entry.content, Part):
            if shipped is None:
                raise AssertionError("an entry takes a part of a shipment, and there is none")
            size = shipped.size(entry.content)
            yield _head(entry, size)
            yield from _exactly(shipped.chunks(entry.content), size)
        else:
            size = len(entry.content or b"")
            yield _head(entry, size) + (entry.content or b"")
        yield bytes(-size % _BLOCK)
    yield _END


def _head(entry: Entry, size: int) -> bytes:
    info = tarfile.TarInfo(entry.path)
    info.type = tarfile.DIRTYPE if entry.content is None else tarfile.REGTYPE
    info.mode = 0o755 if entry.content is None else 0o644
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


def _exactly(chunks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """So many bytes: what stands on the disk is another's to write, and an archive must not go out of step."""
    for chunk in chunks:
        yield chunk[:size]
        size -= len(chunk[:size])
    if size:
        raise RepositoryUnavailable(
            "what the mirror has for workspaces changed while it was sent", hint="Try again.", code="clone_failed"
        )


def _packed(refs: Mapping[str, str]) -> bytes:
    lines = sorted((name.encode("utf-8", "surrogateescape"), oid.encode("ascii")) for name, oid in refs.items())
    return b"# pack-refs with: sorted \n" + b"".join(b"%s %s\n" % (oid, name) for name, oid in lines)
