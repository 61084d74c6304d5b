"""An engine in memory, with the contract of a real one: for tests of everything above the engine, yours included.

Files live in a `FakeTree`. Programs are functions that a test scripts by name; they get their arguments, input and
the tree, and say what they print, how they exit and how long they take. Time is only claimed and never spent: a
program that takes longer than its deadline is reported as killed at once. There is no isolation and no process.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from pathspec import GitIgnoreSpec

from runner.engine import seccomp
from runner.engine.contract import (
    ABSENT,
    HOME_SPACE,
    SHM_BYTES,
    TMP_SPACE,
    ByteStream,
    EngineInfo,
    FileContent,
    FileFault,
    FileRefused,
    GuestPosture,
    HostPosture,
    ImageInfo,
    KilledBy,
    Listing,
    ListingEntry,
    Look,
    Resolved,
    SandboxInfo,
    SandboxSpec,
    Scan,
    SearchMatch,
    SearchRequest,
    SearchResult,
    SpawnRequest,
    SpawnResult,
)
from runner.engine.docker_spec import MASKED, READ_ONLY
from runner.engine.fake_tree import FakeTree
from runner.engine.helper_ere import BadPattern, translate_ere
from runner.engine.helper_requests import not_started
from runner.model.errors import EngineUnavailable, SandboxLost
from runner.model.tree import EntryKind, ScanEntry

__all__ = ["FakeCall", "FakeEngine", "FakeOutcome", "FakeProgram", "FakeSandbox"]


@dataclass(frozen=True, slots=True)
class FakeCall:
    """What a scripted program gets. It may change the tree."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    stdin: bytes
    tree: FakeTree


@dataclass(frozen=True, slots=True)
class FakeOutcome:
    """What a scripted program does. `until_cancelled` really waits for `cancel()`, for up to the request's deadline."""

    exit: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    seconds: float = 0.0
    survivors: int = 0
    out_of_memory: bool = False
    until_cancelled: bool = False


FakeProgram = Callable[[FakeCall], FakeOutcome]

GOOD_GUEST = GuestPosture(
    uid=1000,
    gid=1000,
    effective_capabilities=0,
    permitted_capabilities=0,
    bounding_capabilities=0,
    no_new_privileges=True,
    seccomp_mode=2,
    seccomp_mark=seccomp.mark(),
    system_calls_open=(),
    apparmor="docker-default (enforce)",
    root_is_host_root=True,
    kernel="6.1.0-fake",
    kernel_names_gvisor=False,
    memory_total_bytes=16 << 30,
    cgroups_writable=(),
    root_read_only=True,
    writable_mounts=("/workspace", "/home/agent", "/tmp"),  # noqa: S108  # a mount point inside, by name only
    mount_options=("/workspace rw,nosuid,nodev", "/home/agent rw,nosuid,nodev", "/tmp rw,nosuid,nodev"),  # noqa: S108
    interfaces=("lo",),
    routes=0,
    pids_max=512,
    memory_max_bytes=2 << 30,
    open_files_max=4096,
    core_max_bytes=0,
    file_max_bytes=512 << 20,
    workspace_bytes=1 << 30,
    workspace_inodes=200_000,
    engine_socket_visible=False,
    groups=(),
    devices=("c 1:3 /dev/null", "c 1:9 /dev/urandom"),
    namespaces_first=(),
    kernel_files_unmasked=(),
    kernel_settings_open=(),
    main_command="/sbin/docker-init -- /opt/runner/keeper.sh 360",
    memory_killer_off=False,
    clock_unix=1_700_000_000,
    clock_settable=False,
    cpu_quota=200_000,
    home_bytes=HOME_SPACE[0],
    home_inodes=HOME_SPACE[1],
    tmp_bytes=TMP_SPACE[0],
    tmp_inodes=TMP_SPACE[1],
    shm_bytes=SHM_BYTES,
    gateways_open=(),
    metadata_open=(),
    resolvers_open=(),
)
GOOD_HOST = HostPosture(
    privileged=False,
    capabilities_dropped_all=True,
    capabilities_added=(),
    no_new_privileges=True,
    seccomp=seccomp.OWN_FILTER,
    apparmor="docker-default",
    user_remapped=False,
    kernel="6.1.0-fake",
    root_read_only=True,
    network_none=True,
    binds=(),
    log_driver="none",
    user="keeper",
    init=True,
    memory_bytes=2 << 30,
    memory_swap_bytes=2 << 30,
    pids_limit=512,
    nano_cpus=2_000_000_000,
    runtime="runc",
    groups_added=(),
    devices=(),
    namespaces_shared=(),
    masked_paths=frozenset(MASKED),
    read_only_paths=frozenset(READ_ONLY),
    memory_killer_off=False,
    shm_bytes=SHM_BYTES,
    control_group_parent="",
    kernel_settings=(),
    network_settings=(),
    removed_at_end=True,
    restarted="",
    clock_unix=1_700_000_000,
)


