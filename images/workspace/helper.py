"""The helper inside a workspace: one process that serves file operations and programs over frames.

Started as `/usr/bin/python3 -I -S helper.py [--contained] [ROOT]` (ROOT is /workspace when left out). Standard library
only, one process, no threads, and few imports, because a cold workspace waits for it.

Frames, both ways, on the stdin and stdout that it was started with:

    u32 big-endian   length of the head, at most 64 KiB
    u32 big-endian   length of the body, at most 1 MiB
    head             one JSON object in ASCII
    body             bytes

A request's head holds `id` (a rising integer), `op` and the op's fields; every answer echoes the id and holds `kind`:
`data`, `out` and `want` are parts, `ok`, `fault` and `failed` end the answer.

    op       request fields; body                             parts, then the fields of `ok`; its body
    ping     -                                                protocol
    resolve  path                                             path exists type size mode links via_link
    read     path max                                         data*; size mode; last piece of the content
    list     path max                                         data* (records); truncated; records
    write    path expect size; first piece                    -           (more pieces follow as `chunk` requests)
    delete   path expect                                      -
    search   literal ignore_case max line_max deadline_us;    data* (records); truncated timed_out; records
             pattern and globs, NUL between
    spawn    argc cwd deadline_us cap kill_at stdin scan;    out* (stream), want*; exit stdout_bytes stderr_bytes
             argv then env, NUL after each                    killed_by survivors started detail limits; want has pieces
    scan     max                                              data* (records); truncated; records
    posture  -                                                -; one JSON object
    stdin    eof; bytes                                       (to a spawn with the same id, as many as `want` allows)
    cancel   -                                                (to a spawn with the same id)

Records: list `kind size name NUL`, scan `kind size mode stamp path NUL` or `x path NUL` for what is gone (size in hex,
mode in octal), search `u32 line, u16 path length, u32 text length, path, text`. Names that are not UTF-8 travel as
surrogate escapes in JSON and as they are in bodies.

With a `scan` that is not null, the end of a `spawn` is followed by the answer of a scan of so many entries at most,
under the same id. What follows at once leaves together: each write wakes five processes on the way to the host.

`want` allows the host so many more `stdin` frames; the first one allows STDIN_AHEAD, so that the next pieces are on
their way while one is fed. Whatever the host may send, it never waits for this side to be done sending: as long as an
answer does not fit into its pipe, what comes in is taken in.

What the file upholds:

- Only `resolve` follows links, and expands them itself; no operation leaves the root's own folder handle.
- A refused operation leaves the tree as it was.
- When `spawn` has answered, none of the program's processes lives, nor anything it left behind.
- With `--contained` it owns its user id: it kills every process that it may signal. It refuses that switch as root and
  without no-new-privileges, so that it cannot be turned on by accident on somebody's machine. Without the switch it
  only ever signals its own children.
"""

import _posixsubprocess
import _signal  # type: ignore[import-not-found]  # `signal` itself costs 4 ms of enum; typeshed does not know this one
import errno
import fcntl
import gc
import os
import resource
import select
import stat
import sys
import time
from _ctypes import Array, CFuncPtr, _SimpleCData, addressof, call_function, dlopen, dlsym, get_errno, set_errno
from _json import encode_basestring_ascii, make_encoder, make_scanner  # `json` costs 8 ms of regular expressions
from _struct import pack, unpack_from

TYPE_CHECKING = False  # `typing` itself would cost 5 ms
if TYPE_CHECKING:
    import _socket
    from collections.abc import Iterator

PROTOCOL = 3
HEAD_MAX_BYTES = 64 * 1024
BODY_MAX_BYTES = 1024 * 1024
AHEAD_MAX_BYTES = 2 * 1024 * 1024  # taken in while an answer is stuck; more than the host may send without an answer
OUTPUT_HELD_MS = 2  # a program's output waits so long for more of it, or for the program's end
STDIN_AHEAD = 4  # pieces of a program's input on their way at once; the host's are 256 KiB
OUTPUT_PIECE_BYTES = 64 * 1024  # one pipe buffer
PIPE_BYTES = 1024 * 1024  # the most that a user may ask for by default (/proc/sys/fs/pipe-max-size)
BATCH_BYTES = 256 * 1024  # records are gathered up to this and sent; a single record is below 64 KiB
SCAN_MAX_BYTES = 192 * 1024 * 1024  # all records of one scan: 500,000 paths of 300 bytes, which fills a workspace
RACY_NS = 50_000_000  # a file changed this shortly before a scan may change again without a new ctime
RACY_HASH_MAX_BYTES = 16 * 1024 * 1024  # content read again per scan for that reason
CLOCK_STEP_NS = 10_000_000  # the wall clock was set; less than RACY_NS, and more than two readings are apart
FIND_PROGRAM = b"/usr/bin/find"
FIND_SECONDS = 8.0  # leaves the host's 30 s room for a full walk
FINDS_MAX = 4  # at once; one spends 1.8 us per entry, most of it in the kernel
FIND_MIN_ENTRIES = 1000  # in a smaller tree, listing every folder (3.5 us per entry) is over before a program runs
DIVIDE_MIN_ENTRIES = 10_000  # in a smaller tree, a second program takes longer to start than it saves
PATH_MAX_BYTES = 4096  # the kernel's own
NAME_MAX_BYTES = 255
DEPTH_MAX = 256  # folders deep; one handle each while a path is resolved
LINKS_MAX = 40  # the kernel's own
SWEEP_TRIES = 400
HELD_BACK_SECONDS = 0.5  # of processor time that a program was kept waiting for; a burst at its start is less
HELD_BACK_SHARE = 0.1  # and of the time that it took; less does not explain why it was slow
SEARCH_PROGRAM = b"/usr/bin/rg"
SEARCH_GATHER_MIN = 1000  # matches gathered unsorted before the search is repeated in order
SEARCH_GATHER_MAX_BYTES = 4 * 1024 * 1024
ENGINE_SOCKETS = (
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/var/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/crio/crio.sock",
)

PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PR_GET_NO_NEW_PRIVS = 39
SYSLOG_READ_ALL = 3
CGROUPS = "/sys/fs/cgroup"

MACHINES = ("x86_64", "aarch64")
MARK_CALLS = {"x86_64": 180, "aarch64": 42}  # nfsservctl: see runner/engine/seccomp.py
# System calls that programs here have no use for, by the machines above, each with arguments that the kernel refuses in
# another way than a filter does: a wrong command, no such process, flags that contradict each other.
PROBES = (
    ("ptrace", (101, 117), (-1, 0, 0, 0)),
    ("process_vm_readv", (310, 270), (0, 0, 0, 0, 0, 1)),
    ("unshare", (272, 97), (1 << 40,)),
    ("setns", (308, 268), (-1, 0)),
    ("clone of a user namespace", (56, 220), (0x10000000 | 0x200, 0, 0, 0, 0)),
    ("keyctl", (250, 219), (0xFFFF, 0, 0, 0, 0)),
    ("bpf", (321, 280), (-1, 0, 0)),
    ("userfaultfd", (323, 282), (-1,)),
    ("perf_event_open", (298, 241), (0, 0, 0, 0, 0)),
    ("io_uring_setup", (425, 425), (0, 0)),
    ("open_by_handle_at", (304, 265), (-1, 0, 0)),
    ("socket of the kernel's crypto", (41, 198), (38, 5, 0)),
    ("socket of the hypervisor", (41, 198), (40, 1, 0)),
    ("socket of packets", (41, 198), (17, 3, 0)),
    ("socket of netfilter", (41, 198), (16, 3, 12)),
)

SET_CLOCK_CALLS = {"x86_64": 164, "aarch64": 170}  # settimeofday: given nothing to set, it only says who may
DEVICES = "/dev"
TERMINALS = (136, 143)  # the major numbers of pseudo-terminals, which come and go
# What the first namespaces of a machine are called, which only its own processes are in: see include/linux/proc_ns.h.
FIRST_NAMESPACES = {"cgroup": 0xEFFFFFFB, "ipc": 0xEFFFFFFF, "pid": 0xEFFFFFFC, "uts": 0xEFFFFFFE}
# As runner/engine/docker_spec.py has them; what of these a kernel lacks is passed over.
MASKED = (
    *("/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats"),
    *("/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats"),
    *("/sys/devices/virtual/powercap", "/sys/firmware"),
)
KERNEL_SETTINGS = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
# Where engines usually have their bridge's gateway, and clouds what they tell their machines: credentials among it.
GATEWAYS = ("172.17.0.1", "10.0.2.2", "192.168.65.1")
METADATA = ("169.254.169.254", "169.254.170.2", "fd00:ec2::254")
RESOLVERS = ("127.0.0.1", "127.0.0.11")  # where one is looked for when none is named, and the engine's own
QUESTION = pack("!6H", 1, 256, 1, 0, 0, 0) + b"\0" + pack("!2H", 2, 1)  # for the root's name servers
ANSWER_MS = 20  # a port of this machine that nobody has refuses at once
NO_WAY = (
    *(errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT),
    *(errno.EACCES, errno.EPERM),
)

HANDLE = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

FAULTS = {
    errno.ENOENT: "missing",
    errno.ENOTDIR: "not_a_directory",
    errno.ELOOP: "link",
    errno.EISDIR: "is_directory",
    errno.ENXIO: "not_regular",
    errno.ENODEV: "not_regular",
    errno.ENOSPC: "no_space",
    errno.EDQUOT: "no_space",
    errno.EFBIG: "too_large",
    errno.ENAMETOOLONG: "name_too_long",
    errno.ENOTEMPTY: "not_empty",
}

Head = dict[str, object]
Index = dict[str, dict[str, bytes]]  # see Scanner


class Fault(Exception):
    """An answer about the tree: `word` is one of the host's FileFault values."""

    def __init__(self, word: str, detail: str = "", size: int | None = None) -> None:
        self.word = word
        self.detail = detail
        self.size = size


