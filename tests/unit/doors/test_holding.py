"""A run held by a process of its own: what it answers on its socket, to whom, and how it ends."""

from __future__ import annotations

import base64
import errno
import json
import os
import socket
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from runner.controller.held import HeldRun
from runner.doors.holding.holder import Holder
from runner.doors.holding.wire import connect, folder_of, held_runs, listening, peer_is_us, read_message
from runner.engine.fake import FakeOutcome
from runner.model.errors import UsageError
from tests.support.fake_run import SURE, code_of
from tests.support.held import NODE, Holding


class Line:
    """A connection to the holder, as a command has it."""

    def __init__(self, holder: Holder) -> None:
        self.ours, theirs = socket.socketpair()
        self.ours.settimeout(SURE)
        self._thread = threading.Thread(target=holder.answer, args=(theirs,))
        self._thread.start()
        self._stream = self.ours.makefile("rwb")

    def ask(self, **message: Any) -> dict[str, Any]:
        return self.raw(json.dumps(message).encode())

    def raw(self, line: bytes) -> dict[str, Any]:
        self._stream.write(line + b"\n")
        self._stream.flush()
        return self.word()

    def word(self) -> dict[str, Any]:
        message = read_message(self._stream)
        assert message is not None
        return message

    def close(self) -> None:
        self._stream.close()
        self.ours.close()
        self._thread.join(SURE)
        assert not self._thread.is_alive()


class Held:
    """A held run and its holder."""

    def __init__(self, holding: Holding, **options: Any) -> None:
        self.holding = holding
        self.run: HeldRun = holding.open(**options)
        self.holder = Holder(self.run)
        self._lines: list[Line] = []

    def line(self) -> Line:
        self._lines.append(Line(self.holder))
        return self._lines[-1]

    def close(self) -> None:
        self.holding.end_all()
        for line in self._lines:
            line.close()


@pytest.fixture
def holding(tmp_path: Path) -> Iterator[Holding]:
    made = Holding(tmp_path)
    yield made
    made.end_all()


@pytest.fixture
def held(holding: Holding) -> Iterator[Held]:
    made = Held(holding)
    yield made
    made.close()


@pytest.fixture
def waiting(holding: Holding) -> Iterator[Held]:
    """Its program runs until it is cancelled."""
    made = Held(holding, node=holding.waits)
    yield made
    made.close()


CALL = {"op": "call", "tool": "workspace.run_command", "arguments": NODE}


def test_calls_are_answered_over_one_connection_and_over_the_next(held: Held) -> None:
    first = held.line()
    read = {"op": "call", "tool": "workspace.read_file", "arguments": {"path": "README.md"}}
    assert [first.ask(**read)["answer"]["seq"], first.ask(**read)["answer"]["seq"]] == [1, 2]
    answer = held.line().ask(op="call", tool="workspace.write_file", arguments={"path": "README.md", "content": "x"})
    assert (answer["answer"]["seq"], code_of(answer["answer"])) == (3, "workspace_write_not_allowed")


def test_output_is_sent_as_it_comes_to_who_watches(holding: Holding) -> None:
    held = Held(holding, node=lambda _call: FakeOutcome(stdout=b"\x1b[31mred"))
    line = held.line()
    output = line.ask(**CALL, watch=True)["output"]
    assert (output["stream"], base64.b64decode(output["data"])) == ("stdout", b"\x1b[31mred")
    assert line.word()["answer"]["ok"]
    assert "answer" in line.ask(**CALL)
    held.close()


@pytest.mark.parametrize(
    "line",
    [b"nonsense", b"[]", b'{"op": "call", "op": "close"}', b"\xff", b'{"op": "show", "x": [' + b"1," * 99_999 + b"1]}"],
)
def test_what_cannot_be_read_is_refused_and_the_run_goes_on(held: Held, line: bytes) -> None:
    assert code_of(held.line().raw(line)["answer"]) == "invalid_arguments"
    assert held.line().ask(op="show")["run"] == held.run.run_id


def test_a_call_is_cancelled_by_who_knows_its_key_and_nobody_else(waiting: Held) -> None:
    with ThreadPoolExecutor(1) as pool:
        answer: Future[dict[str, Any]] = pool.submit(waiting.line().ask, **CALL, key="mine")
        assert waiting.holding.begun.wait(SURE)
        assert waiting.line().ask(op="show")["busy"] is True
        assert waiting.line().ask(op="cancel", key="yours") == {"cancelled": False}
        assert waiting.line().ask(op="cancel", key="mine") == {"cancelled": True}
        assert answer.result(SURE)["answer"]["result"]["killed_by"] == "caller"
    assert waiting.line().ask(op="cancel", key="mine") == {"cancelled": False}


