"""What a run needs of its engine is asked before anything is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.controller.confinement import Required, required_of
from runner.engine.fake import FakeEngine
from runner.model.errors import ExitCode, RunnerError, UsageError
from tests.support.run_bench import Bench


def refused(folder: Path, engine: FakeEngine, words: tuple[str, ...] = (), **keys: Any) -> tuple[str, ExitCode]:
    """The code that ends a run which was never started."""
    bench = Bench(folder, engine, required_of(words))
    with pytest.raises(RunnerError) as ended, bench.open(**keys):
        raise AssertionError("a run was opened")
    assert engine.sandboxes == {}
    assert not {"workspace.start", "gate.start"} & {event["event"] for event in bench.events()}
    assert ended.value.hint
    return ended.value.code, ended.value.exit_code


@pytest.mark.parametrize("insists", [True, False])
def test_a_stronger_runtime_that_is_not_there_starts_nothing(tmp_path: Path, insists: bool) -> None:
    missing = ("runtime_missing", ExitCode.ENGINE)
    assert refused(tmp_path, FakeEngine(), runtime="runsc", requireRuntime=insists) == missing


def test_a_runtime_like_runc_gives_way_and_the_run_says_so(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeEngine())
    with bench.open(runtime="crun"):
        pass
    assert any("crun" in line and "runc" in line for line in bench.said)
    assert [c["seen"] for c in bench.report()["posture"] if c["control"] == "runtime"] == ["runc"]


def test_a_runtime_like_runc_that_is_insisted_on_does_not_give_way(tmp_path: Path) -> None:
    assert refused(tmp_path, FakeEngine(), runtime="crun", requireRuntime=True)[0] == "runtime_missing"


def test_a_runtime_that_the_engine_has_carries_the_run(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FakeEngine(runtimes=("crun", "runc")), required_of(["runtime:crun"]))
    with bench.open(runtime="crun"):
        pass
    assert [c["seen"] for c in bench.report()["posture"] if c["control"] == "runtime"] == ["crun"]


def test_another_runtime_than_the_host_requires_is_the_policys_fault(tmp_path: Path) -> None:
    engine = FakeEngine(runtimes=("runc", "runsc"))
    assert refused(tmp_path, engine, ("runtime:runsc",)) == ("runtime_required", ExitCode.USAGE)


def test_a_runtime_that_the_host_requires_does_not_give_way(tmp_path: Path) -> None:
    assert refused(tmp_path, FakeEngine(), ("runtime:crun",), runtime="crun")[0] == "runtime_missing"


@pytest.mark.parametrize("word", ["apparmor", "userns"])
def test_a_control_that_the_host_requires_and_the_engine_lacks_starts_nothing(tmp_path: Path, word: str) -> None:
    assert refused(tmp_path, FakeEngine(), (word,)) == ("control_missing", ExitCode.ENGINE)


@pytest.mark.parametrize("word", ["apparmor", "userns"])
def test_a_control_that_gvisor_cannot_show_is_not_required_with_it(tmp_path: Path, word: str) -> None:
    engine = FakeEngine(runtimes=("runc", "runsc"), security=("apparmor", "userns"))
    assert refused(tmp_path, engine, (word,), runtime="runsc")[0] == "control_missing"


@pytest.mark.parametrize(("word", "has"), [("apparmor", "apparmor"), ("userns", "rootless")])
def test_a_control_that_the_host_requires_and_the_engine_has_lets_the_run_begin(
    tmp_path: Path, word: str, has: str
) -> None:
    bench = Bench(tmp_path, FakeEngine(security=("seccomp", has)), required_of([word]))
    with bench.open() as run:
        run.completed()
    assert bench.report()["status"] == "completed"


def test_the_setting_is_read() -> None:
    assert required_of([]) == Required()
    assert required_of(["userns", "runtime:kata"]) == Required(frozenset({"userns"}), "kata")


@pytest.mark.parametrize("words", [["selinux"], ["runtime:"], ["runtime:a", "runtime:b"], ["Userns"]])
def test_a_setting_that_asks_for_what_is_not_known_is_refused(words: list[str]) -> None:
    with pytest.raises(UsageError):
        required_of(words)
