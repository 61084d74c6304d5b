"""From the helper's answers to the contract's values. Every number, word, path and size is judged on the way.

The functions raise `SandboxLost` for whatever does not fit and nothing else. How many bytes may arrive at all is the
channel's business.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from runner.engine.contract import (
    FileFault,
    FileRefused,
    GuestPosture,
    KilledBy,
    LimitMet,
    ListingEntry,
    Resolved,
    SearchMatch,
)
from runner.engine.frames import PATH_MAX_BYTES, Fields, broken, checked_path
from runner.model.tree import EntryKind, ScanEntry

__all__ = ["Ending", "decode_ending", "decode_posture", "decode_refusal", "decode_resolved"]
__all__ += ["decode_listing", "decode_matches", "decode_scan"]

_NAME_MAX_BYTES = 255
_MODE_MAX = 0o7777
_EXIT_MAX = 255
_MATCH = struct.Struct("!IHI")
_LISTED = re.compile(r"(file|dir|symlink|other) ([0-9a-f]{1,16}) (.+)", re.DOTALL)
# A stamp is 36 packed bytes in hex, and for fresh files a digest behind a dash.
_SCANNED = re.compile(r"([fdso]) ([0-9a-f]{1,16}) ([0-7]{1,4}) ([0-9a-f]{72}(?:-[0-9a-u]{1,64})?) (.+)", re.DOTALL)
_SCAN_KINDS = {"f": EntryKind.FILE, "d": EntryKind.DIR, "s": EntryKind.SYMLINK, "o": EntryKind.OTHER}


def decode_refusal(head: Fields, path: str) -> FileRefused:
    """The refusal that a `fault` answer stands for."""
    head.only(("id", "kind", "fault", "detail", "size"))
    fault = head.word("fault", FileFault)
    return FileRefused(fault, path, head.text("detail"), size=head.integer_or_none("size"))


def decode_resolved(head: Fields) -> Resolved:
    """Where a path leads."""
    head.only(("id", "kind", "path", "exists", "type", "size", "mode", "links", "via_link"))
    exists, kind = head.boolean("exists"), head.word_or_none("type", EntryKind)
    if exists != (kind is not None):
        broken("what exists has a kind, and nothing else has")
    if kind is EntryKind.SYMLINK:
        broken("a resolved path is no link")
    return Resolved(
        path=head.path("path"),
        exists=exists,
        kind=kind,
        size=head.integer("size"),
        mode=head.integer("mode", high=_MODE_MAX),
        links=head.integer("links"),
        via_link=head.boolean("via_link"),
    )


def decode_listing(body: bytes) -> Iterator[ListingEntry]:
    """The entries of one piece of a listing."""
    for record in _records(body):
        match = _LISTED.fullmatch(record)
        if match is None:
            broken("an entry of a listing is malformed")
        kind, size, name = match.groups()
        if "/" in name or len(name.encode("utf-8", "surrogateescape")) > _NAME_MAX_BYTES:
            broken("a name in a listing is no name")
        yield ListingEntry(checked_path(name), EntryKind(kind), _size(size))


def decode_scan(body: bytes, entries: list[ScanEntry], removed: list[str]) -> None:
    """The records of one piece of a scan are added to the two lists."""
    fullmatch, kinds = _SCANNED.fullmatch, _SCAN_KINDS
    for record in _records(body):
        match = fullmatch(record)
        if match is not None:
            kind, size, mode, stamp, path = match.groups()
            entries.append(ScanEntry(checked_path(path), kinds[kind], _size(size), int(mode, 8), stamp))
        elif record.startswith("x "):
            removed.append(checked_path(record[2:]))
        else:
            broken("an entry of a scan is malformed")


def decode_matches(body: bytes, *, max_line_bytes: int) -> Iterator[SearchMatch]:
    """The matches of one piece of a search's answer."""
    offset = 0
    while offset < len(body):
        if len(body) - offset < _MATCH.size:
            broken("a match is cut off")
        line, path_size, text_size = _MATCH.unpack_from(body, offset)
        start = offset + _MATCH.size
        middle, offset = start + path_size, start + path_size + text_size
        if path_size > PATH_MAX_BYTES or text_size > max_line_bytes or offset > len(body) or line < 1:
            broken("a match is over its bounds")
        path = checked_path(body[start:middle].decode("utf-8", "surrogateescape"))
        yield SearchMatch(path, line, body[middle:offset].decode("utf-8", "replace"))