class Gone(Exception):
    """The host is gone, or no longer speaks the protocol."""


# --- frames ----------------------------------------------------------------------------------------------------------


class _ScannerSettings:
    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = None
    memo: dict[str, str] = {}  # noqa: RUF012  # what the C scanner expects of its settings


def _refuse_default(value: object) -> object:
    raise TypeError(type(value).__name__)


_scan_json = make_scanner(_ScannerSettings)  # type: ignore[arg-type]  # the stub names the result as its own setting
_dump_json = make_encoder(None, _refuse_default, encode_basestring_ascii, None, ":", ",", False, False, False)


def dump_json(value: object) -> bytes:
    """The JSON text of a value, in ASCII."""
    return "".join(_dump_json(value, 0)).encode("ascii")


class Wire:
    """The frames' two file descriptors."""

    def __init__(self, source: int, sink: int) -> None:
        self.source = source
        self.sink = sink
        self.buffer = bytearray()
        self.held = b""  # frames that go out with the next one, and before anything is waited for
        os.set_blocking(sink, False)

    def fill(self) -> None:
        """More bytes are in the buffer. Raises Gone at the end of input."""
        data = os.read(self.source, BODY_MAX_BYTES)
        if not data:
            raise Gone
        self.buffer += data

    def next(self) -> tuple[Head, bytes] | None:
        """The next whole frame, if the buffer holds one."""
        buffer = self.buffer
        if len(buffer) < 8:
            return None
        head_size, body_size = unpack_from("!II", buffer)
        if head_size > HEAD_MAX_BYTES or body_size > BODY_MAX_BYTES:
            raise Gone
        end = 8 + head_size + body_size
        if len(buffer) < end:
            return None
        head, _ = _scan_json(buffer[8 : 8 + head_size].decode("ascii"), 0)
        with memoryview(buffer) as view:
            body = bytes(view[8 + head_size : end])
        del buffer[:end]
        if not isinstance(head, dict):
            raise Gone
        return head, body

    def receive(self) -> tuple[Head, bytes]:
        """The next frame, waited for."""
        while (frame := self.next()) is None:
            self.flush()
            self.fill()
        return frame

    def hold(self, head: Head, body: bytes = b"") -> None:
        """The frame is written with the next one."""
        text = dump_json(head)
        self.held += pack("!II", len(text), len(body)) + text + body

    def send(self, head: Head, body: bytes = b"") -> None:
        """The frame is written, all of it."""
        self.hold(head, body)
        self.flush()

    def flush(self) -> None:
        """All that was held is written."""
        data, self.held = self.held, b""
        sent = self._write(data) if data else 0
        if sent < len(data):
            self._send_rest(memoryview(data)[sent:])

    def _send_rest(self, view: memoryview) -> None:
        """The same. The host may be stuck sending until it is read from, and only then read what is sent here."""
        poller = select.poll()
        poller.register(self.sink, select.POLLOUT)
        poller.register(self.source, select.POLLIN)
        while view:
            for descriptor, _ in poller.poll():
                if descriptor == self.sink:
                    view = view[self._write(view) :]
                elif len(self.buffer) < AHEAD_MAX_BYTES:
                    self.fill()
                else:
                    poller.unregister(self.source)

    def _write(self, data: bytes | memoryview) -> int:
        """How many bytes the pipe took."""
        try:
            return os.write(self.sink, data)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise Gone from error


class Batch:
    """Records on their way out, sent as `data` frames whenever enough are there."""

    def __init__(self, wire: Wire, request: object) -> None:
        self.wire = wire
        self.request = request
        self.parts: list[bytes] = []
        self.size = 0
        self.total = 0

    def add(self, record: bytes) -> None:
        """One more record."""
        self.parts.append(record)
        self.size += len(record)
        self.total += len(record)
        if self.size >= BATCH_BYTES:
            self.wire.send({"id": self.request, "kind": "data"}, b"".join(self.parts))
            self.parts.clear()
            self.size = 0

    def finish(self, fields: Head) -> None:
        """The answer is complete: the rest of the records travels with it."""
        self.wire.send({"id": self.request, "kind": "ok", **fields}, b"".join(self.parts))


# --- paths -----------------------------------------------------------------------------------------------------------


def path_parts(path: str) -> list[str]:
    """The names of a canonical path below the root; none for the root itself."""
    raw = os.fsencode(path)
    if len(raw) > PATH_MAX_BYTES:
        raise Fault("name_too_long")
    if b"\0" in raw:
        raise Fault("denied", "a name cannot hold NUL")
    if path == ".":
        return []
    parts = path.split("/")
    if len(parts) > DEPTH_MAX:
        raise Fault("name_too_long", "too many folders")
    for part in parts:
        if part in ("", ".", ".."):
            raise Fault("outside", "not a canonical path")
        if len(os.fsencode(part)) > NAME_MAX_BYTES:
            raise Fault("name_too_long")
    return parts


def real_kind(mode: int) -> str:
    """The word for a file type."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "dir"
    return "symlink" if stat.S_ISLNK(mode) else "other"


class Walk:
    """Folder handles below the root, opened name by name without following a link; closes what it opened."""

    def __init__(self, root: int) -> None:
        self.root = root
        self.here = root
        self.opened: list[int] = []
        self.made: list[tuple[int, str]] = []

    def __enter__(self) -> "Walk":
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self.opened:
            os.close(handle)

    def down(self, name: str) -> None:
        """One folder deeper. Raises OSError as the kernel says it, ENOTDIR for a link too."""
        self.here = os.open(name, HANDLE, dir_fd=self.here)
        self.opened.append(self.here)

    def enter(self, parts: list[str], *, make: bool = False) -> None:
        """All of `parts` deeper; missing folders are made if wanted. Raises Fault."""
        for name in parts:
            try:
                self.down(name)
            except FileNotFoundError:
                if not make:
                    raise
                os.mkdir(name, 0o755, dir_fd=self.here)
                self.made.append((self.here, name))
                self.down(name)
            except NotADirectoryError:
                mode = os.lstat(name, dir_fd=self.here).st_mode
                raise Fault("link" if stat.S_ISLNK(mode) else "not_a_directory") from None

    def undo(self) -> None:
        """The folders made on the way are gone again."""
        for parent, name in reversed(self.made):
            try:
                os.rmdir(name, dir_fd=parent)
            except OSError:
                return


class Resolver:
    """Follows a path as the kernel would, beneath the root, with links expanded here and not by the kernel."""

    def __init__(self, root: int) -> None:
        self.root = root
        self.handles = [root]
        self.names: list[str] = []
        self.absent: list[str] = []
        self.pending: list[str] = []
        self.links = 0
        self.leaf: os.stat_result | None = None  # set while `names` ends in something that is no folder

    def run(self, path: str) -> Head:
        """Where the path leads."""
        try:
            self._push(path)
            while self.pending:
                self._step(self.pending.pop())
            return self._answer()
        finally:
            for handle in self.handles[1:]:
                os.close(handle)

    def _push(self, path: str) -> None:
        raw = os.fsencode(path)
        if b"\0" in raw:
            raise Fault("denied", "a name cannot hold NUL")
        if path.startswith("/"):
            raise Fault("outside", "an absolute path or link")
        if len(raw) > PATH_MAX_BYTES:
            raise Fault("name_too_long")
        self.pending.extend(reversed(path.split("/")))

    def _step(self, name: str) -> None:
        if self.leaf is not None:
            raise Fault("not_a_directory")
        if name in ("", "."):
            return
        if name == "..":
            self._up()
        elif len(os.fsencode(name)) > NAME_MAX_BYTES or len(self.names) + len(self.absent) >= DEPTH_MAX:
            raise Fault("name_too_long")
        elif self.absent:
            self.absent.append(name)
        else:
            self._down(name)

    def _up(self) -> None:
        if self.absent:
            self.absent.pop()
        elif self.names:
            self.names.pop()
            os.close(self.handles.pop())
        else:
            raise Fault("outside", "above the root")

    def _down(self, name: str) -> None:
        here = self.handles[-1]
        try:
            info = os.lstat(name, dir_fd=here)
        except FileNotFoundError:
            self.absent.append(name)
            return
        if stat.S_ISLNK(info.st_mode):
            self.links += 1
            if self.links > LINKS_MAX:
                raise Fault("loop")
            self._push(os.readlink(name, dir_fd=here))
        elif stat.S_ISDIR(info.st_mode):
            self.handles.append(os.open(name, HANDLE, dir_fd=here))
            self.names.append(name)
        else:
            self.names.append(name)
            self.leaf = info

    def _answer(self) -> Head:
        path = "/".join(self.names + self.absent)
        if len(os.fsencode(path)) > PATH_MAX_BYTES:
            raise Fault("name_too_long")
        answer: Head = {"path": path or ".", "exists": not self.absent, "via_link": self.links > 0}
        if self.absent:
            return {**answer, "type": None, "size": 0, "mode": 0, "links": 0}
        info = self.leaf or os.fstat(self.handles[-1])
        kind, mode = real_kind(info.st_mode), info.st_mode & 0o7777
        return {**answer, "type": kind, "size": info.st_size, "mode": mode, "links": info.st_nlink}


# --- programs --------------------------------------------------------------------------------------------------------


def widen(pipe: int) -> None:
    """The pipe holds what a program writes in one go; node queues in its own memory what a full pipe does not take."""
    try:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except OSError:
        pass  # over the user's share of pipe memory: the pipe stays as it was made


class Program:
    """A child in its own session, with its pipes. Descriptors are -1 once closed."""

    def __init__(self, argv: list[bytes], paths: list[bytes], env: list[bytes], cwd: int, *, feed: bool) -> None:
        self.pid = 0
        self.status: int | None = None
        self.error = 0
        self.stdin = self.stdout = self.stderr = -1
        theirs: list[int] = []
        try:
            out_read, out_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            widen(out_write)
            theirs.append(out_write)
            self.stdout = out_read
            err_read, err_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            theirs.append(err_write)
            self.stderr = err_read
            source = STATE.devnull
            if feed:
                source, self.stdin = os.pipe2(os.O_CLOEXEC)
                theirs.append(source)
                os.set_blocking(self.stdin, False)
            # Programs get blocking pipes: many cannot cope with EAGAIN on their output.
            os.set_blocking(out_write, True)
            os.set_blocking(err_write, True)
            self._start(argv, paths, env, cwd, (source, out_write, err_write))
        except OSError as error:
            self.error = error.errno or errno.EIO
        finally:
            for descriptor in theirs:
                os.close(descriptor)

    def _start(self, argv: list[bytes], paths: list[bytes], env: list[bytes], cwd: int, ends: tuple[int, ...]) -> None:
        """The child runs, or `error` says why not.

        The kernel's verdict comes back through a pipe that exec closes, so that nothing that a program prints or
        exits with can pass for a failed start.
        """
        source, out_write, err_write = ends
        verdict_read, verdict_write = os.pipe2(os.O_CLOEXEC)
        try:
            os.fchdir(cwd)
            try:
                self.pid = _posixsubprocess.fork_exec(
                    argv, paths, True, (verdict_write,), None, env,  # type: ignore[arg-type]  # None: stay in cwd
                    source, -1, -1, out_write, -1, err_write, verdict_read, verdict_write,
                    False, True, -1, None, None, None, -1, None, True,  # type: ignore[arg-type]
                )  # fmt: skip
            finally:
                os.chdir("/")
                os.close(verdict_write)
            verdict = b""
            while data := os.read(verdict_read, 4096):
                verdict += data
        finally:
            os.close(verdict_read)
        if verdict:
            os.waitpid(self.pid, 0)
            self.pid = 0
            fields = verdict.split(b":")
            self.error = int(fields[1], 16) if len(fields) == 3 and fields[0] == b"OSError" else errno.EIO
            return
        self._offer_to_oom_killer()

    def _offer_to_oom_killer(self) -> None:
        """Out of memory, the program dies and not the helper; its children inherit this."""
        try:
            score = os.open(f"/proc/{self.pid}/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            return
        try:
            os.write(score, b"1000")
        except OSError:
            pass
        finally:
            os.close(score)

    def has_ended(self) -> bool:
        """Whether the child itself has ended. It stays a zombie, so that its group's id is not given away yet."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def end(self) -> int:
        """Neither the child nor anything that it started lives. Returns how many had left its process group."""
        try:
            os.killpg(self.pid, _signal.SIGKILL)
        except OSError:
            pass
        _, self.status = os.waitpid(self.pid, 0)
        return sweep(self.pid)

    def exit_code(self) -> int:
        """The exit status as shells say it."""
        code = os.waitstatus_to_exitcode(self.status or 0)
        return code if code >= 0 else 128 - code

    def close(self) -> None:
        """All pipes are closed."""
        for name in ("stdin", "stdout", "stderr"):
            self.close_one(name)

    def close_one(self, name: str) -> None:
        """That pipe is closed."""
        descriptor = getattr(self, name)
        if descriptor >= 0:
            os.close(descriptor)
            setattr(self, name, -1)


