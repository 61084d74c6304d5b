"""What an install made, between runs: what it saves, and what nobody gets in or out by it."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.engine.docker_engine import DockerEngine
from tests.integration.test_setup import SAYS_FIRST, opened, printed, repository
from tests.support.cases import sh
from tests.support.cli import CliRun
from tests.support.npm_registry import Registry, npm_lock, npm_registry, package_json, pnpm_lock

pytestmark = pytest.mark.docker

LAYER_MARK = b"node_modules"
PLANT = "require('fs').writeFileSync('node_modules/first/index.js', 'module.exports = 1')"


@pytest.fixture
def registry(docker_engine: DockerEngine, tmp_path: Path) -> Iterator[Registry]:
    with npm_registry(tmp_path / "registry") as running:
        yield running


@pytest.fixture
def caches(tmp_path: Path) -> Path:
    return tmp_path / "runner-state" / "caches"


def workspace_of(manager: str, registry: Registry) -> dict[str, str]:
    """A repository of two packages, the second of which uses the first's dependency."""
    if manager == "pnpm":
        lock = pnpm_lock(registry, "first", importers=(".", "packages/a"))
        extra = {"pnpm-workspace.yaml": "packages: ['packages/*']\n", "pnpm-lock.yaml": lock}
        root = package_json("first")
    else:
        made = json.loads(npm_lock(registry, "first"))
        made["packages"][""]["workspaces"] = ["packages/*"]
        made["packages"]["node_modules/a"] = {"resolved": "packages/a", "link": True}
        made["packages"]["packages/a"] = {"name": "a", "version": "1.0.0", "dependencies": {"first": "1.0.0"}}
        extra, root = {"package-lock.json": json.dumps(made)}, package_json("first", workspaces=["packages/*"])
    return {**extra, "package.json": root, "packages/a/package.json": package_json("first", name="a")}


def layer(ran: CliRun) -> tuple[str, bool]:
    facts = ran.report["setup"]["layer"]
    return facts["outcome"], facts["kept"]


def kept_layers(caches: Path) -> list[Path]:
    """The archives that are layers and not package caches."""
    return [path for path in caches.glob("*.tar") if LAYER_MARK in path.read_bytes()[:4096]]


FINDS_FIRST = sh("node", "-p", "require.resolve('first', {paths: ['packages/a']}).includes('/node_modules/')")
STATUS = sh("git", "status", "--porcelain", "--ignored")


@pytest.mark.parametrize("manager", ["pnpm", "npm"])
def test_the_second_run_has_the_same_packages_without_an_install(
    manager: str, registry: Registry, tmp_path: Path, caches: Path
) -> None:
    repo = repository(tmp_path, workspace_of(manager, registry))
    listed = sh("node", "-p", _LISTING)
    cold = opened(registry, repo, tmp_path, SAYS_FIRST, FINDS_FIRST, listed, STATUS)
    assert (printed(cold)[:2], layer(cold)) == (["first", "true"], ("miss", True)), cold.report["setup"]
    registry.closed = True
    seen = len(registry.seen)
    warm = opened(registry, repo, tmp_path, SAYS_FIRST, FINDS_FIRST, listed, STATUS)
    assert (printed(warm), layer(warm)) == (printed(cold), ("hit", True))
    assert (warm.report["setup"]["steps"], len(registry.seen)) == ([], seen)
    assert not [line for line in warm.audit if line["event"] in ("egress", "setup.step")]


_LISTING = """
const fs = require('fs'), path = require('path'), found = [];
const look = (folder) => { for (const entry of fs.readdirSync(folder, {withFileTypes: true})) {
  const at = path.join(folder, entry.name), info = fs.lstatSync(at);
  if (entry.name === '.git' || /state|modules.yaml|package-lock.json/.test(entry.name)) continue;
  const what = entry.isSymbolicLink() ? fs.readlinkSync(at) : entry.isFile() ? fs.readFileSync(at, 'hex') : '';
  found.push([at, (info.mode & 0o7777).toString(8), what].join(' '));
  if (entry.isDirectory()) look(at);
} };
look('.'); require('crypto').createHash('sha256').update(found.sort().join('\\n')).digest('hex')
"""


