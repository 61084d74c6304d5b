"""SWE-ReX's client, held by the bench: one JSON object a line in, milliseconds out. Runs under the peer's own Python.

Started as `python -I swerex_client.py ADDRESS`; the first line is the token, which no argument list shows.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from typing import Any

from swerex.runtime.abstract import Command, ReadFileRequest, WriteFileRequest  # type: ignore[import-not-found]
from swerex.runtime.remote import RemoteRuntime  # type: ignore[import-not-found]

_START_SECONDS = 60.0


async def _act(runtime: Any, order: dict[str, Any]) -> str | None:
    """What is wrong, or None."""
    if "argv" in order:
        answer = await runtime.execute(Command(command=order["argv"], cwd="/workspace"))
        return None if answer.exit_code == 0 else f"ended with {answer.exit_code}: {answer.stderr[-300:]}"
    if "content" in order:
        await runtime.write_file(WriteFileRequest(path=order["path"], content=order["content"]))
        return None
    content = (await runtime.read_file(ReadFileRequest(path=order["path"]))).content
    return None if len(content) == order["size"] else f"{len(content)} characters were read"


async def _main() -> None:
    host, _, port = sys.argv[1].rpartition(":")
    runtime = RemoteRuntime(host=host, port=int(port), auth_token=sys.stdin.readline().strip(), timeout=30.0)
    await runtime.wait_until_alive(timeout=_START_SECONDS)
    _tell({"ms": 0.0})
    for line in sys.stdin:
        order = json.loads(line)
        started = time.perf_counter()
        wrong = await _act(runtime, order)
        milliseconds = (time.perf_counter() - started) * 1000
        _tell({"ms": milliseconds} if wrong is None else {"wrong": wrong})


def _tell(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)  # its log goes to standard output
    asyncio.run(_main())
