"""A small workspace in which every script, tool and file leaves its name when it runs, and what the rules say of it.

`FINE` are the names that any command may leave. All others stand for a typecheck, for files that the run made outside
the full-write paths, or for programs that are not allowed.
"""

from __future__ import annotations

import json
import os
import random
import shlex
from collections.abc import Sequence

from runner.model.errors import ErrorCode
from tests.support.argv_trees import FakeTree, decide
from tests.support.real_programs import MARKS, Outcome, marking

__all__ = ["CREATED", "ENV_FILES", "ORIGINAL", "TIMES", "generated", "not_refused", "refused_for_nothing", "split"]

TIMES = int(os.environ.get("RUNNER_REAL_GRAMMARS", "1"))
"""How many times the usual number of generated argvs the real programs are asked about."""

JUDGED = (ErrorCode.DIRECT_TYPECHECK_REFUSED, ErrorCode.SCRATCH_EXECUTION_REFUSED)
PRINTS = frozenset({"--help", "-h", "--version", "-v", "--v8-options", "--prof-process"})
"""With one of these a program only prints; nobody needs the rules to see that."""

FINE = frozenset("task hi build start stop version view ls vitest app index tested".split())


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
    "mise.toml": f"""
[env]
_.path = ["node_modules/.bin"]
[tasks]
hi = "echo hi >>{MARKS} #"
typecheck = "echo task >>{MARKS} #"
"ns:go" = "echo task >>{MARKS} #"
run_it = "node"
list = ["true", "node"]
""",
    "mise-tasks/fine": marking("hi"),
    "src/mark": marking("foreign"),
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
    "mise-tasks/evil": marking("scratch"),
    "sub/mise-tasks/other": marking("scratch"),
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
