"""One run's calls through every door: each gives the same answers, refusals and endings as the others."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

import runner
from runner.app import compose
from runner.doors.http.app import Parts, make_app
from runner.doors.http.serve_command import _request
from runner.doors.tool_pages import flat_name
from runner.engine.docker_engine import DockerEngine
from runner.serving.service import Service
from runner.settings import Settings
from runner.store.database import Database, default_url
from runner.store.runs import RunStore
from runner.store.tokens import TokenStore, Verb
from tests.support.cli import run_cli
from tests.support.repos import Commit, bare_repository

pytestmark = [pytest.mark.docker, pytest.mark.slow]

POLICY = {"writeAllow": ["src/**", "docs/**"], "rewriteAllow": ["src/**"]}
NARROW = {"writeAllow": ["src/**"], "limits": {"pids": 100}}
CALLS: list[tuple[str, Any]] = [
    ("workspace.read_file", {"path": "README.md"}),
    ("workspace.read_file", {"path": "src/a.mjs", "startLine": 1, "limit": 1}),
    ("workspace.read_file", {"path": "nope"}),
    ("workspace.read_file", {"path": "../etc/passwd"}),
    ("workspace.read_file", {"file": "README.md"}),
    ("workspace.list_dir", {}),
    ("workspace.write_file", {"path": "src/n.mjs", "content": "console.log('é\u202e');\n"}),
    ("workspace.write_file", {"path": "README.md", "content": "x"}),
    ("workspace.write_file", {"path": "docs/a.md", "content": "x"}),
    ("workspace.edit", {"path": "src/n.mjs", "oldString": "log", "newString": "error", "replaceAll": True}),
    ("workspace.edit", {"path": "src/n.mjs", "oldString": "nothing", "newString": "x"}),
    ("workspace.search", {"pattern": "export", "globs": ["src/**"]}),
    ("workspace.search", {"pattern": "(", "regex": True}),
    ("workspace.run_command", {"argv": ["node", "src/n.mjs"]}),
    ("workspace.run_command", {"argv": ["node", "-e", "process.exit(3)"]}),
    ("workspace.run_command", {"argv": ["curl", "x"]}),
    ("workspace.run_command", {"argv": []}),
    ("git", {"args": "status --short"}),
    ("git", {"args": ["push"]}),
    ("workspace.delete_file", {"path": "src/a.mjs"}),
    ("workspace.git_push", {}),
    ("no.such_tool", {"x": 1}),
]
Place = tuple[Path, Path, Path]
"""A repository, a policy, and what narrows it."""

Door = Callable[[Path, Path, Path], list[dict[str, Any]]]


def settled(answer: dict[str, Any]) -> dict[str, Any]:
    """What must be the same: everything but how long it took, and what not every door has: id, number and name."""
    kept: dict[str, Any] = {"ok": answer["ok"], "keys": set(answer) - {"id", "seq", "tool", "duration_ms"}}
    if answer["ok"]:
        result = answer["result"]
        kept["result"] = (
            {**result, "duration_ms": 0} if isinstance(result, dict) and "duration_ms" in result else result
        )
    else:
        kept["error"] = answer["error"]
    return kept


def _asked(repo: Path, policy: Path, narrow: Path) -> list[str]:
    return ["--repo", str(repo), "--policy", str(policy), "--narrow", str(narrow)]


def by_run(repo: Path, policy: Path, narrow: Path) -> list[dict[str, Any]]:
    lines = "".join(json.dumps({"tool": tool, "arguments": arguments}) + "\n" for tool, arguments in CALLS)
    ended = run_cli("run", *_asked(repo, policy, narrow), "--calls", "-", stdin=lines)
    assert ended.exit_code == 0
    return ended.answers


def by_open_call_close(repo: Path, policy: Path, narrow: Path) -> list[dict[str, Any]]:
    name = run_cli("open", *_asked(repo, policy, narrow)).stdout.strip()
    answers = [run_cli("call", name, tool, json.dumps(arguments)).answers[0] for tool, arguments in CALLS]
    assert run_cli("close", name).exit_code == 0
    return answers


def by_python(repo: Path, policy: Path, narrow: Path) -> list[dict[str, Any]]:
    with runner.open_run(repo, policy=policy, narrow=[narrow]) as ws:
        return [ws.call(tool, arguments) for tool, arguments in CALLS]


def by_asyncio(repo: Path, policy: Path, narrow: Path) -> list[dict[str, Any]]:
    async def go() -> list[dict[str, Any]]:
        async with runner.aio.open_run(repo, policy=policy, narrow=[narrow]) as ws:
            return [await ws.call(tool, arguments) for tool, arguments in CALLS]

    return asyncio.run(go())


def by_mcp(repo: Path, policy: Path, narrow: Path) -> list[dict[str, Any]]:
    argv = ["-m", "runner.doors.cli", "mcp", *_asked(repo, policy, narrow)]
    settings = Settings.from_environment()
    names = {"RUNNER_IMAGE": settings.image, "RUNNER_GATE_IMAGE": settings.gate_image}
    server = StdioServerParameters(
        command=sys.executable, args=argv, env={**names, "RUNNER_STATE_DIR": str(settings.state_dir)}
    )

    async def go() -> list[dict[str, Any]]:
        async with stdio_client(server) as streams, ClientSession(*streams) as session:
            await session.initialize()
            names = {tool.name for tool in (await session.list_tools()).tools}
            assert {flat_name(tool) for tool, _ in CALLS} - names == {"no_such_tool"}
            return [_of_mcp(await session.call_tool(_known(tool), arguments)) for tool, arguments in CALLS]

    return asyncio.run(go())


def _known(tool: str) -> str:
    return tool if tool == "no.such_tool" else flat_name(tool)


def _of_mcp(result: Any) -> dict[str, Any]:
    if result.isError:
        return {"ok": False, "error": result.structuredContent}
    structured = result.structuredContent
    return {"ok": True, "result": result.content[0].text if structured is None else structured}


def by_http(repo: Path, policy: Path, narrow: Path) -> list[dict[str, Any]]:
    settings = Settings.from_environment()
    with compose(settings) as host:
        database = Database(default_url(settings.state_dir))
        tokens = TokenStore(database, host.unix)
        repositories, policies = [f"file://{repo}"], [str(policy)]
        _, text = tokens.create("t", policies=policies, repositories=repositories, verbs=list(Verb), seconds=600)
        store = RunStore(database, host.unix)
        service = Service(host, store, _request, runs_per_tenant=2)
        app = make_app(Parts(host, service, tokens, host.monotonic))
        answers = asyncio.run(_over_http(app, text, repo, policy, json.loads(narrow.read_text())))
        service.shutdown()
        database.close()
        return answers


async def _over_http(app: Any, token: str, repo: Path, policy: Path, narrow: dict[str, Any]) -> list[dict[str, Any]]:
    headers = {"Authorization": f"Bearer {token}"}
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://runner", headers=headers, timeout=120) as client:
        made = await client.post("/v1/runs", json={"repo": str(repo), "policy": str(policy), "narrow": narrow})
        name = made.json()["id"]
        said = [await client.post(f"/v1/runs/{name}/tools/{tool}", json=arguments) for tool, arguments in CALLS]
        assert {answer.status_code for answer in said} == {200}
        ended = await client.delete(f"/v1/runs/{name}")
        assert ended.json()["state"] == "completed"
        return [answer.json() for answer in said]


DOORS: dict[str, Door] = {
    "open, call, close": by_open_call_close,
    "python": by_python,
    "asyncio": by_asyncio,
    "mcp": by_mcp,
    "http": by_http,
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, docker_engine: DockerEngine) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("doors")
    files: dict[str, Any] = {"README.md": b"# R\n", "src/a.mjs": b"export const a = 1;\n", "package.json": b"{}\n"}
    policy = folder / "policy.json"
    policy.write_text(json.dumps(POLICY))
    narrow = folder / "narrow.json"
    narrow.write_text(json.dumps(NARROW))
    yield bare_repository(folder / "r.git", [Commit(files)]), policy, narrow


@pytest.fixture(scope="module")
def expected(place: Place) -> list[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RUNNER_STATE_DIR", str(place[0].parent / "state"))
        answers = by_run(*place)
    assert [answer["ok"] for answer in answers].count(True) == 10
    rules = {
        arguments["path"]: answer["error"]["details"]["rule"]
        for (tool, arguments), answer in zip(CALLS, answers, strict=True)
        if tool == "workspace.write_file" and not answer["ok"]
    }
    assert rules == {"README.md": "write.allow.none", "docs/a.md": "narrow.1.write.allow.none"}
    return [settled(answer) for answer in answers]


@pytest.mark.parametrize("door", DOORS)
def test_every_door_gives_the_answers_of_runner_run(door: str, place: Place, expected: list[dict[str, Any]]) -> None:
    answers = [settled(answer) for answer in DOORS[door](*place)]
    for (tool, arguments), answer, wanted in zip(CALLS, answers, expected, strict=True):
        assert answer == wanted, (tool, arguments)