def test_what_a_run_does_to_its_packages_stays_with_it(registry: Registry, tmp_path: Path, caches: Path) -> None:
    """Asset: later runs' packages. Attack: commands change the layer. Expected: theirs was a copy."""
    repo = repository(tmp_path, workspace_of("npm", registry))
    for expected in ("miss", "hit", "hit"):
        ran = opened(registry, repo, tmp_path, SAYS_FIRST, sh("node", "-e", PLANT))
        assert (printed(ran)[0], layer(ran)) == ("first", (expected, True))


def test_neither_another_branch_nor_another_repository_gets_a_layer(registry: Registry, tmp_path: Path) -> None:
    """Asset: one branch's packages. Attack: a run of another branch keeps its own. Expected: it is not found."""
    files = workspace_of("npm", registry)
    repo = repository(tmp_path, files)
    assert layer(opened(registry, repo, tmp_path)) == ("miss", True)
    assert layer(opened(registry, repository(tmp_path, files, "other"), tmp_path)) == ("miss", True)
    subprocess.run(["git", "-C", str(repo), "branch", "-m", "main", "theirs"], check=True)
    subprocess.run(["git", "-C", str(repo), "symbolic-ref", "HEAD", "refs/heads/theirs"], check=True)
    assert layer(opened(registry, repo, tmp_path)) == ("miss", True)


def test_programs_of_the_repositorys_own_packages_keep_it_from_being_kept(registry: Registry, tmp_path: Path) -> None:
    files = workspace_of("npm", registry)
    files["packages/a/package.json"] = package_json("first", name="a", bin={"a": "a.js"})
    ran = opened(registry, repository(tmp_path, {**files, "packages/a/a.js": ""}), tmp_path)
    assert (layer(ran), "packages/a/package.json" in ran.report["setup"]["layer"]["why"]) == (("off", False), True)


def test_a_damaged_or_hostile_layer_leaves_nothing_and_the_install_runs(
    registry: Registry, tmp_path: Path, caches: Path
) -> None:
    """Asset: the clone and the host. Attack: archives that replace or lead out. Expected: nothing of them is there."""
    repo = repository(tmp_path, workspace_of("npm", registry))
    clean = printed(opened(registry, repo, tmp_path, SAYS_FIRST, STATUS))
    for spoil in (_flipped, _hostile):
        (archive,) = kept_layers(caches)
        _put(archive, spoil(archive.read_bytes()), keep_name=spoil is _flipped)
        ran = opened(registry, repo, tmp_path, SAYS_FIRST, STATUS, sh("node", "-p", _EVIL))
        assert printed(ran) == [*clean, "0"]
        assert (layer(ran), "damaged" in ran.report["setup"]["layer"]["why"]) == (("miss", True), True)


_EVIL = "['/home/agent/evil', '/tmp/evil', 'node_modules/evil'].filter((p) => require('fs').existsSync(p)).length"


def _put(archive: Path, data: bytes, *, keep_name: bool) -> None:
    key = archive.name.partition(".")[0]
    archive.unlink()
    name = archive.name if keep_name else f"{key}.{hashlib.sha256(data).hexdigest()}.tar"
    (archive.parent / name).write_bytes(data)


def _flipped(data: bytes) -> bytes:
    return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 0xFF]) + data[len(data) // 2 + 1 :]


def _hostile(_data: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        link = tarfile.TarInfo("node_modules/out")
        link.type, link.linkname = tarfile.SYMTYPE, "/home/agent"
        tar.addfile(link)
        for name in ("node_modules/evil", "node_modules/out/evil", "/tmp/evil", "../home/agent/evil", "package.json"):
            entry = tarfile.TarInfo(name)
            entry.size = 1
            tar.addfile(entry, io.BytesIO(b"x"))
    return made.getvalue()
