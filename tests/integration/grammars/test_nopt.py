"""npm's own reader of options, asked about generated words in one process, against ours."""

from __future__ import annotations

import json
import random

import pytest

from runner.engine.contract import Sandbox
from runner.policy.nopt import read_options
from runner.policy.npm_argv import npm_command
from runner.policy.npm_options import NPM
from tests.support.real_programs import output_of
from tests.support.real_workspace import TIMES

pytestmark = pytest.mark.docker

_ASK = """
const at = '/usr/local/lib/node_modules/npm/';
const nopt = require(at + 'node_modules/nopt');
const { definitions, shorthands } = require(at + 'node_modules/@npmcli/config/lib/definitions');
const { deref } = require(at + 'lib/utils/cmd-list.js');
const types = Object.fromEntries(Object.entries(definitions).map(([name, { type }]) => [name, type]));
let asked = '';
process.stdin.on('data', (part) => { asked += part }).on('end', () => {
  process.stdout.write(JSON.stringify(JSON.parse(asked).map((words) => {
    const { argv, ...options } = nopt(types, structuredClone(shorthands), words, 0);
    return [argv.remain, deref(argv.remain[0]) ?? null, options['script-shell'] ?? '', !!options['ignore-scripts']];
  })));
});
"""
_WORDS = """
run exec x test start hi typecheck tsc i add config set ver un pub true false null always 3 x/y - -- --- -c --call
--prefix --script-shell --loglevel --force --color --message --yes --no-depth --browser -C -s -w -ws -d --No-yes
--no-no-force --ignore-scripts --no-ignore-scripts --no-script-shell
""".split()


def _argvs(count: int) -> list[list[str]]:
    chance = random.Random("nopt")
    return [[_word(chance) for _ in range(chance.randint(1, 6))] for _ in range(count)]


def _word(chance: random.Random) -> str:
    if chance.random() < 0.7:
        return chance.choice(_WORDS)
    name = chance.choice(sorted({*NPM.types, *NPM.shorthands, "unknown", "config.x"}))
    name = name[: chance.randint(1, len(name))] if chance.random() < 0.3 else name
    value = "=" + chance.choice([*_WORDS, "", "."]) if chance.random() < 0.3 else ""
    return chance.choice(["-", "--", "---"]) + chance.choice(["", "", "no-", "No-no-"]) + name + value


def test_words_and_options_are_read_as_npm_reads_them(box: Sandbox) -> None:
    argvs = _argvs(3000 * TIMES)
    answers = json.loads(output_of(box, "node", "-e", _ASK, stdin=json.dumps(argvs).encode()))
    differing = []
    for argv, (words, command, shell, no_scripts) in zip(argvs, answers, strict=True):
        given = read_options(argv, NPM)
        ours = given.words + given.verbatim
        same = ours == words and given.has_switch("ignore-scripts") == no_scripts
        if command is not None:
            same = same and npm_command(ours[0]) == command
        # An option without its word is `true` for nopt; what was taken back later may stay in ours.
        if isinstance(shell, str) and shell not in ("", "true"):
            same = same and given.values("script-shell")[-1:] == [shell]
        if not same:
            differing.append((argv, words, command, shell, no_scripts))
    assert differing == []
