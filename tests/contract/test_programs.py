"""Programs: bounded in time, output and offspring, and a result whatever they do."""

from __future__ import annotations

import fcntl
import hashlib
import secrets
import sys
from dataclasses import replace

import pytest

from runner.engine.contract import FileFault, KilledBy, LimitMet, SearchRequest, SpawnRequest
from runner.engine.docker_engine import DockerEngine
from runner.engine.fake import FakeCall, FakeOutcome
from tests.conftest import TEST_LIMITS, sandbox_spec
from tests.contract.boxes import ENV, Box, RealBox, Script, cancel_when_it_prints, fault_of
from tests.support.local_stream import local_sandbox

SPEAK = Script("printf out; printf err >&2; exit 3", lambda _: FakeOutcome(3, b"out", b"err"))
FLOOD = Script(
    "head -c 300000 /dev/zero; printf e >&2", lambda _: FakeOutcome(0, b"\0" * 300_000, b"e")
)  # several pipes full
FOREVER = Script("printf a; exec sleep 300", lambda _: FakeOutcome(stdout=b"a", seconds=300))
ECHO = Script("exec cat", lambda call: FakeOutcome(stdout=call.stdin))
WHERE = Script("pwd; cat name", lambda call: FakeOutcome(stdout=_where(call)))
ENVIRONMENT = Script(
    "exec env", lambda call: FakeOutcome(stdout="".join(f"{k}={v}\n" for k, v in call.env.items()).encode())
)
KILLED = Script("kill -KILL $$", lambda _: FakeOutcome(137))
SAYS_127 = Script("exit 127", lambda _: FakeOutcome(127))


def _where(call: FakeCall) -> bytes:
    node = call.tree.node(f"{call.cwd}/name".removeprefix("./"))
    return b"/root/" + call.cwd.encode() + b"\n" + (node.data if node else b"")


def test_a_program_ends_with_its_output_and_exit_code(box: Box) -> None:
    result = box.run(SPEAK)
    assert (result.exit, result.stdout, result.stderr) == (3, b"out", b"err")
    assert (result.started, result.truncated, result.timed_out, result.killed_by) == (True, False, False, None)
    assert (result.stdout_bytes, result.stderr_bytes, result.survivors_killed) == (3, 3, 0)


def test_a_program_killed_by_a_signal_has_the_exit_code_of_shells(box: Box) -> None:
    result = box.run(KILLED)
    assert (result.exit, result.killed_by) == (137, None)


def test_output_beyond_the_cap_is_counted_and_dropped(box: Box) -> None:
    result = box.run(FLOOD, output_cap_bytes=1000)
    assert (result.exit, len(result.stdout), result.stdout_bytes) == (0, 1000, 300_000)
    assert (result.stderr, result.truncated, result.killed_by) == (b"e", True, None)


def test_output_of_exactly_the_cap_is_not_cut(box: Box) -> None:
    result = box.run(FLOOD, output_cap_bytes=300_000)
    assert (len(result.stdout), result.truncated) == (300_000, False)


def test_output_beyond_the_cap_kills_where_that_is_asked(box: Box) -> None:
    result = box.run(FLOOD, output_cap_bytes=1000, kill_at_bytes=1000)
    assert (len(result.stdout), result.truncated, result.killed_by) == (1000, True, KilledBy.OUTPUT)


def test_a_program_that_takes_too_long_is_killed(box: Box) -> None:
    result = box.run(FOREVER, deadline_seconds=0.3)
    assert (result.exit, result.timed_out, result.killed_by) == (None, True, KilledBy.DEADLINE)
    assert result.stdout == b"a"


def test_output_goes_to_the_sink_when_there_is_one(box: Box) -> None:
    taken: dict[str, bytes] = {"stdout": b"", "stderr": b""}

    def sink(name: str, data: bytes) -> None:
        taken[name] += data

    result = box.run(FLOOD, sink=sink, output_cap_bytes=200_000)
    assert (result.stdout, result.stderr, result.stdout_bytes) == (b"", b"", 300_000)
    assert (taken["stdout"], taken["stderr"]) == (b"\0" * 200_000, b"e")


def test_input_is_fed_piece_by_piece(box: Box) -> None:
    text = "ünï".encode()
    pieces = [text[:1], b"", text[1:], b"\0" * 700_000]
    assert box.run(ECHO, stdin=iter(pieces)).stdout == text + b"\0" * 700_000


def test_a_program_that_writes_much_while_it_is_fed_much_is_given_and_gives_all(real: RealBox) -> None:
    pieces = [bytes([number]) * 1_000_000 for number in range(20)]
    result = real.shell("tee /dev/stderr", stdin=iter(pieces), output_cap_bytes=1 << 25)
    assert result.exit == 0
    assert result.stdout == result.stderr == b"".join(pieces)


