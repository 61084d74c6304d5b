"""What an install made, with scripted programs: when it takes the install's place, and when it is not kept."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.engine.fake import FakeCall, FakeOutcome, FakeSandbox
from runner.model.errors import RepositoryUnavailable
from tests.support.repos import Commit, bare_repository
from tests.support.run_bench import Bench, git
from tests.unit.controller.test_package_cache import makes_the_clone

FILES = {
    "package.json": b'{"name": "x", "dependencies": {"a": "1.0.0"}}',
    "pnpm-lock.yaml": b"packages:\n  a@1.0.0:\n    resolution: {integrity: sha512-AAAA}\n",
}


class Installs:
    """A bench whose repository has one detected install; the layer is what tar is given the names of."""

    def __init__(self, folder: Path, files: dict[str, bytes] | None = None) -> None:
        self.files = files or FILES
        self.bench = Bench(folder)
        self.folder = folder
        self.commit()
        self.bench.engine.prepare = self._fill
        own = {"tar": self._tar, "mkdir": lambda _call: FakeOutcome(), "pnpm": self._pnpm, "git": self._git}
        self.bench.engine.programs = {**self.bench.engine.programs, **own}
        self.bench.host = replace(self.bench.host, cache_mib=1)
        self.status = b"?? node_modules/\0"
        self.asked: list[str] = []
        self.unpacks = 0

    def commit(self, files: dict[str, bytes] | None = None) -> None:
        """The repository, at its one address, has one commit of these files."""
        place = self.folder / "installs.git"
        if place.exists():
            place.rename(self.folder / f"former-{len(list(self.folder.iterdir()))}.git")
        self.bench.repository = bare_repository(place, [Commit({**self.files, **(files or {})})])

    def run(self, **keys: Any) -> dict[str, Any]:
        """One run; what its report says of the layer."""
        with self.bench.open(setup="auto", **keys) as run:
            run.completed()
        self.setup: dict[str, Any] = self.bench.report()["setup"]
        facts: dict[str, Any] = self.setup["layer"]
        self.bench.events()
        return facts

    def archives(self) -> list[bytes]:
        return sorted(path.read_bytes() for path in self.bench.state.path.glob("caches/*.tar"))

    def _fill(self, sandbox: FakeSandbox) -> None:
        for path, data in self.files.items():
            sandbox.tree.put_file(path, data)

    def _tar(self, call: FakeCall) -> FakeOutcome:
        if "--create" in call.argv:
            return FakeOutcome(stdout=b"layer of " + call.stdin if "--null" in call.argv else b"cache")
        if makes_the_clone(call):
            return FakeOutcome()
        self.asked.append("unpack")
        return FakeOutcome(exit=self.unpacks if "--keep-old-files" in call.argv else 0)

    def _pnpm(self, _call: FakeCall) -> FakeOutcome:
        self.asked.append("install")
        return FakeOutcome()

    def _git(self, call: FakeCall) -> FakeOutcome:
        if "clean" in call.argv:
            self.asked.append("clean")
        return FakeOutcome(stdout=self.status) if "status" in call.argv else git(call)


def test_the_second_run_has_the_result_and_installs_nothing(tmp_path: Path) -> None:
    installs = Installs(tmp_path)
    assert [installs.run()["outcome"] for _ in range(2)] == ["miss", "hit"]
    assert installs.archives() == [b"cache", b"layer of ./node_modules\0"]
    assert installs.asked == ["install", "unpack"]
    assert (installs.setup["steps"], installs.setup["cache"]["outcome"]) == ([], "off")


@pytest.mark.parametrize(
    "files",
    [
        {"package.json": b'{"name": "y", "dependencies": {"a": "1.0.0"}}'},
        {"packages/b/package.json": b"{}"},
        {"pnpm-lock.yaml": FILES["pnpm-lock.yaml"] + b"\n"},
        {".npmrc": b"node-linker=hoisted\n"},
        {"packages/.gitattributes": b"* text\n"},
    ],
)
def test_another_input_of_the_install_is_another_layer(files: dict[str, bytes], tmp_path: Path) -> None:
    installs = Installs(tmp_path)
    installs.run()
    installs.commit(files)
    assert installs.run()["outcome"] == "miss"


def test_a_file_that_no_install_reads_changes_nothing(tmp_path: Path) -> None:
    installs = Installs(tmp_path)
    installs.run()
    installs.commit({"src/new.ts": b"x"})
    assert installs.run()["outcome"] == "hit"


def test_another_branch_with_the_same_files_does_not_get_it(tmp_path: Path) -> None:
    """Asset: one branch's packages. Attack: another branch's run leaves its own. Expected: each branch has its own."""
    installs = Installs(tmp_path)
    repository = str(installs.bench.repository)
    installs.run()
    subprocess.run(["git", "-C", repository, "branch", "-m", "main", "other"], check=True)
    subprocess.run(["git", "-C", repository, "symbolic-ref", "HEAD", "refs/heads/other"], check=True)
    assert (installs.run()["outcome"], installs.setup["cache"]["outcome"]) == ("miss", "hit")


def test_the_environment_of_the_install_counts(tmp_path: Path) -> None:
    installs = Installs(tmp_path)
    installs.run()
    assert installs.run(env={"npm_config_loglevel": "warn"})["outcome"] == "miss"
    assert installs.run()["outcome"] == "hit"


@pytest.mark.parametrize(
    "status",
    [
        b"?? node_modules/\0 M package.json\0",
        b"?? node_modules/\0?? planted.js\0",
        b"?? node_modules/\0!! .env\0",
        b"?? node_modules\0",
        b"?? packages/a/dist/\0",
        b"?? ../node_modules/\0",
        b"?? /tmp/node_modules/\0",
        b"D  a\0",
        b"",
    ],
)
def test_an_install_that_left_anything_else_is_not_kept(status: bytes, tmp_path: Path) -> None:
    """Asset: later runs' work trees. Attack: an install writes beside its packages. Expected: nothing is kept."""
    installs = Installs(tmp_path)
    installs.status = status
    assert [(facts["outcome"], facts["kept"]) for facts in (installs.run(), installs.run())] == [("miss", False)] * 2
    assert installs.archives() == [b"cache"]


