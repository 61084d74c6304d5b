"""The Python API for asyncio: the same answers, an event loop that never waits, and cancellations that cut whole."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable

import pytest

import runner
from runner.doors import aio, python
from runner.doors.testing import Call, Outcome
from runner.doors.waiting import cut_with_its_task, whole
from runner.model.errors import RepositoryUnavailable
from tests.support.fake_run import SURE
from tests.support.policies import P0

FILES = {"src/a.mjs": "a\n", "README.md": "# R\n"}
NODE = ["node", "src/a.mjs"]


class Waiting:
    """A program that runs until it is cancelled."""

    def __init__(self) -> None:
        self.begun = threading.Event()

    def __call__(self, _call: Call) -> Outcome:
        self.begun.set()
        return Outcome(until_cancelled=True)


def opening(program: Waiting | None = None, opened: list[python.Workspace] | None = None) -> aio.Opening:
    """An opening of a workspace in memory; `opened` gets it."""

    def begin() -> python.Workspace:
        programs = {} if program is None else {"node": program}
        made = runner.testing.open_run(FILES, policy=P0, programs=programs)
        if opened is not None:
            opened.append(made)
        return made

    return aio.Opening(begin)


def test_the_methods_are_those_of_the_synchronous_workspace_with_the_same_parameters() -> None:
    def public(of: type) -> dict[str, inspect.Signature]:
        found = inspect.getmembers(of, inspect.isfunction)
        return {name: inspect.signature(member) for name, member in found if not name.startswith("_")}

    assert public(python.Workspace) == public(aio.Workspace)


def test_a_call_is_cancelled_from_another_task_and_the_run_goes_on() -> None:
    async def go() -> None:
        program = Waiting()
        async with opening(program) as ws:
            assert not await ws.cancel()
            call = asyncio.create_task(ws.run_command(NODE))
            await asyncio.to_thread(program.begun.wait, SURE)
            assert await ws.cancel()
            assert (await call).killed_by == "caller"
            assert await ws.read_file("README.md") == "# R\n"

    asyncio.run(go())


def test_calls_answer_and_the_block_closes_the_run() -> None:
    async def go() -> None:
        async with opening() as ws:
            await ws.write_file("src/b.mjs", "b\n")
            assert await ws.read_file("src/b.mjs") == "b\n"
            assert [entry.name for entry in (await ws.list_dir("src")).entries] == ["a.mjs", "b.mjs"]
            assert (await ws.search("b")).matches[0].path == "src/b.mjs"
            with pytest.raises(runner.ToolRefused):
                await ws.write_file("README.md", "x")
        assert ws.ended
        assert (await ws.call("workspace.list_dir", {}))["error"]["code"] == "run_ended"

    asyncio.run(go())


def test_an_awaited_opening_gives_the_workspace_itself() -> None:
    async def go() -> None:
        ws = await opening()
        assert (await ws.close()).status == "completed"
        assert (await ws.close()).status == "completed"

    asyncio.run(go())


def test_other_tasks_go_on_while_a_command_runs_and_a_cancelled_task_ends_it() -> None:
    program = Waiting()

    async def go() -> None:
        async with opening(program) as ws:
            task = asyncio.create_task(ws.run_command(NODE))
            assert await asyncio.to_thread(program.begun.wait, SURE)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await ws.read_file("src/a.mjs") == "a\n"

    asyncio.run(go())


def test_a_cancelled_block_interrupts_its_run() -> None:
    program, opened = Waiting(), list[python.Workspace]()

    async def work() -> None:
        async with opening(program, opened) as ws:
            await ws.run_command(NODE)

    async def go() -> None:
        task = asyncio.create_task(work())
        assert await asyncio.to_thread(program.begun.wait, SURE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
    assert opened[0].close().status == "interrupted"


def test_an_opening_that_is_cancelled_leaves_no_run_open() -> None:
    opened: list[python.Workspace] = []
    begun, go_on = threading.Event(), threading.Event()

    def begin() -> python.Workspace:
        begun.set()
        assert go_on.wait(SURE)
        opened.append(runner.testing.open_run(FILES))
        return opened[0]

    async def go() -> None:
        task = asyncio.ensure_future(_awaited(aio.Opening(begin)))
        assert await asyncio.to_thread(begun.wait, SURE)
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
    assert opened[0].ended and opened[0].close().status == "interrupted"


def test_what_keeps_a_run_from_starting_is_raised_where_it_is_awaited() -> None:
    def begin() -> python.Workspace:
        raise RepositoryUnavailable("there is none")

    async def go() -> None:
        with pytest.raises(RepositoryUnavailable):
            await aio.Opening(begin)

    asyncio.run(go())


def test_a_cancelled_task_ends_its_own_call_and_not_the_one_that_it_waited_for() -> None:
    program = Waiting()

    async def go() -> None:
        async with opening(program) as ws:
            first = asyncio.create_task(ws.run_command(NODE))
            assert await asyncio.to_thread(program.begun.wait, SURE)
            second = asyncio.create_task(ws.read_file("src/a.mjs"))
            await asyncio.sleep(0)
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            assert not first.done()
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first

    asyncio.run(go())


def test_a_cancellation_is_not_lost_to_what_the_work_came_to() -> None:
    """A call that is refused while its task is cancelled, and a task that is cancelled while its run is closed."""
    begun, go_on = threading.Event(), threading.Event()

    def refused() -> None:
        begun.set()
        assert go_on.wait(SURE)
        raise runner.ToolRefused("git", {"code": "run_ended", "message": "", "details": {}})

    async def cut(wait: Callable[[], Awaitable[object]]) -> None:
        begun.clear()
        go_on.clear()
        task = asyncio.ensure_future(wait())
        assert await asyncio.to_thread(begun.wait, SURE)
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def go() -> None:
        await cut(lambda: cut_with_its_task(refused, lambda: None, None))
        await cut(lambda: whole(asyncio.ensure_future(asyncio.to_thread(refused))))

    asyncio.run(go())


async def _awaited(one: aio.Opening) -> aio.Workspace:
    workspace: aio.Workspace = await one
    return workspace
