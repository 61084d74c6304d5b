"""Package caches between runs: what they save, and what nobody gets in or out by them."""

from __future__ import annotations

import hashlib
import io
import signal
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from runner.engine.docker_engine import DockerEngine
from tests.integration.test_setup import POLICY, SAYS_FIRST, opened, printed, repository
from tests.support.cases import sh
from tests.support.cli import CliRun, run_cli
from tests.support.live import LiveRun
from tests.support.npm_registry import Registry, npm_lock, npm_registry, package_json, pnpm_lock

pytestmark = pytest.mark.docker

OTHER_MANIFEST = "tools/package.yaml"
"""A file that keeps what an install makes from being kept (`test_install_layer`), so that a later run installs."""

LISTED = "[pnpm, install, --frozen-lockfile, --ignore-scripts]"


@pytest.fixture
def registry(docker_engine: DockerEngine, tmp_path: Path) -> Iterator[Registry]:
    with npm_registry(tmp_path / "registry") as running:
        yield running


@pytest.fixture
def caches(tmp_path: Path) -> Path:
    return tmp_path / "runner-state" / "caches"


def files_of(manager: str, registry: Registry, *names: str) -> dict[str, str]:
    files = {"package.json": package_json(*names), OTHER_MANIFEST: ""}
    if manager == "pnpm":
        return {**files, "pnpm-lock.yaml": pnpm_lock(registry, *names)}
    return {**files, "package-lock.json": npm_lock(registry, *names)}


def archives(caches: Path) -> dict[str, str]:
    """Name to digest of what is kept."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in caches.glob("*.tar")}


def outcome(ran: CliRun) -> tuple[str, bool]:
    facts = ran.report["setup"]["cache"]
    return facts["outcome"], facts["kept"]


@pytest.mark.parametrize("manager", ["pnpm", "npm"])
def test_the_second_install_needs_no_registry(manager: str, registry: Registry, tmp_path: Path, caches: Path) -> None:
    repo = repository(tmp_path, files_of(manager, registry, "first"))
    cold = opened(registry, repo, tmp_path, SAYS_FIRST)
    assert (printed(cold), outcome(cold)) == (["first"], ("miss", True))
    (archive,) = caches.glob("*.tar")
    assert archive.stat().st_mode & 0o777 == 0o600 and caches.stat().st_mode & 0o777 == 0o700
    registry.closed = True
    warm = opened(registry, repo, tmp_path, SAYS_FIRST)
    assert (printed(warm), outcome(warm)) == (["first"], ("hit", True))
    assert [line["data"]["outcome"] for line in warm.audit if line["event"] == "setup.cache"] == ["hit"]
    assert "package cache: hit" in warm.stderr


def test_neither_another_repository_nor_a_changed_lock_file_nor_another_network_gets_the_cache(
    registry: Registry, tmp_path: Path
) -> None:
    files = files_of("pnpm", registry, "first")
    repo = repository(tmp_path, files)
    assert outcome(opened(registry, repo, tmp_path)) == ("miss", True)
    other = repository(tmp_path, files, "other")
    assert outcome(opened(registry, other, tmp_path)) == ("miss", True)
    changed = repository(tmp_path, files_of("pnpm", registry, "first", "second"), "changed")
    changed.rename(tmp_path / "kept-aside")
    repo.rename(tmp_path / "former")
    (tmp_path / "kept-aside").rename(repo)  # the same address, with another lock file
    assert outcome(opened(registry, repo, tmp_path)) == ("miss", True)
    wider = {"setup": {"allow": ["npm", "other.example.com"]}}
    assert outcome(opened(registry, repo, tmp_path, network=wider)) == ("miss", True)
    assert outcome(opened(registry, repo, tmp_path)) == ("hit", True)


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({".pnpmfile.cjs": "require('fs').writeFileSync('/home/agent/.pnpm-store/evil', '');"}, ".pnpmfile.cjs"),
        ({".npmrc": "store-dir=./store\n"}, "store-dir"),
        ({".os/workspace.yml": "cache: false\n"}, "wants none"),
        ({".os/workspace.yml": "cache: [npm]\n"}, "wants none"),
        ({".os/workspace.yml": "run: [[pnpm, install, --frozen-lockfile]]\n"}, "does not begin"),
        ({".os/workspace.yml": f"run: [[node, -v], {LISTED}]\n"}, "does not begin"),
    ],
    ids=["hook", "moved", "no-cache", "other-cache", "own-command", "not-first"],
)
def test_an_install_that_could_run_code_or_is_not_wanted_is_not_kept(
    extra: Mapping[str, str], said: str, registry: Registry, tmp_path: Path, caches: Path
) -> None:
    """Asset: later runs' packages. Attack: repository code in the install. Expected: nothing is kept; it is said."""
    files = {**files_of("pnpm", registry, "first"), **extra}
    ran = opened(registry, repository(tmp_path, files), tmp_path)
    assert (ran.exit_code in (0, 4), outcome(ran)) == (True, ("off", False))
    assert said in ran.report["setup"]["cache"]["why"]
    assert archives(caches) == {}


