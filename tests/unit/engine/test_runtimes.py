"""What a runtime's name promises, which one a run gets, and whose kernel was seen."""

from __future__ import annotations

import pytest

from runner.engine.runtimes import Kernel, choose_runtime, promised_kernel, seen_kernel
from runner.model.errors import EngineUnavailable, ExitCode

OFFERED = ("runc", "runsc", "kata-runtime")


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("runc", Kernel.HOST),
        ("crun", Kernel.HOST),
        ("anything", Kernel.HOST),
        ("runsc", Kernel.GVISOR),
        ("runsc-kvm", Kernel.GVISOR),
        ("gVisor", Kernel.GVISOR),
        ("kata", Kernel.OWN),
        ("io.containerd.kata.v2", Kernel.OWN),
    ],
)
def test_a_name_promises_a_kernel(name: str, kernel: Kernel) -> None:
    assert promised_kernel(name) is kernel


@pytest.mark.parametrize(
    ("guest", "names_gvisor", "kernel"),
    [
        ("6.1.0", False, Kernel.HOST),
        ("6.1.0", True, Kernel.HOST),
        ("4.4.0", True, Kernel.GVISOR),
        ("4.19.0-gvisor", False, Kernel.GVISOR),
        ("6.12.0", False, Kernel.OWN),
        ("", False, Kernel.OWN),
    ],
)
def test_a_kernel_that_says_it_is_the_hosts_is_nothing_else(guest: str, names_gvisor: bool, kernel: Kernel) -> None:
    assert seen_kernel("6.1.0", guest, names_gvisor=names_gvisor) is kernel


@pytest.mark.parametrize("exactly", [True, False])
@pytest.mark.parametrize("asked", OFFERED)
def test_what_is_offered_is_what_a_run_gets(asked: str, exactly: bool) -> None:
    assert choose_runtime(asked, OFFERED, exactly=exactly) == asked


@pytest.mark.parametrize("asked", ["crun", "youki"])
def test_runc_takes_the_place_of_its_like_where_the_policy_does_not_insist(asked: str) -> None:
    assert choose_runtime(asked, OFFERED, exactly=False) == "runc"
    with pytest.raises(EngineUnavailable):
        choose_runtime(asked, OFFERED, exactly=True)


@pytest.mark.parametrize("exactly", [True, False])
@pytest.mark.parametrize("asked", ["runsc-kvm", "kata", "runcs", "sysbox-runc"])
def test_nothing_takes_the_place_of_what_may_be_stronger(asked: str, exactly: bool) -> None:
    with pytest.raises(EngineUnavailable) as refused:
        choose_runtime(asked, OFFERED, exactly=exactly)
    assert (refused.value.code, refused.value.exit_code) == ("runtime_missing", ExitCode.ENGINE)
    assert "runsc" in refused.value.hint


def test_an_engine_without_runc_has_nothing_to_put_in_its_place() -> None:
    with pytest.raises(EngineUnavailable):
        choose_runtime("crun", ("runsc",), exactly=False)
