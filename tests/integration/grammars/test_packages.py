"""What real npm and pnpm start, and what the rules make of the argv."""

from __future__ import annotations

import pytest

from runner.engine.contract import Sandbox
from tests.support.real_programs import ask
from tests.support.real_workspace import CREATED, ORIGINAL, not_refused, refused_for_nothing, split

pytestmark = pytest.mark.docker

NPM = """
    run hi
    run tool
    run hi -- typecheck
    run --force=typecheck
    --=run typecheck
    --force=exec --call=tsc
    run hi --no-script-shell src/mark
    --message --loglevel ls run typecheck
    -C sub run check
    restart
    verison patch --no-git-tag-version
    version patch --ignore-scripts --no-git-tag-version
    urn check
    exec vitest
    exec --yes=tsc
    x -yc tsc
"""
PNPM = """
    hi
    check
    vitest
    --loglevel tsc vitest
    -- tsc
    --save-prefix typecheck hi
    run --stream=typecheck
    run --resume-from typecheck hi
    restart
    -s version
    -s view
    m run typecheck
    -c exec src/mark
    exec -c src/mark
    run /type/
    --dev typecheck
    --script-shell=src/mark hi
    t
"""
# npm takes most of a second to start; its own reader of options, which is what differs, is asked in `test_nopt.py`.


@pytest.mark.parametrize(("program", "lines"), [("npm", NPM), ("pnpm", PNPM)])
def test_what_a_package_manager_starts_is_what_the_rules_refuse(box: Sandbox, program: str, lines: str) -> None:
    outcomes = ask(box, split(program, lines), {**ORIGINAL, **CREATED})
    assert (not_refused(outcomes), refused_for_nothing(outcomes)) == ([], [])
