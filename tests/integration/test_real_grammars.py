"""The argv rules against the workspace image's own programs: what they really start, and what the rules make of it.

Every script, tool and file of a small workspace leaves its name when it runs. What leaves a name that no command may
leave has to be refused; what is refused as a typecheck or as scratch has to have left one, or to have failed.
"""

from __future__ import annotations

import json
import os
import random
import shlex
from collections.abc import Iterator, Sequence

import pytest

from runner.engine.contract import Sandbox
from runner.engine.docker_engine import DockerEngine
from runner.model.errors import ErrorCode
from tests.conftest import sandbox_spec
from tests.support.argv_trees import FakeTree, decide
from tests.support.real_programs import MARKS, Outcome, ask, marking

pytestmark = pytest.mark.docker

TIMES = int(os.environ.get("RUNNER_REAL_GRAMMARS", "1"))
"""How many times the usual number of generated argvs the real programs are asked about."""

JUDGED = (ErrorCode.DIRECT_TYPECHECK_REFUSED, ErrorCode.SCRATCH_EXECUTION_REFUSED)
PRINTS = frozenset({"--help", "-h", "--version", "-v", "--v8-options", "--prof-process"})
"""With one of these a program only prints; nobody needs the rules to see that."""

FINE = frozenset("hi build start stop version view ls vitest app index tested".split())


def js(name: str) -> str:
    """A CommonJS file that leaves the name."""
    return f"require('fs').appendFileSync('{MARKS}', '{name}\\n');\n"


def esm(name: str) -> str:
    """A module that leaves the name."""
    return f"import fs from 'node:fs'; fs.appendFileSync('{MARKS}', '{name}\\n');\n"


def manifest(**lines: str) -> str:
    """A package.json with these scripts beside those that leave their name."""
    named = ("hi", "build", "start", "stop", "version", "view", "ls", "typecheck", "type-check", "restart")
    scripts = {name: f"echo {name} >>{MARKS}" for name in named}
    return json.dumps({"name": "w", "version": "1.0.0", "scripts": {**scripts, **lines}})


ENV_FILES = (
    "A=1 2\nNODE_OPTIONS=--require ./scratch/new.js\n",
    'A=1 2\nNODE_OPTIONS="--require ./scratch/new.js"\n',
    "A=1 2\nNODE_OPTIONS='--require ./scratch/new.js' # it's\n",
    "A=1 2\nNODE_OPTIONS=`--require ./scratch/new.js`#x\n",
    "A=1 2\n  export  NODE_OPTIONS \t=   --require ./scratch/new.js   # x\n",
    "A=1 2\r\nNODE_OPTIONS=--require ./scratch/new.js\r\n",
    "A='1\n'\nNODE_OPTIONS=--require ./scratch/new.js",
    'A="\n"NODE_OPTIONS=--require ./scratch/new.js',
    "A=1 2\nNODE_OPTIONS=\n--require ./scratch/new.js",
    "A=1 2\nNODE_OPTIONS='\n--require ./scratch/new.js\n'",
    'A=1 2\nNODE_OPTIONS="--require\\n./scratch/new.js"',
    "A=1 2\nexport\tNODE_OPTIONS=--require ./scratch/new.js",
    "A 1\nNODE_OPTIONS=--require ./scratch/new.js",
    "#=1\nNODE_OPTIONS=--require ./scratch/new.js",
    "A=1 2; NODE_OPTIONS=--require ./scratch/new.js",
    "\ufeffNODE_OPTIONS=--require ./scratch/new.js # 1 2",
    "A=1 2\nNODE_OPTIONS=--no-warnings\nNODE_OPTIONS=--require ./scratch/new.js",
    "A=1 2\nNODE_OPTIONS=--require ./scratch/new.js\nNODE_OPTIONS=--no-warnings",
    "A=1 2\rNODE_OPTIONS=--require ./scratch/new.js",
    "A=1 2\n\u00a0NODE_OPTIONS=--require ./scratch/new.js",
)
"""Files of variables, each of which node could take for one that has it load a file; none of them is JavaScript."""