def sweep(group: int) -> int:
    """No process of the guest lives. Returns how many were found outside `group`. Raises Gone if one will not die."""
    strangers: set[int] = set()
    for attempt in range(SWEEP_TRIES):
        living = living_of_this_user() if STATE.contained else living_children()
        strangers.update(pid for pid in living if group_of(pid) not in (0, group))
        # Contained, the first pass kills unconditionally: something may have forked while the list was made.
        if not living and (attempt or not STATE.contained):
            return len(strangers)
        kill_all(living)
        if attempt:
            time.sleep(0.001 * min(attempt, 20))
    raise Gone


def kill_all(living: list[int]) -> None:
    """SIGKILL is sent: contained, to every process that this user may signal but this one, in one atomic step."""
    if STATE.contained:
        # One pass under the kernel's task lock: a fork bomb cannot outrun it. Spares pid 1 and the caller.
        try:
            os.kill(-1, _signal.SIGKILL)
        except OSError:
            pass
        return
    for pid in living:
        try:
            os.kill(pid, _signal.SIGKILL)
        except OSError:
            pass


def group_of(pid: int) -> int:
    """The process group, 0 when it is gone."""
    try:
        return os.getpgid(pid)
    except OSError:
        return 0


def living_of_this_user() -> list[int]:
    """Processes that may be signalled, but for zombies. By asking the kernel: owners in /proc can be disguised."""
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208  # pathlib costs 10 ms
        if not name.isdigit() or (pid := int(name)) in (1, STATE.pid):
            continue
        try:
            os.kill(pid, 0)
        except OSError:
            continue
        if process_state(pid)[0] not in ("Z", "X", ""):
            found.append(pid)
    return found


def living_children() -> list[int]:
    """Direct children that are not dead, zombies collected first. Orphans below become children (subreaper)."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return []
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208  # pathlib costs 10 ms
        if name.isdigit() and (pid := int(name)) != STATE.pid:
            state, parent = process_state(pid)
            if parent == STATE.pid and state not in ("Z", "X", ""):
                found.append(pid)
    return found


def process_state(pid: int) -> tuple[str, int]:
    """State letter and parent; an empty letter when the process is gone."""
    try:
        data = read_small(f"/proc/{pid}/stat")
    except OSError:
        return "", 0
    fields = data[data.rfind(")") + 2 :].split(" ", 2)
    return (fields[0], int(fields[1])) if len(fields) > 1 else ("", 0)


def read_small(path: str) -> str:
    """The text of a small file of the system, up to 256 KiB."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        pieces: list[bytes] = []
        while len(pieces) < 64 and (data := os.read(descriptor, 4096)):
            pieces.append(data)
        return b"".join(pieces).decode("utf-8", "replace")
    finally:
        os.close(descriptor)


class State:
    """What the process holds for its life."""

    def __init__(self, root: str, *, contained: bool) -> None:
        self.contained = contained
        self.pid = os.getpid()
        self.core_limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
        for descriptor in (0, 1):
            enlarge_pipe(descriptor)
        self.wire = Wire(high_descriptor(0), high_descriptor(1))
        null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.close(null)
        self.devnull = high_descriptor(0)
        self.root_path = os.path.abspath(root)  # noqa: PTH100
        self.root = high_descriptor(os.open(root, FOLDER))
        self.oom = self.forks = self.throttled = -1
        if contained:
            self.oom = open_counter("/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events")
            self.forks = open_counter("/sys/fs/cgroup/pids/pids.events", "/sys/fs/cgroup/pids.events")
            self.throttled = open_counter("/sys/fs/cgroup/cpu/cpu.stat", "/sys/fs/cgroup/cpu.stat")
        read_end, write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self.wake = high_descriptor(read_end)
        _signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        self.scanned: Scanned | None = None
        self.scans = 0
        self.temporary = 0

    def drain_wake(self) -> None:
        """The wake-up pipe is empty."""
        try:
            while os.read(self.wake, 4096):
                pass
        except BlockingIOError:
            pass


STATE: State


def high_descriptor(descriptor: int) -> int:
    """A close-on-exec copy out of the reach of whatever counts on low numbers."""
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 64)


def enlarge_pipe(descriptor: int) -> None:
    """A pipe holds a whole frame, which halves what a megabyte costs; anything else stays as it is."""
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, BODY_MAX_BYTES)
    except OSError:
        pass


def open_counter(*paths: str) -> int:
    """A descriptor of the first of the cgroup's files (version 1, then 2) that is there, -1 when there is none."""
    for path in paths:
        try:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
    return -1


def oom_kills() -> int:
    """How many processes of this cgroup the kernel has killed for memory so far."""
    return counted(STATE.oom, b"oom_kill ")


def refused_forks() -> int:
    """How often the kernel has refused this cgroup a process or thread so far."""
    return counted(STATE.forks, b"max ")


def held_back() -> float:
    """For how many seconds the kernel has kept this cgroup's processes from a processor so far, for its limit."""
    return counted(STATE.throttled, b"throttled_time ") / 1e9 or counted(STATE.throttled, b"throttled_usec ") / 1e6


def counted(descriptor: int, name: bytes) -> int:
    """The number behind the name in a file of the cgroup's events; 0 where there is none."""
    if descriptor < 0:
        return 0
    try:
        for line in os.pread(descriptor, 4096, 0).splitlines():
            if line.startswith(name):
                return int(line[len(name) :])
    except (OSError, ValueError):
        pass
    return 0


# --- file operations -------------------------------------------------------------------------------------------------


def op_ping(head: Head, body: bytes) -> None:
    """Says which protocol is spoken."""
    STATE.wire.send({"id": head["id"], "kind": "ok", "protocol": PROTOCOL})


def op_resolve(head: Head, body: bytes) -> None:
    """Says where a path leads."""
    answer = Resolver(STATE.root).run(text(head, "path"))
    STATE.wire.send({"id": head["id"], "kind": "ok", **answer})


def op_read(head: Head, body: bytes) -> None:
    """Sends a regular file's content. Bounded while it reads too, because a file may grow."""
    limit = number(head, "max")
    parts = path_parts(text(head, "path"))
    if not parts:
        raise Fault("is_directory")
    with Walk(STATE.root) as walk:
        enter_for_reading(walk, parts[:-1])
        descriptor = os.open(parts[-1], READ, dir_fd=walk.here)
    try:
        info = os.fstat(descriptor)
        require_regular(info)
        if info.st_size > limit:
            raise Fault("too_large", size=info.st_size)
        held, total = b"", 0
        while piece := os.read(descriptor, min(BODY_MAX_BYTES, limit + 1 - total)):
            total += len(piece)
            if total > limit:
                raise Fault("too_large", size=max(total, os.fstat(descriptor).st_size))
            if held:
                STATE.wire.send({"id": head["id"], "kind": "data"}, held)
            held = piece
        STATE.wire.send({"id": head["id"], "kind": "ok", "size": total, "mode": info.st_mode & 0o7777}, held)
    finally:
        os.close(descriptor)


