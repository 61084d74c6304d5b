"""Packs that no git would make, for a server that hands them out, and object stores that hold something else.

The image's `pack.sh` hands out a repository's `lie.pack` instead of what git would make.
"""

from __future__ import annotations

import struct

from tests.support.hostile_site import CLEAN, OBJECTS, UNAVAILABLE, Flaw, Site
from tests.support.pack_format import (
    BLOB,
    COMMIT,
    OFS_DELTA,
    REF_DELTA,
    copies,
    entry,
    loose_objects,
    number,
    offset,
    pack,
)
from tests.support.repos import explode, git, raw_object

__all__ = ["PACK_FLAWS"]

_GIB = 1 << 30


def _lie(site: Site, data: bytes) -> None:
    """The server hands this out as a pack."""
    (site.repository / "lie.pack").write_bytes(data)


def _served(site: Site, *more: bytes, count: int | None = None) -> None:
    """All that main needs is handed out, and these entries after it: nothing but they is wrong."""
    explode(site.repository)
    _lie(site, pack([*loose_objects(site.repository), *more], count=count))


def pack_with_more_than_was_asked_for(site: Site) -> None:
    _served(site, entry(BLOB, b"nobody asked for this"))


def pack_with_an_object_twice(site: Site) -> None:
    _served(site, entry(BLOB, b"twice"), entry(BLOB, b"twice"))


def pack_with_nothing_of_what_was_asked_for(site: Site) -> None:
    _lie(site, pack([entry(BLOB, b"instead")]))


def pack_that_is_empty(site: Site) -> None:
    _lie(site, pack([]))


def pack_that_is_no_pack(site: Site) -> None:
    _lie(site, b"#!/bin/sh\n" * 1000)


def pack_of_another_version(site: Site) -> None:
    _lie(site, b"PACK" + struct.pack(">II", 99, 0) + b"\0" * 20)


def pack_that_ends_early(site: Site) -> None:
    _served(site)
    whole = (site.repository / "lie.pack").read_bytes()
    _lie(site, whole[: len(whole) // 2])


def pack_with_another_checksum(site: Site) -> None:
    _served(site)
    _lie(site, (site.repository / "lie.pack").read_bytes()[:-20] + b"\1" * 20)


def pack_with_garbage_after_its_end(site: Site) -> None:
    _served(site)
    _lie(site, (site.repository / "lie.pack").read_bytes() + b"\xff" * 100_000)


def pack_that_announces_four_thousand_million_objects(site: Site) -> None:
    _served(site, count=0xFFFFFFFF)


def pack_with_fewer_objects_than_announced(site: Site) -> None:
    _served(site, count=1000)


def object_that_claims_an_exbibyte(site: Site) -> None:
    _served(site, entry(BLOB, b"small", claims=1 << 60))


def commit_that_claims_sixteen_gibibytes(site: Site) -> None:
    _served(site, entry(COMMIT, b"small", claims=16 * _GIB))


def object_of_a_type_that_there_is_not(site: Site) -> None:
    _served(site, entry(5, b"x"))


def object_that_is_not_deflated(site: Site) -> None:
    _served(site, bytes([(BLOB << 4) | 15]) + b"not deflated at all")


def delta_bomb_of_sixteen_gibibytes(site: Site) -> None:
    """A few kilobytes that say: the 16 MiB before, a thousand times."""
    base = bytes(0xFFFFFF)
    packed = entry(BLOB, base)
    back = len(packed)
    _served(site, packed, entry(OFS_DELTA, copies(len(base), 1100), base=offset(back)))


def delta_whose_base_is_itself(site: Site) -> None:
    _served(site, entry(REF_DELTA, copies(5, 1), base=b"\1" * 20))


def delta_whose_base_lies_before_the_pack(site: Site) -> None:
    _served(site, entry(OFS_DELTA, copies(5, 1), base=offset(1 << 40)))


def delta_that_reads_past_its_base(site: Site) -> None:
    packed = entry(BLOB, b"short")
    delta = number(5) + number(0xFFFF) + b"\xb0\xff\xff"
    _served(site, packed, entry(OFS_DELTA, delta, base=offset(len(packed))))


def delta_chain_of_five_thousand(site: Site) -> None:
    entries = [entry(BLOB, b"0" * 64)]
    for turn in range(1, 5_001):
        delta = number(64) + number(64) + b"\x08" + f"{turn:08}".encode() + b"\x91\x08\x38"
        entries.append(entry(OFS_DELTA, delta, base=offset(len(entries[-1]))))
    _served(site, *entries)


def object_under_the_name_of_another(site: Site) -> None:
    explode(site.repository)
    blob = git(site.repository, "rev-parse", "main:a")
    other = raw_object(site.repository, "blob", b"something else\n")
    target = site.repository / "objects" / blob[:2] / blob[2:]
    target.chmod(0o644)
    target.write_bytes((site.repository / "objects" / other[:2] / other[2:]).read_bytes())


def object_that_is_missing(site: Site) -> None:
    explode(site.repository)
    blob = git(site.repository, "rev-parse", "main:a")
    (site.repository / "objects" / blob[:2] / blob[2:]).unlink()


def object_that_is_cut_short(site: Site) -> None:
    explode(site.repository)
    blob = git(site.repository, "rev-parse", "main:a")
    path = site.repository / "objects" / blob[:2] / blob[2:]
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-4])


