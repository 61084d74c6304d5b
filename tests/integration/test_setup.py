"""Set-up with the real pnpm and npm in a real container, against a small registry on this host."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from runner.engine.docker_engine import DockerEngine
from tests.support.cases import P0, sh
from tests.support.cli import CliRun, run_runner
from tests.support.npm_registry import Registry, npm_lock, npm_registry, package_json, pnpm_lock
from tests.support.repos import Commit, File, bare_repository

pytestmark = pytest.mark.docker

Files = Mapping[str, File | bytes | str | None]
POLICY: Mapping[str, Any] = {
    **{key: value for key, value in P0.items() if key != "setup"},
    "network": {"setup": {"allow": ["npm"]}},
}
SAYS_FIRST = sh("node", "-p", "require('first')")


@pytest.fixture
def registry(docker_engine: DockerEngine, tmp_path: Path) -> Iterator[Registry]:
    with npm_registry(tmp_path / "registry") as running:
        yield running


def repository(folder: Path, files: Files, name: str = "app") -> Path:
    return bare_repository(folder / f"{name}.git", [Commit(files)])


def opened(registry: Registry, repo: Path, tmp_path: Path, *calls: Any, **policy: Any) -> CliRun:
    """One run, set up under the registry's settings."""
    return run_runner(repo, {**POLICY, **policy}, list(calls), tmp_path, environment=registry.environment)


def printed(ran: CliRun) -> list[str]:
    assert ran.exit_code == 0, ran.stderr
    return [answer["result"]["stdout"].strip() for answer in ran.answers]


@pytest.mark.parametrize("manager", ["pnpm", "npm"])
def test_the_operators_registry_is_reached_where_the_operator_says_it_is(
    manager: str, registry: Registry, tmp_path: Path
) -> None:
    lock = {"pnpm-lock.yaml": pnpm_lock(registry, "first")}
    if manager == "npm":
        lock = {"package-lock.json": npm_lock(registry, "first")}
    repo = repository(tmp_path, {"package.json": package_json("first"), **lock})
    ran = opened(registry, repo, tmp_path, SAYS_FIRST)
    assert printed(ran) == ["first"]
    events = [line["data"] for line in ran.audit if line["event"] == "egress"]
    assert events and all(event["allowed"] and event["address"] == "127.0.0.1" for event in events)
    assert any(path.endswith(".tgz") for path in registry.seen)


def test_without_its_address_a_name_at_this_host_is_not_reached(registry: Registry, tmp_path: Path) -> None:
    repo = repository(tmp_path, {"package.json": package_json("first"), "pnpm-lock.yaml": pnpm_lock(registry, "first")})
    # A name that every resolver leads to this host, in the place of the registry's.
    environment = {
        "RUNNER_NPM_REGISTRY": f"https://localhost.localdomain:{registry.port}/",
        "SSL_CERT_FILE": str(registry.certificate),
    }
    once = {"npm_config_fetch_retries": "0"}
    ran = run_runner(repo, {**POLICY, "env": once}, [SAYS_FIRST], tmp_path, environment=environment)
    assert ran.exit_code == 4
    rules = {line["data"]["rule"] for line in ran.audit if line["event"] == "egress"}
    assert rules and rules <= {"egress.address.loopback", "egress.dns"}
    assert f"refused localhost.localdomain:{registry.port}" in ran.stderr
    assert registry.seen == []


def test_a_pnpm_workspace_is_installed_with_its_root(registry: Registry, tmp_path: Path) -> None:
    files = {
        "package.json": package_json("first"),
        "pnpm-workspace.yaml": "packages: ['packages/*']\n",
        "pnpm-lock.yaml": pnpm_lock(registry, "first", importers=(".", "packages/a")),
        "packages/a/package.json": package_json("first", name="a"),
    }
    asked = sh("node", "-p", "require.resolve('first', {paths: ['packages/a']}).startsWith('/workspace/node_modules')")
    ran = opened(registry, repository(tmp_path, files), tmp_path, asked, sh("pnpm", "-r", "list", "--depth=0"))
    assert printed(ran)[0] == "true" and "packages/a" in printed(ran)[1]


