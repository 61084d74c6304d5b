"""Pinned versions, checked downloads and the build context."""

from __future__ import annotations

import base64
import hashlib
import io
import shutil
import tarfile
from pathlib import Path

import pytest

from runner.engine.image_sources import (
    IMAGES,
    Tool,
    fetch_tool,
    image_inputs,
    inputs_digest,
    load_versions,
    pack_context,
)
from runner.model.errors import EngineUnavailable, UsageError

GOOD = b"the pinned bytes"
PINNED = Tool("node", "node-pkg", "1.2.3", "sha512-" + base64.b64encode(hashlib.sha512(GOOD).digest()).decode())


def quiet(_: str) -> None:
    """Nobody reads progress here."""


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in npm, alone on the PATH, that packs the bytes in the file that is returned, and counts its calls."""
    served = tmp_path / "served"
    served.write_bytes(GOOD)
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    npm = bin_folder / "npm"
    npm.write_text(
        "#!/bin/sh\n"
        f"echo called >>{tmp_path}/calls\n"
        f'[ -s {served} ] || {{ echo "no such package" >&2; exit 1; }}\n'
        'while [ "$1" != --pack-destination ]; do shift; done\n'
        f'/bin/cat {served} >"$2/some-name.tgz"\n'
    )
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(bin_folder))
    return served


def test_every_tool_of_the_real_file_is_pinned_by_version_and_sha512() -> None:
    versions = load_versions()
    assert {tool.name for tool in versions.tools} == {"node", "npm", "pnpm", "mise"}
    assert all(len(base64.b64decode(tool.integrity.removeprefix("sha512-"))) == 64 for tool in versions.tools)
    assert "@sha256:" in versions.pull
    assert {"git", "ripgrep", "python3", "ca-certificates", "procps"} <= set(versions.packages)


def test_sources_name_no_host() -> None:
    for path in (IMAGES / "versions.toml", IMAGES / "workspace" / "Dockerfile", *(IMAGES / "workspace/etc").iterdir()):
        assert "://" not in path.read_text(encoding="utf-8"), path


def test_missing_versions_are_the_users_fault(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        load_versions(tmp_path)


@pytest.mark.parametrize("text", ["", "not toml", "[base]\nsuite='x'\n", "tools=1\n"])
def test_broken_versions_are_the_users_fault(tmp_path: Path, text: str) -> None:
    (tmp_path / "versions.toml").write_text(text)
    with pytest.raises(UsageError):
        load_versions(tmp_path)


def test_a_tool_with_the_pinned_bytes_is_kept(tmp_path: Path, registry: Path) -> None:
    path = fetch_tool(PINNED, tmp_path / "downloads", quiet)
    assert path.read_bytes() == GOOD
    assert list(path.parent.iterdir()) == [path]


def test_a_tool_that_is_there_is_not_fetched_again(tmp_path: Path, registry: Path) -> None:
    fetch_tool(PINNED, tmp_path / "downloads", quiet)
    fetch_tool(PINNED, tmp_path / "downloads", quiet)
    assert (tmp_path / "calls").read_text().count("called") == 1


def test_a_download_that_was_changed_on_disk_is_fetched_again(tmp_path: Path, registry: Path) -> None:
    path = fetch_tool(PINNED, tmp_path / "downloads", quiet)
    path.write_bytes(b"changed")
    assert fetch_tool(PINNED, tmp_path / "downloads", quiet).read_bytes() == GOOD


def test_other_bytes_than_pinned_are_refused_and_not_kept(tmp_path: Path, registry: Path) -> None:
    registry.write_bytes(GOOD + b".")
    with pytest.raises(EngineUnavailable) as caught:
        fetch_tool(PINNED, tmp_path / "downloads", quiet)
    assert caught.value.code == "tool_corrupt"
    assert list((tmp_path / "downloads").iterdir()) == []


def test_a_tool_that_npm_cannot_fetch_is_unavailable(tmp_path: Path, registry: Path) -> None:
    registry.write_bytes(b"")
    with pytest.raises(EngineUnavailable) as caught:
        fetch_tool(PINNED, tmp_path / "downloads", quiet)
    assert caught.value.code == "tool_unavailable"


def test_inputs_are_ours_alone_and_the_digest_follows_each_of_them(tmp_path: Path) -> None:
    shutil.copytree(IMAGES, tmp_path / "images")
    inputs = image_inputs(tmp_path / "images")
    assert {"Dockerfile", "versions.toml", "workspace/keeper.sh", "workspace/etc/gitconfig"} <= set(inputs)
    before = inputs_digest(inputs)
    assert before == inputs_digest(image_inputs(tmp_path / "images"))
    for name in inputs:
        assert inputs_digest({**inputs, name: inputs[name] + b"#"}) != before, name
        assert inputs_digest({key: value for key, value in inputs.items() if key != name}) != before, name


def test_the_digest_does_not_confuse_a_name_with_content() -> None:
    assert inputs_digest({"a": b"b", "c": b""}) != inputs_digest({"a": b"", "c": b"b"})


def test_the_context_is_the_same_bytes_each_time_and_always_has_a_ca_folder(tmp_path: Path) -> None:
    tarball = tmp_path / "node.tgz"
    tarball.write_bytes(GOOD)
    first, second = io.BytesIO(), io.BytesIO()
    for out in (first, second):
        pack_context({"workspace/keeper.sh": b"#", "Dockerfile": b"FROM x"}, {"node": tarball}, out)
    assert first.getvalue() == second.getvalue()
    first.seek(0)
    with tarfile.open(fileobj=first) as tar:
        assert tar.getnames() == ["ca", "Dockerfile", "workspace/keeper.sh", "tools/node.tgz"]
        assert {(member.uid, member.mtime) for member in tar.getmembers()} == {(0, 0)}
