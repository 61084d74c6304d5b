"""The arrows between packages, and the few places where the outside world may be touched."""

from __future__ import annotations

import ast
import tomllib

import pytest
from importlinter.application.use_cases import lint_imports
from importlinter.configuration import configure

from tests.architecture.sources import ROOT, Module, modules

STARTS_PROGRAMS = {
    "runner.doors.holding.commands": "the process that holds a run between commands",
    "runner.doors.doctor": "asks the host's git for its version",
    "runner.engine.image_base": "mmdebstrap, where the engine cannot pull",
    "runner.engine.image_sources": "npm pack, for the pinned tools",
    "runner.gate.process": "the gate's git and credential commands, with bounds",
}
TOUCHES_SOCKETS = {
    "runner.doors.holding.commands": "asks the holder of a run",
    "runner.doors.holding.holder": "answers for a held run",
    "runner.doors.holding.wire": "the socket file of a held run",
    "runner.doors.http.listening": "where the server listens",
    "runner.egress.connection": "carries a tunnel's bytes",
    "runner.egress.network": "resolves and dials, the only place that does",
    "runner.egress.proxy": "waits on the tunnels",
    "runner.egress.values": "names the type in a port",
    "runner.engine.docker_stream": "the socket of a held exec",
}
READS_FILES_IN_POLICY = {
    "runner.policy.load": "the policy file that it is handed",
    "runner.policy.presets": "where the presets are",
}
IMPURE = (
    "os",
    "io",
    "time",
    "datetime",
    "random",
    "secrets",
    "subprocess",
    "socket",
    "threading",
    "tempfile",
    "shutil",
)


def test_import_linters_contracts_hold(capsys: pytest.CaptureFixture[str]) -> None:
    configure()
    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), cache_dir=None), capsys.readouterr().out


def test_every_package_has_its_place_in_the_layers() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    placed = {name.strip() for layer in layers for name in layer.split("|")}
    packages = {".".join(module.name.split(".")[:2]) for module in modules() if module.name != "runner"}
    below_everything = {"runner.settings"}  # a value that reads the environment; it imports nothing of ours
    assert packages - below_everything == placed


def test_settings_import_nothing_of_ours() -> None:
    settings = next(module for module in modules() if module.name == "runner.settings")
    assert not settings.imports_from("runner")


def test_docker_is_imported_in_the_engine_alone() -> None:
    users = {module.name for module in modules() if module.imports_from("docker")}
    assert users, "nobody imports docker: this test looks for the wrong thing"
    assert all(name.startswith("runner.engine.") for name in users), users


def test_tools_and_policy_see_no_engine() -> None:
    for module in modules():
        if module.name.startswith(("runner.tools", "runner.policy", "runner.setup", "runner.model")):
            assert not module.imports_from("runner.engine"), f"{module.place} goes around the guard"


def test_the_policy_core_has_no_clock_no_process_and_no_file_but_its_own() -> None:
    for module in modules():
        if module.name.startswith(("runner.policy", "runner.model")):
            assert not module.imports_from(*IMPURE), f"{module.place} must be handed what it needs"
            opens_files = ("pathlib", "Path") in set(module.imports)
            assert not opens_files or module.name in READS_FILES_IN_POLICY, f"{module.place} may not read files"


def test_nobody_prints_and_only_doors_write_to_a_terminal() -> None:
    for module in modules():
        assert not _calls(module, "print"), f"{module.place} prints; runner/doors/render.py is the writer"
        terminal = [(name, line) for name, line in module.attributes("sys") if name in ("stdout", "stderr", "stdin")]
        assert not terminal or module.name.startswith("runner.doors."), f"{module.place}: {terminal}"


def test_only_settings_read_the_environment() -> None:
    readers = {
        module.name
        for module in modules()
        if any(name in ("environ", "environb", "getenv") for name, _ in module.attributes("os"))
        or {("os", "environ"), ("os", "getenv")} & set(module.imports)
    }
    assert readers == {"runner.settings"}, "read it once, in settings, and hand it down"


@pytest.mark.parametrize(
    ("package", "known"), [("subprocess", STARTS_PROGRAMS), ("socket", TOUCHES_SOCKETS)], ids=["programs", "sockets"]
)
def test_programs_and_sockets_of_the_host_are_used_where_it_is_known(package: str, known: dict[str, str]) -> None:
    users = {module.name for module in modules() if module.imports_from(package)}
    assert users == set(known), "add the module with its reason, or take it off the list"


def _calls(module: Module, function: str) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function
    ]