def enter_for_reading(walk: Walk, parts: list[str]) -> None:
    """The parent folder is entered; a file in its place means that nothing can be below it."""
    try:
        walk.enter(parts)
    except Fault as fault:
        raise Fault("missing") if fault.word == "not_a_directory" else fault from None


def require_regular(info: os.stat_result) -> None:
    """Nothing happens for a regular file. Raises Fault."""
    if stat.S_ISLNK(info.st_mode):
        raise Fault("link")
    if stat.S_ISDIR(info.st_mode):
        raise Fault("is_directory")
    if not stat.S_ISREG(info.st_mode):
        raise Fault("not_regular")


def op_list(head: Head, body: bytes) -> None:
    """Sends the entries of a folder, sorted by name as bytes."""
    limit = number(head, "max")
    parts = path_parts(text(head, "path"))
    with Walk(STATE.root) as walk:
        walk.enter(parts)
        folder = os.open(".", FOLDER, dir_fd=walk.here)
        try:
            everything = map(os.fsencode, os.listdir(folder))  # noqa: PTH208
            names = sorted(name for name in everything if name.lower() != b".git")
            batch = Batch(STATE.wire, head["id"])
            for name in names[:limit]:
                try:
                    info = os.lstat(name, dir_fd=folder)
                except FileNotFoundError:
                    continue
                batch.add(b"%s %x %s\0" % (real_kind(info.st_mode).encode(), info.st_size, name))
        finally:
            os.close(folder)
    batch.finish({"truncated": len(names) > limit})


class Incoming:
    """The content of a write: the first piece, and those that follow on the wire."""

    def __init__(self, head: Head, first: bytes) -> None:
        self.id = head["id"]
        self.first = first
        self.left = number(head, "size") - len(first)

    def pieces(self) -> "Iterator[bytes]":
        """Every piece, once."""
        yield self.first
        while self.left > 0:
            more, piece = STATE.wire.receive()
            if more.get("id") != self.id or more.get("op") != "chunk":
                raise Gone
            self.left -= len(piece)
            yield piece

    def discard(self) -> None:
        """What is still to come is read and dropped, so that the next request is found."""
        if self.left > 0:
            for _ in self.pieces():
                pass


def op_write(head: Head, body: bytes) -> None:
    """The file has the content that is sent, by atomic replacement, or the tree is as it was."""
    content = Incoming(head, body)
    try:
        parts = path_parts(text(head, "path"))
        if not parts:
            raise Fault("is_directory")
        with Walk(STATE.root) as walk:
            try:
                walk.enter(parts[:-1], make=True)
                replace(walk.here, parts[-1], content, head.get("expect"))
            except BaseException:
                walk.undo()
                raise
    except FileNotFoundError as error:
        raise Fault("changed", "a folder on the way went away") from error
    finally:
        content.discard()
    STATE.wire.send({"id": head["id"], "kind": "ok"})


def replace(folder: int, leaf: str, content: Incoming, expect: object) -> None:
    """The leaf has the content; its permission bits are kept. Raises Fault or OSError, then nothing has changed."""
    present = lstat_or_none(leaf, folder)
    mode = 0o644
    if present is not None:
        require_regular(present)
        if not present.st_mode & 0o222:
            raise Fault("denied", "the file is read-only")
        mode = present.st_mode & 0o777
    STATE.temporary += 1
    name = f".runner-{STATE.pid}-{STATE.temporary}.tmp"
    descriptor = os.open(name, CREATE, 0o600, dir_fd=folder)
    try:
        try:
            for piece in content.pieces():
                write_all(descriptor, piece)
            os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)
        require_expected(folder, leaf, expect)
        os.rename(name, leaf, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise


def write_all(descriptor: int, data: bytes) -> None:
    """All of `data` is written."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def lstat_or_none(leaf: str, folder: int) -> os.stat_result | None:
    """What is at the name, None for nothing."""
    try:
        return os.lstat(leaf, dir_fd=folder)
    except FileNotFoundError:
        return None


def require_expected(folder: int, leaf: str, expect: object) -> None:
    """Nothing happens while the precondition holds. Raises Fault."""
    if expect is None:
        return
    try:
        present = None if lstat_or_none(leaf, folder) is None else digest(folder, leaf)
    except OSError as error:
        raise Fault("changed") from error
    if present != (None if expect == "absent" else expect):
        raise Fault("changed")


def digest(folder: int, leaf: str) -> str:
    """The sha256 of a regular file; of anything else a word that is no digest."""
    from _hashlib import openssl_sha256  # costs 3 ms and a megabyte; many runs never need it

    descriptor = os.open(leaf, READ, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return "not a file"
        state = openssl_sha256()
        while piece := os.read(descriptor, BODY_MAX_BYTES):
            state.update(piece)
        return state.hexdigest()
    finally:
        os.close(descriptor)


def op_delete(head: Head, body: bytes) -> None:
    """The file or link is gone."""
    parts = path_parts(text(head, "path"))
    if not parts:
        raise Fault("is_directory")
    with Walk(STATE.root) as walk:
        enter_for_reading(walk, parts[:-1])
        if stat.S_ISDIR(os.lstat(parts[-1], dir_fd=walk.here).st_mode):
            raise Fault("is_directory")
        require_expected(walk.here, parts[-1], head.get("expect"))
        os.unlink(parts[-1], dir_fd=walk.here)
    STATE.wire.send({"id": head["id"], "kind": "ok"})


# --- search ----------------------------------------------------------------------------------------------------------


class Match:
    """A matching line, cut to the wanted length."""

    __slots__ = ("line", "path", "text")

    def __init__(self, path: bytes, line: int, text: bytes) -> None:
        self.path = path
        self.line = line
        self.text = text

    def key(self) -> tuple[list[bytes], int]:
        """Order of path, folder by folder as the search program sorts, then of line."""
        return self.path.split(b"/"), self.line


class MatchReader:
    """Reads the search program's output: `./path NUL line : text LF`. Bounded, whatever the lines' length."""

    def __init__(self, line_max: int) -> None:
        self.line_max = line_max
        self.matches: list[Match] = []
        self.size = 0
        self.buffer = bytearray()
        self.skipping = False

    def feed(self, data: bytes) -> None:
        """Takes in more output."""
        self.buffer += data
        while self._take():
            pass

    def _take(self) -> bool:
        buffer = self.buffer
        if self.skipping or self._is_binary_notice():
            end = buffer.find(b"\n")
            self.skipping = end < 0
            del buffer[: end + 1 if end >= 0 else len(buffer)]
            return end >= 0
        nul = buffer.find(b"\0")
        if nul < 0:
            return False
        end = buffer.find(b"\n", nul)
        if end < 0 and len(buffer) - nul < self.line_max + 32:
            return False
        self._add(bytes(buffer[:nul]), bytes(buffer[nul + 1 : end if end >= 0 else nul + 1 + self.line_max + 32]))
        self.skipping = end < 0
        del buffer[: end + 1 if end >= 0 else len(buffer)]
        return True

    def _is_binary_notice(self) -> bool:
        """A NUL was found after a match: the file is binary, so its matches do not count. Forgets them."""
        if not self.matches:
            return False
        path = self.matches[-1].path
        if not self.buffer.startswith(b"./" + path + b": WARNING: stopped searching binary file after match (found "):
            return False
        while self.matches and self.matches[-1].path == path:
            self.matches.pop()
        return True

    def _add(self, path: bytes, rest: bytes) -> None:
        line, colon, content = rest.partition(b":")
        if not colon or not line.isdigit():
            return
        content = content.removesuffix(b"\r")
        if len(content) > self.line_max:
            # Cut between characters: drop the bytes of a character that would be halved.
            end = self.line_max
            while end > self.line_max - 4 and end > 0 and content[end] & 0xC0 == 0x80:
                end -= 1
            content = content[:end]
        self.matches.append(Match(path.removeprefix(b"./"), int(line), content))
        self.size += len(path) + len(content)


def op_search(head: Head, body: bytes) -> None:
    """Sends matching lines in order.

    First without an order, with all threads; if that finds more than is sensible to gather, once more in order and
    only as far as wanted.
    """
    limit, line_max = number(head, "max"), number(head, "line_max")
    deadline = time.monotonic() + number(head, "deadline_us") / 1e6
    pattern, *globs = body.split(b"\0")
    argv = search_argv(pattern, globs, literal=bool(head["literal"]), ignore_case=bool(head["ignore_case"]))
    reader = MatchReader(line_max)
    complete, late = run_search(argv, reader, max(SEARCH_GATHER_MIN, 2 * limit), deadline)
    if not complete and not late:
        reader = MatchReader(line_max)
        argv[1:1] = [b"--sort=path"]
        complete, late = run_search(argv, reader, limit, deadline)
    reader.matches.sort(key=Match.key)
    batch = Batch(STATE.wire, head["id"])
    for match in reader.matches[:limit]:
        batch.add(pack("!IHI", min(match.line, 0xFFFFFFFF), len(match.path), len(match.text)) + match.path + match.text)
    batch.finish({"truncated": len(reader.matches) > limit, "timed_out": late})


def search_argv(pattern: bytes, globs: list[bytes], *, literal: bool, ignore_case: bool) -> list[bytes]:
    """The search program's arguments. What comes from outside is always behind `=`, so it can never be an option."""
    argv = [
        SEARCH_PROGRAM, b"--no-config", b"--no-ignore", b"--hidden", b"--no-follow", b"--no-messages",
        b"--color=never", b"--no-heading", b"--with-filename", b"--line-number", b"--null", b"--encoding=none",
        b"--crlf", b"--ignore-case" if ignore_case else b"--case-sensitive",
    ]  # fmt: skip
    if literal:
        argv.append(b"--fixed-strings")
    for glob in filter(None, globs):
        argv.append(b"--glob=" + glob)
        if not glob.startswith(b"!"):
            # As in ignore files, a pattern that names a folder means what is below it.
            base = glob.rstrip(b"/")
            anchor = b"" if b"/" in base else b"**/"
            argv.append(b"--glob=" + anchor + base + b"/**")
    return [*argv, b"--iglob=!.git", b"--regexp=" + pattern, b"--", b"./"]


def run_search(argv: list[bytes], reader: MatchReader, enough: int, deadline: float) -> tuple[bool, bool]:
    """Whether the search came to its end, and whether it ran out of time. Raises Fault for a bad pattern."""
    program = Program(argv, [argv[0]], [b"PATH=/usr/bin:/bin"], STATE.root, feed=False)
    errors = bytearray()
    if not program.pid:
        program.close()
        if program.error == errno.EACCES:  # the run closed its root: nothing can be started there, by anybody
            raise Fault("denied", "the root cannot be entered")
        raise RuntimeError(f"the search program could not be started: {os.strerror(program.error)}")
    poller = select.poll()
    poller.register(program.stdout, select.POLLIN)
    poller.register(program.stderr, select.POLLIN)
    complete = late = False
    try:
        while program.stdout >= 0 or program.stderr >= 0:
            left = deadline - time.monotonic()
            if left <= 0:
                late = True
                break
            for descriptor, _ in poller.poll(left * 1000 + 1):
                data = os.read(descriptor, OUTPUT_PIECE_BYTES)
                if not data:
                    poller.unregister(descriptor)
                    program.close_one("stdout" if descriptor == program.stdout else "stderr")
                elif descriptor == program.stdout:
                    reader.feed(data)
                else:
                    errors += data[: 4096 - len(errors)]
            if len(reader.matches) > enough or reader.size > SEARCH_GATHER_MAX_BYTES:
                break
        else:
            complete = True
    finally:
        if complete:
            os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)
        program.end()
        program.close()
    if complete and program.exit_code() == 2 and errors and not reader.matches:
        words = errors.decode("utf-8", "replace").strip().splitlines()
        raise Fault("bad_pattern", words[-1][:300] if words else "")
    return complete, late


