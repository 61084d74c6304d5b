from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest

from runner.model.errors import RepositoryUnavailable
from runner.model.tree import EntryKind
from runner.setup.detect import NPM_INSTALL, PNPM_INSTALL, plan_setup
from runner.setup.plan import SetupPlan, SetupSource


@dataclass
class Tree:
    """A tree of text files, and of things that are none."""

    files: dict[str, str]
    others: dict[str, EntryKind] = field(default_factory=dict)

    def kind(self, path: str) -> EntryKind | None:
        return EntryKind.FILE if path in self.files else self.others.get(path)

    def read_text(self, path: str) -> str | None:
        return self.files.get(path)


def plan(files: dict[str, str], **others: EntryKind) -> SetupPlan:
    made = plan_setup("auto", Tree(files, others))
    assert made.note
    return made


def package(**fields: object) -> str:
    return json.dumps({"name": "x", **fields})


DEPENDENT = package(dependencies={"a": "1"})


@pytest.mark.parametrize(
    ("lock", "argv"),
    [
        ("pnpm-lock.yaml", PNPM_INSTALL),
        ("package-lock.json", NPM_INSTALL),
        ("npm-shrinkwrap.json", NPM_INSTALL),
    ],
)
def test_a_lock_file_decides_what_installs(lock: str, argv: tuple[str, ...]) -> None:
    made = plan({"package.json": DEPENDENT, lock: ""})

    assert [step.argv for step in made.steps] == [argv]
    assert (made.source, made.needs_network) == (SetupSource.DETECTED, True)


def test_no_install_runs_build_scripts_or_changes_a_lock_file() -> None:
    assert "--ignore-scripts" in PNPM_INSTALL
    assert "--frozen-lockfile" in PNPM_INSTALL
    assert NPM_INSTALL == ("npm", "ci", "--ignore-scripts")


@pytest.mark.parametrize(
    ("manager", "argv"),
    [
        (None, PNPM_INSTALL),
        ("npm@11.0.0", NPM_INSTALL),
        ("npm", NPM_INSTALL),
        ("pnpm@10.1.0", PNPM_INSTALL),
        ("yarn@4.0.0", PNPM_INSTALL),
        ("npmx@1", PNPM_INSTALL),
        (7, PNPM_INSTALL),
    ],
)
def test_of_two_lock_files_the_named_managers_is_used_else_pnpms(manager: object, argv: tuple[str, ...]) -> None:
    files = {"package.json": package(packageManager=manager), "package-lock.json": "", "pnpm-lock.yaml": ""}

    assert [step.argv for step in plan(files).steps] == [argv]
    assert plan(files) == plan(dict(reversed(files.items())))


def test_a_named_manager_without_its_lock_file_does_not_win_over_the_lock_file_that_is_there() -> None:
    made = plan({"package.json": package(packageManager="pnpm@10"), "package-lock.json": ""})

    assert [step.argv for step in made.steps] == [NPM_INSTALL]


def test_pnpm_does_not_replace_itself_by_the_version_that_the_repository_names() -> None:
    (step,) = plan({"package.json": package(packageManager="pnpm@1.0.0"), "pnpm-lock.yaml": ""}).steps

    assert step.env == {"npm_config_manage_package_manager_versions": "false"}


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"package-lock.json": ""},
        {"package.json": package(scripts={"test": "x"})},
        {"package.json": DEPENDENT},
        {"package.json": package(packageManager="yarn@4", dependencies={"a": "1"}), "yarn.lock": ""},
        {"package.json": "{"},
        {"package.json": "[" * 100_000},
        {"package.json": "[]"},
        {"package.json": package(dependencies=[1])},
    ],
    ids=["nothing", "lock-only", "no-dependencies", "no-lock", "yarn", "broken", "deep", "list", "wrong-type"],
)
def test_where_nothing_can_be_installed_nothing_is_planned(files: dict[str, str]) -> None:
    made = plan(files)

    assert (made.steps, made.needs_network, made.source) == ((), False, SetupSource.NONE)


def test_dependencies_without_a_lock_file_are_told() -> None:
    assert "lock file" in plan({"package.json": DEPENDENT}).note


def test_a_folder_in_the_place_of_a_file_is_no_file() -> None:
    made = plan_setup("auto", Tree({"package.json": DEPENDENT}, {"pnpm-lock.yaml": EntryKind.DIR}))

    assert made.steps == ()


def test_the_workspace_file_replaces_detection() -> None:
    made = plan(
        {".os/workspace.yml": "run: [[node, x.mjs]]\nenv: {A: b}", "package.json": DEPENDENT, "pnpm-lock.yaml": ""}
    )

    assert [(step.argv, dict(step.env)) for step in made.steps] == [(("node", "x.mjs"), {"A": "b"})]
    assert (made.source, made.needs_network) == (SetupSource.WORKSPACE_FILE, True)


def test_an_empty_list_of_commands_turns_detection_off() -> None:
    made = plan({".os/workspace.yml": "run: []", "package.json": DEPENDENT, "pnpm-lock.yaml": ""})

    assert (made.steps, made.needs_network, made.source) == ((), False, SetupSource.WORKSPACE_FILE)