def test_a_reader_that_goes_away_does_not_end_the_command(waiting: Held) -> None:
    line = waiting.line()
    line._stream.write(json.dumps({**CALL, "watch": True}).encode() + b"\n")
    line._stream.flush()
    assert waiting.holding.begun.wait(SURE)
    line.ours.shutdown(socket.SHUT_RDWR)
    assert waiting.run.busy
    assert waiting.run.cancel()
    assert not waiting.run.ended


def test_closing_tells_how_it_ended_and_a_later_call_is_told_so(held: Held) -> None:
    line = held.line()
    ending = line.ask(op="close")["ending"]
    assert (ending["status"], ending["exit_code"], ending["run_id"]) == ("completed", 0, held.run.run_id)
    assert code_of(line.ask(**CALL)["answer"]) == "run_ended"
    held.holding.bench.proved_gone()


def test_an_interrupt_ends_what_is_in_flight(waiting: Held) -> None:
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(waiting.line().ask, **CALL)
        assert waiting.holding.begun.wait(SURE)
        assert waiting.line().ask(op="interrupt")["ending"]["status"] == "interrupted"
        answer.result(SURE)
    waiting.holding.bench.proved_gone()


def test_the_socket_is_its_owners_alone_and_found_by_the_beginning_of_a_name(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)  # a socket's own path may have 107 bytes
    deep.mkdir()
    with listening(deep, "abc1"), listening(deep, "abd2"):
        assert held_runs(deep) == ["abc1", "abd2"]
        assert stat.S_IMODE((folder_of(deep) / "abc1.sock").stat().st_mode) == 0o600
        assert stat.S_IMODE(folder_of(deep).stat().st_mode) == 0o700
        connect(deep, "abc").close()
        with pytest.raises(UsageError, match="several"):
            connect(deep, "ab")


@pytest.mark.parametrize("name", ["", "x", "../runs"])
def test_a_run_that_nobody_holds_is_a_usage_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError) as error:
        connect(tmp_path, name)
    assert error.value.hint


def test_the_socket_of_a_holder_that_was_killed_is_cleared_away(tmp_path: Path) -> None:
    listening(tmp_path, "abc1").close()
    with pytest.raises(UsageError):
        connect(tmp_path, "abc1")
    assert held_runs(tmp_path) == []


def test_the_socket_of_a_holder_that_lives_is_kept_by_a_command_without_descriptors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(*_: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    with listening(tmp_path, "1f2e"), monkeypatch.context() as poor:
        poor.setattr("runner.doors.holding.wire.os.open", none_left)
        with pytest.raises(UsageError):
            connect(tmp_path, "1f2e")
    assert held_runs(tmp_path) == ["1f2e"]


def test_only_the_same_user_is_answered(monkeypatch: pytest.MonkeyPatch, held: Held) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert peer_is_us(ours)
        monkeypatch.setattr(os, "geteuid", lambda: 54321)
        assert not peer_is_us(ours)
    line = held.line()
    with suppress(ConnectionError):  # it may have hung up before anything was said
        line.ours.sendall(json.dumps(CALL).encode() + b"\n")
        assert line.ours.recv(1) == b""


def test_a_socket_has_its_name_only_once_it_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who connects in between would be refused, take the holder for gone, and remove its socket."""
    seen: list[list[str]] = []
    listen = socket.socket.listen

    def look_first(made: socket.socket) -> None:
        seen.append(held_runs(tmp_path))
        listen(made)

    monkeypatch.setattr(socket.socket, "listen", look_first)
    with listening(tmp_path, "abc1"):
        assert seen == [[]] and held_runs(tmp_path) == ["abc1"]


def test_a_call_that_is_cancelled_before_it_has_begun_is_ended_all_the_same(waiting: Held) -> None:
    waiting.holder._key = "mine"  # as a call has it that is about to begin
    with ThreadPoolExecutor(2) as pool:
        cancelled = pool.submit(waiting.line().ask, op="cancel", key="mine")
        answer = pool.submit(waiting.run.call, "workspace.run_command", NODE)
        assert cancelled.result(SURE) == {"cancelled": True}
        assert answer.result(SURE)["result"]["killed_by"] == "caller"
    assert waiting.line().ask(op="cancel", key="yours") == {"cancelled": False}