# --- spawn -----------------------------------------------------------------------------------------------------------


def op_spawn(head: Head, body: bytes) -> None:
    """Runs a program to its end or its bounds, output sent on the way."""
    count = number(head, "argc")
    words = body.split(b"\0")[:-1]
    argv, env = words[:count], words[count:]
    try:
        with Walk(STATE.root) as walk:
            walk.enter(path_parts(text(head, "cwd")))
            folder = os.open(".", FOLDER, dir_fd=walk.here)
    except (Fault, OSError) as error:
        # Whoever runs programs does not reckon with a refusal: the run may have closed or removed the folder itself.
        why = os.strerror(error.errno or 0) if isinstance(error, OSError) else error.word
        answer_not_started(head["id"], 126, f"its folder cannot be entered ({why})")
    else:
        run_in(folder, head, argv, env)
    if head["scan"] is not None:
        scan(head["id"], number(head, "scan"))


def run_in(folder: int, head: Head, argv: list[bytes], env: list[bytes]) -> None:
    """The same with this folder, which is closed."""
    try:
        paths = candidates(argv[0], env)
        program = Program(argv, paths, env, folder, feed=bool(head["stdin"])) if paths else None
    finally:
        os.close(folder)
    if program is not None and program.pid:
        return Running(program, head).run()
    error = errno.ENOENT if program is None else program.error
    if program is not None:
        program.close()
    answer_not_started(head["id"], 127 if error in (errno.ENOENT, errno.ENOTDIR) else 126, os.strerror(error))


def candidates(name: bytes, env: list[bytes]) -> list[bytes]:
    """Where the program may be: the absolute path itself, or below each absolute PATH entry outside the workspace."""
    if name.startswith(b"/"):
        return [name]
    if not name or b"/" in name:
        return []
    path = next((entry[5:] for entry in env if entry.startswith(b"PATH=")), b"")
    root = os.fsencode(STATE.root_path)
    return [
        folder + b"/" + name
        for folder in path.split(b":")
        if folder.startswith(b"/") and not (os.path.normpath(folder) + b"/").startswith(root + b"/")
    ]


def answer_not_started(request: object, code: int, detail: str) -> None:
    """Says that nothing ran, with the exit code that shells use."""
    STATE.wire.hold(
        {
            "id": request, "kind": "ok", "started": False, "detail": detail, "exit": code,
            "stdout_bytes": 0, "stderr_bytes": 0, "killed_by": None, "survivors": 0, "limits": [],
        }
    )  # fmt: skip


class Running:
    """A program that runs: its output, its input, its bounds."""

    def __init__(self, program: Program, head: Head) -> None:
        self.program = program
        self.id = head["id"]
        self.started = time.monotonic()
        self.deadline = self.started + number(head, "deadline_us") / 1e6
        self.cap = number(head, "cap")
        self.kill_at = number(head, "kill_at")  # bytes on one stream; 0 is never
        self.counts = [0, 0]  # of stdout and stderr, as produced
        self.killed_by: str | None = None
        self.pending: list[memoryview] = []  # at most STDIN_AHEAD pieces
        self.pending_last = False
        self.held_until = self.started
        self.poller = select.poll()
        self.ooms = oom_kills()
        self.refused_forks = refused_forks()
        self.held_back = held_back()

    def run(self) -> None:
        """Sends output as it comes, and at the end how the program ended."""
        program, wire = self.program, STATE.wire
        for descriptor in (wire.source, STATE.wake, program.stdout, program.stderr):
            self.poller.register(descriptor, select.POLLIN)
        try:
            if program.stdin >= 0:
                self.want(STDIN_AHEAD)
            self.take_frames()
            while not program.has_ended() and self.killed_by is None:
                self.wait()
        finally:
            # After this nothing holds the pipes any more, so that what is in them is all there will be.
            survivors = program.end()
        try:
            self.drain()
        finally:
            program.close()
        self.answer(survivors)

    def wait(self) -> None:
        """One round: output, input, frames, or the deadline."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            self.killed_by = "deadline"
            return
        program, wire = self.program, STATE.wire
        events = self.poller.poll(min(left * 1000 + 1, OUTPUT_HELD_MS if wire.held else 60_000))
        for descriptor, _ in events:
            if descriptor == program.stdout:
                self.take_output("stdout", 0)
            elif descriptor == program.stderr:
                self.take_output("stderr", 1)
            elif descriptor == program.stdin:
                self.give_input()
            elif descriptor == STATE.wake:
                STATE.drain_wake()
            else:
                wire.fill()
        if wire.held and (not events or time.monotonic() >= self.held_until):
            wire.flush()
        self.take_frames()  # sending may have taken some in too

    def take_frames(self) -> None:
        """What the host says while the program runs. Requests of an earlier program are stale and ignored."""
        while (frame := STATE.wire.next()) is not None:
            head, body = frame
            if head.get("id") != self.id:
                continue
            if head.get("op") == "cancel":
                self.killed_by = "caller"
            elif head.get("op") == "stdin" and self.program.stdin >= 0:
                if body:
                    self.pending.append(memoryview(body))
                self.pending_last = bool(head.get("eof"))
                self.poller.register(self.program.stdin, select.POLLOUT)

    def want(self, pieces: int) -> None:
        """The host may send so many more pieces of input."""
        STATE.wire.send({"id": self.id, "kind": "want", "pieces": pieces})

    def give_input(self) -> None:
        """Feeds the program; asks for one more piece as soon as one is with it."""
        program = self.program
        try:
            while self.pending:
                self.pending[0] = self.pending[0][os.write(program.stdin, self.pending[0]) :]
                if not self.pending[0]:
                    del self.pending[0]
                    if not self.pending_last:
                        self.want(1)
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.pending_last = True
        self.poller.unregister(program.stdin)
        if self.pending_last:
            self.pending.clear()
            program.close_one("stdin")

    def take_output(self, name: str, index: int) -> bool:
        """One piece of output is sent, or counted and dropped beyond the cap. False at its end."""
        descriptor = getattr(self.program, name)
        try:
            data = os.read(descriptor, OUTPUT_PIECE_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self.poller.unregister(descriptor)
            self.program.close_one(name)
            return False
        room = self.cap - self.counts[index]
        self.counts[index] += len(data)
        if room > 0:
            if not STATE.wire.held:
                self.held_until = time.monotonic() + OUTPUT_HELD_MS / 1000
            STATE.wire.hold({"id": self.id, "kind": "out", "stream": index + 1}, data[:room])
            if len(STATE.wire.held) >= OUTPUT_PIECE_BYTES:
                STATE.wire.flush()
        if 0 < self.kill_at < self.counts[index] and self.killed_by is None:
            self.killed_by = "output"
        return True

    def drain(self) -> None:
        """What is left in the pipes is sent."""
        for index, name in enumerate(("stdout", "stderr")):
            while getattr(self.program, name) >= 0 and self.take_output(name, index):
                pass

    def limits_met(self) -> list[str]:
        """Limits that the kernel kept without ending the program for us, and that it met: the kernel's own marks."""
        space = os.fstatvfs(STATE.root)
        share = HELD_BACK_SHARE * (time.monotonic() - self.started)
        met = {
            "cpus": held_back() - self.held_back >= max(HELD_BACK_SECONDS, share),
            "pids": refused_forks() > self.refused_forks,
            "file_size": os.WIFSIGNALED(self.program.status or 0)
            and os.WTERMSIG(self.program.status or 0) == _signal.SIGXFSZ,
            "workspace_bytes": STATE.contained and space.f_bavail == 0,
            "workspace_inodes": STATE.contained and space.f_files > 0 and space.f_favail == 0,
        }
        return [name for name, is_met in met.items() if is_met]

    def answer(self, survivors: int) -> None:
        """Says how the program ended."""
        if self.killed_by is None and oom_kills() > self.ooms:
            self.killed_by = "memory"
        code = None if self.killed_by in ("deadline", "caller") else self.program.exit_code()
        STATE.wire.hold(
            {
                "id": self.id, "kind": "ok", "started": True, "detail": "", "exit": code,
                "stdout_bytes": self.counts[0], "stderr_bytes": self.counts[1],
                "killed_by": self.killed_by, "survivors": survivors, "limits": self.limits_met(),
            }
        )  # fmt: skip


