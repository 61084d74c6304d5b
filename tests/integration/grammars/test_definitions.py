"""Our tables of options and verbs against the programs' own definitions, so that a new version of one is noticed."""

from __future__ import annotations

import json
import re

import pytest

from runner.engine.contract import Sandbox
from runner.policy import mise_argv, mise_options, node_argv, npm_argv, pnpm_options
from runner.policy.npm_options import NPM
from tests.support.real_programs import output_of

pytestmark = pytest.mark.docker

_NPM = """
const at = '/usr/local/lib/node_modules/npm/';
const { definitions, shorthands } = require(at + 'node_modules/@npmcli/config/lib/definitions');
const { commands, aliases } = require(at + 'lib/utils/cmd-list.js');
const kind = (type) => type === null ? 'null' : typeof type === 'function' ? type.name.toLowerCase() : String(type);
const types = ([name, { type }]) => [name, [type].flat().map((one) =>
  ['null', 'string', 'boolean', 'number'].includes(kind(one)) || (typeof one !== 'function' && typeof one !== 'object'
    && typeof one !== 'number' && one !== '') ? kind(one) : 'other')];
const all = Object.fromEntries(Object.entries(definitions).map(types));
console.log(JSON.stringify({ types: all, shorthands, commands, aliases }));
"""
_NODE = """
const { options, aliases } = require('internal/options').getCLIOptionsInfo();
console.log(JSON.stringify({ types: [...options].map(([name, { type }]) => [name, type]), aliases: [...aliases] }));
"""
_NODE_VALUED = {3, 4, 5, 6, 7}  # integer, unsigned integer, string, host and port, list of strings


def test_npm_has_the_options_commands_and_short_forms_of_our_tables(box: Sandbox) -> None:
    own = json.loads(output_of(box, "node", "-e", _NPM))
    ours = {name: sorted(types) for name, types in NPM.types.items()}
    theirs = {name: sorted(set(types)) for name, types in own["types"].items()}
    theirs["local-address"] = ours["local-address"]  # the addresses of the machine
    assert ours == theirs
    assert {name: list(words) for name, words in NPM.shorthands.items()} == own["shorthands"]
    known = {name: npm_argv.npm_command(name) for name in (*own["commands"], *own["aliases"])}
    assert known == {**{name: name for name in own["commands"]}, **own["aliases"]}


def test_node_has_the_options_with_values_of_our_table(box: Sandbox) -> None:
    own = json.loads(output_of(box, "node", "--no-warnings", "--expose-internals", "-e", _NODE))
    valued = {name for name, kind in own["types"] if kind in _NODE_VALUED}
    assert valued - node_argv.VALUED == set()
    known = {name for name, _ in own["types"]}
    assert {name for name in node_argv.VALUED & known if name not in valued} == set()
    for alias, (target, *more) in own["aliases"]:
        if not more and target in valued and not alias.endswith("="):
            assert node_argv.read_node([alias, "value", "script"]).options == ((target, "value"),), alias


def test_mise_has_the_options_with_values_of_our_tables(box: Sandbox) -> None:
    usage = output_of(box, "mise", "usage")
    assert mise_options.BEFORE_VERB == _mise_valued(usage.partition("\ncmd ")[0], "")
    top = {name for name in _mise_valued(usage.partition("\ncmd ")[0], "", only_global=True)}
    assert _mise_valued(_mise_command(usage, "run"), "    ") - mise_options.RUN == set()
    assert mise_options.RUN - _mise_valued(_mise_command(usage, "run"), "    ") - mise_options.BEFORE_VERB == set()
    assert mise_options.EXEC == top | _mise_valued(_mise_command(usage, "exec"), "    ")


def test_every_alias_of_a_mise_verb_is_judged_like_the_verb(box: Sandbox) -> None:
    usage = output_of(box, "mise", "usage")
    groups = [set(group) for group in mise_argv.VERBS]
    for verb, aliases in _mise_aliases(usage).items():
        for group in groups:
            if verb in group or aliases & group:
                assert {verb, *aliases} - group == set(), verb


@pytest.mark.parametrize("command", ["run", "exec", "install", "add", "dlx", "config"])
def test_pnpm_has_the_options_of_our_tables(box: Sandbox, command: str) -> None:
    line = f"pnpm {command} --"
    completed = output_of(
        box, "pnpm", "completion-server", "--", line,
        env={"SHELL": "/bin/bash", "COMP_CWORD": "2", "COMP_LINE": line, "COMP_POINT": str(len(line))},
    )  # fmt: skip
    theirs = {word.removeprefix("--").removeprefix("no-") for word in completed.split()}
    ours = set(pnpm_options.second_reading(command).types) - {"recursive"}
    assert ours - theirs == set()
    assert theirs - ours - {"recursive", "version", "help"} == set()


def test_pnpm_has_the_commands_of_our_table(box: Sandbox) -> None:
    env = {"SHELL": "/bin/bash", "COMP_CWORD": "1", "COMP_LINE": "pnpm ", "COMP_POINT": "5"}
    completed = set(output_of(box, "pnpm", "completion-server", "--", "pnpm ", env=env).split())
    assert {word for word in completed if not word.startswith("-")} == set(pnpm_options.COMMANDS)


def _mise_command(usage: str, name: str) -> str:
    found = re.search(rf"^cmd {name} .*?^}}", usage, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[0]


def _mise_valued(text: str, indent: str, *, only_global: bool = False) -> set[str]:
    """The flags of the text that have an argument, at this depth."""
    found: set[str] = set()
    flags: set[str] = set()
    for line in text.splitlines():
        flag = re.match(rf'{indent}flag (?:"([^"]+)"|(\S+))', line)
        if flag:
            flags = set((flag[1] or flag[2]).split())
            shared = "global=#true" in line
        elif re.match(rf"{indent}    arg ", line) and (shared or not only_global):
            found |= flags
        if line.startswith(f"{indent}}}") or (re.match(rf"{indent}\S", line) and not flag and '"""#' not in line):
            flags = set()
    return found


def _mise_aliases(usage: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    verb = ""
    for line in usage.splitlines():
        command = re.match(r"cmd (\S+)", line)
        alias = re.match(r"    alias (.+)", line)
        if command:
            verb = command[1]
        elif alias and verb:
            found.setdefault(verb, set()).update(word for word in alias[1].split() if "=" not in word)
        elif not line.startswith(" "):
            verb = verb if line.strip() else ""
    return found