def test_folders_of_packages_anywhere_are_kept_each_once(tmp_path: Path) -> None:
    installs = Installs(tmp_path)
    installs.status = b"!! node_modules/\0?? packages/a/node_modules/x/\0!! packages/a/node_modules/y/z\0"
    assert installs.run()["kept"] is True
    assert b"layer of ./node_modules\0./packages/a/node_modules\0" in installs.archives()


def test_one_that_cannot_be_unpacked_is_dropped_and_removed_and_the_install_runs(tmp_path: Path) -> None:
    installs = Installs(tmp_path)
    installs.run()
    installs.unpacks = 2
    facts = installs.run()
    assert (facts["outcome"], facts["kept"], "damaged" in facts["why"]) == ("miss", True, True)
    assert installs.asked[1:] == ["unpack", "clean", "unpack", "install"]


def test_steps_after_the_install_run_all_the_same(tmp_path: Path) -> None:
    said = b"run: [[pnpm, install, --frozen-lockfile, --ignore-scripts], [git, config, core.hooksPath, .githooks]]\n"
    installs = Installs(tmp_path, {**FILES, ".os/workspace.yml": said})
    hooked = {"git": lambda call: FakeOutcome() if "core.hooksPath" in call.argv else installs._git(call)}
    installs.bench.engine.programs = {**installs.bench.engine.programs, **hooked}
    assert [installs.run()["outcome"] for _ in range(2)] == ["miss", "hit"]
    assert [step["argv"][0] for step in installs.setup["steps"]] == ["git"]


def test_where_no_cache_is_wanted_no_layer_is_kept(tmp_path: Path) -> None:
    installs = Installs(tmp_path, {**FILES, ".os/workspace.yml": b"cache: false\n"})
    assert (installs.run()["outcome"], installs.archives()) == ("off", [])


def test_what_an_install_made_is_not_given_to_a_run_whose_policy_refuses_the_install(tmp_path: Path) -> None:
    installs = Installs(tmp_path)
    installs.run()
    with pytest.raises(RepositoryUnavailable) as refused:
        installs.run(bins=["git", "node"])
    assert refused.value.code == "bin_not_allowlisted"
    assert installs.run()["outcome"] == "hit"


def test_a_variable_of_the_repository_does_not_stand_in_for_one_of_the_policy(tmp_path: Path) -> None:
    said = b"env: {APP_MODE: theirs, MORE: theirs}\n"
    installs = Installs(tmp_path, {**FILES, ".os/workspace.yml": said})
    seen: list[Mapping[str, str]] = []

    def pnpm(call: FakeCall) -> FakeOutcome:
        seen.append(call.env)
        return installs._pnpm(call)

    installs.bench.engine.programs = {**installs.bench.engine.programs, "pnpm": pnpm}
    installs.run(env={"APP_MODE": "ours"})
    assert [(env["APP_MODE"], env["MORE"]) for env in seen] == [("ours", "theirs")]