# --- scan ------------------------------------------------------------------------------------------------------------


class Scanner:
    """What changed since the last scan, by the index of that scan.

    The index maps a folder (`""` or a path with a slash behind it) to its names, and each name to its stamp: the packed
    inode, size, mode, mtime and ctime. A stamp is followed by the digest of the content where the file had changed so
    shortly before the scan that it could change again without a new ctime.

    The first scan lists every folder. Later ones list only folders in which something has a ctime since the last scan;
    which those are is found by the system's `find`, several at once. A program cannot set a ctime. It is new for a
    file that was written, linked, renamed or given another mode, and for a folder whose names changed; so a folder that
    is not listed again has the names and the stamps that it had. A folder that is new at its place (another inode) is
    listed with everything below, for a rename leaves what is below as it was. Whenever `find` does not come to a
    clean end, or the clock was set, or the tree is small, everything is listed.

    Not seen either way: a write through a shared mapping that was read first, where the file system keeps no account
    of it (a tmpfs does not).
    """

    def __init__(self, limit: int, batch: Batch) -> None:
        self.limit = limit
        self.batch = batch
        self.old: Index = {}
        self.new: Index = {}
        self.everything = True
        self.count = 0  # entries in the new index
        self.sent = 0
        self.removed: list[str] = []
        self.listed: set[str] = set()
        self.now = time.time_ns()
        self.racy_from = self.now - RACY_NS
        self.hash_left = RACY_HASH_MAX_BYTES
        self.truncated = False

    def run(self) -> None:
        """Everything that changed is in the batch, and the index is new. After a cut scan the index is empty."""
        last, STATE.scanned = STATE.scanned, None  # what breaks off half-way makes the next scan list everything
        clock = self.now - time.monotonic_ns()
        if last is None or abs(last.clock - clock) > CLOCK_STEP_NS or not self._list_changed(last):
            self._list_everything(last)
        self.truncated = self.truncated or self.count > self.limit
        if self.truncated:
            return
        for path in self.removed:
            self.batch.add(b"x " + os.fsencode(path) + b"\0")
        division = None if last is None else last.division
        if division is None or not division.size // 2 <= self.count <= division.size * 2:
            division = Division(self.new, self.count)
        STATE.scanned = Scanned(self.new, self.count, self.racy_from, clock, division)

    def _list_everything(self, last: "Scanned | None") -> None:
        self.old = {} if last is None else last.index
        self.new, self.everything, self.count, self.listed = {}, True, 0, set()
        # Fifty thousand new objects and no cycle among them: the collector would take a fifth of the time.
        gc.disable()
        try:
            self._list([""])
        finally:
            gc.enable()

    def _list_changed(self, last: "Scanned") -> bool:
        """What changed is listed. False when it could not be found, or not sooner than by listing everything."""
        if last.count < FIND_MIN_ENTRIES:
            return False
        self.old = self.new = last.index
        self.everything, self.count = False, last.count
        # The longest is listed first, so that none of them is listed after it was found to be gone.
        self._list(sorted((folder for folder in last.division.upper if folder in self.old), key=len))
        changed = changed_folders(last.division.shares(self.old), last.racy_from)
        if changed is not None:
            self._list(changed)
        return changed is not None

    def _list(self, folders: list[str]) -> None:
        while folders and not self.truncated:
            folder = folders.pop()
            if folder not in self.listed:
                self.listed.add(folder)
                self._folder(folder, folders)
                over = self.everything and self.count > self.limit
                if over or self.batch.total > SCAN_MAX_BYTES:
                    self.truncated = True

    def _folder(self, prefix: str, folders: list[str]) -> None:
        """The folder's names are in the new index. Folders below it that have to be listed are in `folders`."""
        before = self.old.get(prefix, {})
        names: dict[str, bytes] = {}
        try:
            folder = os.open(prefix[:-1] or ".", FOLDER, dir_fd=STATE.root)
        except OSError:
            pass  # closed by its own mode, or with a name that no operation can be given: nobody can see into it
        else:
            try:
                self._names(folder, prefix, before, names, folders)
            finally:
                os.close(folder)
        if self.truncated:
            return
        self.new[prefix] = names
        self.count += len(names) - (0 if self.everything else len(before))
        if len(names) != len(before) or names.keys() != before.keys():
            for name in before.keys() - names.keys():
                self.removed.append(prefix + name)
                self._drop(prefix + name + "/")

    def _names(
        self, folder: int, prefix: str, before: dict[str, bytes], names: dict[str, bytes], folders: list[str]
    ) -> None:
        racy_from, old = self.racy_from, self.old
        may_be_too_long = len(prefix) > (PATH_MAX_BYTES - NAME_MAX_BYTES) // 4
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                if len(name) == 4 and name.lower() == ".git":
                    continue
                if may_be_too_long and len(os.fsencode(prefix + name)) > PATH_MAX_BYTES:
                    continue  # no operation can name it, nor what is below it
                try:
                    info = entry.stat(follow_symlinks=False)
                except OSError:
                    continue  # the folder may be listed and not entered: nobody can reach what is in it
                stamp = pack("!QQIqq", info.st_ino, info.st_size, info.st_mode, info.st_mtime_ns, info.st_ctime_ns)
                known = before.get(name)
                if known == stamp and info.st_ctime_ns < racy_from:
                    names[name] = known
                else:
                    names[name] = self._compare(folder, prefix + name, stamp, known, info)
                    if self.truncated:
                        return
                if info.st_mode & 0o170000 == 0o040000:
                    below = prefix + name + "/"
                    if self.everything or below not in old or known is None or known[:8] != stamp[:8]:
                        folders.append(below)
                elif known is not None and stat.S_ISDIR(unpack_from("!I", known, 16)[0]):
                    self._drop(prefix + name + "/")

    def _compare(self, folder: int, path: str, stamp: bytes, known: bytes | None, info: os.stat_result) -> bytes:
        """What the index holds of the path from now on; it is in the batch if it may have changed."""
        same = known is not None and known.startswith(stamp)
        was_racy = same and known != stamp
        racy = info.st_ctime_ns >= self.racy_from
        kept = stamp
        if racy or was_racy:
            kept += self._addition(folder, path.rpartition("/")[2], info)
        if not same or (was_racy and kept != known):
            if self.sent >= self.limit:
                self.truncated = True
                return kept
            self.sent += 1
            kind = real_kind(info.st_mode)[0].encode()
            words = stamp.hex().encode() + kept[len(stamp) :]
            self.batch.add(b"%s %x %o %s %s\0" % (kind, info.st_size, info.st_mode & 0o7777, words, os.fsencode(path)))
        return kept if racy else stamp

    def _drop(self, folder: str) -> None:
        """The folder is gone, and everything below it."""
        folders = [folder] if folder in self.old else []
        while folders:
            folder = folders.pop()
            names = self.old.pop(folder)
            self.count -= 0 if self.everything else len(names)
            for name in names:
                self.removed.append(folder + name)
                if folder + name + "/" in self.old:
                    folders.append(folder + name + "/")

    def _addition(self, folder: int, name: str, info: os.stat_result) -> bytes:
        """What tells two contents with one stamp apart; unique where that would cost too much or cannot be read."""
        if not stat.S_ISREG(info.st_mode) and not stat.S_ISLNK(info.st_mode):
            return b""
        try:
            if stat.S_ISLNK(info.st_mode):
                return b"-%x" % (hash(os.readlink(name, dir_fd=folder)) & 0xFFFFFFFFFFFFFFFF)
            if info.st_size <= self.hash_left:
                # Only what is read is charged: a file too large for that would make all others look changed.
                self.hash_left -= info.st_size
                if info.st_size > BATCH_BYTES:
                    STATE.wire.flush()  # a program's end need not wait for it
                return b"-" + digest(folder, name).encode()
        except OSError:
            pass
        STATE.scans += 1
        return b"-u%x" % STATE.scans


class Scanned:
    """What a scan leaves for the next one. `clock` is how far the wall clock is ahead of the one that nobody sets."""

    def __init__(self, index: Index, count: int, racy_from: int, clock: int, division: "Division") -> None:
        self.index = index
        self.count = count
        self.racy_from = racy_from
        self.clock = clock
        self.division = division