@pytest.mark.parametrize("text", ["", "tools: {node: 22}", "verify: [pnpm, test]", "cache: false", "env: {A: b}"])
def test_a_workspace_file_without_commands_leaves_the_install_to_detection(text: str) -> None:
    made = plan({".os/workspace.yml": text, "package.json": DEPENDENT, "pnpm-lock.yaml": ""})

    assert [step.argv for step in made.steps] == [PNPM_INSTALL]
    assert (made.source, made.installs, made.lock) == (SetupSource.DETECTED, "pnpm", "pnpm-lock.yaml")


def test_the_workspace_files_variables_reach_a_detected_install_and_do_not_undo_its_own() -> None:
    text = "env: {A: b}"
    (step,) = plan({".os/workspace.yml": text, "package.json": DEPENDENT, "pnpm-lock.yaml": ""}).steps

    assert dict(step.env) == {"A": "b", "npm_config_manage_package_manager_versions": "false"}


def test_what_the_workspace_file_says_beside_commands_is_in_the_plan() -> None:
    made = plan({".os/workspace.yml": "run: []\ntools: {node: 22}\nverify: [[pnpm, test]]\ncache: [npm]"})

    assert (dict(made.tools), made.verify, made.cache) == ({"node": "22"}, (("pnpm", "test"),), ("npm",))


@pytest.mark.parametrize(
    ("manager", "lock", "argv"),
    [("npm@11", "pnpm-lock.yaml", PNPM_INSTALL), ("yarn@4", "package-lock.json", NPM_INSTALL)],
)
def test_a_lock_file_of_another_manager_than_the_named_one_is_followed_and_told(
    manager: str, lock: str, argv: tuple[str, ...]
) -> None:
    made = plan({"package.json": package(packageManager=manager), lock: ""})

    assert [step.argv for step in made.steps] == [argv]
    assert manager.partition("@")[0] in made.note and lock in made.note


@pytest.mark.parametrize("lock", ["yarn.lock", "bun.lock", "bun.lockb"])
def test_a_lock_file_that_no_tool_of_the_image_reads_is_told(lock: str) -> None:
    made = plan({"package.json": DEPENDENT, lock: ""})

    assert made.steps == () and lock in made.note


def test_lock_files_in_folders_are_named_and_not_acted_on() -> None:
    listed = ["web/package-lock.json", "api/pnpm-lock.yaml", "a/node_modules/x/package-lock.json", "README.md"]
    made = plan_setup("auto", Tree({"README.md": ""}), listed)

    assert made.steps == () and "(api, web)" in made.note
    several = plan_setup("auto", Tree({"package.json": "{}"}), [f"{n}/package-lock.json" for n in range(5000)])
    assert "and others" in several.note and len(several.note) < 200


def test_with_a_lock_file_at_the_root_those_below_are_not_spoken_of() -> None:
    tree = Tree({"package.json": DEPENDENT, "pnpm-lock.yaml": ""})

    assert plan_setup("auto", tree, ["pnpm-lock.yaml", "fixtures/package-lock.json"]) == plan_setup("auto", tree)


def test_a_lock_file_without_a_package_json_is_told() -> None:
    assert "package-lock.json" in plan({"package-lock.json": ""}).note


@pytest.mark.parametrize("kind", [EntryKind.DIR, EntryKind.OTHER, EntryKind.SYMLINK, EntryKind.FILE])
def test_a_workspace_file_that_cannot_be_read_is_an_error_not_absence(kind: EntryKind) -> None:
    with pytest.raises(RepositoryUnavailable) as refused:
        plan_setup("auto", Tree({}, {".os/workspace.yml": kind}))

    assert refused.value.code == "workspace_file_invalid"


def test_the_policys_list_wins_over_the_repositorys_file() -> None:
    tree = Tree({".os/workspace.yml": "run: [[evil]]", "package.json": DEPENDENT, "pnpm-lock.yaml": ""})
    made = plan_setup([["node", "-v"]], tree)

    assert [step.argv for step in made.steps] == [("node", "-v")]
    assert made.source is SetupSource.POLICY


@pytest.mark.parametrize(
    ("argv", "known"),
    [
        (PNPM_INSTALL, ("pnpm", "pnpm-lock.yaml")),
        (NPM_INSTALL, (None, "")),
        (PNPM_INSTALL[:-1], (None, "")),
        ((*PNPM_INSTALL, "--no-optional"), (None, "")),
    ],
)
def test_a_listed_first_command_that_is_the_detected_install_is_known_for_it(
    argv: tuple[str, ...], known: tuple[str | None, str]
) -> None:
    tree = Tree({"package.json": DEPENDENT, "pnpm-lock.yaml": ""})
    listed = plan_setup([argv, ("node", "-v")], tree)
    later = plan_setup([("node", "-v"), argv], tree)

    assert (listed.installs, listed.lock) == known
    assert (later.installs, len(later.steps), later.source) == (None, 2, SetupSource.POLICY)


def test_the_policy_can_turn_set_up_off() -> None:
    made = plan_setup("off", Tree({".os/workspace.yml": "not: valid"}))

    assert (made.steps, made.source) == ((), SetupSource.NONE)
