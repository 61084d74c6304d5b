"""The system call filter: an allowlist, each group with its reason, tighter than the engine's and recognisable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runner.engine import seccomp

WRITTEN: dict[str, Any] = json.loads((Path(seccomp.__file__).with_name("seccomp.json")).read_text(encoding="ascii"))
FILTER: dict[str, Any] = json.loads(seccomp.profile())
ALLOWED = {name for rule in FILTER["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}

# What the engine's own profile refuses once no capability is there, and what it would let through beside.
REFUSED_BY_THE_ENGINE = """
    acct add_key bpf chroot clock_adjtime clock_settime clone3 create_module delete_module fanotify_init finit_module
    fsconfig fsmount fsopen fspick get_kernel_syms get_mempolicy init_module io_uring_enter io_uring_register
    io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load keyctl lookup_dcookie mbind migrate_pages mount
    mount_setattr move_mount move_pages name_to_handle_at nfsservctl open_by_handle_at open_tree perf_event_open
    pidfd_getfd pivot_root process_vm_writev query_module quotactl quotactl_fd reboot request_key set_mempolicy
    setdomainname sethostname setns settimeofday stime swapoff swapon sysfs syslog umount umount2 unshare uselib
    userfaultfd ustat vhangup vm86 vm86old
""".split()
REFUSED_BY_US_BESIDE = """
    adjtimex fanotify_mark io_destroy io_setup io_submit memfd_secret modify_ldt mq_open msgget pidfd_getfd
    process_madvise process_vm_readv ptrace remap_file_pages vmsplice
""".split()


def test_what_is_not_named_is_refused() -> None:
    assert FILTER["defaultAction"] == "SCMP_ACT_ERRNO"
    assert {rule["action"] for rule in FILTER["syscalls"]} == {"SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"}


@pytest.mark.parametrize("name", sorted({*REFUSED_BY_THE_ENGINE, *REFUSED_BY_US_BESIDE}))
def test_a_system_call_that_nothing_here_needs_is_not_allowed(name: str) -> None:
    assert name not in ALLOWED


def test_every_group_says_why_it_is_there_and_no_name_stands_in_two_groups() -> None:
    whole = [rule for rule in WRITTEN["syscalls"] if "args" not in rule]
    assert all(rule.get("comment") for rule in whole)
    names = [name for rule in whole for name in rule["names"]]
    assert len(names) == len(set(names))
    judged = {name for rule in WRITTEN["syscalls"] if "args" in rule for name in rule["names"]}
    assert judged == {"socket", "socketpair", "clone", "personality"}
    assert not judged & set(names)


def test_programs_of_another_word_size_have_no_system_calls() -> None:
    assert [entry["subArchitectures"] for entry in FILTER["archMap"]] == [[], []]


def test_a_child_in_a_new_namespace_of_any_kind_is_refused() -> None:
    (rule,) = [rule for rule in FILTER["syscalls"] if rule["names"] == ["clone"]]
    (condition,) = rule["args"]
    new_namespaces = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
    assert condition["op"] == "SCMP_CMP_MASKED_EQ" and condition["valueTwo"] == 0
    assert condition["value"] == sum(new_namespaces)


def test_another_rule_makes_another_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 256 <= seccomp.mark() <= 4095
    rules = seccomp._rules()
    rules["syscalls"][0]["names"].append("mount")
    monkeypatch.setattr(seccomp, "_rules", lambda: rules)
    assert seccomp.mark.__wrapped__() != seccomp.mark()


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["no-new-privileges", f"seccomp={seccomp.profile()}"], seccomp.OWN_FILTER),
        (["no-new-privileges"], seccomp.OTHER_FILTER),
        (["seccomp={}"], seccomp.OTHER_FILTER),
        (["seccomp=unconfined"], seccomp.NO_FILTER),
        (["seccomp:unconfined"], seccomp.NO_FILTER),
        ([f"seccomp={seccomp.profile()}", "seccomp=unconfined"], seccomp.NO_FILTER),
    ],
)
def test_the_filter_that_a_container_asks_for_has_a_name(options: list[str], word: str) -> None:
    assert seccomp.named(options) == word