class FakeSandbox:
    """`Sandbox` in memory. `tree` may be arranged and inspected by the test; `lose()` ends it as a crash would."""

    def __init__(
        self,
        programs: Mapping[str, FakeProgram] | None = None,
        *,
        sandbox_id: str = "fake",
        guest: GuestPosture = GOOD_GUEST,
        host: HostPosture = GOOD_HOST,
        streams: Callable[[Sequence[str], str], ByteStream] | None = None,
        file_max_bytes: int = 1 << 30,
        workspace_max_bytes: int = 1 << 30,
    ) -> None:
        self.tree = FakeTree()
        self.programs: dict[str, FakeProgram] = dict(programs or {})
        self.spawned: list[tuple[str, ...]] = []
        self.removed = False
        self.refuse_removal = False
        self.begun = 0
        self._id = sandbox_id
        self._guest = guest
        self._host = host
        self._streams = streams
        self._file_max_bytes = file_max_bytes
        self._workspace_max_bytes = workspace_max_bytes
        self._index: dict[str, str] = {}
        self._lost = ""
        self._running = False
        self._cancelled = threading.Event()

    @property
    def id(self) -> str:
        """The name that it was given."""
        return self._id

    def lose(self, why: str = "the workspace has ended") -> None:
        """Every later call raises SandboxLost."""
        self._lost = why

    # --- files

    def resolve(self, path: str) -> Resolved:
        """See `Sandbox.resolve`."""
        self._require_alive()
        return self.tree.resolve(path)

    def read(self, path: str, *, max_bytes: int) -> FileContent:
        """See `Sandbox.read`."""
        self._require_alive()
        node = self.tree.locate(path)
        if node is None:
            raise FileRefused(FileFault.MISSING, path)
        _require_regular(node.kind, path)
        if not node.mode & 0o444:
            raise FileRefused(FileFault.DENIED, path)
        if node.size > max_bytes:
            raise FileRefused(FileFault.TOO_LARGE, path, size=node.size)
        data = node.data.ljust(node.size, b"\0")
        return FileContent(data, len(data), node.mode)

    def look(self, path: str, *, max_bytes: int) -> Look:
        """See `Sandbox.look`."""
        where = self.resolve(path)
        try:
            return Look(where, self.read(where.path, max_bytes=max_bytes))
        except FileRefused as refused:
            return Look(where, refused)

    def list(self, path: str, *, max_entries: int) -> Listing:
        """See `Sandbox.list`."""
        self._require_alive()
        node = self.tree.locate(path, absent_parent_is=FileFault.NOT_A_DIRECTORY)
        if node is None:
            raise FileRefused(FileFault.MISSING, path)
        if node.kind is EntryKind.SYMLINK:
            raise FileRefused(FileFault.LINK, path)
        if node.kind is not EntryKind.DIR:
            raise FileRefused(FileFault.NOT_A_DIRECTORY, path)
        if not node.mode & 0o444:
            raise FileRefused(FileFault.DENIED, path)
        entries = [ListingEntry(name, child.kind, child.size) for name, child in self.tree.children(path)]
        return Listing(tuple(entries[:max_entries]), len(entries) > max_entries)

    def write(self, path: str, data: bytes, *, expect: str | None = None) -> None:
        """See `Sandbox.write`."""
        self._require_alive()
        try:
            node = self.tree.locate(path, absent_parent_is=FileFault.NOT_A_DIRECTORY)
        except FileRefused as refused:
            if refused.fault is not FileFault.MISSING:
                raise
            node = None
        mode = 0o644
        if node is not None:
            _require_regular(node.kind, path)
            if not node.mode & 0o222:
                raise FileRefused(FileFault.DENIED, path)
            mode = node.mode & 0o777
        self._require_parent_writable(path)
        self._require_room(path, data)
        self._require_expected(path, expect)
        self.tree.put_file(path, data, mode)

    def delete(self, path: str, *, expect: str | None = None) -> None:
        """See `Sandbox.delete`."""
        self._require_alive()
        node = self.tree.locate(path)
        if node is None:
            raise FileRefused(FileFault.MISSING, path)
        if node.kind is EntryKind.DIR:
            raise FileRefused(FileFault.IS_DIRECTORY, path)
        self._require_expected(path, expect)
        self._require_parent_writable(path)
        self.tree.remove(path)

    def scan(self, *, max_entries: int) -> Scan:
        """See `Sandbox.scan`."""
        self._require_alive()
        nodes = list(self.tree.walk())
        seen = {path: str(node.stamp) for path, node in nodes[:max_entries]}
        changed = tuple(
            ScanEntry(path, node.kind, node.size, node.mode, str(node.stamp))
            for path, node in nodes[:max_entries]
            if self._index.get(path) != str(node.stamp)
        )
        if len(nodes) > max_entries:
            self._index = {}
            return Scan(changed, (), truncated=True)
        removed = tuple(path for path in self._index if path not in seen)
        self._index = seen
        return Scan(changed, removed, truncated=False)

    # --- search

    def search(self, request: SearchRequest) -> SearchResult:
        """See `Sandbox.search`. Not linear in time for every pattern, unlike a real one."""
        self._require_alive()
        try:
            text = translate_ere(request.pattern) if request.regex else re.escape(request.pattern)
            if "\n" in request.pattern or "\0" in request.pattern:
                raise BadPattern("a line holds neither a line end nor NUL")
            pattern = re.compile(text, re.IGNORECASE if request.ignore_case else 0)
            globs = _Globs(request.globs)
        except (ValueError, re.error) as error:
            raise FileRefused(FileFault.BAD_PATTERN, ".", str(error)) from None
        matches: list[SearchMatch] = []
        for path, node in self.tree.walk():
            if node.kind is not EntryKind.FILE or b"\0" in node.data:
                continue
            if globs.include(path):
                matches += _matching_lines(path, node.data, pattern, request)
        return SearchResult(tuple(matches[: request.max_results]), len(matches) > request.max_results, timed_out=False)

    # --- programs

    def spawn(self, request: SpawnRequest) -> SpawnResult:
        """See `Sandbox.spawn`. The program is looked up by the last part of `argv[0]`."""
        result = self._spawn(request)
        if request.scan_entries is None:
            return result
        return replace(result, scan=self.scan(max_entries=request.scan_entries))

    def _spawn(self, request: SpawnRequest) -> SpawnResult:
        self._require_alive()
        try:
            self._require_folder(request.cwd)
        except FileRefused as refused:
            return not_started(request, 126, f"its folder cannot be entered ({refused.fault})", 0.0)
        stdin = b"".join(request.stdin or ())
        name = request.argv[0].rpartition("/")[2] if request.argv else ""
        program = self.programs.get(name)
        if program is None or (request.argv[0] != name and not request.argv[0].startswith("/")):
            text = f"{name}: No such file or directory\n".encode("utf-8", "replace")
            return SpawnResult(127, b"", text, 0, len(text), False, False, 0.0, started=False)
        self.spawned.append(request.argv)
        self._cancelled.clear()
        self._running = True
        try:
            outcome = program(FakeCall(request.argv, request.env, request.cwd, stdin, self.tree))
            cancelled = outcome.until_cancelled and self._cancelled.wait(request.deadline_seconds)
        finally:
            self._running = False
        return _ended(request, outcome, cancelled=cancelled)

    def cancel(self) -> None:
        """See `Sandbox.cancel`."""
        if self._running:
            self._cancelled.set()

    # --- the rest

    def guest_posture(self, meanwhile: Callable[[], None] = lambda: None) -> GuestPosture:
        """The posture that it was given."""
        self._require_alive()
        meanwhile()
        return self._guest

    def host_posture(self) -> HostPosture:
        """The posture that it was given."""
        self._require_alive()
        return self._host

    def change(self, *, guest: GuestPosture | None = None, host: HostPosture | None = None) -> None:
        """From now on its posture is this one, as if somebody had changed the cage under way."""
        self._guest, self._host = guest or self._guest, host or self._host

    def begin_run(self) -> None:
        """Counted in `begun`."""
        self._require_alive()
        self.begun += 1

    def open_stream(self, argv: Sequence[str], *, user: str) -> ByteStream:
        """What `streams` gives; without it SandboxLost, because a fake has no processes."""
        self._require_alive()
        if self._streams is None:
            raise SandboxLost("the fake was given no streams", hint="Pass `streams` to FakeSandbox.")
        return self._streams(argv, user)

    def reconnect(self) -> None:
        """See `Sandbox.reconnect`: there is nothing to break off here."""
        self._require_alive()

    def remove(self) -> None:
        """Every later call raises SandboxLost. Idempotent. With `refuse_removal`, EngineUnavailable instead."""
        if self.refuse_removal:
            raise EngineUnavailable("the fake engine does not remove this one")
        self.removed = True
        self._lost = self._lost or "the workspace is removed"

    def _require_alive(self) -> None:
        if self._lost:
            raise SandboxLost(self._lost)

    def _require_folder(self, path: str) -> None:
        node = self.tree.locate(path, absent_parent_is=FileFault.NOT_A_DIRECTORY)
        if node is None:
            raise FileRefused(FileFault.MISSING, path)
        if node.kind is EntryKind.SYMLINK:
            raise FileRefused(FileFault.LINK, path)
        if node.kind is not EntryKind.DIR:
            raise FileRefused(FileFault.NOT_A_DIRECTORY, path)

    def _require_parent_writable(self, path: str) -> None:
        """The nearest folder that exists may be changed."""
        parent = path.rpartition("/")[0]
        while parent and self.tree.node(parent) is None:
            parent = parent.rpartition("/")[0]
        node = self.tree.node(parent)
        if node is not None and not node.mode & 0o222:
            raise FileRefused(FileFault.DENIED, path)

    def _require_room(self, path: str, data: bytes) -> None:
        if len(data) > self._file_max_bytes:
            raise FileRefused(FileFault.TOO_LARGE, path)
        used = sum(len(node.data) for name, node in self.tree.nodes.items() if name != path)
        if used + len(data) > self._workspace_max_bytes:
            raise FileRefused(FileFault.NO_SPACE, path)

    def _require_expected(self, path: str, expect: str | None) -> None:
        if expect is None:
            return
        node = self.tree.node(path)
        present = ABSENT if node is None else "no file"
        if node is not None and node.kind is EntryKind.FILE:
            present = _sha256(node.data)
        if present != expect:
            raise FileRefused(FileFault.CHANGED, path)


