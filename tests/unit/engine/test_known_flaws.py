"""What a version is known for: branches, candidates, and distributions that mend without a new number."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.engine.docker_engine import DockerEngine
from runner.engine.known_flaws import FLAWS, Component, Verdict, _order, doubts, find_flaws, require_sound_engine
from runner.model.errors import EngineUnavailable, ExitCode
from tests.conftest import sandbox_spec
from tests.support.docker_daemon import VERSION, daemon

LEAKED, MASKED = "CVE-2024-21626", "CVE-2025-31133"


def verdict(cve: str, version: str, package: str = "", name: str = "runc") -> Verdict | None:
    found = {f.flaw.cve: f.verdict for f in find_flaws([Component(name, version, package)])}
    return found.get(cve)


@pytest.mark.parametrize("version", ["1.1.11", "1.0.0-rc93", "1.1.0", "1.1.12-rc1", "v1.1.4"])
def test_a_version_before_the_mend_has_the_flaw(version: str) -> None:
    assert verdict(LEAKED, version) is Verdict.FLAWED


@pytest.mark.parametrize("version", ["1.1.12", "1.1.15", "1.2.0", "2.0.0", "1.1.12+dev"])
def test_the_mended_version_and_all_later_ones_are_sound(version: str) -> None:
    assert verdict(LEAKED, version) is None


@pytest.mark.parametrize(
    ("version", "flawed"),
    [
        ("1.1.15", True),
        ("1.2.7", True),
        ("1.2.8", False),
        ("1.2.9", False),
        ("1.3.2", True),
        ("1.3.3", False),
        ("1.4.0-rc2", True),
        ("1.4.0-rc.2", True),
        ("1.4.0-rc3", False),
        ("1.4.0", False),
        ("1.5.0", False),
    ],
)
def test_each_branch_has_a_mend_of_its_own(version: str, flawed: bool) -> None:
    assert (verdict(MASKED, version) is Verdict.FLAWED) is flawed


@pytest.mark.parametrize(
    ("version", "package", "found"),
    [
        ("1.1.5+ds1", "1.1.5+ds1-1+deb12u1", None),  # Debian 12's, which has the mend
        ("1.1.5+ds1", "1.1.5+ds1-1+deb12u10", None),
        ("1.1.5+ds1", "1.1.5+ds1-1", Verdict.FLAWED),
        ("1.1.5+ds1", "1.1.5+ds1-1+b4", Verdict.FLAWED),  # built again, and not mended
        ("1.1.5+ds1", "", Verdict.UNCLEAR),  # its revision is not told
        ("1.1.7-0ubuntu1~22.04.2", "", None),
        ("1.1.7-0ubuntu1~22.04.1", "", Verdict.FLAWED),
        ("1.1.4-0ubuntu1~22.04.3", "", Verdict.FLAWED),
        ("1.1.4-0ubuntu1~20.04.3", "", Verdict.FLAWED),
        ("1.1.4-0ubuntu1~18.04.2", "", Verdict.UNCLEAR),  # a release that the table does not have
        ("1.1.0+ds1-1+deb13u9", "", Verdict.UNCLEAR),
        ("1.1.4", "1.1.4-1.el9", Verdict.UNCLEAR),
        ("1.1.4", "v1.1.4-0-g5fd4c4d1", Verdict.FLAWED),  # upstream's own build
        ("1.1.4", "5fd4c4d1", Verdict.FLAWED),
    ],
)
def test_a_package_version_shows_a_mend_or_leaves_it_open(version: str, package: str, found: Verdict | None) -> None:
    assert verdict(LEAKED, version, package) == found


@pytest.mark.parametrize("text", ["", "unknown", "N/A"])
def test_of_what_is_no_version_nothing_is_known(text: str) -> None:
    assert {f.verdict for f in find_flaws([Component("runc", text), Component("Engine", text)])} == {Verdict.UNCLEAR}
    require_sound_engine([Component("runc", text)], frozenset())
    assert LEAKED in " ".join(doubts([Component("runc", text)]))


def test_a_doubt_is_told_only_of_what_could_let_a_run_out() -> None:
    assert doubts([Component("runc", "1.1.4", "1.1.4-1.el9"), Component("containerd", "unknown")]) == (
        "runc 1.1.4-1.el9: CVE-2024-21626, a folder of the host stays open in containers and in each exec",
    )
    assert doubts([Component("runc", "1.2.8")]) == ()


def test_versions_are_ordered_as_the_distribution_orders_them() -> None:
    rising = ["1.0~rc1-1", "1.0-1~bpo1", "1.0-1", "1.0-1+b4", "1.0-1+deb12u1", "1.0-1+deb12u10", "1.0+ds1-1", "1.10-1"]
    assert sorted(reversed(rising), key=_order) == rising


def test_an_engine_is_asked_again_after_two_minutes_and_when_it_was_started_again(tmp_path: Path) -> None:
    now = [0.0]
    with daemon(tmp_path) as there:
        engine = DockerEngine(there.environment, clock=lambda: now[0])

        def asked() -> int:
            before = there.asked.count("GET /info")
            engine._fit_for("runc")
            return there.asked.count("GET /info") - before

        assert (asked(), asked()) == (1, 0)
        now[0] = 119.0
        assert asked() == 0
        now[0] = 121.0
        assert (asked(), asked()) == (1, 0)
        Path(there.environment["DOCKER_HOST"].removeprefix("unix://")).chmod(0o600)  # as good as a new one: its stamp
        assert (asked(), asked()) == (1, 0)
        engine.close()


def test_an_engine_that_has_become_flawed_starts_nothing_more(tmp_path: Path) -> None:
    now = [0.0]
    parts = [{"Name": "runc", "Version": "1.1.11", "Details": {}}]
    with daemon(tmp_path) as there:
        engine = DockerEngine(there.environment, clock=lambda: now[0])
        engine._fit_for("runc")
        there.answer("GET /version", (200, {**VERSION[1], "Components": parts}))
        now[0] = 121.0
        for _ in range(2):
            with pytest.raises(EngineUnavailable, match=LEAKED):
                engine._fit_for("runc")
        engine.close()


def test_a_flaw_belongs_to_its_component_alone() -> None:
    assert find_flaws([Component("docker-init", "0.19.0"), Component("crun", "0.1")]) == ()


def test_every_flaw_of_the_table_is_found_and_says_what_it_is() -> None:
    oldest = [Component(name, "0.1") for name in ("runc", "Engine", "containerd")]
    assert [f.flaw.cve for f in find_flaws(oldest)] == [flaw.cve for flaw in FLAWS]
    assert all(flaw.what for flaw in FLAWS) and len({flaw.cve for flaw in FLAWS}) == len(FLAWS)


@pytest.mark.parametrize("accepted", [{LEAKED}, {"all"}])
def test_an_engine_that_lets_containers_out_is_refused_until_it_is_accepted(accepted: set[str]) -> None:
    parts = [Component("runc", "1.1.11")]
    with pytest.raises(EngineUnavailable, match=LEAKED) as refused:
        require_sound_engine(parts, frozenset({MASKED}))
    assert (refused.value.code, refused.value.exit_code) == ("engine_flawed", ExitCode.ENGINE)
    assert f"RUNNER_ACCEPT_ENGINE={LEAKED}" in refused.value.hint
    require_sound_engine(parts, frozenset(accepted))


def test_a_lesser_flaw_or_an_unclear_one_keeps_no_run_from_starting() -> None:
    require_sound_engine([Component("runc", "1.3.2")], frozenset())
    require_sound_engine([Component("runc", "1.1.4", "1.1.4-1.el9")], frozenset())


def test_no_container_is_made_on_such_an_engine(tmp_path: Path) -> None:
    parts = [{"Name": "Engine", "Version": "28.0.1"}, {"Name": "runc", "Version": "1.1.11", "Details": {}}]
    with daemon(tmp_path) as there:
        there.answer("GET /version", VERSION, (200, {**VERSION[1], "Components": parts}))
        engine = DockerEngine(there.environment)
        with pytest.raises(EngineUnavailable) as refused:
            engine.start(sandbox_spec("flawed"))
        engine.close()
        assert refused.value.code == "engine_flawed"
        assert not [asked for asked in there.asked if asked.startswith("POST")]
