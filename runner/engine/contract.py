"""The contract between a run and whatever hosts it, in our own words.

An `Engine` starts sandboxes and lists and removes what it started. A `Sandbox` is one fresh, hardened workspace with
typed operations. Docker is one implementation, the in-memory fake is another; a further engine only has to start a
container and hold one bidirectional stream to a process inside. `tests/contract` is the conformance suite for all.

Rules that every implementation upholds:

- Everything that a sandbox answers comes from the untrusted side. It is bounded and validated before it is returned,
  and no answer selects code on the host.
- Paths are relative to the workspace root, POSIX, `/`-separated, without empty, `.` or `..` parts. File names that are
  not UTF-8 are carried with surrogate escapes.
- `resolve` is the only operation that follows links, alone or as the first half of `look`. All others take a real path
  and refuse to meet a link on the way, so that a path swapped between the decision and the act fails with
  `FileFault.LINK`.
- A program that fails is a result. A `FileRefused` is an answer about the tree. `SandboxLost` is the end of the run.
  Implementations raise nothing else.
- One operation at a time: callers serialise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from runner.engine.known_flaws import Component
from runner.model.tree import EntryKind, ScanEntry

__all__ = [
    "ABSENT",
    "HOME_SPACE",
    "REFUSALS",
    "SHM_BYTES",
    "TMP_SPACE",
    "ByteStream",
    "Engine",
    "EngineInfo",
    "FileContent",
    "FileFault",
    "FileRefused",
    "GuestPosture",
    "HostPosture",
    "ImageInfo",
    "KilledBy",
    "LimitMet",
    "Listing",
    "ListingEntry",
    "Look",
    "Mount",
    "OutputSink",
    "Resolved",
    "Sandbox",
    "SandboxInfo",
    "SandboxLimits",
    "SandboxSpec",
    "Scan",
    "SearchMatch",
    "SearchRequest",
    "SearchResult",
    "SpawnRequest",
    "SpawnResult",
]

HOME_SPACE = (1024 << 20, 400_000)
"""Bytes and inodes of a workspace's home: package managers' caches during set-up; emptied before the first call."""
TMP_SPACE = (512 << 20, 100_000)
"""The same of its folder for temporary files."""
SHM_BYTES = 64 << 20

ABSENT = "absent"
"""Precondition of a write: nothing is at the path."""


class FileFault(StrEnum):
    """Why a file operation was refused. A closed set: an unknown word from inside ends the run."""

    MISSING = "missing"
    OUTSIDE = "outside"  # resolution left the root: absolute link, or `..` above it
    LOOP = "loop"  # more than 40 links, the kernel's own bound
    LINK = "link"  # a link where a real path was promised
    IS_DIRECTORY = "is_directory"
    NOT_A_DIRECTORY = "not_a_directory"
    NOT_REGULAR = "not_regular"  # FIFO, socket, device
    TOO_LARGE = "too_large"
    CHANGED = "changed"  # the precondition does not hold any more
    NOT_EMPTY = "not_empty"
    NAME_TOO_LONG = "name_too_long"
    DENIED = "denied"  # permission, by the file's own mode
    NO_SPACE = "no_space"  # the workspace's size or inode bound
    BAD_PATTERN = "bad_pattern"  # a search pattern that the search program refuses


_ON_THE_WAY = frozenset(
    {
        FileFault.OUTSIDE, FileFault.MISSING, FileFault.LINK, FileFault.NOT_A_DIRECTORY, FileFault.NAME_TOO_LONG,
        FileFault.DENIED,
    }
)  # fmt: skip
_OF_A_FILE = frozenset({FileFault.IS_DIRECTORY, FileFault.NOT_REGULAR, FileFault.TOO_LARGE})
REFUSALS: Mapping[str, frozenset[FileFault]] = {
    "resolve": _ON_THE_WAY | {FileFault.LOOP},
    "read": _ON_THE_WAY | _OF_A_FILE,
    "list": _ON_THE_WAY,
    "write": _ON_THE_WAY | _OF_A_FILE | {FileFault.CHANGED, FileFault.NO_SPACE},
    "delete": _ON_THE_WAY | {FileFault.IS_DIRECTORY, FileFault.CHANGED},
    "search": frozenset({FileFault.DENIED, FileFault.BAD_PATTERN}),
}
"""Each operation that can be refused, with why. Whoever calls another one need not reckon with a refusal: an
implementation that is told of one has lost its sandbox."""


class FileRefused(Exception):
    """A file operation that was not carried out. The tree is as it was."""

    def __init__(self, fault: FileFault, path: str, detail: str = "", *, size: int | None = None) -> None:
        super().__init__(f"{fault}: {path}" + (f" ({detail})" if detail else ""))
        self.fault = fault
        self.path = path
        self.detail = detail
        self.size = size


class KilledBy(StrEnum):
    """Why the engine ended a program. None of these is the program's own doing."""

    DEADLINE = "deadline"
    OUTPUT = "output"  # more output than the cap, where the request says that this kills
    MEMORY = "memory"  # the cgroup's out-of-memory counter moved while it ran
    CALLER = "caller"  # the host cancelled it