@dataclass
class FakeEngine:
    """`Engine` in memory. Each started sandbox is kept in `sandboxes`; `prepare` is called with it before it is given.

    `down` makes every method raise EngineUnavailable, as an engine that does not answer.
    """

    programs: Mapping[str, FakeProgram] = field(default_factory=dict)
    images: Mapping[str, ImageInfo] = field(
        default_factory=lambda: {"fake:latest": ImageInfo("fake:latest", "sha256:fake", {}, 0)}
    )
    prepare: Callable[[FakeSandbox], None] = lambda sandbox: None
    guest: GuestPosture = GOOD_GUEST
    host: HostPosture = GOOD_HOST
    down: bool = False
    runtimes: tuple[str, ...] = ("runc",)
    security: tuple[str, ...] = ("seccomp",)
    doubted: tuple[str, ...] = ()
    sandboxes: dict[str, FakeSandbox] = field(default_factory=dict)
    _infos: dict[str, SandboxInfo] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def info(self) -> EngineInfo:
        """What answers."""
        self._require_up()
        return EngineInfo("fake", "1", "1", self.runtimes, self.security, cgroup_version="2", storage="memory")

    def image(self, reference: str) -> ImageInfo:
        """See `Engine.image`."""
        self._require_up()
        for name, image in self.images.items():
            if reference in (name, image.id):
                return image
        raise EngineUnavailable(f"there is no image {reference}", hint="Build it.", code="image_missing")

    def start(self, spec: SandboxSpec) -> FakeSandbox:
        """See `Engine.start`. The posture's numbers, user and mounts are those of the spec."""
        self.image(spec.image)
        limits = spec.limits
        # The workspace is charged to the same bound as the programs, as it is where it lives in memory.
        memory, name = (limits.memory_mib + limits.workspace_mib) << 20, f"fake-{next(self._numbers)}"
        uid, _, gid = spec.user.partition(":")
        guest = replace(
            self.guest,
            uid=int(uid),
            gid=int(gid),
            pids_max=limits.pids,
            memory_max_bytes=memory,
            open_files_max=limits.open_files,
            file_max_bytes=limits.file_mib << 20,
            workspace_bytes=limits.workspace_mib << 20,
            workspace_inodes=limits.workspace_inodes,
            cpu_quota=int(limits.cpus * 100_000),
        )
        if spec.role != "workspace":  # all that a room has of its own
            guest = replace(guest, tmp_bytes=guest.workspace_bytes, tmp_inodes=guest.workspace_inodes)
        host = replace(
            self.host,
            binds=(*self.host.binds, *(mount.said for mount in spec.mounts)),
            memory_bytes=memory,
            memory_swap_bytes=memory,
            pids_limit=limits.pids,
            nano_cpus=int(limits.cpus * 1e9),
            runtime=spec.runtime,
        )
        sandbox = FakeSandbox(
            self.programs,
            sandbox_id=name,
            guest=guest,
            host=host,
            file_max_bytes=limits.file_mib << 20,
            workspace_max_bytes=limits.workspace_mib << 20,
        )
        self.prepare(sandbox)
        self.sandboxes[name] = sandbox
        self._infos[name] = SandboxInfo(
            name, "container", spec.run_id, spec.controller_id, spec.deadline_unix, "running", name
        )
        return sandbox

    def doubts(self) -> tuple[str, ...]:
        """Those that it was given."""
        return self.doubted

    def objects(self) -> list[SandboxInfo]:
        """Every sandbox that was not removed."""
        self._require_up()
        return [info for name, info in self._infos.items() if not self.sandboxes[name].removed]

    def remove(self, info: SandboxInfo) -> None:
        """See `Engine.remove`."""
        self._require_up()
        if info.id in self.sandboxes:
            self.sandboxes[info.id].remove()

    def close(self) -> None:
        """Nothing is held."""

    def _require_up(self) -> None:
        if self.down:
            raise EngineUnavailable("the fake engine is down")


