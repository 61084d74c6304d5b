"""Which installs may be kept: a closed world, so each near miss is a no."""

from __future__ import annotations

import json

import pytest

from runner.setup.cachable import settings_files, uncachable, unkept_file
from runner.setup.plan import Manager

INTEGRITY = "sha512-" + "A" * 86 + "=="
PNPM = f"packages:\n\n  a@1.0.0:\n    resolution: {{integrity: {INTEGRITY}}}\n"
REGISTRY = {"version": "1.0.0", "resolved": "https://r.test/a-1.0.0.tgz", "integrity": INTEGRITY}


def npm(**packages: object) -> str:
    return json.dumps({"lockfileVersion": 3, "packages": {"": {"name": "x"}, **packages}})


def refusal(manager: Manager = "pnpm", /, **files: str) -> str | None:
    lock = "pnpm-lock.yaml" if manager == "pnpm" else "package-lock.json"
    named = {"lock": lock, "package": "package.json", "npmrc": ".npmrc", "workspace": "pnpm-workspace.yaml"}
    contents = {named[name]: text.encode() for name, text in files.items()}
    return uncachable(manager, lock, contents)


@pytest.mark.parametrize(
    "files",
    [
        {"lock": PNPM},
        {"lock": PNPM.replace("}", ", tarball: https://r.test/a.tgz}")},
        {"lock": PNPM, "npmrc": "# x\n; y\n\nregistry=https://r.test/\n@a:registry = https://r.test/\nengine-strict"},
        {"lock": PNPM, "npmrc": "//r.test/npm/:_authToken=${NPM_TOKEN}\npublic-hoist-pattern[]=*eslint*\n"},
        {
            "lock": PNPM,
            "workspace": "packages: ['packages/*']\ncatalog: {a: 1}\nonlyBuiltDependencies: [b]\n",
        },
        {"lock": PNPM, "npmrc": "ignore-scripts = true\n", "workspace": "ignoreScripts: true\n"},
        {"lock": PNPM, "package": '{"pnpm": {"overrides": {"a": "1"}, "onlyBuiltDependencies": []}, "scripts": {}}'},
    ],
)
def test_a_plain_pnpm_install_may_be_kept(files: dict[str, str]) -> None:
    assert refusal(**files) is None


def test_a_plain_npm_install_may_be_kept() -> None:
    linked = {"resolved": "packages/b", "link": True}
    inside = {"name": "b", "dependencies": {"a": "1"}}
    lock = npm(**{"node_modules/a": REGISTRY, "node_modules/b": linked, "packages/b": inside})
    assert refusal("npm", lock=lock, package="{}") is None


@pytest.mark.parametrize(
    "line",
    [
        "script-shell=./evil",
        "store-dir=./store",
        "cache=./cache",
        "git=./evil",
        "node-options=--require ./evil.js",
        "pnpmfile=./hooks.js",
        "global-pnpmfile=x",
        "userconfig=./x",
        "virtual-store-dir=/tmp/x",
        "registry.evil=1",
        "ignore-scripts=false",
        "manage-package-manager-versions=true",
        "lockfile=false",
        "package-lock=false",
        "shared-workspace-lockfile=false",
        "@a:other=1",
        "//r.test/:certfile=/x",
        "//r.test/:tokenHelper=/x",
        "[section]",
        "\ufeffregistry=x",
    ],
)
def test_a_setting_that_is_not_known_keeps_the_install_from_being_kept(line: str) -> None:
    said = refusal(lock=PNPM, npmrc=f"registry=https://r.test/\n{line}\n")
    assert said is not None and said.startswith(".npmrc sets")


@pytest.mark.parametrize(
    "text",
    [
        "pnpmfile: ./hooks.cjs",
        "configDependencies: {a: 1.0.0}",
        "storeDir: ./store",
        "nodeOptions: x",
        "[packages]",
        "packages: &a [x]",
        "packages: [",
        "useNodeVersion: 20.0.0",
        "ignoreScripts: false",
        "managePackageManagerVersions: true",
        "patchedDependencies: {a: patches/a.patch}",
    ],
)
def test_a_pnpm_workspace_file_with_more_than_known_settings_is_not_kept(text: str) -> None:
    assert refusal(lock=PNPM, workspace=text) is not None
    if ":" in text and "&" not in text:
        key = text.partition(":")[0]
        assert refusal(lock=PNPM, package=json.dumps({"pnpm": {key: "x"}})) == (
            None if key == "packages" else f"package.json sets {key!r}"
        )


