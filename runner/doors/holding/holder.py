"""The process that holds one run: opens it, answers calls on its socket, and ends with it.

It is started by `runner open`, in a session of its own, so that neither a closed terminal nor the end of the command
ends the run. Its last resort is the run's own deadline; when it is killed, the workspace ends itself.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from runner.app import compose
from runner.controller.held import Ending, HeldRun
from runner.doors.asking import request_of
from runner.doors.holding.wire import Stream, folder_of, listening, peer_is_us, read_message, send_message
from runner.model.errors import ErrorCode, RunnerError, ToolError
from runner.settings import Settings

__all__ = ["main"]

_LAST_WORDS_SECONDS = 0.5
_CANCEL_AGAIN_SECONDS = 0.02  # a call that has its key may not have begun yet


class Holder:
    """Answers the connections of one run."""

    def __init__(self, run: HeldRun) -> None:
        self._run = run
        self._turn = threading.Lock()
        self._keying = threading.Lock()  # no other call begins while one is cancelled
        self._key: object = None  # of the call in flight

    def answer(self, connection: socket.socket) -> None:
        """Every message of one connection is answered, in order."""
        with suppress(OSError), connection, connection.makefile("rwb") as stream:
            if not peer_is_us(connection):
                return
            while True:
                try:
                    message = read_message(stream, from_caller=True)
                except ValueError as error:
                    send_message(stream, answer=self._unreadable(str(error)))
                    return
                if message is None:
                    return
                self._one(message, stream)

    def _unreadable(self, reason: str) -> dict[str, Any]:
        said = f"The call cannot be read: {reason}."
        return self._run.refuse("", ToolError(ErrorCode.INVALID_ARGUMENTS, said, hint="Send one JSON object a line."))

    def _one(self, message: dict[str, Any], stream: Stream) -> None:
        if message.get("op") == "call":
            send_message(stream, answer=self._call(message, stream))
        elif message.get("op") == "cancel":
            send_message(stream, cancelled=self._cancel(message.get("key")))
        elif message.get("op") == "show":
            left = round(self._run.seconds_left, 1)
            send_message(stream, run=self._run.run_id, seconds_left=left, busy=self._run.busy)
        elif message.get("op") in ("close", "interrupt"):
            self._end(message["op"] == "interrupt", stream)

    def _call(self, message: dict[str, Any], stream: Stream) -> dict[str, Any]:
        def see(name: str, data: bytes) -> None:
            # A reader that went away does not end the command: its answer is in the log, and the run goes on.
            with suppress(OSError):
                send_message(stream, output={"stream": name, "data": base64.b64encode(data).decode("ascii")})

        with self._turn:
            with self._keying:
                self._key = message.get("key")
            try:
                watched = see if message.get("watch") else None
                return self._run.call(str(message.get("tool")), message.get("arguments", {}), on_output=watched)
            finally:
                with self._keying:
                    self._key = None

    def _cancel(self, key: object) -> bool:
        """Whether the call with that key was in flight, or about to be, and has been ended."""
        while key is not None:
            with self._keying:
                if self._key != key:
                    return False
                if self._run.cancel():
                    return True
            time.sleep(_CANCEL_AGAIN_SECONDS)
        return False

    def _end(self, interrupt: bool, stream: Stream) -> None:
        try:
            ending = self._run.interrupt() if interrupt else self._run.close()
            send_message(stream, ending=_plain(ending))
        except RunnerError as error:
            send_message(stream, error=_error(error))


def _plain(ending: Ending) -> dict[str, Any]:
    return {**asdict(ending), "folder": str(ending.folder), "out": None if ending.out is None else str(ending.out)}


def _error(error: RunnerError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "hint": error.hint, "exit_code": int(error.exit_code)}


def main() -> None:
    """Opens the run that standard input asks for, and answers until it has ended."""
    # Until the run is open, a signal ends it as it would a `runner run`; afterwards `_until_ended` takes signals.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    asked = json.loads(sys.stdin.buffer.read())
    opener = _Opener()
    settings = Settings.from_environment()
    over = threading.Event()
    try:
        with compose(settings) as host:
            run = HeldRun(host, request_of(**asked), opener.progress, on_end=lambda _ending: over.set())
            with listening(settings.state_dir, run.run_id) as listener:
                opener.opened(run)
                _until_ended(run, listener, over)
            (folder_of(settings.state_dir) / f"{run.run_id}.sock").unlink(missing_ok=True)
    except RunnerError as error:
        opener.tell(error=_error(error))
        raise SystemExit(int(error.exit_code)) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def _until_ended(run: HeldRun, listener: socket.socket, over: threading.Event) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=run.interrupt).start())
    holder = Holder(run)
    answering: list[threading.Thread] = []

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            one = threading.Thread(target=holder.answer, args=(connection,), daemon=True)
            answering.append(one)
            one.start()

    threading.Thread(target=accept, daemon=True).start()
    over.wait()
    # Whoever ended the run is told so; a connection that nobody closes is not waited for.
    for one in answering:
        one.join(_LAST_WORDS_SECONDS)


class _Opener:
    """The command that waits for the run to open. Without it nobody would know of the run, which then ends.

    It reads until the run is open, and is not asked for afterwards.
    """

    def tell(self, **message: Any) -> bool:
        """Whether it could be told."""
        try:
            send_message(sys.stdout.buffer, **message)
        except OSError:
            return False
        return True

    def progress(self, message: str) -> None:
        if not self.tell(progress=message):
            os.kill(os.getpid(), signal.SIGTERM)  # it may not be the main thread that says so

    def opened(self, run: HeldRun) -> None:
        left = round(run.seconds_left, 1)
        there = self.tell(opened={"run": run.run_id, "seconds_left": left, "folder": str(run.folder)})
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        os.close(null)
        if not there:
            run.interrupt()


if __name__ == "__main__":
    main()
