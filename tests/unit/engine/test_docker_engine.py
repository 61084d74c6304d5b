"""The Docker adapter against a daemon that answers as told: no error of Docker's gets out, and nothing is left."""

from __future__ import annotations

import gc
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.controller.aside import Aside
from runner.engine import seccomp
from runner.engine.contract import SandboxInfo, SandboxLimits, SandboxSpec
from runner.engine.docker_containers import engine_errors
from runner.engine.docker_engine import DockerEngine
from runner.engine.docker_sandbox import _posture
from runner.model.errors import EngineUnavailable, ExitCode, SandboxLost
from tests.support.docker_daemon import NO_ANSWER, Daemon, daemon

LIMITS = SandboxLimits(60, 64, 1.0, 16, 64, 1, 100, 1)
SPEC = SandboxSpec("run1", "ctrl1", "sha256:feed", LIMITS, 1000)
BOX = SandboxInfo("c0ffee", "container", "run1", "ctrl1", 1000, "running", "runner-run1")
FAILED = (500, {"message": "the disk is broken"})
GONE = (404, {"message": "no such container"})


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Daemon]:
    with daemon(tmp_path) as made:
        yield made


@pytest.fixture
def engine(there: Daemon) -> Iterator[DockerEngine]:
    made = DockerEngine(there.environment)
    yield made
    made.close()


