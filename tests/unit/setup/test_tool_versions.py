from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from runner.setup.tool_versions import Fit, compare, fits, wishes
from tests.unit.setup.test_detect import Tree

IMAGE = {"node": "22.23.5", "npm": "11.21.2", "pnpm": "10.34.7", "git": "1:2.39.5-0+deb12u3", "python3": "3.11.2-1+b1"}


def found(
    files: Mapping[str, str], tools: Mapping[str, str] | None = None, package: Mapping[str, Any] | None = None
) -> dict[str, tuple[str, str]]:
    return {wish.tool: (wish.wanted, wish.source) for wish in wishes(tools or {}, package or {}, Tree(dict(files)))}


@pytest.mark.parametrize(
    ("wanted", "has", "same"),
    [
        ("22", "22.23.5", True),
        ("v22.23", "22.23.5", True),
        ("22.23.5", "22.23.5", True),
        ("22.x", "22.23.5", True),
        ("22.*", "22.23.5", True),
        ("2", "22.23.5", False),
        ("20", "22.23.5", False),
        ("22.3", "22.23.5", False),
        ("^22.1.0", "22.23.5", True),
        ("^22.24", "22.23.5", False),
        ("^0.3.1", "0.3.9", True),
        ("^0.3.1", "0.4.0", False),
        ("~22.23.1", "22.23.5", True),
        ("~22.22.0", "22.23.5", False),
        ("~22", "22.23.5", True),
        (">=20", "22.23.5", True),
        (">= 24", "22.23.5", False),
        ("=22.23.5", "22.23.5", True),
        ("2.39", "1:2.39.5-0+deb12u3", True),
        ("3.11", "3.11.2-1+b1", True),
        ("lts/*", "22.23.5", None),
        ("latest", "22.23.5", None),
        (">=20 <23", "22.23.5", None),
        ("20 || 22", "22.23.5", None),
        ("", "22.23.5", None),
        ("22", "unknown", None),
        ("9" * 60, "22.23.5", None),
    ],
)
def test_a_version_is_compared_as_far_as_it_is_written(wanted: str, has: str, same: bool | None) -> None:
    assert fits(wanted, has) is same


@pytest.mark.parametrize(
    ("files", "wish"),
    [
        ({".nvmrc": "v20.1.0\n"}, ("v20.1.0", ".nvmrc")),
        ({".node-version": "20\n", ".nvmrc": "18"}, ("20", ".node-version")),
        ({".tool-versions": "# x\npython 3.12\nnodejs 20.1.0 18\n"}, ("20.1.0", ".tool-versions")),
        ({"mise.toml": '[tools]\nnode = "20"\n'}, ("20", "mise.toml")),
        ({"mise.toml": '[tools]\n"core:node" = ["20", "18"]\n', ".nvmrc": "16"}, ("20", "mise.toml")),
        ({".mise.toml": '[tools.node]\nversion = "20"\n'}, ("20", ".mise.toml")),
    ],
)
def test_each_of_the_usual_files_is_read(files: dict[str, str], wish: tuple[str, str]) -> None:
    assert found(files)["node"] == wish


def test_the_workspace_file_speaks_first_and_package_manager_next() -> None:
    said = found(
        {"mise.toml": '[tools]\nnode = "20"\npnpm = "9"\n'},
        {"node": "22"},
        {"packageManager": "pnpm@10.1.0+sha512.abc"},
    )
    assert said == {"node": ("22", ".os/workspace.yml"), "pnpm": ("10.1.0", "packageManager")}


@pytest.mark.parametrize(
    "text",
    ["[tools", "tools = 1", "[tools]\nnode = 1\n", "[tools]\nnode = []\n", "[" * 50_000, "[tools]\n'a b' = '1'\n"],
)
def test_a_file_that_cannot_be_understood_asks_for_nothing(text: str) -> None:
    assert found({"mise.toml": text, ".tool-versions": "node\n", ".nvmrc": "\n"}) == {}


def test_no_number_of_wishes_fills_a_report() -> None:
    text = "[tools]\n" + "".join(f't{n} = "1"\n' for n in range(1000))
    assert len(found({"mise.toml": text})) == 32


def test_only_what_differs_or_is_missing_is_spoken_of() -> None:
    wished = wishes({"node": "22", "pnpm": "9", "go": "1.22", "npm": "latest"}, {}, Tree({}))
    findings = compare(wished, IMAGE)
    assert [finding.fit for finding in findings] == [Fit.FITS, Fit.DIFFERS, Fit.MISSING, Fit.NOT_COMPARED]
    assert [finding.note for finding in findings if finding.note] == [
        ".os/workspace.yml asks for pnpm 9, and the image has 10.34.7",
        ".os/workspace.yml asks for go 1.22, and the image has no go",
    ]


def test_an_image_that_says_nothing_of_itself_is_not_compared() -> None:
    (finding,) = compare(wishes({"node": "22"}, {}, Tree({})), {})
    assert (finding.fit, finding.note) == (Fit.NOT_COMPARED, None)