class Division:
    """How the tree is divided among several `find`: `upper` folders are listed here, what is below them is shared out.

    Made for a tree of `size` entries. It stays right when the tree changes, if less even.
    """

    def __init__(self, index: Index, size: int) -> None:
        self.size = size
        self.parts = 1 if size < DIVIDE_MIN_ENTRIES else min(len(os.sched_getaffinity(0)), FINDS_MAX)
        self.weights = self._weigh(index)
        self.upper = {""}
        pending = [""] if self.parts > 1 else []
        while pending:
            folder = pending.pop()
            for name in index.get(folder, ()):
                below = folder + name + "/"
                # Large enough to make the shares uneven, and few enough names to list them here each time.
                if self.weights.get(below, 0) > size // (8 * self.parts) and len(index[below]) <= size // 32:
                    self.upper.add(below)
                    pending.append(below)

    def _weigh(self, index: Index) -> dict[str, int]:
        """How many entries are below each folder."""
        weights = dict.fromkeys(index, 0)
        for folder, names in index.items():
            end = len(folder)
            while end > 0:
                weights[folder[:end]] += len(names)
                end = folder.rfind("/", 0, end - 1) + 1
        return weights

    def shares(self, index: Index) -> list[list[bytes]]:
        """Where each `find` starts: together all folders right below the upper ones."""
        starts = [
            below
            for folder in self.upper
            for name in index.get(folder, ())
            if (below := folder + name + "/") in index and below not in self.upper
        ]
        starts.sort(key=lambda folder: self.weights.get(folder, 1), reverse=True)
        shares: list[list[bytes]] = [[] for _ in range(self.parts)]
        loads = [0] * self.parts
        for folder in starts:
            lightest = loads.index(min(loads))
            loads[lightest] += self.weights.get(folder, 1) + 1
            shares[lightest].append(b"./" + os.fsencode(folder[:-1]))
        return [share for share in shares if share]


def changed_folders(shares: list[list[bytes]], since: int) -> list[str] | None:
    """Folders below those of the shares in which something changed, itself included, at or after `since` (ns).

    None when that cannot be told: one of the programs did not start, complained, or took too long.
    """
    newer = b"@%d.%09d" % divmod(since - 1, 1_000_000_000)
    test = [b"-iname", b".git", b"-prune", b"-o", b"-newerct", newer]
    act = [b"(", b"-type", b"d", b"-printf", b"%p/\\0%h/\\0", b"-o", b"-printf", b"%h/\\0", b")"]
    found: set[bytes] = set()
    programs: list[Program] = []
    try:
        for share in shares:
            argv = [FIND_PROGRAM, b"-P", *share, *test, *act]
            programs.append(Program(argv, [FIND_PROGRAM], [b"LC_ALL=C"], STATE.root, feed=False))
            if not programs[-1].pid:
                return None
        if not gather(programs, found):
            return None
    finally:
        for program in programs:
            if program.pid and program.status is None:
                os.kill(program.pid, _signal.SIGKILL)
                os.waitpid(program.pid, 0)
            program.close()
    return [os.fsdecode(folder[2:]) for folder in found]


def gather(programs: list[Program], found: set[bytes]) -> bool:
    """All that the programs print, up to each NUL, is in `found`. False when one of them fails or is late."""
    poller = select.poll()
    rest: dict[int, bytes] = {}
    for program in programs:
        rest[program.stdout] = b""
        poller.register(program.stdout, select.POLLIN)
        poller.register(program.stderr, select.POLLIN)
    deadline = time.monotonic() + FIND_SECONDS
    while rest:
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        for descriptor, _ in poller.poll(left * 1000 + 1):
            data = os.read(descriptor, PIPE_BYTES)
            if not data:
                poller.unregister(descriptor)
                if rest.pop(descriptor, b""):
                    return False
            elif descriptor not in rest:
                return False  # a complaint: something could not be looked at
            else:
                *whole, rest[descriptor] = (rest[descriptor] + data).split(b"\0")
                found.update(whole)
    for program in programs:
        _, program.status = os.waitpid(program.pid, 0)
    return all(program.status == 0 for program in programs)


def op_scan(head: Head, body: bytes) -> None:
    """Sends what changed since the last scan."""
    scan(head["id"], number(head, "max"))


def scan(request: object, limit: int) -> None:
    """The same, under the id of any request. What is held until now need not wait where the tree is large."""
    if STATE.scanned is None or STATE.scanned.count >= FIND_MIN_ENTRIES:
        STATE.wire.flush()
    batch = Batch(STATE.wire, request)
    scanner = Scanner(limit, batch)
    scanner.run()
    batch.finish({"truncated": scanner.truncated})


# --- posture ---------------------------------------------------------------------------------------------------------