def test_neither_side_waits_for_the_other_for_ever_however_little_the_pipes_hold() -> None:
    """Both send far more than fits into what is between them before either has read."""
    fed = b"x" * 3_000_000
    with local_sandbox() as sandbox:
        for stream in (sandbox.local.process.stdin, sandbox.local.process.stdout):
            fcntl.fcntl(stream, fcntl.F_SETPIPE_SZ, 4096)
        result = RealBox(sandbox).shell("head -c 3000000 /dev/zero; cat", stdin=[fed], output_cap_bytes=1 << 25)
    assert result.exit == 0
    assert result.stdout == b"\0" * 3_000_000 + fed


def test_without_input_a_program_reads_nothing(box: Box) -> None:
    assert box.run(ECHO).stdout == b""


def test_the_environment_is_exactly_what_is_given(box: Box) -> None:
    lines = box.run(ENVIRONMENT, env={**ENV, "A": "1 2=3"}).stdout.decode().splitlines()
    # PWD and its like are the shell's own doing.
    ours = {line for line in lines if line.partition("=")[0] not in ("PWD", "OLDPWD", "SHLVL", "_")}
    assert ours == {f"PATH={ENV['PATH']}", "A=1 2=3"}


def test_a_program_runs_in_the_folder_that_is_asked_for(box: Box) -> None:
    box.put("a/b/name", b"here")
    box.put("name", b"root")
    assert box.run(WHERE, cwd="a/b").stdout.endswith(b"/a/b\nhere")
    assert box.run(WHERE).stdout.endswith(b"root")


def test_the_folder_must_be_real(box: Box) -> None:
    box.put("d/f", b"")
    box.link("l", "d")
    for cwd in ("x", "d/f", "l", "..", "a" * 6000, "\ud800"):
        result = box.run(SPEAK, cwd=cwd)
        assert (result.started, result.exit, result.killed_by, result.stdout) == (False, 126, None, b"")
        assert b"folder cannot be entered" in result.stderr
    assert box.run(SPEAK).started


def test_a_root_that_a_program_closes_is_answered_and_not_the_end() -> None:
    with local_sandbox() as sandbox:
        box = RealBox(sandbox)
        box.put("f", b"x\n")
        sandbox.scan(max_entries=10)
        assert box.shell("chmod 0 .").exit == 0
        result = box.shell("echo", scan_entries=10)
        assert (result.started, result.exit) == (False, 126)
        assert result.scan is not None and result.scan.removed == ("f",)
        assert fault_of(lambda: sandbox.search(SearchRequest("x"))) is FileFault.DENIED
        assert fault_of(lambda: sandbox.read("f", max_bytes=9)) is FileFault.DENIED
        sandbox.ping()


@pytest.mark.parametrize("name", ["no-such-program", "/no/such/program", "", "./tool", "d/tool"])
def test_a_program_that_is_not_there_was_not_started(box: Box, name: str) -> None:
    box.put("tool", b"#!/bin/sh\n", 0o755)
    box.put("d/tool", b"#!/bin/sh\n", 0o755)
    result = box.sandbox.spawn(SpawnRequest((name,), ENV, 20.0, 1000))
    assert (result.started, result.exit, result.killed_by) == (False, 127, None)
    assert result.stdout == b"" and len(result.stderr) == result.stderr_bytes > 0


def test_a_program_that_says_127_was_started(box: Box) -> None:
    result = box.run(SAYS_127)
    assert (result.started, result.exit) == (True, 127)


def test_a_running_program_can_be_cancelled_from_another_thread(box: Box) -> None:
    wait = Script(FOREVER.text, lambda _: FakeOutcome(stdout=b"a", until_cancelled=True))
    if isinstance(box, RealBox):
        result = cancel_when_it_prints(box, wait)
        assert (result.exit, result.killed_by, result.timed_out) == (None, KilledBy.CALLER, False)
    box.sandbox.cancel()  # nothing runs: nothing happens
    assert box.run(SPEAK).exit == 3


# --- only with real processes


def test_a_bare_name_is_never_looked_up_in_the_workspace(real: RealBox) -> None:
    real.put("sh-here", b"#!/bin/sh\n", 0o755)
    root = real.shell("pwd").stdout.decode().strip()
    for path in (".", "", root, f"{root}/.", f"/usr/../{root}", f":{root}/:"):
        result = real.sandbox.spawn(SpawnRequest(("sh-here",), {"PATH": path}, 20.0, 1000))
        assert (result.started, result.exit) == (False, 127)


