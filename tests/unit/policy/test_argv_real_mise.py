"""mise's words as mise itself reads them: options before a task, several tasks, patterns of tasks, and its folders."""

from __future__ import annotations

import shlex

import pytest

from runner.model.errors import ErrorCode
from tests.support.argv_trees import ORIGINAL, FakeTree, code_of

BIN = ErrorCode.BIN_NOT_ALLOWLISTED
SCRATCH = ErrorCode.SCRATCH_EXECUTION_REFUSED
PUSH = ErrorCode.GIT_PUSH_VIA_RUN_COMMAND
CONFIG = '[tasks]\nhi = "echo"\ng = "git"\n'


def tree(**made: str) -> FakeTree:
    """Tasks `hi` and `g` of the repository, and task files that the run made."""
    created = {"mise-tasks/evil": "#!/bin/sh", "sub/mise-tasks/other": "", **made}
    return FakeTree(original={**ORIGINAL, "mise.toml": CONFIG, "mise-tasks/fine": ""}, created=created)


@pytest.mark.parametrize(
    "line",
    [
        "mise run -j 4 evil",
        "mise run -o prefix evil",
        "mise run --timeout 9 evil",
        "mise run --task-cache off evil",
        "mise run --allow-read . evil",
        "mise run -qj 4 evil",
        "mise run hi ::: evil",
        "mise hi ::: evil",
        "mise run -C sub other",
        "mise run -Csub other",
        "mise run --cd=sub other",
        "mise -C sub run other",
        "mise run ./mise-tasks/evil",
        "mise run 'evi*'",
        "mise run '**'",
        "mise run '{evil,x}'",
        "mise run -- evil",
    ],
)
def test_a_task_file_of_the_run_is_found_behind_options_patterns_and_other_tasks(line: str) -> None:
    assert code_of(shlex.split(line), tree()) is SCRATCH


@pytest.mark.parametrize(
    "line",
    [
        "mise run -j 4 hi",
        "mise run -j evil hi",
        "mise run hi evil",
        "mise run fine",
        "mise run hi ::: fine",
        "mise run -C sub hi",
        "mise hi -s sh",
        "mise run hi --shell sh",
    ],
)
def test_tasks_of_the_repository_run_beside_a_task_file_of_the_run(line: str) -> None:
    assert code_of(shlex.split(line), tree()) is None


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("mise-tasks/new.sh", ""),
        ("mise-tasks/new/_default", ""),
        ("mise-tasks/x", '#!/bin/sh\n#MISE alias="new"\n'),
        (".mise/tasks/new", ""),
    ],
)
def test_a_task_file_goes_by_more_names_than_its_own(path: str, text: str) -> None:
    assert code_of(["mise", "run", "new"], tree(**{path: text})) is SCRATCH
    assert code_of(["mise", "run", "hi"], tree(**{path: "" if "alias" in text else text})) is None


@pytest.mark.parametrize(
    "line",
    [
        "mise run -s=x hi",
        "mise run -sx hi",
        "mise run -qs x hi",
        "mise run -j 4 -s x hi",
        "mise run -t node --shell x hi",
        "mise run -C sub --shell=x hi",
    ],
)
def test_a_shell_is_found_among_options_with_values(line: str) -> None:
    assert code_of(shlex.split(line), tree()) is BIN


@pytest.mark.parametrize("line", ["mise run -j 4 g push", "mise run -q --timeout 9 g push", "mise run hi ::: g push"])
def test_the_words_of_a_task_are_found_behind_options(line: str) -> None:
    assert code_of(shlex.split(line), tree()) is PUSH


@pytest.mark.parametrize("option", ["-C scratch", "-Cscratch", "--cd scratch", "--cd=scratch", "-qC scratch"])
def test_the_folder_of_an_exec_is_seen_in_every_spelling(option: str) -> None:
    made = tree(**{"scratch/new.js": ""})
    assert code_of(shlex.split(f"mise x {option} -- node new.js"), made) is SCRATCH
    assert code_of(shlex.split(f"mise x {option} -- node old.mjs"), made) is None


@pytest.mark.parametrize(
    "line", ["mise x -qc 'touch x'", "mise x -j4 -c 'touch x'", "mise x node@20 --command 'touch x'"]
)
def test_a_shell_line_of_an_exec_is_seen_in_every_spelling(line: str) -> None:
    assert code_of(shlex.split(line)) is BIN


@pytest.mark.parametrize("line", ["mise run -C /tmp hi", "mise x -C .. -- node a.js", "mise run --cd=/etc hi"])
def test_a_folder_outside_the_workspace_is_refused(line: str) -> None:
    assert code_of(shlex.split(line)) is SCRATCH


@pytest.mark.parametrize("line", ["mise test-tool node", "mise hook-not-found tsc", "mise set --path x.toml A=1"])
def test_verbs_that_fetch_or_write_elsewhere_are_refused(line: str) -> None:
    assert code_of(shlex.split(line)) is BIN


@pytest.mark.parametrize("verb", ["deps", "dep", "prepare"])
def test_an_install_through_mise_is_judged_as_the_package_managers(verb: str) -> None:
    hostile = FakeTree(original={"package.json": '{"scripts": {"postinstall": "git push"}}'})
    assert code_of(["mise", verb], hostile) is PUSH
    assert code_of(["mise", verb]) is None