ORIGINAL = {
    "package.json": manifest(check="tsc --noEmit", tool="node_modules/.bin/tsc", restart="true", postversion="tsc"),
    "src/app.js": js("app"),
    "src/lib/index.js": js("index"),
    "src/env": "A=1\n",
    "sub/package.json": json.dumps({"scripts": {"hi": f"echo hi >>{MARKS}", "check": "tsc"}}),
    "node_modules/.bin/tsc": marking("tsc"),
    "node_modules/.bin/turbo": marking("turbo"),
    "node_modules/.bin/vitest": marking("vitest"),
    "node_modules/typescript/bin/tsc": js("tsc"),
}
CREATED = {
    "scratch/new.js": js("scratch"),
    "scratch/mod.mjs": esm("scratch"),
    "scratch/lib/index.js": js("scratch"),
    "scratch/main/package.json": json.dumps({"main": "deep"}),
    "scratch/main/deep.js": js("scratch"),
    **{f"scratch/env{number}": text for number, text in enumerate(ENV_FILES)},
    "scratch/env": ENV_FILES[0],
    "debug.js": js("scratch"),
    "scratch/data.json": "{}",
    "scratch/my.test.mjs": esm("scratch"),
    "tests/my.test.mjs": esm("tested"),
}


@pytest.fixture(scope="module")
def box(docker_engine: DockerEngine) -> Iterator[Sandbox]:
    sandbox = docker_engine.start(sandbox_spec("grammar"))
    try:
        yield sandbox
    finally:
        sandbox.remove()


def not_refused(outcomes: Sequence[Outcome]) -> list[str]:
    """The argvs that started what no command may, and that the rules let through."""
    bad = (one for one in outcomes if one.started - FINE)
    return [f"{shlex.join(one.argv)} → {sorted(one.started)}" for one in bad if _code(one) is None]


def refused_for_nothing(outcomes: Sequence[Outcome]) -> list[str]:
    """The argvs that the rules refuse as a typecheck or scratch, and that succeeded without either."""
    good = (one for one in outcomes if one.code == 0 and not one.started - FINE and not PRINTS & set(one.argv))
    return [f"{shlex.join(one.argv)} → {_code(one)}, {sorted(one.started)}" for one in good if _code(one) in JUDGED]


def _code(one: Outcome) -> ErrorCode | None:
    return decide(list(one.argv), FakeTree(original=dict(ORIGINAL), created=dict(CREATED))).code


def generated(seed: str, count: int, first: str, words: str, most: int = 5) -> list[list[str]]:
    """Argvs of the words in random order, the same in every run."""
    chance = random.Random(seed)
    vocabulary = words.split()
    return [[first, *(chance.choice(vocabulary) for _ in range(chance.randint(1, most)))] for _ in range(count * TIMES)]


def split(first: str, lines: str) -> list[list[str]]:
    """One argv a line."""
    return [[first, *shlex.split(line)] for line in lines.strip().splitlines()]


