"""The posture proof: each control on its own is noticed when it is off, and a check that cannot fail is a defect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import pytest

from runner.controller.posture import Cage, Check, prove, require
from runner.controller.posture_mends import MENDS, REACHABLE, mend_of
from runner.engine.contract import GuestPosture, HostPosture, Mount, SandboxLimits, SandboxSpec
from runner.engine.docker_spec import MASKED, READ_ONLY
from runner.engine.fake import FakeEngine
from runner.model.errors import ExitCode, PostureFailed

LIMITS = SandboxLimits(
    run_seconds=60,
    memory_mib=256,
    cpus=1.5,
    pids=64,
    open_files=256,
    workspace_mib=32,
    workspace_inodes=1000,
    file_mib=1,
)
SANDBOX = FakeEngine().start(SandboxSpec("run1", "me", "fake:latest", LIMITS, deadline_unix=5))
HOST, GUEST = SANDBOX.host_posture(), SANDBOX.guest_posture()

HOST_OFF = [
    ("privileged", True, "not privileged"),
    ("capabilities_dropped_all", False, "capabilities dropped"),
    ("capabilities_added", ("NET_RAW",), "capabilities dropped"),
    ("no_new_privileges", False, "no-new-privileges"),
    ("seccomp", "unconfined", "seccomp filter"),
    ("apparmor", "docker-other", "apparmor"),
    ("user_remapped", True, "user namespace"),
    ("kernel", "4.19.0-host", "kernel"),
    ("root_read_only", False, "root file system read-only"),
    ("network_none", False, "network none"),
    ("binds", ("/:/host",), "no host mounts"),
    ("log_driver", "json-file", "log driver off"),
    ("user", "0:0", "main process not root"),
    ("init", False, "init process"),
    ("memory_bytes", 0, "memory limit"),
    ("memory_swap_bytes", -1, "no swap growth"),
    ("pids_limit", 0, "processes limit"),
    ("nano_cpus", 0, "cpu limit"),
    ("runtime", "other", "runtime"),
    ("groups_added", ("0",), "no further groups"),
    ("devices", ("/dev/sda:/dev/disk",), "no devices"),
    ("namespaces_shared", ("pid=host",), "own namespaces"),
    ("masked_paths", frozenset(MASKED[1:]), "kernel files masked"),
    ("read_only_paths", frozenset(READ_ONLY[1:]), "kernel files read-only"),
    ("memory_killer_off", True, "memory killer on"),
    ("shm_bytes", 8 << 30, "shared memory size"),
    ("control_group_parent", "/other", "own control group"),
    ("kernel_settings", ("kernel.shmmax=1",), "kernel settings untouched"),
    ("network_settings", ("Dns",), "no network settings"),
    ("removed_at_end", False, "removed at its end"),
    ("restarted", "always", "never restarted"),
    ("clock_unix", HOST.clock_unix + 61, "clock"),
]
GUEST_OFF = [
    ("uid", 0, "non-root user"),
    ("gid", 0, "non-root user"),
    ("effective_capabilities", 1, "capabilities inside"),
    ("permitted_capabilities", 1 << 21, "capabilities inside"),
    ("bounding_capabilities", 1, "capability bounding set"),
    ("no_new_privileges", False, "no-new-privileges"),
    ("seccomp_mode", 0, "seccomp filter"),
    ("seccomp_mark", 1, "seccomp profile"),
    ("system_calls_open", ("ptrace",), "system calls refused"),
    ("apparmor", "unconfined", "apparmor"),
    ("root_is_host_root", False, "user namespace"),
    ("kernel", "4.19.0-guest", "kernel"),
    ("cgroups_writable", ("/sys/fs/cgroup/pids/pids.max",), "control groups read-only"),
    ("root_read_only", False, "root file system read-only"),
    ("writable_mounts", ("/workspace", "/opt/runner"), "no other writable mounts"),
    ("mount_options", ("/workspace rw,nosuid,nodev", "/home/agent rw,nosuid,nodev", "/tmp rw,nodev"), "mount options"),
    ("interfaces", ("eth0", "lo"), "no network interface"),
    ("routes", 1, "no route"),
    ("pids_max", None, "processes limit"),
    ("memory_max_bytes", None, "memory limit"),
    ("open_files_max", 1 << 20, "open files limit"),
    ("core_max_bytes", 1, "no core dumps"),
    ("file_max_bytes", (1 << 63) - 1, "file size limit"),
    ("workspace_bytes", 1 << 50, "workspace size"),
    ("workspace_inodes", 0, "workspace inodes"),
    ("engine_socket_visible", True, "no engine socket"),
    ("groups", ("1000", "999"), "no further groups"),
    ("devices", ("c 1:3 /dev/null", "c 10:232 /dev/kvm"), "no devices"),
    ("namespaces_first", ("pid",), "own namespaces"),
    ("kernel_files_unmasked", ("/proc/kcore",), "kernel files masked"),
    ("kernel_settings_open", ("/proc/sys",), "kernel files read-only"),
    ("main_command", "/sbin/init", "init process"),
    ("memory_killer_off", True, "memory killer on"),
    ("clock_unix", GUEST.clock_unix - 61, "clock"),
    ("clock_settable", True, "clock"),
    ("cpu_quota", None, "cpu limit"),
    ("home_bytes", 16 << 30, "home size"),
    ("home_inodes", 0, "home size"),
    ("tmp_bytes", 16 << 30, "temporary files size"),
    ("tmp_inodes", 0, "temporary files size"),
    ("shm_bytes", 8 << 30, "shared memory size"),
    ("gateways_open", ("172.17.0.1",), "gateway unreachable"),
    ("metadata_open", ("169.254.169.254",), "metadata unreachable"),
    ("resolvers_open", ("192.0.2.53",), "name servers unreachable"),
]


def _ids(rows: Sequence[tuple[str, object, str]]) -> list[str]:
    """The same in each process: a set has no order of its own."""
    return [f"{name}={sorted(value) if isinstance(value, frozenset) else value}" for name, value, _ in rows]


def missed(host: HostPosture = HOST, guest: GuestPosture = GUEST, runtime: str = "runc") -> list[str]:
    return [check.control for check in prove(LIMITS, runtime, host, guest) if not check.active]


def test_with_every_control_on_all_checks_are_active_and_the_run_goes_on() -> None:
    checks = prove(LIMITS, "runc", HOST, GUEST)
    assert [check.control for check in checks if not check.active] == []
    require(checks)


def test_every_fact_that_is_gathered_is_judged() -> None:
    assert {name for name, _, _ in HOST_OFF} == {field.name for field in fields(HostPosture)}
    in_gvisor_only = {"kernel_names_gvisor", "memory_total_bytes"}
    assert {name for name, _, _ in GUEST_OFF} | in_gvisor_only == {field.name for field in fields(GuestPosture)}


def test_every_check_can_fail() -> None:
    controls = {control for _, _, control in (*HOST_OFF, *GUEST_OFF)}
    assert controls == {check.control for check in prove(LIMITS, "runc", HOST, GUEST)}


@pytest.mark.parametrize(("field", "value", "control"), HOST_OFF, ids=_ids(HOST_OFF))
def test_a_control_that_the_engine_says_is_off_fails_its_check_alone(field: str, value: object, control: str) -> None:
    host = replace(HOST, **{field: value})  # type: ignore[arg-type]  # one field of many types
    assert missed(host=host) == [control]
    with pytest.raises(PostureFailed, match=control) as failed:
        require(prove(LIMITS, "runc", host, GUEST))
    assert failed.value.exit_code is ExitCode.POSTURE


@pytest.mark.parametrize(("field", "value", "control"), GUEST_OFF, ids=_ids(GUEST_OFF))
def test_a_control_that_is_seen_off_from_inside_fails_its_check_alone(field: str, value: object, control: str) -> None:
    guest = replace(GUEST, **{field: value})  # type: ignore[arg-type]  # one field of many types
    assert missed(guest=guest) == [control]
    with pytest.raises(PostureFailed, match=control):
        require(prove(LIMITS, "runc", HOST, guest))


def test_no_interface_at_all_is_not_the_one_that_was_asked_for() -> None:
    assert missed(guest=replace(GUEST, interfaces=())) == ["no network interface"]


@pytest.mark.parametrize("word", ["", "unconfined", "docker-default (complain)", "snap.docker (enforce)"])
def test_on_a_host_with_apparmor_nothing_but_the_engines_profile_enforced_will_do(word: str) -> None:
    assert missed(guest=replace(GUEST, apparmor=word)) == ["apparmor"]


@pytest.mark.parametrize("word", ["", "unconfined", "system_u:system_r:container_t:s0"])
def test_a_host_without_apparmor_says_so_and_asks_for_none(word: str) -> None:
    checks = prove(LIMITS, "runc", replace(HOST, apparmor=""), replace(GUEST, apparmor=word))
    (check,) = [check for check in checks if check.control == "apparmor"]
    assert (check.active, check.seen) == (True, "none on this host")


def test_a_remapping_engine_must_be_seen_to_remap() -> None:
    remapped = replace(HOST, user_remapped=True)
    assert missed(host=remapped, guest=replace(GUEST, root_is_host_root=False)) == []
    assert missed(host=remapped) == ["user namespace"]


DEVICES = tuple(f"/dev/{name}" for name in ("full", "null", "random", "tty", "urandom", "zero"))


def test_devices_that_do_nothing_are_mounts_where_users_are_remapped_and_nowhere_else() -> None:
    guest = replace(GUEST, root_is_host_root=False, writable_mounts=(*GUEST.writable_mounts, *DEVICES))
    assert missed(host=replace(HOST, user_remapped=True), guest=guest) == []
    assert missed(guest=replace(guest, root_is_host_root=True)) == ["no other writable mounts"]
    more = replace(guest, writable_mounts=(*guest.writable_mounts, "/dev/kvm"))
    assert missed(host=replace(HOST, user_remapped=True), guest=more) == ["no other writable mounts"]


# What a real gVisor shows of a workspace as ours are started.
MEMORY = (256 + 32) << 20
GVISOR = replace(
    GUEST,
    seccomp_mode=0,
    seccomp_mark=38,
    system_calls_open=("ptrace", "unshare"),
    apparmor="",
    kernel="4.4.0",
    kernel_names_gvisor=True,
    memory_total_bytes=MEMORY,
    pids_max=None,
    memory_max_bytes=None,
    workspace_inodes=0,
    namespaces_first=("pid",),
    devices=("c 1:3 /dev/null", "c 10:200 /dev/net/tun", "c 10:229 /dev/fuse"),
    kernel_files_unmasked=("/proc/kcore",),
    kernel_settings_open=("/proc/sys",),
    cpu_quota=None,
    home_inodes=0,
    tmp_inodes=0,
    shm_bytes=0,
    writable_mounts=("/dev", "/tmp", "/proc", "/dev/pts", "/dev/shm", "/workspace", "/home/agent"),
    mount_options=("/dev rw", "/tmp rw", "/proc rw,noexec", "/dev/shm rw,noexec", "/workspace rw", "/home/agent rw"),
)


def missed_in_gvisor(**seen: object) -> list[str]:
    guest = replace(GVISOR, **seen)  # type: ignore[arg-type]  # fields of many types
    return missed(replace(HOST, runtime="runsc"), guest, "runsc")


def test_gvisor_is_proved_by_what_it_shows_and_what_it_cannot_show_is_not_claimed() -> None:
    assert missed_in_gvisor() == []
    claimed = {check.control for check in prove(LIMITS, "runsc", HOST, GVISOR)}
    usual = {check.control for check in prove(LIMITS, "runc", HOST, GUEST)}
    unseen = {"seccomp profile", "system calls refused", "apparmor", "user namespace", "workspace inodes"}
    assert usual - claimed == unseen and claimed <= usual


@pytest.mark.parametrize(
    ("field", "value", "control"),
    [
        ("kernel", HOST.kernel, "kernel"),
        ("kernel_names_gvisor", False, "kernel"),
        ("memory_total_bytes", 0, "memory limit"),
        ("memory_total_bytes", MEMORY + 1, "memory limit"),
        ("mount_options", ("/dev/shm rw",), "mount options"),
        ("effective_capabilities", 1, "capabilities inside"),
        ("interfaces", ("eth0",), "no network interface"),
        ("workspace_bytes", 0, "workspace size"),
        ("home_bytes", 0, "home size"),
        ("tmp_bytes", 0, "temporary files size"),
        ("devices", ("c 10:232 /dev/kvm",), "no devices"),
        ("gateways_open", ("172.17.0.1",), "gateway unreachable"),
        ("cgroups_writable", ("/sys/fs/cgroup",), "control groups read-only"),
    ],
)
def test_in_gvisor_a_control_that_is_off_is_seen_too(field: str, value: object, control: str) -> None:
    assert missed_in_gvisor(**{field: value}) == [control]


@pytest.mark.parametrize("field", ["pids_limit", "seccomp", "memory_bytes"])
def test_in_gvisor_the_engine_must_say_that_it_set_what_cannot_be_seen(field: str) -> None:
    host = replace(HOST, runtime="runsc", **{field: type(getattr(HOST, field))()})
    assert len(missed(host, GVISOR, "runsc")) == 1


@pytest.mark.parametrize("runtime", ["runsc", "kata"])
def test_runc_under_the_name_of_a_stronger_runtime_is_seen(runtime: str) -> None:
    assert "kernel" in missed(replace(HOST, runtime=runtime), GUEST, runtime)


def test_a_virtual_machine_shows_another_kernel_and_every_control_of_a_container() -> None:
    host, guest = replace(HOST, runtime="kata"), replace(GUEST, kernel="6.12.0-vm", namespaces_first=("uts",))
    assert missed(host, guest, "kata") == []
    assert missed(host, replace(guest, seccomp_mode=0), "kata") == ["seccomp filter"]
    assert missed(host, replace(guest, kernel_names_gvisor=True), "kata") == ["kernel"]


@pytest.mark.parametrize("user", ["", "0", "root", "root:900", "0:900", "00"])
def test_no_spelling_of_root_will_do_for_the_main_process(user: str) -> None:
    assert missed(host=replace(HOST, user=user)) == ["main process not root"]


@pytest.mark.parametrize("mount", ["/proc", "/proc/kcore", "/dev", "/dev/shm", "/sys/fs/cgroup"])
def test_the_kernels_own_mounts_are_no_stray_ones(mount: str) -> None:
    told = (*GUEST.mount_options, f"{mount} rw,nosuid,nodev,noexec")
    assert missed(guest=replace(GUEST, writable_mounts=("/workspace", mount), mount_options=told)) == []


@pytest.mark.parametrize("mount", ["/", "/etc", "/process", "/workspace/x", "/var/run/docker.sock"])
def test_any_other_writable_mount_is_a_stray_one(mount: str) -> None:
    assert missed(guest=replace(GUEST, writable_mounts=(mount,))) == ["no other writable mounts"]


def with_mount(path: str, options: str) -> GuestPosture:
    return replace(
        GUEST,
        writable_mounts=(*GUEST.writable_mounts, path),
        mount_options=(*GUEST.mount_options, f"{path} {options}"),
    )


@pytest.mark.parametrize("mount", ["/workspace", "/home/agent", "/tmp"])
@pytest.mark.parametrize("options", ["rw,nosuid", "rw,nodev", "rw,suid,dev", "rw", ""])
def test_a_mount_of_the_run_without_nosuid_or_nodev_is_seen(mount: str, options: str) -> None:
    others = tuple(told for told in GUEST.mount_options if not told.startswith(f"{mount} "))
    assert missed(guest=replace(GUEST, mount_options=(*others, f"{mount} {options}"))) == ["mount options"]
    assert missed(guest=replace(GUEST, mount_options=others)) == ["mount options"]


def test_a_second_mount_over_the_first_hides_nothing() -> None:
    assert missed(guest=with_mount("/workspace", "rw")) == ["mount options"]


@pytest.mark.parametrize("mount", ["/dev/shm", "/dev/mqueue"])
def test_shared_memory_is_no_place_to_execute_from(mount: str) -> None:
    assert missed(guest=with_mount(mount, "rw,nosuid,nodev,noexec,relatime")) == []
    assert missed(guest=with_mount(mount, "rw,nosuid,nodev,relatime")) == ["mount options"]


def test_what_is_executed_from_the_runs_own_mounts_needs_no_noexec_and_more_options_do_no_harm() -> None:
    more = tuple(f"{told},noexec,relatime" for told in GUEST.mount_options)
    assert missed(guest=replace(GUEST, mount_options=more)) == []


@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 1, (1 << 20) + 1, 1 << 62])
def test_any_other_bound_of_a_file_than_the_policys_is_none(size: int) -> None:
    assert missed(guest=replace(GUEST, file_max_bytes=size)) == ["file size limit"]


def test_all_that_failed_is_named() -> None:
    off = [Check("runtime", "a", "b", False), Check("no route", "a", "a", True), Check("kernel", "c", "d", False)]
    with pytest.raises(PostureFailed) as failed:
        require(off)
    said = failed.value.message
    assert "runtime:" in said and "kernel:" in said and "no route" not in said
    assert failed.value.hint == f"{MENDS['runtime']} {MENDS['kernel']}"


def test_one_sentence_is_said_once_for_all_controls_that_it_mends() -> None:
    with pytest.raises(PostureFailed) as failed:
        require([Check(name, "a", "b", False) for name in ("no route", "network none")])
    assert failed.value.hint == MENDS["no route"]


def test_every_control_has_a_mend_of_its_own_and_no_mend_is_without_a_control() -> None:
    proved = {check.control for cage in (Cage(), ROOM) for check in prove(LIMITS, "runc", HOST, GUEST, cage)}
    assert proved | {"hooks path"} == MENDS.keys()
    assert all(sentence.endswith(".") for sentence in MENDS.values())
    assert "network.run.allow" in mend_of(f"{REACHABLE}registry.example:443")


ROOM = Cage("1234:1234", (Mount("/srv/mirror", writable=True), Mount("/srv/ca.pem")))
ROOM_HOST = replace(HOST, binds=("/srv/ca.pem:/srv/ca.pem:ro", "/srv/mirror:/srv/mirror:rw"))
ROOM_GUEST = replace(
    GUEST,
    uid=1234,
    gid=1234,
    groups=(),
    writable_mounts=(*GUEST.writable_mounts, "/srv/mirror"),
    tmp_bytes=GUEST.workspace_bytes,
    tmp_inodes=GUEST.workspace_inodes,
)


def missed_in_room(host: HostPosture = ROOM_HOST, guest: GuestPosture = ROOM_GUEST) -> list[str]:
    return [check.control for check in prove(LIMITS, "runc", host, guest, ROOM) if not check.active]


def test_a_room_of_the_gate_has_the_mounts_that_were_asked_for() -> None:
    assert missed_in_room() == []


@pytest.mark.parametrize(
    "binds",
    [
        (),
        ("/srv/mirror:/srv/mirror:rw",),
        ("/srv/ca.pem:/srv/ca.pem:rw", "/srv/mirror:/srv/mirror:rw"),
        ("/srv/ca.pem:/srv/ca.pem:ro", "/srv/mirror:/srv/mirror:rw", "/:/host:ro"),
        ("/srv/ca.pem:/srv/ca.pem:ro", "/srv:/srv/mirror:rw"),
    ],
)
def test_a_mount_too_few_too_many_or_of_another_kind_fails_a_rooms_proof(binds: tuple[str, ...]) -> None:
    assert missed_in_room(host=replace(ROOM_HOST, binds=binds)) == ["host mounts"]


def test_a_room_that_can_write_where_it_should_only_read_fails_its_proof() -> None:
    guest = replace(ROOM_GUEST, writable_mounts=(*ROOM_GUEST.writable_mounts, "/srv/ca.pem"))
    assert missed_in_room(guest=guest) == ["no other writable mounts"]


def test_a_room_that_runs_as_somebody_else_fails_its_proof() -> None:
    assert missed_in_room(guest=replace(ROOM_GUEST, uid=0)) == ["user"]


def test_a_workspace_may_have_no_mount_that_a_room_may_have() -> None:
    assert missed(host=ROOM_HOST) == ["no host mounts"]


def test_a_room_has_no_home_and_its_folder_is_the_one_for_temporary_files() -> None:
    assert missed_in_room(guest=replace(ROOM_GUEST, home_bytes=0)) == []
    assert missed_in_room(guest=replace(ROOM_GUEST, tmp_bytes=GUEST.tmp_bytes)) == ["temporary files size"]


@pytest.mark.parametrize(
    "command", ["/bin/bash /opt/runner/keeper.sh 9", "/opt/runner/keeper.sh -- 9", "init -- sh", ""]
)
def test_who_is_first_inside_must_be_the_engines_init_and_start_the_keeper(command: str) -> None:
    assert missed(guest=replace(GUEST, main_command=command)) == ["init process"]


@pytest.mark.parametrize("node", ["c 1:3 /dev/zero", "b 8:0 /dev/null", "c 1:1 /dev/mem"])
def test_a_device_under_a_usual_name_is_not_taken_for_the_usual_one(node: str) -> None:
    assert missed(guest=replace(GUEST, devices=(node,))) == ["no devices"]


def test_on_a_remapping_engine_a_room_with_folders_of_the_host_keeps_the_hosts_users() -> None:
    remapping = replace(ROOM_HOST, user_remapped=True)
    assert missed_in_room(host=remapping) == []
    assert missed_in_room(host=remapping, guest=replace(ROOM_GUEST, root_is_host_root=False)) == ["user namespace"]
