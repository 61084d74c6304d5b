from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from runner.model.errors import ExitCode, PolicyInvalid
from runner.policy.load import NOT_YET_ENFORCED, load_policy, parse_policy


def fault(text: str) -> str:
    with pytest.raises(PolicyInvalid) as caught:
        parse_policy(text.encode(), source="p.yml")
    assert caught.value.exit_code is ExitCode.USAGE
    assert "\n" not in caught.value.message
    return caught.value.message


@pytest.mark.parametrize(
    ("text", "start"),
    [
        (
            "version: 1\nwriteAlow: []\n",
            "p.yml:2: field `writeAlow`: is no key of a policy; did you mean `writeAllow`?",
        ),
        ("limits:\n  pids: 1\n  runSecond: 1\n", "p.yml:2: field `limits.pids`"),
        (
            "limits:\n  runsecond: 1\n",
            "p.yml:2: field `limits.runsecond`: is no key of a policy; did you mean `runSeconds`?",
        ),
        ("budget: {zzz: 1}\n", "p.yml:1: field `budget.zzz`: is no key of a policy; expected one of distinct, rereads"),
        ("limits:\n\n  pids: '5'\n", "p.yml:3: field `limits.pids`: is text; expected integer"),
        ("limits: {pids: true}\n", "p.yml:1: field `limits.pids`: is true; expected integer"),
        ("writeAllow: src/**\n", "p.yml:1: field `writeAllow`: is text; expected a list"),
        ("writeDeny:\n  - a\n  - /b\n", "p.yml:3: field `writeDeny[1]`: is absolute"),
        ("writeAllow: {a: 1}\n", "p.yml:1: field `writeAllow`: is a mapping; expected a list"),
        ("commit: [a]\n", "p.yml:1: field `commit`: is a list of 1; expected a mapping of keys"),
        ("limits: 5\n", "p.yml:1: field `limits`: is 5; expected a mapping of keys"),
        ("env:\n  A: x\n  PATH: y\n", "p.yml:3: field `env.PATH`: may not be set by a policy"),
        ("setup: pnpm install\n", "p.yml:1: field `setup`: is no set-up"),
        (
            "bindings:\n  - git: {host: a.b}\n    credential: tok\n",
            "p.yml:3: field `bindings[0].credential`: holds a secret",
        ),
        ("bindings:\n  - git: {hst: a.b}\n", "p.yml:2: field `bindings[0].git.host`: is missing"),
        ("bindings: [{git: {host: a.b}}, {git: {host: a.b}}]\n", "p.yml:1: binds one host twice"),
        ("a: &x 1\n", "p.yml:1: the file uses an anchor"),
        ("version: 1\nversion: 1\n", "p.yml:2: the file has the key"),
        ("- a\n", "p.yml:1: the file is no mapping"),
        ("", "p.yml:1: the file is empty"),
        ("version: 1\n a: :\n", "p.yml:2: the file is not YAML"),
    ],
)
def test_a_fault_names_file_line_field_and_what_was_expected(text: str, start: str) -> None:
    assert fault(text).startswith(start)


def test_the_first_fault_is_told_and_the_others_are_counted() -> None:
    assert fault("bins: [bash]\nruntime: 1\ncommandWrites: x\n").endswith("(and 2 more)")


def test_a_secret_in_the_wrong_place_is_not_repeated() -> None:
    assert "tok-FAKE" not in fault("bindings:\n  - git: {host: a.b}\n    credential: {token: tok-FAKE}\n")
    assert "tok-FAKE" not in fault("bindings: tok-FAKE\n")


NOT_ENFORCED = {
    "runtime": "runtime: runsc",
}


@pytest.mark.parametrize("key", NOT_ENFORCED)
def test_a_key_that_nothing_enforces_is_refused_and_not_ignored(key: str) -> None:
    assert fault(f"version: 1\n{NOT_ENFORCED[key]}\n").startswith(f"p.yml:2: field `{key}`")


def test_every_key_that_is_not_enforced_has_a_case_and_a_sentence() -> None:
    assert {".".join(entry.key) for entry in NOT_YET_ENFORCED} == set(NOT_ENFORCED)
    assert all(entry.reason for entry in NOT_YET_ENFORCED)


def test_the_value_that_is_enforced_may_be_written_out() -> None:
    parse_policy(b"argv: {preset: default, rules: []}\ncommandWrites: report\nruntime: runc\n", source="p")


def test_off_is_a_word_and_not_a_boolean() -> None:
    assert parse_policy(b"setup: off\n", source="p").policy.setup == "off"


def test_equal_policies_have_equal_digests() -> None:
    first = parse_policy(b"version: 1\nbins: [git]\nwriteAllow: [a]\n", source="x")
    second = parse_policy(b"# other words\nwriteAllow: ['a']\nbins:\n  - git\n", source="y")
    assert first.digest == second.digest
    assert first.digest != parse_policy(b"writeAllow: [a]\n", source="x").digest
    assert len(first.digest) == 64


def test_a_file_is_loaded_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "own.yml"
    path.write_text("writeAllow: [src/**]\n")
    assert load_policy(path).policy.write_allow == ("src/**",)
    assert load_policy(str(path)).source == str(path)


def test_a_preset_is_loaded_by_its_name() -> None:
    assert load_policy("default").source.endswith("policies/default.yml")


@pytest.mark.parametrize(
    "name", ["defualt", "nope", "", "..", "default.yaml", "a\0b", "a/b\0c", "schema", f"{'x' * 300}.yml"]
)
def test_what_is_neither_preset_nor_file_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyInvalid):
        load_policy(name)
    with pytest.raises(PolicyInvalid):
        load_policy(tmp_path / "none.yml")


def test_a_misspelt_preset_names_the_nearest() -> None:
    with pytest.raises(PolicyInvalid) as caught:
        load_policy("defualt")
    assert "default" in caught.value.hint


def test_a_folder_and_a_fifo_are_no_policy(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yml")
    for path in (tmp_path, tmp_path / "pipe.yml"):
        with pytest.raises(PolicyInvalid):
            load_policy(path)


def test_a_policy_of_a_hundred_thousand_lines_is_refused_quickly(tmp_path: Path) -> None:
    path = tmp_path / "big.yml"
    path.write_text("writeAllow:\n" + "  - a\n" * 100_000)
    begin = time.process_time()
    with pytest.raises(PolicyInvalid):
        load_policy(path)
    assert time.process_time() - begin < 1