def test_what_runs_after_a_listed_install_is_not_in_the_cache(registry: Registry, tmp_path: Path, caches: Path) -> None:
    """Asset: later runs' packages. Attack: set-up's next command fills the folder. Expected: packed before it ran."""
    plant = "require('fs').writeFileSync('/home/agent/.pnpm-store/evil', '')"
    said = f'run: [{LISTED}, [node, -e, "{plant}"]]\n'
    repo = repository(tmp_path, {**files_of("pnpm", registry, "first"), ".os/workspace.yml": said})
    for expected in ("miss", "hit"):
        ran = opened(registry, repo, tmp_path, SAYS_FIRST)
        assert (printed(ran), outcome(ran)) == (["first"], (expected, True))
    (archive,) = caches.glob("*.tar")
    with tarfile.open(archive) as tar:
        assert not [name for name in tar.getnames() if "evil" in name]


def test_a_runs_commands_find_no_cache_and_reach_no_archive(registry: Registry, tmp_path: Path, caches: Path) -> None:
    """Asset: later runs' packages. Attack: commands fill the folder. Expected: the archive is as set-up left it."""
    plant = "const fs = require('fs'); const d = '/home/agent/.pnpm-store'; console.log(fs.existsSync(d));"
    plant += "fs.mkdirSync(d + '/v10', {recursive: true}); fs.writeFileSync(d + '/v10/evil', '');"
    look = "const fs = require('fs'); console.log(fs.existsSync('/home/agent/.pnpm-store/v10/evil'))"
    repo = repository(tmp_path, files_of("pnpm", registry, "first"))
    first = opened(registry, repo, tmp_path, sh("node", "-e", plant))
    assert printed(first) == ["false"]
    before = archives(caches)
    again = opened(registry, repo, tmp_path, sh("node", "-e", plant), sh("node", "-e", look))
    assert (printed(again), outcome(again)) == (["false", "true"], ("hit", True))
    assert archives(caches) == before
    for path in caches.glob("*.tar"):
        with tarfile.open(path) as tar:
            assert not [name for name in tar.getnames() if "evil" in name]


def test_a_damaged_archive_is_dropped_and_the_install_runs_without(
    registry: Registry, tmp_path: Path, caches: Path
) -> None:
    repo = repository(tmp_path, files_of("pnpm", registry, "first"))
    opened(registry, repo, tmp_path)
    (archive,) = caches.glob("*.tar")
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 0xFF
    archive.write_bytes(data)
    ran = opened(registry, repo, tmp_path, SAYS_FIRST)
    assert (printed(ran), outcome(ran)) == (["first"], ("miss", True))
    assert "damaged" in ran.report["setup"]["cache"]["why"]
    assert outcome(opened(registry, repo, tmp_path)) == ("hit", True)


def test_a_hostile_archive_reaches_nothing_and_the_install_runs(
    registry: Registry, tmp_path: Path, caches: Path
) -> None:
    """Asset: host and workspace. Attack: an archive with ways out. Expected: nothing beside the cache folder."""
    repo = repository(tmp_path, files_of("pnpm", registry, "first"))
    opened(registry, repo, tmp_path)
    (archive,) = caches.glob("*.tar")
    key = archive.name.partition(".")[0]
    archive.unlink()
    data = _hostile()
    (caches / f"{key}.{hashlib.sha256(data).hexdigest()}.tar").write_bytes(data)
    places = ["/workspace/evil", "/home/agent/evil", "/tmp/evil", "/home/agent/.local/evil"]
    look = f"console.log({places}.filter((place) => require('fs').existsSync(place)).length)"
    ran = opened(registry, repo, tmp_path, sh("node", "-e", look), SAYS_FIRST)
    assert printed(ran) == ["0", "first"]
    assert ran.report["teardown"]["verified"]


