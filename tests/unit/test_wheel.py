"""What is shipped is whole: a wheel works without a checkout, and a source archive builds the same wheel."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from runner.engine.image_sources import GATE, IMAGES, image_inputs, inputs_digest
from runner.policy.presets import preset_names

ROOT = Path(__file__).resolve().parents[2]
BUILD_SECONDS = 120

LOOKS = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import runner
from runner.doors.cli import command_line
from runner.engine import seccomp
from runner.engine.docker_images import build_folder
from runner.engine.image_sources import GATE, image_inputs, inputs_digest, load_versions
from runner.pages.html import stylesheet
from runner.policy.load import load_policy
from runner.policy.presets import preset_names
from runner.store.database import Database
command_line(None)
for name in preset_names():
    load_policy(name)
load_versions()
Database("sqlite:///" + str(Path("server.sqlite3").resolve())).close()
sys.stdout.write(json.dumps({
    "package": runner.__file__,
    "presets": preset_names(),
    "inputs": [inputs_digest(image_inputs()), inputs_digest(image_inputs(kind=GATE))],
    "build": str(build_folder(Path("/state"))),
    "filter": len(seccomp.profile()),
    "stylesheet": len(stylesheet()),
}))
"""
"""Run in an empty folder: everything that the package reads from beside its modules is read."""


def built(source: Path, target: str, into: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=BUILD_SECONDS)
    return next(path for path in into.iterdir() if path.suffix in (".whl", ".gz"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_wheel_holds_every_file_of_the_package_the_images_and_the_presets_and_nothing_else(wheel: Path) -> None:
    folders = {"runner": "runner", "images": "runner/engine/_images", "policies": "runner/policy/_presets"}
    expected = {
        f"{inside}/{path.relative_to(ROOT / outside).as_posix()}"
        for outside, inside in folders.items()
        for path in (ROOT / outside).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in contents(wheel) if ".dist-info/" not in name} == expected


def test_a_wheel_works_in_a_folder_that_is_no_checkout(wheel: Path, tmp_path: Path) -> None:
    site, empty = tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    command = [sys.executable, "-I", "-c", LOOKS, str(site)]
    done = subprocess.run(command, cwd=empty, capture_output=True, text=True, timeout=BUILD_SECONDS)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert Path(found["package"]).is_relative_to(site)
    assert tuple(found["presets"]) == preset_names()
    assert found["inputs"] == [inputs_digest(image_inputs(IMAGES)), inputs_digest(image_inputs(IMAGES, GATE))]
    assert found["build"] == "/state/images"
    assert found["filter"] and found["stylesheet"]


def test_a_source_archive_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    archive = built(ROOT, "sdist", tmp_path / "sdist")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    source = tmp_path / archive.name.removesuffix(".tar.gz")
    assert contents(built(source, "wheel", tmp_path / "again")) == contents(wheel)
