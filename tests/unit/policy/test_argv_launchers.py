"""Launchers run allowed programs and installed tools; shells, fetched programs and program-valued settings are not."""

from __future__ import annotations

import shlex

import pytest

from runner.model.errors import ErrorCode
from tests.support.argv_trees import FakeTree, code_of, decide

BIN = ErrorCode.BIN_NOT_ALLOWLISTED


@pytest.mark.parametrize(
    "line",
    [
        "npm exec -- sh -c 'touch /tmp/pwn'",
        "npm exec sh",
        "npm x sh",
        "npm exe sh",
        "npm exec",
        "npm exec -- /bin/sh",
        "npm -- exec sh",
        "npm exec -c 'touch /tmp/pwn'",
        "npm exec --call 'touch /tmp/pwn'",
        "npm exec --cal='touch /tmp/pwn'",
        "npm -yc 'touch /tmp/pwn' exec",
        "npm --loglevel silent exec sh",
        "npm --prefix . exec -- sh",
        "npm exec left-pad",
        "npm --color always exec sh",
        "npm --yes null exec sh",
        "mise --shell 'sh -c' x",
        "mise -t node@20 x -- sh",
        "npm exec vitest@1",
        "npm exec --package=x -- vitest",
        "npm init vite",
        "npm create vite",
        "npm innit x",
        "npm explore left -- ls",
        "npm explore left",
        "npm edit left",
        "npm config edit",
        "npm config set script-shell /workspace/src/run.sh --location=project",
        "npm config set script-shell=/x",
        "npm set script-shell /x",
        "npm c set scriptShell /x",
        "npm config set a=b script_shell=/x",
        "npm run hi --script-shell=/x",
        "npm --script-shell /x run hi",
        "npm --script-s /x test",
        "npm install --git=/x",
        "npm --node-gyp=/x rebuild",
        "npm docs x --browser=/x",
        "npm help x --viewer=/x",
        "npm --userconfig=scratch/rc run hi",
        "npm exec cross-env A=1 sh",
        "pnpm dlx left-pad",
        "pnpm create vite",
        "pnpm env use 20",
        "pnpm self-update",
        "pnpm exec sh -c x",
        "pnpm exec",
        "pnpm exec ls",
        "pnpm exec -- bash",
        "pnpm -r exec bash",
        "pnpm -c exec 'touch x'",
        "pnpm exec -c 'touch x'",
        "pnpm --shell-mode exec x",
        "pnpm sh",
        "pnpm bash -c x",
        "pnpm cat /etc/passwd",
        "pnpm --filter x exec sh",
        "pnpm -F x -w exec sh",
        "pnpm recursive exec sh",
        "pnpm --config.script-shell=/x run hi",
        "pnpm --script-shell=/x run hi",
        "pnpm run --script-shell=/x hi",
        "pnpm config set script-shell /x",
        "pnpm exec /usr/bin/ls",
        "mise x -- sh -c 'touch /tmp/pwn'",
        "mise exec -- sh",
        "mise x node@20 -- bash",
        "mise x sh",
        "mise x",
        "mise x -c 'touch x'",
        "mise exec --command='touch x'",
        "mise -C src x -- sh",
        "mise -q x -- sh",
        "mise x npm:left-pad -- left-pad",
        "mise en",
        "mise use node@20",
        "mise plugins install x http://h",
        "mise trust",
        "mise trust --all",
        "mise settings paranoid=false",
        "mise settings set paranoid false",
        "mise run --shell 'sh -c' x",
        "mise tasks edit x",
        "mise x -- npm exec -- pnpm exec sh",
    ],
)
def test_shell_or_unlisted_program_behind_a_launcher_is_refused(line: str) -> None:
    assert code_of(shlex.split(line)) is BIN


@pytest.mark.parametrize(
    "line",
    [
        "pnpm exec vitest",
        "pnpm exec vitest run --reporter=dot",
        "pnpm exec node_modules/.bin/vitest",
        "pnpm vitest",
        "pnpm -r exec vitest",
        "pnpm exec cross-env A=1 vitest",
        "npm exec vitest",
        "npm exec -- vitest --run",
        "npm x vitest",
        "npm exec -- git status",
        "pnpm git status",
        "pnpm node src/app.mjs",
        "mise x -- node src/app.mjs",
        "mise x -- pnpm exec vitest",
        "mise x node@20 -- node -v",
        "npm test",
        "npm t",
        "npm run",
        "npm run hi -- --script-shell=/x",
        "npm run hi",
        "npm run-script build",
        "npm install",
        "npm i left-pad",
        "npm ci",
        "npm init -y",
        "npm config get script-shell",
        "npm config list",
        "npm config set fund false",
        "npm view left-pad",
        "npm ls --depth 0",
        "npm --version",
        "npm --workspace a run hi",
        "pnpm install --frozen-lockfile",
        "pnpm i",
        "pnpm add -D left-pad",
        "pnpm run hi",
        "pnpm hi",
        "pnpm test",
        "pnpm -r --filter ./a run hi",
        "pnpm --silent -C src hi",
        "pnpm list",
        "pnpm config get registry",
        "pnpm run",
        "mise ls",
        "mise run os:red 7",
        "mise run typecheck",
        "mise typecheck",
        "mise r typecheck",
        "mise tasks run typecheck",
        "mise install",
        "mise env",
        "mise settings",
        "mise trust --show",
        "mise plugins ls",
        "mise set A=b",
        "mise --version",
    ],
)
def test_allowed_program_or_installed_tool_runs(line: str) -> None:
    decision = decide(
        shlex.split(line), FakeTree(original={**FakeTree().original, "src/package.json": '{"scripts":{"hi":"x"}}'})
    )
    assert decision.allowed, decision


def test_local_tool_named_like_an_allowed_program_is_judged_by_its_name() -> None:
    assert code_of(["pnpm", "exec", "git", "push"]) is ErrorCode.GIT_PUSH_VIA_RUN_COMMAND
    assert code_of(["pnpm", "exec", "git", "status"]) is None
    assert code_of(["pnpm", "exec", "sh"]) is BIN


def test_set_up_may_trust_the_config_of_the_clone() -> None:
    assert code_of(["mise", "trust"], phase="setup") is None
    assert code_of(["pnpm", "exec", "sh"], phase="setup") is BIN


def test_scripts_that_start_each_other_without_end_are_judged_in_time() -> None:
    line = " && ".join(f"npm run s{n}" for n in range(60))
    scripts = ",".join(f'"s{n}": "{line}"' for n in range(60))
    tree = FakeTree(original={"package.json": '{"scripts": {' + scripts + "}}"})
    assert code_of(["npm", "run", "s0"], tree) is None


def test_endless_chain_of_launchers_is_refused() -> None:
    assert code_of(["pnpm", *["pnpm"] * 200, "exec", "vitest"]) is BIN


def test_overlong_option_name_is_no_setting() -> None:
    assert code_of(["npm", "--" + "a" * 1000, "run", "hi"]) is None


@pytest.mark.parametrize("text", ["{", "[]", '{"scripts": []}', '{"scripts": {"hi": 1}}', "[" * 100_000])
def test_broken_manifest_is_no_crash(text: str) -> None:
    assert code_of(["npm", "run", "hi"], FakeTree(original={"package.json": text})) is None
