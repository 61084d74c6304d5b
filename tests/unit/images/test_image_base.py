"""Which of the host's package sources a base may come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.engine.image_base import DEBIAN_KEYRING, FORGET_HOST, host_sources, recipe
from runner.engine.image_sources import load_versions

MIRROR = "http://mirror.test/debian"


@pytest.fixture
def apt(tmp_path: Path) -> Path:
    (tmp_path / "sources.list.d").mkdir()
    return tmp_path


def test_stanzas_of_the_suite_and_its_updates_are_used(apt: Path) -> None:
    (apt / "sources.list.d" / "debian.sources").write_text(
        f"Types: deb deb-src\nURIs: {MIRROR}\n# a comment\nSuites: bookworm bookworm-updates\n"
        "Components: main contrib\n"
        f"Signed-By: {DEBIAN_KEYRING}\n\n"
        f"Types: deb\nURIs: {MIRROR}-security\nSuites: bookworm-security\nComponents: main\n"
    )
    assert host_sources("bookworm", apt) == [
        f"deb [signed-by={DEBIAN_KEYRING}] {MIRROR} bookworm main",
        f"deb [signed-by={DEBIAN_KEYRING}] {MIRROR} bookworm-updates main",
        f"deb {MIRROR}-security bookworm-security main",
    ]


def test_lines_of_the_suite_are_used_with_their_key_and_without_other_options(apt: Path) -> None:
    (apt / "sources.list").write_text(
        f"deb [arch=amd64 signed-by=/k.gpg trusted=yes] {MIRROR} bookworm main non-free # why\n"
        f"deb {MIRROR} bookworm main\n"
    )
    assert host_sources("bookworm", apt) == [
        f"deb [signed-by=/k.gpg] {MIRROR} bookworm main",
        f"deb {MIRROR} bookworm main",
    ]


@pytest.mark.parametrize(
    "line",
    [
        f"# deb {MIRROR} bookworm main",
        f"deb-src {MIRROR} bookworm main",
        f"deb {MIRROR} trixie main",
        f"deb {MIRROR} bookworm-backports main",
        f"deb {MIRROR} cloud-bookworm main",
        f"deb {MIRROR} bookworm contrib",
        f"deb {MIRROR} bookworm",
        "deb",
        "deb [",
    ],
)
def test_other_lines_are_not_used(apt: Path, line: str) -> None:
    (apt / "sources.list").write_text(line + "\n")
    assert host_sources("bookworm", apt) == []


@pytest.mark.parametrize(
    "change",
    [("Types: deb", "Types: deb-src"), ("bookworm", "nodistro"), ("main", "universe"), ("Types", "Enabled: no\nTypes")],
)
def test_other_stanzas_are_not_used(apt: Path, change: tuple[str, str]) -> None:
    stanza = f"Types: deb\nURIs: {MIRROR}\nSuites: bookworm\nComponents: main\n"
    (apt / "sources.list.d" / "x.sources").write_text(stanza.replace(*change))
    assert host_sources("bookworm", apt) == []


def test_a_disabled_file_is_not_used(apt: Path) -> None:
    (apt / "sources.list.d" / "x.list.save").write_text(f"deb {MIRROR} bookworm main\n")
    assert host_sources("bookworm", apt) == []


def test_a_host_without_apt_has_no_sources(tmp_path: Path) -> None:
    assert host_sources("bookworm", tmp_path / "none") == []


def test_the_recipe_has_every_package_and_forgets_the_host() -> None:
    versions = load_versions()
    command = recipe(versions)
    assert f"--include={','.join(sorted(versions.packages))}" in command
    assert f"--customize-hook={FORGET_HOST}" in command
