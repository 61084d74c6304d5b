"""Which files real node executes, and what the rules make of the argv."""

from __future__ import annotations

import pytest

from runner.engine.contract import Sandbox
from tests.support.real_programs import ask
from tests.support.real_workspace import (
    CREATED,
    ENV_FILES,
    ORIGINAL,
    generated,
    not_refused,
    refused_for_nothing,
    split,
)

pytestmark = pytest.mark.docker

LINES = """
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
    --stack-trace-limit 5 scratch/new.js
    --max-old-space-size-percentage 50 scratch/new.js
    --experimental-test-isolation none scratch/new.js
    --stack-size 900 scratch/new.js
    --es-module-specifier-resolution node scratch/new.js
    --experimental-specifier-resolution=node scratch/new.js
    --trace-events-enabled scratch/new.js
    --inspect=127.0.0.1:0 scratch/new.js
    --max-semi-space-size 4 scratch/new.js
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
    --test tests/my.test.mjs --env-file=scratch/env
"""
WORDS = """
    scratch/new.js scratch/mod.mjs src/app.js scratch/lib ./scratch/new.js -r --require --import -e -p -pe -c --check 0
    "1" --print --eval=0 --print=0 -- - --test --run hi typecheck check --title --conditions -C --env-file
    --env-file=scratch/env scratch/env src/env --no-warnings --stack-trace-limit --test-name-pattern --input-type
    --loader --trace-require-module --preserve-symlinks --experimental-strip-types --watch-path --disable-warning
    --test-reporter spec tests/my.test.mjs --no-deprecation --es-module-specifier-resolution --inspect-publish-uid
    --unhandled-rejections none --diagnostic-dir src --test-isolation --security-revert --icu-data-dir -i
"""


def test_what_node_executes_is_what_the_rules_refuse(box: Sandbox) -> None:
    argvs = [*split("node", LINES), *generated("node", 30, "node", WORDS)]
    outcomes = ask(box, argvs, {**ORIGINAL, **CREATED}, seconds=5)  # `inspect` waits for its user
    assert (not_refused(outcomes), refused_for_nothing(outcomes)) == ([], [])


def test_what_a_file_of_variables_makes_node_load_is_refused(box: Sandbox) -> None:
    argvs = [["node", f"--env-file=scratch/env{number}", "-e", "0"] for number in range(len(ENV_FILES))]
    outcomes = ask(box, argvs, {**ORIGINAL, **CREATED})
    assert not_refused(outcomes) == []
    assert sum("scratch" in one.started for one in outcomes) >= len(ENV_FILES) // 2
