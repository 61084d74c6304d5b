"""Which names stand for a typechecker: of a program, of a module, of a package script."""

from __future__ import annotations

import pytest

from runner.policy.typecheck import is_typecheck_module, is_typecheck_program, is_typecheck_script


@pytest.mark.parametrize(
    "name",
    [
        *("tsc", "./tsc", "a/tsc.cmd", "tsc.js", "tsc@5", "vue-tsc", "turbo", "turbo@latest", "nx", "lage"),
        *("typescript", "typescript@5", "svelte-check", "pyright", "basedpyright", "tsgo"),
    ],
)
def test_a_typechecker_is_known_by_its_name_in_any_folder_and_version(name: str) -> None:
    assert is_typecheck_program(name)


@pytest.mark.parametrize("name", ["tsx", "tscx", "xtsc", "@x/tsc2", "eslint", "", "tsc.ts", "typescript-eslint"])
def test_a_name_that_only_resembles_one_is_no_program(name: str) -> None:
    assert not is_typecheck_program(name)


@pytest.mark.parametrize(
    "path",
    [
        *("node_modules/typescript/bin/tsc", "node_modules/.bin/tsc", "typescript/lib/tsc.js", "typescript/tsc"),
        *("a/node_modules/b/tsc.mjs", "vue-tsc/bin/vue-tsc.js", "./typescript/lib/../lib/_tsc.js"),
    ],
)
def test_a_module_is_one_by_its_name_in_a_package(path: str) -> None:
    assert is_typecheck_module(path)


@pytest.mark.parametrize(
    "path", ["tsc", "src/tsc.js", "typescript/lib/typescript.js", "node_modules/x/tscx", "x/typescript"]
)
def test_a_file_of_the_repositorys_own_is_none(path: str) -> None:
    assert not is_typecheck_module(path)


@pytest.mark.parametrize(
    "name",
    [
        *("typecheck", "type-check", "typeCheck", "typechecks", "checktypes", "check-types", "checkTypes", "tscheck"),
        *(
            "typescheck",
            "types:check",
            "check:types",
            "ts:check",
            "typescript-checker",
            "checking.type",
            "ci:typecheck",
        ),
        *("tsc", "build:tsc", "TSC", "nx", "check:ts", "type checks"),
    ],
)
def test_a_script_says_that_it_typechecks(name: str) -> None:
    assert is_typecheck_script(name)


@pytest.mark.parametrize(
    "name", ["check", "types", "ts", "check:all", "type", "lint", "test:types", "retype", "tests-check", ""]
)
def test_a_script_of_one_of_the_words_alone_does_not(name: str) -> None:
    assert not is_typecheck_script(name)
