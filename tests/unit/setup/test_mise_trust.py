"""Which mise configs are plain enough to be trusted without asking, and which of them could start programs."""

from __future__ import annotations

import pytest

from runner.setup.mise_trust import task_file_refusal, trust_refusal

HONEST = """
min_version = "2026.1.0"
[tools]
node = "22"
"npm:prettier" = ["3.1.0", "latest"]
[env]
NODE_ENV = "test"
RETRIES = 3
[tasks."os:red"]
description = "verify one issue"
run = ["pnpm exec tsc --noEmit", "node scripts/red.mjs"]
depends = ["build"]
env = { MODE = "red" }
sources = ["src/**"]
[tasks.build]
run = "node build.mjs {{arg(name='issue', default=\\"7\\")}} {{ config_root }}"
usage = 'arg "<issue>"'
[tasks]
lint = "eslint ."
"""


def test_an_honest_config_is_trusted() -> None:
    assert trust_refusal("mise.toml", HONEST.replace('[tasks]\nlint = "eslint ."\n', "")) is None
    assert trust_refusal("mise.toml", '[tasks]\nlint = "eslint ."\nall = ["a", "b"]\n') is None
    assert trust_refusal(".tool-versions", "# tools\nnode 22.1.0 system\npnpm 10 # here\n\n") is None
    assert trust_refusal("mise.toml", "") is None


@pytest.mark.parametrize(
    "text",
    [
        """[env]\nX="{{exec(command='touch /tmp/pwn')}}"\n""",
        """[env]\nX="\\u007b\\u007bexec(command='touch /tmp/pwn')}}"\n""",
        """[vars]\nx="{% set a = exec(command='x') %}"\n""",
        """["env"]\n"{{exec(command='x')}}"="1"\n""",
        '[env]\n_.source = "x.sh"\n',
        '[env]\n_.file = ".env"\n',
        '[env]\n_.path = "scratch"\n',
        '[vars]\n_.source = "x.sh"\n',
        '[[env]]\nA = "1"\n',
        '[env]\nNODE_OPTIONS = "--require ./x.js"\n',
        '[env]\nPATH = "scratch"\n',
        '[env]\nHUSKY = "0"\n',
        '[env]\nGIT_CONFIG_COUNT = "1"\n',
        '[env]\nCI = "1"\n',
        '[hooks]\nenter = "touch /tmp/pwn"\n',
        '[[watch_files]]\npatterns = ["x"]\nrun = "x"\n',
        "[settings]\nparanoid = false\n",
        '[plugins]\nx = "https://example.com/x.git"\n',
        '[alias]\nnode = "x"\n',
        '[tool_alias]\nnode = "x"\n',
        '[task_config]\nincludes = ["scratch"]\n',
        '[tools]\n"asdf:x/y" = "1"\n',
        '[tools]\n"vfox:x/y" = "1"\n',
        '[tools]\n"https://example.com/x" = "1"\n',
        '[tools]\nnode = "path:./scratch"\n',
        '[tools]\nnode = "ref:main"\n',
        '[tools]\nnode = {version = "22", postinstall = "x"}\n',
        """[tasks.a]\nrun = "x"\ndescription = "{{exec(command='x')}}"\n""",
        """[tasks.a]\nrun = "echo {{exec(command='x')}}"\n""",
        """[tasks.a]\nrun = "echo {{arg(name=exec(command='x'))}}"\n""",
        """[tasks.a]\nrun = "echo {{{{cwd}}exec(command='x')}}"\n""",
        """[tasks."{{exec(command='x')}}"]\nrun = "x"\n""",
        '[tasks.a]\nfile = "https://example.com/x.sh"\n',
        '[tasks.a]\nfile = "git::https://example.com/x.git"\n',
        "[tasks.a]\nrun = 'x'\nusage = 'mount run=\"x\"'\n",
        '[tasks.a]\nrun = "x"\nenv = {_ = {source = "x.sh"}}\n',
        '[tasks.a]\nrun = "x"\nsomething_new = "x"\n',
        '[tasks.a]\nrun = "x"\ntools = {node = "path:x"}\n',
        "tasks = 1\n",
        "tools = 1\n",
        "env = 1\n",
        "not toml",
        "a = " + "[" * 5000,
    ],
)
def test_a_config_that_could_start_programs_by_itself_is_not_trusted(text: str) -> None:
    assert trust_refusal("mise.toml", text) is not None


@pytest.mark.parametrize("line", ["node {{exec(command='x')}}", "node path:scratch", "asdf:x/y 1", "node ref:main"])
def test_a_tool_list_that_is_more_than_names_and_versions_is_not_trusted(line: str) -> None:
    assert trust_refusal(".tool-versions", f"pnpm 10\n{line}\n") is not None


def test_what_cannot_be_read_is_not_trusted() -> None:
    assert trust_refusal("mise.toml", None) is not None
    assert task_file_refusal(None) is not None


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/sh\n#MISE description=\"{{exec(command='x')}}\"\n",
        '#!/bin/sh\n# [MISE] dir="{% if true %}"\n',
        "#!/usr/bin/env node\n//MISE env={A=\"{{exec(command='x')}}\"}\n",
        '#!/bin/sh\n#USAGE mount run="x"\n',
    ],
)
def test_a_task_file_whose_head_starts_programs_keeps_configs_from_being_trusted(text: str) -> None:
    assert task_file_refusal(text) is not None


def test_a_task_file_with_braces_in_its_body_does_not() -> None:
    text = '#!/bin/sh\n#MISE description="plain"\n#USAGE arg "<issue>"\ndocker ps --format "{{.ID}}"\n'
    assert task_file_refusal(text) is None


def test_a_placeholder_without_an_end_is_judged_in_time() -> None:
    hostile = "{{arg(" + "a=bbb=" * 20_000
    assert trust_refusal("mise.toml", f"[tasks.a]\nrun = '{hostile}'\n") is not None
