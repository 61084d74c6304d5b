"""Which installs' results may be kept: each near miss is a no."""

from __future__ import annotations

import json

import pytest

from runner.setup.layerable import install_inputs, no_layer
from runner.setup.plan import SetupPlan, SetupSource, SetupStep

INSTALL = SetupStep(("npm", "ci", "--ignore-scripts"))
PLAIN = json.dumps({"name": "a", "scripts": {"bin": "x"}, "dependencies": {"bin": "1.0.0"}}).encode()
PROGRAMS = json.dumps({"name": "a", "bin": {"a": "a.js"}}).encode()


def plan(*others: tuple[str, ...]) -> SetupPlan:
    steps = (INSTALL, *(SetupStep(argv) for argv in others))
    return SetupPlan(steps, True, SetupSource.DETECTED, "x", installs="npm", lock="package-lock.json")


def test_every_manifest_of_the_tree_is_an_input_and_nothing_else_is() -> None:
    listed = ["src/a.ts", "packages/b/package.json", "package.json", "package.json.md", "docs/my-package.json"]
    assert install_inputs(listed) == ("package.json", "packages/b/package.json")


@pytest.mark.parametrize(
    ("listed", "manifests", "others"),
    [
        (["package.json"], {"package.json": PROGRAMS}, ()),
        (["package.json"], {"package.json": PLAIN}, (("git", "config", "core.hooksPath", ".githooks"),)),
        (["a/package.json", "package.json"], {"a/package.json": PLAIN, "package.json": PLAIN}, ()),
        (["package.json", "node_modules.md", "src/my_node_modules/x"], {"package.json": PLAIN}, ()),
    ],
    ids=["own-programs", "git-after", "workspace", "like-names"],
)
def test_an_install_that_reads_its_inputs_alone_may_be_kept(
    listed: list[str], manifests: dict[str, bytes], others: tuple[tuple[str, ...], ...]
) -> None:
    assert no_layer(plan(*others), listed, manifests) is None


@pytest.mark.parametrize(
    ("listed", "manifests", "others"),
    [
        (["package.json"], {"package.json": PLAIN}, (("pnpm", "rebuild"),)),
        (["package.json"], {"package.json": PLAIN}, (("git", "status"), ("node", "x.js"))),
        (["package.json", "packages/a/node_modules/x/index.js"], {"package.json": PLAIN}, ()),
        (["package.json", "node_modules"], {"package.json": PLAIN}, ()),
        (["package.json", "a/package.json5"], {"package.json": PLAIN}, ()),
        (["package.json", "package.yaml"], {"package.json": PLAIN}, ()),
        (["a/package.json", "package.json"], {"a/package.json": PROGRAMS, "package.json": PLAIN}, ()),
        (["a/package.json", "package.json"], {"a/package.json": PLAIN, "package.json": PROGRAMS}, ()),
        (["a/package.json", "package.json"], {"a/package.json": b'{"directories": {}}', "package.json": PLAIN}, ()),
        (["a/package.json", "package.json"], {"a/package.json": b"{", "package.json": PLAIN}, ()),
        (["a/package.json", "package.json"], {"a/package.json": b"[" * 100_000, "package.json": PLAIN}, ()),
        (["a/package.json", "package.json"], {"a/package.json": b"[]", "package.json": PLAIN}, ()),
    ],
)
def test_an_install_that_may_read_or_leave_more_is_not_kept(
    listed: list[str], manifests: dict[str, bytes], others: tuple[tuple[str, ...], ...]
) -> None:
    assert no_layer(plan(*others), listed, manifests)