def op_posture(head: Head, body: bytes) -> None:
    """Sends what the cage looks like from inside."""
    status = dict(line.partition(":")[::2] for line in read_small("/proc/self/status").splitlines())
    mounts = [mount_facts(line) for line in read_small("/proc/self/mountinfo").splitlines()]
    space = os.fstatvfs(STATE.root)
    facts: Head = {
        **cage_facts(mounts),
        **network_facts(),
        "uid": os.getuid(),
        "gid": os.getgid(),
        "effective_capabilities": int(status.get("CapEff", "0"), 16),
        "permitted_capabilities": int(status.get("CapPrm", "0"), 16),
        "bounding_capabilities": int(status.get("CapBnd", "0"), 16),
        "no_new_privileges": prctl(PR_GET_NO_NEW_PRIVS) == 1,
        "seccomp_mode": int(status.get("Seccomp", "0")),
        "seccomp_mark": system_call(MARK_CALLS.get(os.uname().machine, -1)),
        "system_calls_open": open_system_calls(),
        "apparmor": (table("/proc/self/attr/apparmor/current", 0) or table("/proc/self/attr/current", 0) or [""])[0],
        "root_is_host_root": table("/proc/self/uid_map", 0)[:1] == [f"{0:>10} {0:>10} {4294967295:>10}"],
        "kernel": os.uname().release,
        "kernel_names_gvisor": b"gVisor" in kernel_log(),
        "memory_total_bytes": memory_total(),
        "cgroups_writable": cgroups_writable()[:64],
        "root_read_only": any(path == "/" and not writable for path, _, writable in mounts),
        "writable_mounts": [path for path, _, writable in mounts if writable][:200],
        "mount_options": [f"{path} {options}" for path, options, writable in mounts if writable][:200],
        "interfaces": [line.partition(":")[0].strip() for line in table("/proc/net/dev", 2)][:64],
        "routes": len(table("/proc/net/route", 1)) + len(ipv6_routes()),
        "pids_max": limit_of("/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/pids.max"),
        "memory_max_bytes": limit_of("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max"),
        "open_files_max": bounded(resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
        "core_max_bytes": bounded(STATE.core_limit),
        "file_max_bytes": bounded(resource.getrlimit(resource.RLIMIT_FSIZE)[1]),
        "workspace_bytes": space.f_blocks * space.f_frsize,
        "workspace_inodes": space.f_files,
        "engine_socket_visible": any(os.path.lexists(path) for path in ENGINE_SOCKETS),
    }
    STATE.wire.send({"id": head["id"], "kind": "ok"}, dump_json(facts))


def cage_facts(mounts: list[tuple[str, str, bool]]) -> Head:
    """What of the machine is to be met inside."""
    state = {path: writable for path, _, writable in mounts}  # of mounts at one place the upper one counts
    home, tmp, shm = (space_of(path) for path in ("/home/agent", "/tmp", "/dev/shm"))  # noqa: S108  # mount points
    return {
        "groups": [str(group) for group in os.getgroups()][:64],
        "devices": device_nodes(DEVICES)[:64],
        "namespaces_first": [name for name, number in FIRST_NAMESPACES.items() if namespace(name) == number],
        "kernel_files_unmasked": [path for path in MASKED if os.path.lexists(path) and path not in state],
        "kernel_settings_open": [path for path in KERNEL_SETTINGS if os.path.lexists(path) and state.get(path, True)],
        "main_command": " ".join((table("/proc/1/cmdline", 0) or [""])[0].split("\0")).strip()[:1000],
        "memory_killer_off": memory_killer_off(),
        "clock_unix": int(time.time()),
        "clock_settable": system_call(SET_CLOCK_CALLS.get(os.uname().machine, -1), 0, 0) == 0,
        "cpu_quota": cpu_quota(),
        "home_bytes": home[0],
        "home_inodes": home[1],
        "tmp_bytes": tmp[0],
        "tmp_inodes": tmp[1],
        "shm_bytes": shm[0],
    }


def network_facts() -> Head:
    """What a packet would leave for. Each is really tried, and without a network refused by the kernel at once."""
    rows = [line.split() for line in table("/proc/net/route", 1)]
    routed = [".".join(str(byte) for byte in pack("<I", int(row[2], 16))) for row in rows if len(row) > 2]
    lines = [line.split() for line in table("/etc/resolv.conf", 0)]
    named = [words[1] for words in lines if len(words) > 1 and words[0] == "nameserver"]
    return {
        "gateways_open": sorted({at for at in (*GATEWAYS, *routed[:16]) if at != "0.0.0.0" and may_reach(at, 80)}),  # noqa: S104  # a route that needs no gateway
        "metadata_open": [at for at in METADATA if may_reach(at, 80)],
        "resolvers_open": sorted({at[:64] for at in (*RESOLVERS, *named[:16]) if may_reach(at, 53, question=True)}),
    }


def may_reach(address: str, port: int, *, question: bool = False) -> bool:
    """Whether there is a way to it, or one cannot know. A question is sent in a datagram, all else is a connection."""
    import _socket  # built in, and 0.3 ms that only this costs

    family = _socket.AF_INET6 if ":" in address else _socket.AF_INET
    address = address.partition("%")[0]
    try:
        _socket.inet_pton(family, address)  # or what is no address would be looked up
    except OSError:
        return True
    try:
        probe = _socket.socket(family, _socket.SOCK_DGRAM if question else _socket.SOCK_STREAM)
    except OSError:
        return False
    try:
        probe.setblocking(False)
        if probe.connect_ex((address, port)) in NO_WAY:
            return False
        return not (question and address.startswith(("127.", "::1")) and refused(probe))
    finally:
        probe.close()


def refused(probe: "_socket.socket") -> bool:
    """Whether a port of this machine's own, which can always be sent to, has nobody who listens."""
    try:
        probe.send(QUESTION)
        poller = select.poll()
        poller.register(probe.fileno(), select.POLLIN)
        poller.poll(ANSWER_MS)
        probe.recv(512)
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


def device_nodes(folder: str) -> list[str]:
    """Kind, numbers and path of each device below the folder, terminals left out; links are not followed."""
    found = []
    for name in names_in(folder):
        path = f"{folder}/{name}"
        facts = os.lstat(path)
        kind, major = stat.S_IFMT(facts.st_mode), os.major(facts.st_rdev)
        if kind == stat.S_IFDIR:
            found += device_nodes(path)
        elif kind == stat.S_IFBLK or (kind == stat.S_IFCHR and not TERMINALS[0] <= major <= TERMINALS[1]):
            found.append(f"{'b' if kind == stat.S_IFBLK else 'c'} {major}:{os.minor(facts.st_rdev)} {path}"[:200])
    return found


def namespace(name: str) -> int:
    """The number of our namespace of this kind; 0 where the kernel does not say."""
    try:
        digits = os.readlink(f"/proc/self/ns/{name}").partition("[")[2].rstrip("]")  # noqa: PTH115  # pathlib costs 10 ms
    except OSError:
        return 0
    return int(digits) if digits.isdigit() else 0


def memory_killer_off() -> bool:
    """Whether the kernel passes over this process, or its control group, when memory runs out."""
    words = [line.split() for line in table("/sys/fs/cgroup/memory/memory.oom_control", 0)]
    score = (table("/proc/self/oom_score_adj", 0) or ["0"])[0]
    return ["oom_kill_disable", "1"] in words or score.startswith("-")


def cpu_quota() -> int | None:
    """Microseconds of processors in a tenth of a second; None without a bound, or where none can be seen."""
    words = (table("/sys/fs/cgroup/cpu.max", 0) or [""])[0].split()
    if len(words) != 2:
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        words = [(table(f"/sys/fs/cgroup/cpu/{name}", 0) or [""])[0] for name in names]
    if not all(word.isdigit() and int(word) for word in words):
        return None
    return int(words[0]) * 100_000 // int(words[1])


def space_of(path: str) -> tuple[int, int]:
    """How many bytes and inodes there may be in the file system at this place; none where nothing is."""
    try:
        space = os.statvfs(path)
    except OSError:
        return 0, 0
    return space.f_blocks * space.f_frsize, space.f_files


class Long(_SimpleCData):  # type: ignore[type-arg]  # it can be given one for the checker only
    """C's long, in which the kernel answers."""

    _type_ = "l"


class SystemCall(CFuncPtr):
    """A function of the C library that answers in a long, and whose errno is kept."""

    _flags_ = 1 | 8  # FUNCFLAG_CDECL, FUNCFLAG_USE_ERRNO
    _restype_ = Long


def system_call(*words: int) -> int:
    """The errno that the kernel, or a filter before it, answers with; 0 for none. What it may have opened is closed."""
    set_errno(0)
    result = SystemCall(dlsym(dlopen(None, os.RTLD_NOW), "syscall"))(*(Long(word) for word in words))  # type: ignore[arg-type]  # None: this program itself
    if result > 2:
        os.close(result)
    return get_errno() if result == -1 else 0


class Byte(_SimpleCData):  # type: ignore[type-arg]  # as Long
    """C's char."""

    _type_ = "c"


class LogBytes(Array):  # type: ignore[type-arg]  # as Long
    """Room for what a kernel says in its log while it starts."""

    _type_ = Byte
    _length_ = 1 << 16


def kernel_log() -> bytes:
    """The kernel's log; nothing where a filter or the kernel keeps it from us, as our own filter does."""
    log = LogBytes()
    words = (SYSLOG_READ_ALL, addressof(log), len(log))
    size = SystemCall(dlsym(dlopen(None, os.RTLD_NOW), "klogctl"))(*(Long(word) for word in words))  # type: ignore[arg-type]  # None: this program itself
    return bytes(memoryview(log))[: max(0, size)]


def memory_total() -> int:
    """All memory that the kernel says it has, in bytes; 0 when it does not say."""
    words = (table("/proc/meminfo", 0) or [""])[0].split()
    return int(words[1]) * 1024 if len(words) == 3 and words[0] == "MemTotal:" else 0


def cgroups_writable() -> list[str]:
    """The folders and files below the control groups' mount that this user may write to, folders of groups first."""
    folders = [CGROUPS, *(f"{CGROUPS}/{name}" for name in names_in(CGROUPS))]
    files = [f"{folder}/{name}" for folder in folders for name in names_in(folder)]
    return [path for path in (*folders, *files) if os.access(path, os.W_OK)]


def names_in(folder: str) -> list[str]:
    """The names in a folder; none where it is no folder, or cannot be listed."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208  # pathlib costs 10 ms
    except OSError:
        return []


def open_system_calls() -> list[str]:
    """Those of the probed system calls that nothing refuses. None of them does anything with what it is given here."""
    machine = os.uname().machine
    if machine not in MACHINES:
        return [f"unknown on {machine}"]
    column = MACHINES.index(machine)
    answers = {name: system_call(numbers[column], *words) for name, numbers, words in PROBES}
    return [name for name, error in answers.items() if error not in (errno.EPERM, errno.ENOSYS)]


def mount_facts(line: str) -> tuple[str, str, bool]:
    """Mount point, the mount's own options, and whether it can be written: neither it nor its system is read-only."""
    fields, _, system = line.partition(" - ")
    words = fields.split(" ")
    writable = "rw" in words[5].split(",") and "ro" not in system.split(" ")[-1].split(",")
    return words[4][:PATH_MAX_BYTES], words[5][:PATH_MAX_BYTES], writable


def table(path: str, header: int) -> list[str]:
    """The lines of a table of the kernel below its header; none when it is not there."""
    try:
        return read_small(path).splitlines()[header:]
    except OSError:
        return []


def ipv6_routes() -> list[str]:
    """IPv6 routes that do not belong to the loopback device."""
    return [line for line in table("/proc/net/ipv6_route", 0) if not line.endswith(" lo")]


def limit_of(*paths: str) -> int | None:
    """The first of these limits that exists; None for no limit, or none that is visible."""
    for path in paths:
        try:
            word = read_small(path).strip()
        except OSError:
            continue
        # cgroup version 1 says "no limit" as the highest multiple of a page.
        return int(word) if word.isdigit() and int(word) < 1 << 62 else None
    return None


def bounded(limit: int) -> int:
    """A limit as a number that is never negative; no limit is the highest one."""
    return limit if limit >= 0 else (1 << 63) - 1


# --- the process -----------------------------------------------------------------------------------------------------


def text(head: Head, name: str) -> str:
    """A field that must be a string. The host speaks the protocol or is gone."""
    value = head.get(name)
    if not isinstance(value, str):
        raise Gone
    return value


def number(head: Head, name: str) -> int:
    """A field that must be a number."""
    value = head.get(name)
    if not isinstance(value, int) or value < 0:
        raise Gone
    return value


OPERATIONS = {
    "ping": op_ping,
    "resolve": op_resolve,
    "read": op_read,
    "list": op_list,
    "write": op_write,
    "delete": op_delete,
    "search": op_search,
    "spawn": op_spawn,
    "scan": op_scan,
    "posture": op_posture,
}
LATE = ("stdin", "cancel")  # may arrive after the program they were meant for has ended


def serve() -> None:
    """Answers requests until the host is gone."""
    wire = STATE.wire
    while True:
        head, body = wire.receive()
        operation = OPERATIONS.get(str(head.get("op")))
        if operation is None:
            if head.get("op") in LATE:
                continue
            raise Gone
        try:
            operation(head, body)
        except Fault as fault:
            answer: Head = {"id": head["id"], "kind": "fault", "fault": fault.word, "detail": fault.detail}
            wire.send({**answer, "size": fault.size})
        except OSError as error:
            word, detail = FAULTS.get(error.errno or 0, "denied"), os.strerror(error.errno or 0)
            wire.send({"id": head["id"], "kind": "fault", "fault": word, "detail": detail, "size": None})
        except Gone:
            raise
        except Exception as error:  # the outermost frame: a bug must reach the host as such, not hang it
            wire.send({"id": head["id"], "kind": "failed", "detail": f"{type(error).__name__}: {error}"[:500]})


def prctl(option: int, argument: int = 0) -> int:
    """The system call. By the C part of ctypes alone, which costs a tenth of the whole."""
    result: int = call_function(dlsym(dlopen(None, os.RTLD_NOW), "prctl"), (option, argument, 0, 0, 0))  # type: ignore[arg-type]  # None: this program itself
    return result


def shield() -> None:
    """Signals do not end this process, no core is written, and programs of the same user cannot look into it."""
    own = {_signal.SIGKILL, _signal.SIGSTOP, _signal.SIGSEGV, _signal.SIGBUS, _signal.SIGFPE, _signal.SIGILL}
    for signal_number in range(1, _signal.NSIG):
        if signal_number not in own:
            try:
                # A handler and not SIG_IGN, because exec would hand an ignored signal on to every program.
                _signal.signal(signal_number, lambda *_: None)
            except (OSError, ValueError):
                continue  # reserved by the C library
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # No ptrace, no /proc/PID/mem and no /proc/PID/fd for the repository's code, which has the same user id.
    prctl(PR_SET_DUMPABLE, 0)
    os.umask(0o022)


def may_be_contained() -> bool:
    """Whether killing everything that may be signalled can be meant: never as root, never on a plain login."""
    return os.getuid() != 0 and prctl(PR_GET_NO_NEW_PRIVS) == 1


def main(arguments: list[str]) -> None:
    """Serves until standard input ends, then leaves nothing alive."""
    global STATE
    contained = "--contained" in arguments
    if contained and not may_be_contained():
        os._exit(3)
    roots = [word for word in arguments if word != "--contained"]
    STATE = State(roots[0] if roots else "/workspace", contained=contained)
    shield()
    if not contained:
        # Orphans of a program become children of this process, and only children are ever signalled.
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        serve()
    except Gone:
        pass
    finally:
        try:
            sweep(0)
        finally:
            os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