NODE = """
    src/app.js
    src/app
    src/lib
    scratch/new.js
    scratch/new
    scratch/lib
    scratch/main
    ./scratch/../scratch/new
    /workspace/scratch/new.js
    scratch/mod.mjs
    -r ./scratch/new.js src/app.js
    -r=./scratch/new.js src/app.js
    -r./scratch/new.js src/app.js
    --require ./scratch/new src/app.js
    --require=./scratch/lib -e 0
    --import ./scratch/mod.mjs -e 0
    --import=file:///workspace/scratch/mod.mjs -e 0
    --import data:text/javascript,import'/workspace/scratch/mod.mjs' -e 0
    --experimental-loader ./scratch/mod.mjs src/app.js
    --loader=./scratch/mod.mjs src/app.js
    --env-file scratch/env src/app.js
    --env-file=scratch/env src/app.js
    --env-file-if-exists=scratch/env src/app.js
    --env-file=src/env src/app.js
    src/app.js --env-file=scratch/env
    -e "require('./scratch/new.js')"
    --eval="require('./scratch/new.js')"
    -p "require('./scratch/new.js')"
    -pe "require('./scratch/new.js')"
    -p src/app.js
    -p
    --print scratch/new.js
    --print=0 scratch/new.js
    -e 0 scratch/new.js
    -e -- scratch/new.js
    -c scratch/new.js
    --check scratch/new.js
    -i scratch/new.js
    - scratch/new.js
    -- scratch/new.js
    --test scratch
    --test scratch/my.test.mjs
    --test tests
    --test tests/my.test.mjs
    --test
    --test **/*.mjs
    --test --test-reporter ./scratch/new.js tests/my.test.mjs
    --run hi
    --run=typecheck
    --run typecheck
    --run check
    --run hi -- typecheck
    --run tool
    --run hi --run check
    --title scratch/new.js src/app.js
    --title=x scratch/new.js
    --conditions scratch/new.js src/app.js
    -C scratch/new.js src/app.js
    -C=x scratch/new.js
    --stack-trace-limit 5 src/app.js
    --stack-trace-limit=5 scratch/new.js
    --max-old-space-size 64 scratch/new.js
    --inspect-port 0 scratch/new.js
    --no-warnings scratch/new.js
    --watch-path src --check scratch/new.js
    --trace_warnings scratch/new.js
    --require_module scratch/new.js
    --disable-warning scratch/new.js src/app.js
    --input-type module scratch/new.js
    --input-type=commonjs -e 0
    node_modules/typescript/bin/tsc
    -r typescript -e 0
    --build-snapshot scratch/new.js
    --snapshot-blob scratch/data.json src/app.js
    --experimental-default-type module scratch/new.js
    --entry-url scratch/new.js
    --experimental-entry-url data:,0
    inspect scratch/new.js
    debug scratch/new.js
    --v8-options scratch/new.js
    --version scratch/new.js
    --help scratch/new.js
    --icu-data-dir scratch scratch/new.js
    --unknown-option scratch/new.js
    --secure-heap 4 scratch/new.js
    --experimental-sea-config scratch/data.json
    --test-name-pattern scratch/new.js src/app.js
    --prof-process scratch/new.js
    --experimental-test-coverage --test tests/my.test.mjs
    --watch-kill-signal SIGTERM scratch/new.js
    --no-title scratch/new.js
    --no-require scratch/new.js
    --no-eval scratch/new.js
    --eval
    --no-print scratch/new.js
    --trace-event-categories x scratch/new.js
    --interpreted-frames-native-stack scratch/new.js
    --allow-fs-read scratch/new.js src/app.js
    --print=0 --no-warnings scratch/new.js
    --print=0 -- scratch/new.js
    -p --no-warnings scratch/new.js
    --check --no-check scratch/new.js
    -c --no-check node_modules/typescript/bin/tsc
    --no-check --check scratch/new.js
    --test --no-test scratch/new.js
    --test --no-test node_modules/typescript/bin/tsc
    --test node_modules/typescript/bin/tsc
    --test --run typecheck
    --check --run typecheck
    debug
    -e 0 --env-file scratch/env
    src/app.js --env-file scratch/env
    src/app.js --env-file-if-exists=scratch/env
    src/app.js -- --env-file=scratch/env
    -- src/app.js --env-file=scratch/env
    src/app.js --env_file=scratch/env
    --env_file=scratch/env src/app.js
    --run hi --env-file=scratch/env
    --test tests/my.test.mjs --env-file=scratch/env
"""
NODE_WORDS = """
    scratch/new.js scratch/mod.mjs src/app.js scratch/lib ./scratch/new.js -r --require --import -e -p -pe -c --check 0
    "1" --print --eval=0 --print=0 -- - --test --run hi typecheck check --title --conditions -C --env-file
    --env-file=scratch/env scratch/env src/env --no-warnings --stack-trace-limit --test-name-pattern --input-type
    --loader --trace-require-module --preserve-symlinks --experimental-strip-types --watch-path --disable-warning
    --test-reporter spec tests/my.test.mjs --no-deprecation --es-module-specifier-resolution --inspect-publish-uid
    --unhandled-rejections none --diagnostic-dir src --test-isolation --security-revert --icu-data-dir -i
"""


def test_node(box: Sandbox) -> None:
    env_files = [["node", f"--env-file=scratch/env{number}", "-e", "0"] for number in range(len(ENV_FILES))]
    argvs = [*split("node", NODE), *env_files, *generated("node", 60, "node", NODE_WORDS)]
    outcomes = ask(box, argvs, {**ORIGINAL, **CREATED})
    assert (not_refused(outcomes), refused_for_nothing(outcomes)) == ([], [])