def test_an_npm_workspace_is_installed_with_its_root(registry: Registry, tmp_path: Path) -> None:
    lock = json.loads(npm_lock(registry, "first"))
    lock["packages"][""]["workspaces"] = ["packages/*"]
    lock["packages"]["node_modules/a"] = {"resolved": "packages/a", "link": True}
    lock["packages"]["packages/a"] = {"name": "a", "version": "1.0.0", "dependencies": {"first": "1.0.0"}}
    files = {
        "package.json": package_json("first", workspaces=["packages/*"]),
        "package-lock.json": json.dumps(lock),
        "packages/a/package.json": package_json("first", name="a"),
        "packages/a/index.js": "module.exports = 'a uses ' + require('first');\n",
    }
    ran = opened(registry, repository(tmp_path, files), tmp_path, sh("node", "-p", "require('a')"))
    assert printed(ran) == ["a uses first"]
    assert ran.report["setup"]["cache"]["kept"] is True


def test_an_install_that_fails_shows_what_the_tool_said(registry: Registry, tmp_path: Path) -> None:
    files = {"package.json": package_json("first", "second"), "pnpm-lock.yaml": pnpm_lock(registry, "first")}
    ran = opened(registry, repository(tmp_path, files), tmp_path)
    assert (ran.exit_code, ran.report["ended"]["code"]) == (4, "setup_failed")
    assert "ERR_PNPM_OUTDATED_LOCKFILE" in ran.stderr
    assert not list((tmp_path / "runner-state").glob("caches/*.tar"))


def test_no_build_script_runs_in_a_detected_install(registry: Registry, tmp_path: Path) -> None:
    scripts = {name: "node -e \"require('fs').writeFileSync('ran', '')\"" for name in ("preinstall", "prepare")}
    files = {
        "package.json": package_json("first", scripts=scripts),
        "package-lock.json": npm_lock(registry, "first"),
    }
    look = sh("node", "-p", "require('fs').existsSync('ran')")
    assert printed(opened(registry, repository(tmp_path, files), tmp_path, look)) == ["false"]


def test_tools_that_differ_and_the_own_verification_are_told_and_nothing_is_fetched(
    registry: Registry, tmp_path: Path
) -> None:
    said = "tools: {node: 18, npm: 11}\nverify:\n  - [npm, test]\n  - [git, push]\nrun: []\n"
    files = {"package.json": "{}", ".os/workspace.yml": said, ".tool-versions": "nodejs 16.0.0\npnpm 10\n"}
    ran = opened(registry, repository(tmp_path, files), tmp_path)
    assert ran.exit_code == 0, ran.stderr
    assert "tools: .os/workspace.yml asks for node 18, and the image has 22" in ran.stderr
    setup = ran.report["setup"]
    assert {(found["tool"], found["fit"]) for found in setup["tools"]} == {
        ("node", "differs"),
        ("npm", "fits"),
        ("pnpm", "fits"),
    }
    assert setup["verify"] == [
        {"argv": ["npm", "test"], "allowed": True, "code": None},
        {"argv": ["git", "push"], "allowed": False, "code": "git_push_via_run_command"},
    ]
    assert "the repository checks itself with: npm test" in ran.stderr
    assert setup["steps"] == [] and registry.seen == []


def test_pointers_and_submodules_are_left_and_told(registry: Registry, tmp_path: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 12345\n"
    files: Files = {
        ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
        "a.bin": pointer,
        "deep/b.bin": pointer,
        "c.txt": "x" * 130,
        "lib": File(b"1" * 40, "160000"),
    }
    repo = bare_repository(tmp_path / "lfs.git", [Commit(files)])
    ran = opened(registry, repo, tmp_path, sh("node", "-p", "require('fs').readFileSync('a.bin', 'utf8')"))
    assert printed(ran) == [pointer.strip()]
    assert ran.report["left_out"] == {
        "submodules": {"count": 1, "paths": ["lib"]},
        "lfs_pointers": {"count": 2, "paths": ["a.bin", "deep/b.bin"], "at_least": False},
    }
    assert "1 submodule is not fetched: lib" in ran.stderr
    assert "2 files are LFS pointers; their content is not fetched" in ran.stderr