@pytest.mark.parametrize(
    ("content", "mode", "code"),
    [(b"#!/bin/sh\n", 0o644, 126), (b"no magic", 0o755, 126), (b"#!/no/interpreter\n", 0o755, 127)],
    ids=["no exec bit", "no format", "no interpreter"],
)
def test_a_file_that_cannot_be_executed_was_not_started(real: RealBox, content: bytes, mode: int, code: int) -> None:
    real.put("tool", content, mode)
    root = real.shell("pwd").stdout.decode().strip()
    result = real.sandbox.spawn(SpawnRequest((f"{root}/tool",), ENV, 20.0, 1000))
    assert (result.started, result.exit) == (False, code)


@pytest.mark.parametrize("word", ["a\0b", "\ud800", "x" * (2 << 20), "x" * 200_000])
def test_arguments_that_no_program_can_get_start_nothing(real: RealBox, word: str) -> None:
    result = real.sandbox.spawn(SpawnRequest(("true", word), ENV, 20.0, 1000))
    assert (result.started, result.exit) == (False, 126)


def test_arguments_arrive_byte_for_byte(real: RealBox) -> None:
    words = ["", "a b", "new\nline", "caf\udce9", "ünï", "--"]
    result = real.sandbox.spawn(SpawnRequest(("printf", "%s|", *words), ENV, 20.0, 1000))
    assert result.stdout == b"|a b|new\nline|caf\xe9|\xc3\xbcn\xc3\xaf|--|"


def test_a_background_child_that_holds_the_output_does_not_delay_the_end(real: RealBox) -> None:
    result = real.shell("sleep 300 & printf done", deadline_seconds=60.0)
    assert (result.stdout, result.timed_out) == (b"done", False)
    assert result.duration_ms < 30_000


@pytest.mark.parametrize("background", ["setsid $0 -c 'echo >up; sleep NAP'", "setsid $0 -c '(echo >up; sleep NAP) &'"])
def test_a_child_that_leaves_its_group_is_killed_and_counted(real: RealBox, background: str) -> None:
    digits = f"{secrets.randbelow(10**9):09}"  # other tests on this machine have naps of their own
    child = background.replace("NAP", f"300.{digits}")
    result = real.shell(f"{child} &\nwhile [ ! -e up ]; do :; done")
    assert result.exit == 0 and result.survivors_killed >= 1
    # Written so that the search does not find itself.
    look = f"cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -o 'sleep 300[.]{digits}'"
    assert real.shell(look).stdout == b""


def test_nothing_of_a_killed_program_is_left(real: RealBox) -> None:
    real.shell("(setsid sh -c 'sleep 0.6; echo late >late' &); sleep 300", deadline_seconds=0.3)
    real.shell("sleep 1")
    assert not real.sandbox.resolve("late").exists


def test_a_program_cannot_ignore_its_end(real: RealBox) -> None:
    result = real.shell("trap '' TERM INT HUP; while :; do sleep 1; done", deadline_seconds=0.3)
    assert (result.exit, result.killed_by) == (None, KilledBy.DEADLINE)


def test_programs_have_default_signals_and_no_foreign_descriptors(real: RealBox) -> None:
    fds = real.shell("ls /proc/self/fd").stdout.split()
    ignored = real.shell("grep SigIgn /proc/self/status").stdout.split()
    assert fds == [b"0", b"1", b"2", b"3"]  # 3 is the listing itself
    # 32 and 33 are the C library's own, which nobody can set: whoever started the engine may have had them ignored.
    assert int(ignored[1], 16) & ~(0b11 << 31) == 0


def test_a_program_cannot_reach_into_the_helper(real: RealBox) -> None:
    text = "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline | grep -q '[h]elper.py' && ls $p/fd && cat $p/mem; done"
    result = real.shell(text)
    assert result.stdout == b""
    assert b"denied" in result.stderr


def test_signals_of_a_program_do_not_end_the_helper(real: RealBox) -> None:
    for signal in ("HUP", "INT", "TERM", "PIPE", "USR1", "ALRM", "TSTP"):
        real.shell(
            "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline | grep -q 'S [^ ]*[h]elper.py' && "
            f"kill -{signal} ${{p#/proc/}}; done"
        )
    assert real.run(SPEAK).exit == 3


def test_a_program_that_closes_its_input_early_is_a_result(real: RealBox) -> None:
    result = real.shell("exec <&-; printf ok", stdin=(b"x" * 100_000 for _ in range(50)))
    assert (result.exit, result.stdout) == (0, b"ok")


def test_input_that_is_never_read_does_not_block_the_deadline(real: RealBox) -> None:
    result = real.shell("sleep 300", stdin=(b"x" * 100_000 for _ in range(50)), deadline_seconds=0.5)
    assert result.killed_by is KilledBy.DEADLINE