@pytest.mark.parametrize(
    "lock",
    [
        "  a@x:\n    resolution: {commit: 1234, repo: https://git.test/a, type: git}\n",
        "  a@x:\n    resolution: {tarball: https://codeload.test/a/tar.gz/1}\n",
        "  a@x:\n    resolution: {directory: ../a, type: directory}\n",
        "  a@x:\n    resolution:\n      type: git\n",
        "  a@x:\n    'resolution': {type: git}\n",
        '  a@x:\n    "resolution" : {type: git}\n',
        '  a@x:\n    "\\x72esolution": {type: git}\n',
        "  a@x:\n    ? resolution\n    : {type: git}\n",
        "  a@x: {resolution: {type: git}}\n",
        f"  a@x:\n    resolution: {{integrity: {INTEGRITY}, tarball: http://r.test/a.tgz}}\n",
        f"  a@x:\n    resolution: {{integrity: {INTEGRITY}, type: git}}\n",
        f"  a@x:\n    resolution: {{integrity: {INTEGRITY},\n      type: git}}\n",
    ],
)
def test_a_package_that_does_not_come_with_its_digest_is_not_kept_by_pnpm(lock: str) -> None:
    assert refusal(lock=PNPM + lock) is not None


@pytest.mark.parametrize(
    "entry",
    [
        {"resolved": "git+ssh://git@git.test/a.git#1234", "integrity": INTEGRITY},
        {"resolved": "http://r.test/a.tgz", "integrity": INTEGRITY},
        {"resolved": "file:../a.tgz", "integrity": INTEGRITY},
        {"resolved": "https://r.test/a.tgz"},
        {"resolved": "https://r.test/a.tgz", "integrity": 1},
        {"resolved": 1},
        {"version": "git+ssh://git@git.test/a.git#1234"},
        "a",
    ],
)
def test_a_package_that_does_not_come_with_its_digest_is_not_kept_by_npm(entry: object) -> None:
    assert refusal("npm", lock=npm(**{"node_modules/a": entry})) is not None


@pytest.mark.parametrize("lock", ["", "{", "[]", "{}", '{"lockfileVersion": 1, "dependencies": {}}', "[" * 100_000])
def test_an_npm_lock_file_of_another_form_is_not_kept(lock: str) -> None:
    assert refusal("npm", lock=lock) is not None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pnpm": []}'])
def test_a_package_json_that_is_not_understood_is_not_kept(text: str) -> None:
    assert refusal(lock=PNPM, package=text) is not None


@pytest.mark.parametrize("path", [".pnpmfile.cjs", "packages/a/.pnpmfile.mjs", "pnpmfile.js", ".PNPMFILE.CJS"])
def test_a_file_of_hooks_is_found_wherever_it_is(path: str) -> None:
    assert unkept_file(["README.md", path], "pnpm-lock.yaml") == f"{path} runs during the install"
    assert (
        unkept_file(["README.md", "my.pnpmfile.cjs.md", "docs/pnpmfile.md", "a/node_modules/x"], "pnpm-lock.yaml")
        is None
    )


def test_an_install_over_packages_of_the_repository_is_not_kept() -> None:
    assert unkept_file(["node_modules/.modules.yaml"], "pnpm-lock.yaml") is not None


def test_settings_are_read_from_the_root_and_from_every_npmrc() -> None:
    listed = ["b/.npmrc", "package.json", "b/package.json", ".npmrc", "pnpm-lock.yaml", "package-lock.json"]
    assert settings_files(listed, "pnpm-lock.yaml") == (".npmrc", "b/.npmrc", "package.json", "pnpm-lock.yaml")


def test_a_shrinkwrap_beside_the_lock_file_is_what_npm_reads() -> None:
    assert unkept_file(["npm-shrinkwrap.json", "package-lock.json"], "package-lock.json") is not None
    assert unkept_file(["npm-shrinkwrap.json"], "npm-shrinkwrap.json") is None


@pytest.mark.parametrize(
    "entry",
    [
        {"version": "1.0.0"},
        {"version": "1.0.0", "inBundle": True},
        {"resolved": "https://a.example/x.tgz"},
        {"resolved": "https://a.example/x.tgz", "integrity": ""},
        {"resolved": "https://a.example/x.tgz", "integrity": "md5-abcdefghijklmnopqrstuvwx"},
    ],
)
def test_an_installed_package_without_a_digest_is_not_kept(entry: dict[str, object]) -> None:
    lock = json.dumps({"lockfileVersion": 3, "packages": {"": {}, "node_modules/x": entry}}).encode()
    assert uncachable("npm", "package-lock.json", {"package-lock.json": lock}) is not None


@pytest.mark.parametrize("line", ["x: &r resolution", "*r : {type: git}", "  a: {b: *r}"])
def test_a_lock_file_with_aliases_is_not_read_line_by_line(line: str) -> None:
    lock = f"lockfileVersion: '9.0'\n{line}\n".encode()
    assert uncachable("pnpm", "pnpm-lock.yaml", {"pnpm-lock.yaml": lock}) is not None