class _Globs:
    """Which files a search looks at: the last glob that matches decides, and a folder left out stays out."""

    def __init__(self, globs: Sequence[str]) -> None:
        self._rules = [
            (not glob.startswith("!"), GitIgnoreSpec.from_lines([glob.removeprefix("!")])) for glob in globs if glob
        ]
        self._unmatched = not any(wanted for wanted, _ in self._rules)

    def include(self, path: str) -> bool:
        """Whether the file is searched."""
        parts = path.split("/")
        for depth in range(1, len(parts)):
            if self._last("/".join(parts[:depth]) + "/") is False:
                return False
        last = self._last(path)
        return self._unmatched if last is None else last

    def _last(self, path: str) -> bool | None:
        verdicts = [wanted for wanted, spec in self._rules if spec.match_file(path)]
        return verdicts[-1] if verdicts else None


def _ended(request: SpawnRequest, outcome: FakeOutcome, *, cancelled: bool) -> SpawnResult:
    """The result of a program under the request's bounds."""
    cap = request.output_cap_bytes
    out, err = outcome.stdout[:cap], outcome.stderr[:cap]
    longest = max(len(outcome.stdout), len(outcome.stderr))
    over = longest > cap
    killed: KilledBy | None = None
    if cancelled:
        killed = KilledBy.CALLER
    elif outcome.until_cancelled or outcome.seconds > request.deadline_seconds:
        killed = KilledBy.DEADLINE
    elif request.kill_at_bytes is not None and longest > request.kill_at_bytes:
        killed = KilledBy.OUTPUT
    elif outcome.out_of_memory:
        killed = KilledBy.MEMORY
    code: int | None = outcome.exit if killed is None else 137
    if killed in (KilledBy.CALLER, KilledBy.DEADLINE):
        code = None
    for told in filter(None, (request.watch, request.sink)):
        for name, data in (("stdout", out), ("stderr", err)):
            if data:
                told(name, data)
    if request.sink is not None:
        out = err = b""
    return SpawnResult(
        exit=code,
        stdout=out,
        stderr=err,
        stdout_bytes=len(outcome.stdout),
        stderr_bytes=len(outcome.stderr),
        truncated=over,
        timed_out=killed is KilledBy.DEADLINE,
        duration_ms=min(outcome.seconds, request.deadline_seconds) * 1000,
        killed_by=killed,
        survivors_killed=outcome.survivors,
    )


def _matching_lines(path: str, data: bytes, pattern: re.Pattern[str], request: SearchRequest) -> list[SearchMatch]:
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    found = []
    for number, raw in enumerate(lines, 1):
        line = raw.removesuffix(b"\r")
        if pattern.search(line.decode("utf-8", "replace")):
            cut = line[: request.max_line_bytes]
            if len(line) > len(cut):
                # Whole characters only.
                cut = cut.decode("utf-8", "ignore").encode()
            found.append(SearchMatch(path, number, cut.decode("utf-8", "replace")))
    return found


def _require_regular(kind: EntryKind, path: str) -> None:
    faults = {
        EntryKind.DIR: FileFault.IS_DIRECTORY,
        EntryKind.SYMLINK: FileFault.LINK,
        EntryKind.OTHER: FileFault.NOT_REGULAR,
    }
    if kind in faults:
        raise FileRefused(faults[kind], path)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