class Ending:
    """How a program ended, as the helper says it; consistent in itself."""

    __slots__ = ("detail", "exit", "killed_by", "limits", "started", "stderr_bytes", "stdout_bytes", "survivors")

    def __init__(self, head: Fields) -> None:
        self.started = head.boolean("started")
        self.detail = head.text("detail")
        self.exit = head.integer_or_none("exit", high=_EXIT_MAX)
        self.killed_by = head.word_or_none("killed_by", KilledBy)
        self.stdout_bytes = head.integer("stdout_bytes")
        self.stderr_bytes = head.integer("stderr_bytes")
        self.survivors = head.integer("survivors")
        said = head.texts("limits", max_items=len(LimitMet))
        if not set(said) <= set(LimitMet):
            broken("a limit that there is not")
        self.limits = tuple(LimitMet(name) for name in said)


def decode_ending(head: Fields, *, received: tuple[int, int], cap: int) -> Ending:
    """How the program ended; `received` are the bytes of stdout and stderr that came, each at most `cap`."""
    head.only(
        ("id", "kind", "started", "detail", "exit", "killed_by", "stdout_bytes", "stderr_bytes", "survivors", "limits"),
    )
    ending = Ending(head)
    if (ending.exit is None) != (ending.killed_by in (KilledBy.DEADLINE, KilledBy.CALLER)):
        broken("only a program that was stopped has no exit code")
    for produced, came in ((ending.stdout_bytes, received[0]), (ending.stderr_bytes, received[1])):
        if min(produced, cap) != came:
            broken("the output does not have the length that it should have")
    if not ending.started and (ending.exit not in (126, 127) or ending.killed_by is not None or any(received)):
        broken("a program that did not start cannot have done anything")
    return ending


def decode_posture(facts: Fields) -> GuestPosture:
    """What the cage looks like from inside."""
    capabilities = (1 << 64) - 1
    return GuestPosture(
        uid=facts.integer("uid"),
        gid=facts.integer("gid"),
        effective_capabilities=facts.integer("effective_capabilities", high=capabilities),
        permitted_capabilities=facts.integer("permitted_capabilities", high=capabilities),
        bounding_capabilities=facts.integer("bounding_capabilities", high=capabilities),
        no_new_privileges=facts.boolean("no_new_privileges"),
        seccomp_mode=facts.integer("seccomp_mode"),
        seccomp_mark=facts.integer("seccomp_mark", high=4095),
        system_calls_open=facts.texts("system_calls_open", max_items=64),
        apparmor=facts.text("apparmor"),
        root_is_host_root=facts.boolean("root_is_host_root"),
        kernel=facts.text("kernel"),
        kernel_names_gvisor=facts.boolean("kernel_names_gvisor"),
        memory_total_bytes=facts.integer("memory_total_bytes"),
        cgroups_writable=facts.texts("cgroups_writable", max_items=64),
        root_read_only=facts.boolean("root_read_only"),
        writable_mounts=facts.texts("writable_mounts", max_items=200),
        mount_options=facts.texts("mount_options", max_items=200),
        interfaces=facts.texts("interfaces", max_items=64),
        routes=facts.integer("routes"),
        pids_max=facts.integer_or_none("pids_max"),
        memory_max_bytes=facts.integer_or_none("memory_max_bytes"),
        open_files_max=facts.integer("open_files_max"),
        core_max_bytes=facts.integer("core_max_bytes"),
        file_max_bytes=facts.integer("file_max_bytes"),
        workspace_bytes=facts.integer("workspace_bytes"),
        workspace_inodes=facts.integer("workspace_inodes"),
        engine_socket_visible=facts.boolean("engine_socket_visible"),
        groups=facts.texts("groups", max_items=64),
        devices=facts.texts("devices", max_items=64),
        namespaces_first=facts.texts("namespaces_first", max_items=8),
        kernel_files_unmasked=facts.texts("kernel_files_unmasked", max_items=64),
        kernel_settings_open=facts.texts("kernel_settings_open", max_items=64),
        main_command=facts.text("main_command"),
        memory_killer_off=facts.boolean("memory_killer_off"),
        clock_unix=facts.integer("clock_unix"),
        clock_settable=facts.boolean("clock_settable"),
        cpu_quota=facts.integer_or_none("cpu_quota"),
        home_bytes=facts.integer("home_bytes"),
        home_inodes=facts.integer("home_inodes"),
        tmp_bytes=facts.integer("tmp_bytes"),
        tmp_inodes=facts.integer("tmp_inodes"),
        shm_bytes=facts.integer("shm_bytes"),
        gateways_open=facts.texts("gateways_open", max_items=32),
        metadata_open=facts.texts("metadata_open", max_items=8),
        resolvers_open=facts.texts("resolvers_open", max_items=32),
    )


def _records(body: bytes) -> list[str]:
    """What stands before each NUL."""
    if not body:
        return []
    if body[-1]:
        broken("a record is cut off")
    return body[:-1].decode("utf-8", "surrogateescape").split("\0")


def _size(digits: str) -> int:
    size = int(digits, 16)
    if size >> 63:
        broken("a size is over its bounds")
    return size