class LimitMet(StrEnum):
    """A limit that the kernel kept, and that a program met without being ended by us."""

    CPUS = "cpus"  # kept from a processor for half a second, and a tenth of its time, or longer
    PIDS = "pids"  # a process or thread was refused
    FILE_SIZE = "file_size"  # ended by the kernel's signal for a file over its bound
    WORKSPACE_BYTES = "workspace_bytes"  # no room is left
    WORKSPACE_INODES = "workspace_inodes"  # no file more is possible


@dataclass(frozen=True, slots=True)
class Resolved:
    """Where a path really leads. For a missing path, `path` is the real parent plus the names that are not there."""

    path: str
    exists: bool
    kind: EntryKind | None
    size: int
    mode: int
    links: int  # hard links to the inode
    via_link: bool  # a symbolic link was followed on the way, the last component included


@dataclass(frozen=True, slots=True)
class FileContent:
    """A regular file's bytes, all of them, with the digest a later write can be made conditional on."""

    data: bytes
    size: int
    mode: int

    @property
    def sha256(self) -> str:
        """The digest, made when it is asked for: a file that is only read needs none."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class Look:
    """Where a path leads, and what is there: the content, or why there is none. Of one moment."""

    where: Resolved
    content: FileContent | FileRefused


@dataclass(frozen=True, slots=True)
class ListingEntry:
    """One name in a folder. Links are not followed: a link's size is the length of its target."""

    name: str
    kind: EntryKind
    size: int


