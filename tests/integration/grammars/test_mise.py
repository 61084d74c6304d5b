"""What real mise runs, as if it trusted every file, and what the rules make of the argv."""

from __future__ import annotations

import pytest

from runner.engine.contract import Sandbox
from tests.support.real_programs import ask
from tests.support.real_workspace import CREATED, ORIGINAL, generated, not_refused, refused_for_nothing, split

pytestmark = pytest.mark.docker

LINES = """
    run hi
    hi
    typecheck
    run typecheck
    run evil
    evil
    tasks run evil
    t r evil
    task run evil
    tasks -x run evil
    run -j 4 evil
    run -j4 evil
    run --jobs 4 evil
    run -t x evil
    run -o prefix evil
    run --output prefix evil
    run --timeout 9 evil
    run --task-cache off evil
    run --affected-base HEAD evil
    run --allow-read . evil
    run --skip-deps evil
    run -q evil
    run -- evil
    -- evil
    run hi ::: evil
    run hi evil
    run hi ::: -q evil
    hi ::: evil
    run -C sub other
    run --cd sub other
    run --cd=sub other
    -C sub run other
    -C sub other
    -Csub other
    run -Csub other
    run ./mise-tasks/evil
    run mise-tasks/evil
    run //evil
    run //:evil
    run :evil
    run evi*
    run e*
    run *
    run **
    run -s src/mark hi
    run -s=src/mark hi
    run -ssrc/mark hi
    run -qs src/mark hi
    run -j 4 -s src/mark hi
    run --shell src/mark hi
    run --shell=src/mark hi
    run -t x --shell src/mark hi
    -s src/mark hi
    --shell src/mark hi
    -qs src/mark hi
    -j 4 --shell=src/mark hi
    run hi -s src/mark
    run hi --shell src/mark
    run hi ::: -s src/mark hi
    run run_it scratch/new.js
    run run_it -- scratch/new.js
    run_it scratch/new.js
    run run_it -r ./scratch/new.js src/app.js
    run list scratch/new.js
    run -j 4 run_it scratch/new.js
    run hi ::: run_it scratch/new.js
    run run_it ::: run_it scratch/new.js
    run run_it src/app.js
    x -- tsc
    x tsc
    x -- src/mark
    x -c src/mark
    x -csrc/mark
    x -qc src/mark
    x --command src/mark
    x --command=src/mark
    x -j 4 -c src/mark
    x -j 4 -- tsc
    x --jobs=4 -- src/mark
    x --allow-env X -- src/mark
    x --allow-env -- src/mark
    x --allow-read vitest src/mark
    x --deny-net -- src/mark
    x -C sub -- src/mark
    x vitest -- src/mark
    x node@1 -- src/mark
    x -- vitest
    x -- node src/app.js
    x -- node scratch/new.js
    x -C sub -- node ../scratch/new.js
    x -C scratch -- node new.js
    x -Cscratch -- node new.js
    x --cd=scratch -- node new.js
    -C scratch x -- node new.js
    x -q -- npm run typecheck
    x -- -- tsc
    x -- env tsc
    exec -- tsc
    e -- tsc
    --env x hi
    -E x run evil
    -P x evil
    --log-level debug evil
    --log-level=debug evil
    --no-config run evil
    --raw evil
    --locked evil
    --output prefix evil
    --no-timings evil
    -c evil
    -n evil
    -f evil
    -y evil
    -vv evil
    -qC sub other
    --timeout 9 evil
    --jobs evil hi
    en
    en -s src/mark
    shell node
    watch evil
    w evil
    deps
    prepare
    dep
    daemons start
    test-tool vitest
    tool-stub scratch/data.json
    mcp
    hook-not-found tsc
    hook-env -s bash
    env
    e
    which tsc
    tasks
    tasks ls
    tasks info evil
    tasks evil
    tasks deps evil
    tasks validate
    tasks add new -- src/mark
    tasks add -d hi new -- src/mark
    tasks edit evil
    generate task-stubs
    generate bootstrap
    ls
    doctor
    usage
    settings
    fmt
    lock
    bin-paths
    current
    registry
    sync node --nvm
    completion bash
    direnv
    asdf
    search x
    oci build
    skills
    packslip
    ssh x
"""
WORDS = """
    run r tasks t task x exec hi evil fine typecheck run_it list other ns:go ::: -- -j 4 -j4 -q -qq -C sub -C. --cd=sub
    -s src/mark --shell --shell=src/mark -t x --output prefix -o --timeout 9 --task-cache off -n -f -c --force --raw
    --allow-read . --affected-base HEAD -E dev scratch/new.js src/app.js tsc vitest node -r ./scratch/new.js --command
    -y -v --silent --log-level info --skip-deps --no-config --no-timings -S -P
"""
TRUSTING = {"MISE_PARANOID": "0", "MISE_TRUSTED_CONFIG_PATHS": "/workspace", "MISE_EXPERIMENTAL": "1"}
"""Here the rules alone are asked, and not mise's own trust."""


def test_what_mise_runs_is_what_the_rules_refuse(box: Sandbox) -> None:
    argvs = [*split("mise", LINES), *generated("mise", 150, "mise", WORDS, 6)]
    outcomes = ask(box, argvs, {**ORIGINAL, **CREATED}, env=TRUSTING)
    assert (not_refused(outcomes), refused_for_nothing(outcomes)) == ([], [])
