"""The cache of an install, with scripted programs: however packing ends, a whole archive is kept or none."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.engine.fake import FakeCall, FakeOutcome, FakeSandbox
from tests.support.repos import Commit, bare_repository
from tests.support.run_bench import Bench

FILES = {
    "package.json": b'{"name": "x", "dependencies": {"a": "1.0.0"}}',
    "pnpm-lock.yaml": b"packages:\n  a@1.0.0:\n    resolution: {integrity: sha512-AAAA}\n",
}


def makes_the_clone(call: FakeCall) -> bool:
    return "--absolute-names" in call.argv


class Installs:
    """A bench whose repository has one detected install, and what its programs were asked."""

    def __init__(self, folder: Path, tar: Callable[[FakeCall], FakeOutcome]) -> None:
        self.bench = Bench(folder)
        self.bench.repository = bare_repository(folder / "installs.git", [Commit(FILES)])
        self.bench.engine.prepare = self._fill
        own = {
            "tar": lambda call: FakeOutcome() if makes_the_clone(call) else tar(call),
            "mkdir": lambda _call: FakeOutcome(),
            "pnpm": self._pnpm,
        }
        self.bench.engine.programs = {**self.bench.engine.programs, **own}
        self.bench.host = replace(self.bench.host, cache_mib=1)
        self.asked: list[tuple[str, ...]] = []
        self.fails = False

    def run(self) -> dict[str, Any]:
        """One run; what its report says of the cache."""
        with self.bench.open(setup="auto") as run:
            run.completed()
        facts: dict[str, Any] = self.bench.report()["setup"]["cache"]
        return facts

    @property
    def kept(self) -> list[Path]:
        return list(self.bench.state.path.glob("caches/*.tar"))

    def parts(self) -> list[Path]:
        return list(self.bench.state.path.rglob("*.part"))

    def _fill(self, sandbox: FakeSandbox) -> None:
        for path, data in FILES.items():
            sandbox.tree.put_file(path, data)

    def _pnpm(self, call: FakeCall) -> FakeOutcome:
        offline = call.env.get("npm_config_prefer_offline") == "true"
        self.asked.append((*call.argv, *(["offline"] if offline else [])))
        return FakeOutcome(exit=1 if self.fails and offline else 0)


def packs(call: FakeCall) -> FakeOutcome:
    return FakeOutcome(stdout=b"archive" if "--create" in call.argv else b"")


def test_a_kept_cache_is_found_by_the_next_run(tmp_path: Path) -> None:
    installs = Installs(tmp_path, packs)
    assert [installs.run()["outcome"] for _ in range(2)] == ["miss", "hit"]
    assert [path.read_bytes() for path in installs.kept] == [b"archive"]
    assert [argv[-1] for argv in installs.asked] == ["--ignore-scripts", "offline"]


def test_an_interrupt_while_packing_leaves_no_part_and_nothing_kept(tmp_path: Path) -> None:
    def interrupted(call: FakeCall) -> FakeOutcome:
        raise KeyboardInterrupt

    installs = Installs(tmp_path, interrupted)
    with pytest.raises(KeyboardInterrupt):
        installs.run()
    assert (installs.kept, installs.parts()) == ([], [])


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (FakeOutcome(exit=2, stdout=b"half"), "could not be packed"),
        (FakeOutcome(stdout=b"x" * (1024 * 1024 + 1)), "more than 1 MiB"),
    ],
)
def test_what_is_not_whole_or_too_large_is_not_kept_and_the_run_goes_on(
    tmp_path: Path, outcome: FakeOutcome, said: str
) -> None:
    installs = Installs(tmp_path, lambda _call: outcome)
    facts = installs.run()
    assert (facts["kept"], said in facts["why"]) == (False, True)
    assert (installs.kept, installs.parts()) == ([], [])


def test_an_install_that_fails_with_the_kept_cache_runs_again_without(tmp_path: Path) -> None:
    installs = Installs(tmp_path, packs)
    installs.run()
    installs.fails = True
    facts = installs.run()
    assert (facts["outcome"], facts["kept"]) == ("miss", True)
    assert [argv[-1] for argv in installs.asked[1:]] == ["offline", "--ignore-scripts"]


def test_a_key_changes_with_each_thing_that_decides_what_a_cache_holds(tmp_path: Path) -> None:
    installs = Installs(tmp_path, packs)
    assert installs.run()["outcome"] == "miss"
    with installs.bench.open(setup="auto", env={"npm_config_loglevel": "warn"}):
        pass
    assert installs.bench.report()["setup"]["cache"]["outcome"] == "miss"
    keys = {path.name.partition(".")[0] for path in installs.kept}
    assert len(keys) == 2
    assert installs.run()["outcome"] == "hit"
    log = [json.dumps(event) for event in installs.bench.events()]
    assert any("setup.cache" in line for line in log)