@dataclass(frozen=True, slots=True)
class Listing:
    """A folder's entries, sorted by name as bytes; `truncated` when there were more than asked for."""

    entries: tuple[ListingEntry, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A bounded search. `pattern` is taken literally unless `regex`; then it is a POSIX extended expression.

    `globs` narrow the files (gitignore style; `!` excludes); `.git` is never searched; links are not followed; ignore
    files are not obeyed, hidden files are searched.
    """

    pattern: str
    regex: bool = False
    ignore_case: bool = False
    globs: tuple[str, ...] = ()
    max_results: int = 100
    max_line_bytes: int = 2000  # longer lines are cut and flagged; a minified file must not flood the answer
    deadline_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """One matching line, without its line end. `line` counts from 1."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Matches in the order of path and line; `truncated` when more exist than were asked for."""

    matches: tuple[SearchMatch, ...]
    truncated: bool
    timed_out: bool


OutputSink = Callable[[str, bytes], None]
"""Called with `"stdout"` or `"stderr"` and the bytes, as they arrive, capped bytes left out."""


@dataclass(frozen=True, slots=True)
class SpawnRequest:
    """A program to run with the workspace root (or `cwd` below it) as its folder.

    `argv[0]` is an absolute path, or a bare name looked up on the PATH of `env` by the engine, never in the workspace.
    The environment is exactly `env`. `stdin` is empty unless chunks are given. Output beyond `output_cap_bytes` (per
    stream) is counted and dropped; a stream of more than `kill_at_bytes` gets the program killed. With `scan_entries`,
    the tree is scanned once the program is gone, as by `scan` with that bound and in the same round trip.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    deadline_seconds: float
    output_cap_bytes: int
    cwd: str = "."
    stdin: Iterable[bytes] | None = None
    sink: OutputSink | None = None  # when given, output goes there and the result's stdout and stderr stay empty
    watch: OutputSink | None = None  # told of the output as it comes, beside where it goes
    kill_at_bytes: int | None = None
    scan_entries: int | None = None


@dataclass(frozen=True, slots=True)
class SpawnResult:
    """How a program ended. `exit` is None only when it was killed at its deadline or cancelled.

    A program killed by signal N has `exit` 128 + N, as shells say it. `started` is False when the program could not be
    started at all; then `exit` is 127 (not found) or 126 (not executable, or `cwd` is no folder that can be entered)
    and `stderr` says why in our words. When the call returns, no process of the program is left, not even one that left
    its process group.
    """

    exit: int | None
    stdout: bytes
    stderr: bytes
    stdout_bytes: int  # as produced, before the cap
    stderr_bytes: int
    truncated: bool
    timed_out: bool
    duration_ms: float
    killed_by: KilledBy | None = None
    started: bool = True
    survivors_killed: int = 0  # processes that had escaped the program's process group
    limits_met: tuple[LimitMet, ...] = ()
    scan: Scan | None = None  # where it was asked for, and the program could be handed over at all


@dataclass(frozen=True, slots=True)
class Scan:
    """What changed below the root since the last scan; the first one lists everything. `.git` is left out.

    `removed` names paths that are gone. Paths of more than 4096 bytes, which no operation can be given, are left out
    with all that is below them. `truncated` says that the tree has more entries than the bound.
    """

    entries: tuple[ScanEntry, ...]
    removed: tuple[str, ...]
    truncated: bool

    def then(self, later: Scan) -> Scan:
        """This one and the next, as one: what changed since the scan before them. A path in both parts is there."""
        now = {entry.path: entry for entry in self.entries}
        for path in later.removed:
            now.pop(path, None)
        now.update((entry.path, entry) for entry in later.entries)
        removed = dict.fromkeys((*self.removed, *later.removed))
        return Scan(tuple(now.values()), tuple(removed), self.truncated or later.truncated)


@dataclass(frozen=True, slots=True)
class GuestPosture:
    """What a probe inside saw of its own cage. Facts only; `controller.posture` judges them.

    `mount_options` has a text for each writable mount: its path, a blank, and its own options with commas between.
    """

    uid: int
    gid: int
    effective_capabilities: int
    permitted_capabilities: int
    bounding_capabilities: int
    no_new_privileges: bool
    seccomp_mode: int
    seccomp_mark: int  # the errno of the system call that our own filter answers in its own way
    system_calls_open: tuple[str, ...]  # of a list that no program here needs: those that a filter does not refuse
    apparmor: str  # as the kernel writes it: a profile's name and its mode; empty without AppArmor
    root_is_host_root: bool  # user 0 in here is user 0 of the host: no user namespace in between
    kernel: str  # the release that the kernel says it is
    kernel_names_gvisor: bool  # in its log, which only some kernels let us read
    memory_total_bytes: int  # the whole memory that the kernel says it has
    cgroups_writable: tuple[str, ...]  # control files that the programs' user could write to
    root_read_only: bool
    writable_mounts: tuple[str, ...]
    mount_options: tuple[str, ...]
    interfaces: tuple[str, ...]
    routes: int
    pids_max: int | None
    memory_max_bytes: int | None
    open_files_max: int
    core_max_bytes: int
    file_max_bytes: int
    workspace_bytes: int
    workspace_inodes: int
    engine_socket_visible: bool
    groups: tuple[str, ...]  # supplementary ones, by number
    devices: tuple[str, ...]  # nodes below /dev without terminals: kind, numbers, path
    namespaces_first: tuple[str, ...]  # kinds of which it has the machine's first, which no container has
    kernel_files_unmasked: tuple[str, ...]
    kernel_settings_open: tuple[str, ...]  # of the kernel's own files those that are not on a read-only mount
    main_command: str  # what process 1 was started as
    memory_killer_off: bool  # passed over when memory runs out
    clock_unix: int  # s
    clock_settable: bool
    cpu_quota: int | None  # us of processors in each 100 ms
    home_bytes: int
    home_inodes: int
    tmp_bytes: int
    tmp_inodes: int
    shm_bytes: int
    gateways_open: tuple[str, ...]  # addresses of each kind for which a packet would leave
    metadata_open: tuple[str, ...]
    resolvers_open: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HostPosture:
    """What the engine itself says of the container it started. Facts only. `binds` are SOURCE:TARGET:MODE."""

    privileged: bool
    capabilities_dropped_all: bool
    capabilities_added: tuple[str, ...]
    no_new_privileges: bool
    seccomp: str  # which filter was asked for: a word of `engine.seccomp`
    apparmor: str  # the profile that the engine puts on containers; empty where the host has no AppArmor
    user_remapped: bool  # the engine gives containers other users than the host's, where they don't ask for those
    kernel: str  # the release of the kernel that the engine itself runs on
    root_read_only: bool
    network_none: bool
    binds: tuple[str, ...]
    log_driver: str
    user: str
    init: bool
    memory_bytes: int
    memory_swap_bytes: int
    pids_limit: int
    nano_cpus: int
    runtime: str
    groups_added: tuple[str, ...]
    devices: tuple[str, ...]  # devices of the host, requests for some, and rules that let more of them be used
    namespaces_shared: tuple[str, ...]  # kinds that it has with the host or another container: KIND=WHOSE
    masked_paths: frozenset[str]
    read_only_paths: frozenset[str]
    memory_killer_off: bool
    shm_bytes: int
    control_group_parent: str
    kernel_settings: tuple[str, ...]  # sysctls
    network_settings: tuple[str, ...]  # name servers, hosts, links, ports: the engine's names of those that are set
    removed_at_end: bool
    restarted: str  # when the engine starts it again; empty for never
    clock_unix: int  # s, on this side while it was asked


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Bounds of a sandbox. An engine that cannot set one of them raises, it never ignores it."""

    run_seconds: int
    memory_mib: int
    cpus: float
    pids: int
    open_files: int
    workspace_mib: int
    workspace_inodes: int
    file_mib: int


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder or file of the host that the gate's containers see, at the same path where `at` is empty.

    Workspaces have none. What is mounted below it on the host is not seen.
    """

    path: str
    writable: bool = False
    at: str = ""

    @property
    def target(self) -> str:
        """Where it is inside."""
        return self.at or self.path

    @property
    def said(self) -> str:
        """As a posture shows it: SOURCE:TARGET:MODE."""
        return f"{self.path}:{self.target}:{'rw' if self.writable else 'ro'}"


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """One sandbox to start. `image` is a name or id that the engine resolves; `labels` go on every object made.

    `user` is UID:GID, whom programs run as. `role` tells a run's containers apart. Workspaces keep the defaults of
    these and of `mounts`. `idle_seconds` is how long it may wait for its run, which is added to its own deadline.
    """

    run_id: str
    controller_id: str
    image: str
    limits: SandboxLimits
    deadline_unix: int
    runtime: str = "runc"
    labels: Mapping[str, str] = field(default_factory=dict)
    role: str = "workspace"
    user: str = "1000:1000"
    mounts: tuple[Mount, ...] = ()
    idle_seconds: int = 0


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What answered. `runtimes` are the names that a spec may ask for."""

    name: str
    version: str
    api_version: str
    runtimes: tuple[str, ...]
    security: tuple[str, ...]  # what it confines containers by: seccomp, apparmor, selinux, userns, rootless
    cgroup_version: str
    storage: str
    components: tuple[Component, ...] = ()  # the engine itself, and what it starts containers with
    kernel: str = ""  # the release of the kernel that it runs on


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """An image that is present. `labels` are those given at its build."""

    reference: str
    id: str
    labels: Mapping[str, str]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SandboxInfo:
    """One sandbox, or one other object of ours, that the engine has. `kind` is container, volume or network."""

    id: str
    kind: str
    run_id: str
    controller_id: str
    deadline_unix: int
    state: str
    name: str


class ByteStream(Protocol):
    """Both directions of one held process inside a sandbox. One thread may read while another one writes."""

    def write(self, data: bytes) -> None:
        """Send all of `data`. Raises SandboxLost when the other side is gone."""
        ...

    def read(self, timeout: float) -> bytes:
        """The next bytes, at least one; `b""` when the process has ended. Raises TimeoutError after `timeout` s."""
        ...

    def close(self) -> None:
        """Close both directions. Never raises."""
        ...


class Sandbox(Protocol):
    """One workspace. All methods may raise SandboxLost; those that `REFUSALS` names may raise FileRefused, as it says.

    The methods say what their faults are about. What lies on the way to a path may refuse any of them.
    """

    @property
    def id(self) -> str:
        """The engine's name for it."""
        ...

    def resolve(self, path: str) -> Resolved:
        """Where `path` really leads, links followed beneath the root. `path` may hold `..` parts.

        Raises FileRefused: OUTSIDE, LOOP, NOT_A_DIRECTORY (a file where a folder is needed), NAME_TOO_LONG, DENIED.
        """
        ...

    def read(self, path: str, *, max_bytes: int) -> FileContent:
        """The whole of a regular file. Never waits on a FIFO.

        Raises FileRefused: MISSING, LINK, IS_DIRECTORY, NOT_REGULAR, TOO_LARGE (with the size), DENIED.
        """
        ...

    def look(self, path: str, *, max_bytes: int) -> Look:
        """`resolve`, and `read` of the real path, in one round trip as a rule. Raises FileRefused as `resolve` does."""
        ...

    def list(self, path: str, *, max_entries: int) -> Listing:
        """The entries of a folder, `.git` left out. Raises FileRefused: MISSING, LINK, NOT_A_DIRECTORY, DENIED."""
        ...

    def write(self, path: str, data: bytes, *, expect: str | None = None) -> None:
        """The file has exactly `data`, by atomic replacement; parents are made; mode kept, else 0644.

        `expect` is the sha256 that the present file must have, or ABSENT; None is no condition.
        Raises FileRefused: LINK, IS_DIRECTORY, NOT_A_DIRECTORY (a parent), NOT_REGULAR, CHANGED, NO_SPACE, DENIED,
        TOO_LARGE (over the file limit), NAME_TOO_LONG.
        """
        ...

    def delete(self, path: str, *, expect: str | None = None) -> None:
        """The file or link is gone; a link's target stays.

        Raises FileRefused: MISSING, LINK (a parent),
        IS_DIRECTORY, CHANGED, DENIED.
        """
        ...

    def search(self, request: SearchRequest) -> SearchResult:
        """Matching lines, bounded. Raises FileRefused: BAD_PATTERN, DENIED (the root is closed by its own mode)."""
        ...

    def spawn(self, request: SpawnRequest) -> SpawnResult:
        """Run a program to its end or its bounds; afterwards none of its processes is left.

        What `sink`, `watch` and `stdin` raise is raised; what a scan then told is in the next one.
        """
        ...

    def scan(self, *, max_entries: int) -> Scan:
        """What changed since the last scan."""
        ...

    def guest_posture(self, meanwhile: Callable[[], None] = lambda: None) -> GuestPosture:
        """What the cage looks like from inside. `meanwhile` is done while that is being found out, and may raise."""
        ...

    def host_posture(self) -> HostPosture:
        """What the cage looks like from the engine."""
        ...

    def begin_run(self) -> None:
        """Its run begins: of its own deadline, the time that it might have gone on waiting is taken off.

        Raises EngineUnavailable when the engine does not pass that on.
        """
        ...

    def open_stream(self, argv: Sequence[str], *, user: str) -> ByteStream:
        """A held process of the image's own, as a user of the image; the egress relay uses it."""
        ...

    def cancel(self) -> None:
        """Kill the program that runs now, from another thread; its `spawn` returns with KilledBy.CALLER."""
        ...

    def reconnect(self) -> None:
        """Ready again after a call that was broken off: what ran is killed, the next scan lists everything.

        Raises SandboxLost when the workspace itself is gone.
        """
        ...

    def remove(self) -> None:
        """Gone, with everything in it, verified. Idempotent. Raises EngineUnavailable when that cannot be proved."""
        ...


class Engine(Protocol):
    """Where sandboxes come from. Methods raise EngineUnavailable when nothing answers, and nothing else of theirs."""

    def info(self) -> EngineInfo:
        """What answers, and what it can do."""
        ...

    def image(self, reference: str) -> ImageInfo:
        """The image, which must be present. Raises EngineUnavailable with code `image_missing` otherwise."""
        ...

    def start(self, spec: SandboxSpec) -> Sandbox:
        """A fresh sandbox, hardened, empty workspace, ready for operations. On any failure nothing is left."""
        ...

    def doubts(self) -> tuple[str, ...]:
        """A line for each flaw that may let containers out of what started the last sandbox; nothing is asked."""
        ...

    def objects(self) -> list[SandboxInfo]:
        """Everything that carries our labels, of every controller."""
        ...

    def remove(self, info: SandboxInfo) -> None:
        """That object is gone, verified. Idempotent."""
        ...

    def close(self) -> None:
        """Give back sockets and threads."""
        ...