def index_of_another_pack(site: Site) -> None:
    git(site.repository, "repack", "-a", "-d", "--quiet")
    index = next((site.repository / "objects" / "pack").glob("*.idx"))
    index.chmod(0o644)
    index.write_bytes(b"\xfftOc\0\0\0\2" + b"\xff" * 1064)


def blob_of_64_mebibytes_of_nothing(site: Site) -> None:
    site.ref("refs/tags/bad", raw_object(site.repository, "blob", bytes(64 << 20)))


PACK_FLAWS = (
    Flaw(pack_with_more_than_was_asked_for, None, CLEAN),
    Flaw(pack_with_an_object_twice, None, OBJECTS),
    Flaw(pack_with_nothing_of_what_was_asked_for, None, UNAVAILABLE),
    Flaw(pack_that_is_empty, None, UNAVAILABLE),
    Flaw(pack_that_is_no_pack, None, UNAVAILABLE),
    Flaw(pack_of_another_version, None, UNAVAILABLE),
    Flaw(pack_that_ends_early, None, OBJECTS),
    Flaw(pack_with_another_checksum, None, OBJECTS),
    Flaw(pack_with_garbage_after_its_end, None, UNAVAILABLE),
    Flaw(pack_that_announces_four_thousand_million_objects, None, OBJECTS),
    Flaw(pack_with_fewer_objects_than_announced, None, OBJECTS),
    Flaw(object_that_claims_an_exbibyte, None, OBJECTS),
    Flaw(commit_that_claims_sixteen_gibibytes, None, OBJECTS),
    Flaw(object_of_a_type_that_there_is_not, None, OBJECTS),
    Flaw(object_that_is_not_deflated, None, OBJECTS),
    Flaw(delta_bomb_of_sixteen_gibibytes, None, OBJECTS),
    Flaw(delta_whose_base_is_itself, None, OBJECTS),
    Flaw(delta_whose_base_lies_before_the_pack, None, OBJECTS),
    Flaw(delta_that_reads_past_its_base, None, OBJECTS),
    Flaw(delta_chain_of_five_thousand, None, CLEAN),
    Flaw(object_under_the_name_of_another, OBJECTS, OBJECTS),
    Flaw(object_that_is_missing, UNAVAILABLE, UNAVAILABLE),
    Flaw(object_that_is_cut_short, UNAVAILABLE, UNAVAILABLE),
    Flaw(index_of_another_pack, UNAVAILABLE, UNAVAILABLE),
    Flaw(blob_of_64_mebibytes_of_nothing, CLEAN, CLEAN),
)