def _hostile() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name in ("../../workspace/evil", "/workspace/evil", "../evil", "/tmp/evil"):
            entry = tarfile.TarInfo(name)
            entry.size = 1
            tar.addfile(entry, io.BytesIO(b"x"))
        for name, target in (("v10", "/workspace"), ("out", "/home/agent/.local")):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
        for name in ("v10/evil", "out/evil"):
            entry = tarfile.TarInfo(name)
            entry.size = 1
            tar.addfile(entry, io.BytesIO(b"x"))
    return made.getvalue()


def test_an_install_that_fails_with_the_kept_cache_is_tried_without(
    registry: Registry, tmp_path: Path, caches: Path
) -> None:
    repo = repository(tmp_path, files_of("npm", registry, "first"))
    opened(registry, repo, tmp_path)
    (archive,) = caches.glob("*.tar")
    key = archive.name.partition(".")[0]
    archive.unlink()
    data = _unreadable()
    (caches / f"{key}.{hashlib.sha256(data).hexdigest()}.tar").write_bytes(data)
    ran = opened(registry, repo, tmp_path, SAYS_FIRST)
    assert (printed(ran), outcome(ran)) == (["first"], ("miss", True))
    assert [step["exit"] == 0 for step in ran.report["setup"]["steps"]] == [False, True]


def _unreadable() -> bytes:
    """npm's cache folders as files, which npm cannot work with."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name in ("content-v2", "index-v5", "tmp"):
            tar.addfile(tarfile.TarInfo(name))
    return made.getvalue()


def test_an_interrupted_run_leaves_no_part_of_an_archive(
    registry: Registry, tmp_path: Path, caches: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in registry.environment.items():
        monkeypatch.setenv(name, value)
    repo = repository(tmp_path, files_of("npm", registry, "first"))
    with LiveRun(repo, POLICY, tmp_path, ref="main") as live:
        live.wait_for_progress("set-up: npm ci")
        live.signal(signal.SIGINT)
        assert live.process.wait(60) == 130
    state = tmp_path / "runner-state"
    assert [path for path in state.rglob("*") if path.name.endswith(".part")] == []
    assert all(name.split(".")[1] == digest for name, digest in archives(caches).items())


def test_gc_removes_kept_caches_when_asked_and_says_what_is_kept(
    registry: Registry, tmp_path: Path, caches: Path
) -> None:
    opened(registry, repository(tmp_path, files_of("npm", registry, "first")), tmp_path)
    assert "package caches kept: 1" in run_cli("gc").stderr
    assert "package caches kept: 1" in run_cli("gc", "--caches", "--dry-run").stderr
    assert len(archives(caches)) == 1
    assert "removed 1 kept package cache" in run_cli("gc", "--caches").stderr
    assert archives(caches) == {}


def test_a_cache_above_the_bound_is_not_kept_and_costs_the_run_nothing(
    registry: Registry, tmp_path: Path, caches: Path
) -> None:
    repo = repository(tmp_path, files_of("pnpm", registry, "large"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RUNNER_CACHE_MIB", "1")
        ran = opened(registry, repo, tmp_path, sh("node", "-p", "require('large')"))
    assert (printed(ran), outcome(ran)) == (["large"], ("miss", False))
    assert "more than 1 MiB" in ran.report["setup"]["cache"]["why"]
    assert (archives(caches), list((tmp_path / "runner-state").rglob("*.part"))) == ({}, [])


def test_a_host_that_keeps_none_keeps_none(registry: Registry, tmp_path: Path, caches: Path) -> None:
    repo = repository(tmp_path, files_of("npm", registry, "first"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RUNNER_CACHE_MIB", "0")
        ran = opened(registry, repo, tmp_path)
    assert (outcome(ran), caches.exists()) == (("off", False), False)
    assert "keeps none" in ran.report["setup"]["cache"]["why"]