def test_an_error_of_the_sink_ends_the_program_and_not_the_sandbox(real: RealBox) -> None:
    class SinkError(Exception):
        pass

    def sink(_name: str, _data: bytes) -> None:
        raise SinkError

    with pytest.raises(SinkError):
        real.shell("yes", sink=sink)
    assert real.run(SPEAK).exit == 3


def test_an_error_of_the_input_ends_the_program_and_not_the_sandbox(real: RealBox) -> None:
    def chunks() -> object:
        yield b"x"
        raise LookupError

    with pytest.raises(LookupError):
        real.shell("cat; sleep 300", stdin=chunks())
    assert real.run(SPEAK).exit == 3


def test_large_output_arrives_byte_for_byte(real: RealBox) -> None:
    result = real.shell("seq 1 200000", output_cap_bytes=4 << 20)
    expected = "".join(f"{number}\n" for number in range(1, 200_001)).encode()
    assert hashlib.sha256(result.stdout).digest() == hashlib.sha256(expected).digest()
    assert sys.getsizeof(result.stdout) < 4 << 20


@pytest.mark.docker
def test_a_fork_bomb_ends_at_its_deadline_and_leaves_nothing(docker_sandbox: object) -> None:
    box = RealBox(docker_sandbox)
    bomb = "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass"
    result = box.shell('exec python3 -c "$1"', bomb, deadline_seconds=1.0)
    assert result.killed_by is KilledBy.DEADLINE
    assert b"os.fork" not in box.shell("cat /proc/*/cmdline | tr '\\0' ' '").stdout.replace(b"cat /proc", b"")


@pytest.mark.docker
def test_a_program_out_of_memory_is_said_to_be(docker_sandbox: object) -> None:
    box = RealBox(docker_sandbox)
    result = box.shell("exec python3 -c 'b = bytearray(4 << 30); b[::4096] = b[::4096]'")
    assert (result.exit, result.killed_by) == (137, KilledBy.MEMORY)
    assert box.run(SPEAK).exit == 3


@pytest.mark.docker
def test_a_plain_137_is_not_taken_for_a_lack_of_memory(docker_sandbox: object) -> None:
    box = RealBox(docker_sandbox)
    result = box.shell("exec sh -c 'kill -KILL $$'")
    assert (result.exit, result.killed_by, result.limits_met) == (137, None, ())


@pytest.mark.docker
def test_a_child_out_of_memory_is_said_too(docker_sandbox: object) -> None:
    box = RealBox(docker_sandbox)
    result = box.shell("python3 -c 'b = bytearray(4 << 30); b[::4096] = b[::4096]'; exit 0")
    assert result.killed_by is KilledBy.MEMORY


@pytest.mark.docker
@pytest.mark.parametrize(
    ("script", "met"),
    [
        ("exec head -c 200M /dev/zero >large", LimitMet.FILE_SIZE),
        ("for n in 1 2 3; do head -c 120M /dev/zero >f$n; done 2>/dev/null", LimitMet.WORKSPACE_BYTES),
        ('exec python3 -c "import os\nwhile True: os.mkfifo(os.urandom(8).hex())"', LimitMet.WORKSPACE_INODES),
        ("for n in $(seq 300); do sleep 9 & done 2>/dev/null", LimitMet.PIDS),
    ],
)
def test_a_limit_that_the_kernel_keeps_is_named(docker_sandbox: object, script: str, met: LimitMet) -> None:
    box = RealBox(docker_sandbox)
    result = box.shell(script)
    assert result.limits_met == (met,)
    assert box.shell("find . -mindepth 1 -delete && echo well").stdout == b"well\n"


_BUSY_UNTIL_HELD_BACK = """
import os, time
def held():
    for path in ("/sys/fs/cgroup/cpu/cpu.stat", "/sys/fs/cgroup/cpu.stat"):
        if os.path.exists(path):
            words = open(path).read().split()
            said = dict(zip(words[::2], map(int, words[1::2])))
            return said.get("throttled_usec", 0) / 1e6 or said["throttled_time"] / 1e9
os.fork()  # one for each processor of a machine that has other things to do
started, before = time.monotonic(), held()
while held() - before < max(0.6, 0.15 * (time.monotonic() - started)): pass
"""


@pytest.mark.docker
def test_a_program_that_was_held_back_for_its_share_of_the_processors_is_said_to_be(
    docker_engine: DockerEngine,
) -> None:
    sandbox = docker_engine.start(sandbox_spec("cpu", replace(TEST_LIMITS, cpus=0.1)))
    try:
        box = RealBox(sandbox)
        busy = box.shell('exec python3 -I -S -c "$1"', _BUSY_UNTIL_HELD_BACK, deadline_seconds=120.0)
        assert (busy.exit, busy.limits_met) == (0, (LimitMet.CPUS,))
        assert box.shell("exec sleep 1").limits_met == ()
    finally:
        sandbox.remove()
