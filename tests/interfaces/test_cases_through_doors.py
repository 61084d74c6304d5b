"""Conformance cases through the doors that a network or an agent uses: what `runner run` answers, and what holds after.

One case of each kind, of those that tests/adversarial runs through `runner run`; `make doors` takes all of them.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from runner.doors.tool_pages import flat_name
from runner.settings import Settings
from runner.store.database import Database, default_url
from runner.store.tokens import TokenStore, Verb
from tests.adversarial.test_cases import ALL
from tests.support.cases import P0, Case, check
from tests.support.cli import Invocation, call
from tests.support.live_server import LiveServer
from tests.support.repos import R0, build_r0, git

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.usefixtures("docker_engine")]

_KINDS = "F07 W09 E09 C-hook-adds S05 P05 P15 K01".split()
_ENDED = Case(
    "denials",
    "a run that has ended says so",
    (
        (call("write_file", path="README.md", content="x"), "workspace_write_not_allowed"),
        (call("read_file", path="README.md"), "run_limit_exceeded"),
    ),
    policy={"budget": {"denials": 1}},
    ends_run=True,
)
CASES = [*(case for case in ALL if case.id in _KINDS or os.environ.get("RUNNER_ALL_CASES") == "1"), _ENDED]
Answers = list[dict[str, Any]]


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def server(state: Path) -> Iterator[LiveServer]:
    with LiveServer("--port", "0", environment={"RUNNER_STATE_DIR": str(state)}) as started:
        yield started
        assert started.stop()[0] == 0


@pytest.fixture
def by_http(server: LiveServer, state: Path) -> Callable[[R0, Case, Path, Sequence[Invocation]], Answers]:
    def through(r0: R0, case: Case, policy: Path, calls: Sequence[Invocation]) -> Answers:
        database = Database(default_url(state))
        tokens = TokenStore(database, time.time)
        policies, repositories = [str(policy)], [f"file://{r0.remote}"]
        _, token = tokens.create("t", policies=policies, repositories=repositories, verbs=list(Verb), seconds=600)
        database.close()
        with server.client(token) as client:
            asked = {"repo": str(r0.remote), "ref": case.ref, "policy": str(policy)}
            made = client.post("/v1/runs?wait=60", json=asked).json()
            assert made["state"] == "open", made
            run = f"/v1/runs/{made['id']}"
            answers = [client.post(f"{run}/tools/{tool}", json=arguments).json() for tool, arguments in calls]
            ended = client.delete(run).json()
            assert ended["state"] == ("failed" if case.ends_run else "completed"), ended
            return answers

    return through


def _by_mcp(r0: R0, case: Case, policy: Path, calls: Sequence[Invocation]) -> Answers:
    asked = ["--repo", str(r0.remote), "--ref", case.ref, "--policy", str(policy)]
    settings = Settings.from_environment()
    kept = {"RUNNER_STATE_DIR": str(settings.state_dir)}
    names = {"RUNNER_IMAGE": settings.image, "RUNNER_GATE_IMAGE": settings.gate_image}
    argv = ["-m", "runner.doors.cli", "mcp", *asked]
    server = StdioServerParameters(command=sys.executable, args=argv, env={**kept, **names})

    async def talk() -> Answers:
        async with stdio_client(server) as streams, ClientSession(*streams) as session:
            await session.initialize()
            return [_of_mcp(await session.call_tool(flat_name(tool), arguments)) for tool, arguments in calls]

    return asyncio.run(talk())


def _of_mcp(said: Any) -> dict[str, Any]:
    if said.isError:
        return {"ok": False, "error": said.structuredContent}
    structured = said.structuredContent
    return {"ok": True, "result": said.content[0].text if structured is None else structured}


@pytest.mark.parametrize("door", ["http", "mcp"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_case_is_answered_as_through_runner_run(
    door: str,
    case: Case,
    tmp_path: Path,
    by_http: Callable[[R0, Case, Path, Sequence[Invocation]], Answers],
) -> None:
    r0 = build_r0(tmp_path / "r0", extra=case.files, default_branch=case.default_branch)
    if case.remote is not None:
        case.remote(r0)
    before = git(r0.remote, "for-each-ref")
    policy = tmp_path / "policy.yml"
    setup = [*P0["setup"], *(list(argv) for argv in case.prepare)]
    policy.write_text(yaml.safe_dump({**P0, **case.policy, "setup": setup}), encoding="utf-8")

    through = by_http if door == "http" else _by_mcp
    answers = through(r0, case, policy, [*case.inside, *(asked for asked, _ in case.calls)])

    for answer, (_, expect) in zip(answers[len(case.inside) :], case.calls, strict=True):
        check(answer, expect)
    assert (git(r0.remote, "for-each-ref") != before) is case.moves_remote