def refused_connection(host: str) -> EngineUnavailable:
    """Why an engine at that address is not there. The SDK leaves the socket of a failed attempt to the collector."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        with pytest.raises(EngineUnavailable) as refused:
            DockerEngine({"DOCKER_HOST": host}).info()
        error = refused.value
        error.__cause__ = error.__context__ = error.__traceback__ = None
        del refused
        gc.collect()
    return error


@pytest.mark.parametrize(
    "host",
    [
        "unix:///nonexistent/engine.sock",
        "tcp://127.0.0.1:1",
        "tcp://127.0.0.1:port",
        "tcp://127.0.0.1:999999",
        "tcp://",
        "nonsense://x",
        "ssh://nobody@127.0.0.1:1",
    ],
)
def test_an_engine_that_is_not_there_is_unavailable_in_words_that_name_the_mend(host: str) -> None:
    error = refused_connection(host)
    assert error.exit_code is ExitCode.ENGINE and error.code == "engine_unavailable"
    assert "DOCKER_HOST" in error.hint and "\n" not in error.message


def test_what_answers_nothing_is_said_so_without_the_names_of_python_classes(tmp_path: Path) -> None:
    for host in (f"unix://{tmp_path}/absent.sock", "tcp://127.0.0.1:1"):
        error = refused_connection(host)
        assert "nothing answers at its address" in error.message and "Error" not in error.message


def test_what_answers_is_described_in_our_words(engine: DockerEngine) -> None:
    info = engine.info()
    assert (info.name, info.version, info.api_version) == ("docker", "20.10.24", "1.41")
    assert (info.runtimes, info.security) == (("other", "runc"), ("seccomp",))
    assert (info.cgroup_version, info.storage) == ("2", "overlay2")


def test_an_engine_that_says_little_is_described_without_a_guess_at_safety(there: Daemon, engine: DockerEngine) -> None:
    there.answer("GET /info", (200, {"Runtimes": None, "SecurityOptions": None}))
    assert (engine.info().runtimes, engine.info().security) == ((), ())


def test_an_image_that_is_not_there_has_a_code_of_its_own(there: Daemon, engine: DockerEngine) -> None:
    with pytest.raises(EngineUnavailable) as missing:
        engine.image("runner-workspace:dev")
    assert missing.value.code == "image_missing" and "runner image build" in missing.value.hint
    there.answer("GET /images/there:1/json", (200, {"Id": "sha256:1", "Size": 5, "Config": {"Labels": {"a": "b"}}}))
    there.answer("GET /images/bare:1/json", (200, {"Id": "sha256:2", "Config": None}))
    found, bare = engine.image("there:1"), engine.image("bare:1")
    assert (found.id, dict(found.labels), found.size_bytes) == ("sha256:1", {"a": "b"}, 5)
    assert (bare.id, dict(bare.labels), bare.size_bytes) == ("sha256:2", {}, 0)


FAILING: dict[str, tuple[str, Callable[[DockerEngine], Any]]] = {
    "info": ("GET /info", lambda engine: engine.info()),
    "image": ("GET /images/x/json", lambda engine: engine.image("x")),
    "objects": ("GET /containers/json", lambda engine: engine.objects()),
    "remove": ("DELETE /containers/c0ffee", lambda engine: engine.remove(BOX)),
    "start": ("POST /containers/create", lambda engine: engine.start(SPEC)),
}


@pytest.mark.parametrize("what", list(FAILING))
def test_a_failure_of_the_engine_is_ours_whatever_was_being_done(
    there: Daemon, engine: DockerEngine, what: str
) -> None:
    request, act = FAILING[what]
    there.answer(request, FAILED)
    with pytest.raises(EngineUnavailable) as refused:
        act(engine)
    assert "the disk is broken" in refused.value.message


# --- starting


def startable(there: Daemon) -> None:
    there.answer("POST /containers/create", (201, {"Id": "c0ffee", "Warnings": []}))
    there.answer("POST /containers/c0ffee/start", (204, None))
    there.answer("POST /containers/c0ffee/exec", (201, {"Id": "e1"}))
    there.answer("DELETE /containers/c0ffee", (204, None))


def test_a_runtime_that_the_engine_lacks_is_refused_before_anything_is_made(
    there: Daemon, engine: DockerEngine
) -> None:
    with pytest.raises(EngineUnavailable) as refused:
        engine.start(replace(SPEC, runtime="runsc"))
    assert refused.value.code == "runtime_missing" and "runc" in refused.value.hint
    assert not any(request.startswith("POST") for request in there.asked)


def test_no_more_sandboxes_start_at_a_time_than_the_host_bears(there: Daemon) -> None:
    inside, most, lock, reply = [0], [0], threading.Lock(), there.reply

    def counted(request: str) -> tuple[int, Any]:
        if request != "POST /containers/create":
            return reply(request)
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        for _ in range(100):
            os.sched_yield()
        with lock:
            inside[0] -= 1
        return FAILED

    there.reply = counted  # type: ignore[method-assign]
    engine = DockerEngine(there.environment, starts=2)
    engine.info()
    together = threading.Barrier(8)

    def start() -> None:
        together.wait()
        with pytest.raises(EngineUnavailable):
            engine.start(SPEC)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engine.close()
    assert (most, inside) == ([2], [0])


def test_the_runtimes_are_asked_for_once_and_again_only_for_one_that_was_not_there(
    there: Daemon, engine: DockerEngine
) -> None:
    there.answer("POST /containers/create", FAILED)
    for _ in range(2):
        with pytest.raises(EngineUnavailable):
            engine.start(SPEC)
    assert there.asked.count("GET /info") == 1
    there.answer("GET /info", (200, {"Runtimes": {"runsc": {}}}))
    with pytest.raises(EngineUnavailable) as refused:
        engine.start(replace(SPEC, runtime="runsc"))
    assert refused.value.code != "runtime_missing" and there.asked.count("GET /info") == 2


@pytest.mark.parametrize(
    ("request_failing", "answer", "error"),
    [
        ("POST /containers/c0ffee/start", FAILED, EngineUnavailable),
        ("POST /containers/c0ffee/exec", FAILED, EngineUnavailable),
        ("POST /exec/e1/start", FAILED, EngineUnavailable),
        ("POST /exec/e1/start", (101, b""), SandboxLost),  # the helper ends at once
        ("POST /exec/e1/start", (101, b"\x09garbage!"), SandboxLost),
    ],
)
def test_whatever_fails_after_the_container_was_made_it_is_removed_again(
    there: Daemon, engine: DockerEngine, request_failing: str, answer: tuple[int, Any], error: type[Exception]
) -> None:
    startable(there)
    there.answer(request_failing, answer)
    with pytest.raises(error):
        engine.start(SPEC)
    assert there.asked[-2:] == ["DELETE /containers/c0ffee", "GET /containers/c0ffee/json"]
    gc.collect()


def test_a_container_whose_making_was_not_answered_is_waited_for_and_removed(
    there: Daemon, engine: DockerEngine
) -> None:
    create, named = "POST /containers/create", "DELETE /containers/runner-run1"
    taken = (409, {"message": "the name is in use"})
    there.answer(create, NO_ANSWER, taken, taken, (201, {"Id": "c0ffee", "Warnings": []}))
    there.answer(named, GONE, (204, None))  # being made it is not to be found, but its name is taken
    there.answer("DELETE /containers/c0ffee", (204, None))
    with pytest.raises(EngineUnavailable):
        engine.start(SPEC)
    assert there.asked[-8:] == [
        create,
        create,
        named,
        create,
        named,
        create,
        "DELETE /containers/c0ffee",
        "GET /containers/c0ffee/json",
    ]


def test_an_engine_that_refuses_to_make_a_container_is_not_asked_for_it_again(
    there: Daemon, engine: DockerEngine
) -> None:
    there.answer("POST /containers/create", FAILED)
    with pytest.raises(EngineUnavailable):
        engine.start(SPEC)
    assert there.asked.count("POST /containers/create") == 1


def test_an_engine_that_stays_away_while_it_makes_a_container_is_named_by_the_first_failure(
    there: Daemon, engine: DockerEngine
) -> None:
    there.answer("POST /containers/create", NO_ANSWER, FAILED)
    with pytest.raises(EngineUnavailable) as refused:
        engine.start(SPEC)
    assert "creating the workspace container" in refused.value.message


def test_what_is_asked_for_is_the_plan_with_no_environment_and_no_network(there: Daemon, engine: DockerEngine) -> None:
    startable(there)
    there.answer("POST /containers/c0ffee/start", FAILED)
    with pytest.raises(EngineUnavailable):
        engine.start(SPEC)
    body = there.bodies["POST /containers/create"]
    assert (body["Image"], body["User"], body["NetworkDisabled"]) == ("sha256:feed", "900:900", True)
    assert body["Cmd"] == ["/opt/runner/keeper.sh", "120"]  # a minute more than the run
    assert not body.get("Env") and body["Labels"]["runner.run"] == "run1"
    host = body["HostConfig"]
    assert (host["CapDrop"], host["ReadonlyRootfs"], host["NetworkMode"]) == (["ALL"], True, "none")
    assert (host["Memory"], host["MemorySwap"], host["PidsLimit"]) == (65 << 20, 65 << 20, 16)
    assert host["SecurityOpt"][0] == "no-new-privileges" and host["LogConfig"]["Type"] == "none"
    assert host["AutoRemove"] and host["Init"] and not host.get("Privileged") and not host.get("Binds")


def test_one_that_waits_for_its_run_lives_longer_by_the_wait(there: Daemon, engine: DockerEngine) -> None:
    startable(there)
    there.answer("POST /containers/c0ffee/start", FAILED)
    with pytest.raises(EngineUnavailable):
        engine.start(replace(SPEC, idle_seconds=900))
    assert there.bodies["POST /containers/create"]["Cmd"] == ["/opt/runner/keeper.sh", "1020", "120"]


def test_two_starts_at_once_ask_what_the_engine_is_once(there: Daemon, engine: DockerEngine) -> None:
    there.answer("POST /containers/create", FAILED)
    starts = [Aside(lambda: engine.start(SPEC)) for _ in range(2)]
    for start in starts:
        start.begin()
    for start in starts:
        with pytest.raises(EngineUnavailable):
            start.answer()
    assert there.asked.count("GET /info") == 1


# --- removing


def test_a_removal_is_believed_only_when_the_engine_no_longer_knows_the_container(
    there: Daemon, engine: DockerEngine
) -> None:
    there.answer("DELETE /containers/c0ffee", (204, None))
    there.answer("GET /containers/c0ffee/json", (200, {"Id": "c0ffee"}), (200, {"Id": "c0ffee"}), GONE)
    engine.remove(BOX)
    assert there.asked.count("GET /containers/c0ffee/json") == 3


def test_one_that_is_being_removed_already_is_waited_for_and_one_that_is_gone_is_gone(
    there: Daemon, engine: DockerEngine
) -> None:
    there.answer("DELETE /containers/c0ffee", (409, {"message": "removal is in progress"}), GONE)
    there.answer("GET /containers/c0ffee/json", (200, {"Id": "c0ffee"}))
    engine.remove(BOX)
    engine.remove(BOX)
    assert there.asked.count("DELETE /containers/c0ffee") == 3


@pytest.mark.parametrize(
    ("kind", "request_made"), [("volume", "DELETE /volumes/v1"), ("network", "DELETE /networks/v1")]
)
def test_volumes_and_networks_are_removed_and_gone_ones_are_no_error(
    there: Daemon, engine: DockerEngine, kind: str, request_made: str
) -> None:
    engine.remove(SandboxInfo("v1", kind, "run1", "ctrl1", 0, "present", "v1"))
    assert there.asked[-1] == request_made


# --- listing


def listing(there: Daemon, *containers: dict[str, Any]) -> None:
    there.answer("GET /containers/json", (200, list(containers)))
    there.answer("GET /volumes", (200, {"Volumes": None}))
    there.answer("GET /networks", (200, []))


def test_everything_with_our_label_is_listed_in_our_words(there: Daemon, engine: DockerEngine) -> None:
    labels = {"runner.run": "run1", "runner.controller": "ctrl1", "runner.deadline": "1000"}
    listing(there, {"Id": "c0ffee", "Names": ["/runner-run1"], "State": "running", "Labels": labels})
    there.answer("GET /volumes", (200, {"Volumes": [{"Name": "v1", "Labels": labels}]}))
    there.answer("GET /networks", (200, [{"Id": "n1", "Name": "net", "Labels": None}]))
    assert engine.objects() == [
        BOX,
        SandboxInfo("v1", "volume", "run1", "ctrl1", 1000, "present", "v1"),
        SandboxInfo("n1", "network", "", "", 0, "present", "net"),
    ]


@pytest.mark.parametrize("deadline", ["", "soon", "-5", "1e9", "²", "٣", "9" * 30, "9" * 5000])
def test_a_deadline_that_is_no_time_is_none(there: Daemon, engine: DockerEngine, deadline: str) -> None:
    labels = {"runner.run": "r", "runner.controller": "x", "runner.deadline": deadline}
    listing(there, {"Id": "c0ffee", "Names": ["/n"], "State": None, "Labels": labels})
    (found,) = engine.objects()
    assert (found.deadline_unix, found.state) == (0, "")


def test_a_container_without_a_name_is_listed_all_the_same(there: Daemon, engine: DockerEngine) -> None:
    listing(there, {"Id": "c0ffee", "Names": [], "State": "dead", "Labels": {"runner.run": "r"}})
    assert [found.id for found in engine.objects()] == ["c0ffee"]


# --- errors and posture


@pytest.mark.parametrize("error", [OSError("boom"), ConnectionResetError(), TimeoutError("slow"), ValueError("port")])
def test_errors_of_sockets_and_sdk_become_ours_with_one_line(error: Exception) -> None:
    with pytest.raises(EngineUnavailable) as refused, engine_errors("doing it"):
        raise error
    assert "doing it" in refused.value.message and len(refused.value.message.splitlines()) == 1


def test_our_own_errors_and_bugs_pass_as_they_are() -> None:
    for error in (SandboxLost("gone"), KeyError("bug"), KeyboardInterrupt()):
        with pytest.raises(type(error)), engine_errors("doing it"):
            raise error


HOST_CONFIG: dict[str, Any] = {
    "Privileged": False,
    "CapDrop": ["ALL"],
    "CapAdd": None,
    "SecurityOpt": ["no-new-privileges", f"seccomp={seccomp.profile()}"],
    "ReadonlyRootfs": True,
    "NetworkMode": "none",
    "Binds": None,
    "LogConfig": {"Type": "none", "Config": {}},
    "Init": True,
    "Memory": 5,
    "MemorySwap": 5,
    "PidsLimit": 16,
    "NanoCpus": 7,
    "Runtime": "runc",
    "CgroupnsMode": "private",
    "IpcMode": "private",
    "PidMode": "",
    "UTSMode": "",
    "AutoRemove": True,
    "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
    "ShmSize": 64,
    "MaskedPaths": ["/proc/kcore"],
    "ReadonlyPaths": ["/proc/sys"],
}


def seen(mounts: list[dict[str, Any]] | None = None, **changes: Any) -> Any:
    return _posture({**HOST_CONFIG, **changes}, {"User": "900:900", "NetworkDisabled": True}, mounts or [])


def test_the_posture_of_a_good_container() -> None:
    good = seen([{"Type": "tmpfs", "Source": "", "Destination": "/workspace"}])
    assert (good.privileged, good.capabilities_dropped_all, good.capabilities_added) == (False, True, ())
    assert (good.no_new_privileges, good.seccomp, good.root_read_only) == (True, seccomp.OWN_FILTER, True)
    assert (good.network_none, good.binds, good.log_driver, good.user) == (True, (), "none", "900:900")
    assert (good.init, good.memory_bytes, good.memory_swap_bytes) == (True, 5, 5)
    assert (good.pids_limit, good.nano_cpus, good.runtime) == (16, 7, "runc")
    assert (good.groups_added, good.devices, good.namespaces_shared, good.kernel_settings) == ((), (), (), ())
    assert (good.masked_paths, good.read_only_paths) == (frozenset({"/proc/kcore"}), frozenset({"/proc/sys"}))
    assert (good.memory_killer_off, good.shm_bytes, good.control_group_parent) == (False, 64, "")
    assert (good.network_settings, good.removed_at_end, good.restarted) == ((), True, "")


def test_a_network_that_was_not_turned_off_is_told() -> None:
    assert _posture(HOST_CONFIG, {}, []).network_settings == ("NetworkEnabled",)


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({"Privileged": True}, "privileged", True),
        ({"CapDrop": None}, "capabilities_dropped_all", False),
        ({"CapDrop": ["NET_RAW"]}, "capabilities_dropped_all", False),
        ({"CapAdd": ["SYS_ADMIN"]}, "capabilities_added", ("SYS_ADMIN",)),
        ({"SecurityOpt": None}, "no_new_privileges", False),
        ({"SecurityOpt": ["no-new-privileges=false"]}, "no_new_privileges", False),
        ({"SecurityOpt": ["no-new-privileges:false"]}, "no_new_privileges", False),
        ({"SecurityOpt": ["no-new-privileges=true"]}, "no_new_privileges", True),
        ({"SecurityOpt": ["seccomp=unconfined"]}, "seccomp", seccomp.NO_FILTER),
        ({"SecurityOpt": ["no-new-privileges"]}, "seccomp", seccomp.OTHER_FILTER),
        ({"ReadonlyRootfs": False}, "root_read_only", False),
        ({"NetworkMode": "bridge"}, "network_none", False),
        ({"Binds": ["/:/host"]}, "binds", ("/:/host",)),
        ({"LogConfig": None}, "log_driver", ""),
        ({"Init": None}, "init", False),
        ({"PidsLimit": None}, "pids_limit", 0),
        ({"Memory": None}, "memory_bytes", 0),
        ({"GroupAdd": ["docker"]}, "groups_added", ("docker",)),
        ({"Devices": [{"PathOnHost": "/dev/sda", "PathInContainer": "/dev/x"}]}, "devices", ("/dev/sda:/dev/x",)),
        ({"DeviceCgroupRules": ["b *:* rwm"]}, "devices", ("rule b *:* rwm",)),
        ({"DeviceRequests": [{"Driver": "nvidia"}]}, "devices", ("request nvidia",)),
        ({"PidMode": "host"}, "namespaces_shared", ("pid=host",)),
        ({"PidMode": "container:other"}, "namespaces_shared", ("pid=container:other",)),
        ({"IpcMode": "shareable"}, "namespaces_shared", ("ipc=shareable",)),
        ({"UTSMode": "host"}, "namespaces_shared", ("uts=host",)),
        ({"CgroupnsMode": None}, "namespaces_shared", ("cgroup=not said",)),
        ({"MaskedPaths": None}, "masked_paths", frozenset()),
        ({"ReadonlyPaths": None}, "read_only_paths", frozenset()),
        ({"OomKillDisable": True}, "memory_killer_off", True),
        ({"OomScoreAdj": -900}, "memory_killer_off", True),
        ({"OomScoreAdj": 500}, "memory_killer_off", False),
        ({"CgroupParent": "/other"}, "control_group_parent", "/other"),
        ({"Sysctls": {"net.a": "1"}}, "kernel_settings", ("net.a=1",)),
        ({"Dns": ["192.0.2.1"]}, "network_settings", ("Dns",)),
        ({"ExtraHosts": ["a:1.2.3.4"]}, "network_settings", ("ExtraHosts",)),
        ({"AutoRemove": None}, "removed_at_end", False),
        ({"RestartPolicy": {"Name": "unless-stopped"}}, "restarted", "unless-stopped"),
        ({"RestartPolicy": None}, "restarted", ""),
    ],
)
def test_a_control_that_the_engine_did_not_set_is_seen_missing(
    changes: dict[str, Any], field: str, value: object
) -> None:
    assert getattr(seen(**changes), field) == value


@pytest.mark.parametrize("kind", ["bind", "volume", "npipe"])
def test_a_mount_of_any_kind_but_tmpfs_is_seen(kind: str) -> None:
    assert seen([{"Type": kind, "Source": "/var/lib", "Destination": "/data"}]).binds == ("/var/lib:/data:ro",)
