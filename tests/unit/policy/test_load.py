from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

import pytest

from runner.model.errors import ExitCode, PolicyInvalid
from runner.policy.bounded_yaml import MAX_BYTES
from runner.policy.load import load_policy, parse_policy


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


@pytest.mark.parametrize("runtime", ["runc", "runsc", "kata", "io.containerd.kata.v2"])
def test_any_runtime_may_be_named_since_the_engine_says_what_there_is(runtime: str) -> None:
    assert parse_policy(f"runtime: {runtime}\n".encode(), source="p").policy.runtime == runtime


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


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("limits: {pids: false}", "is false; expected integer"),
        ("limits: {pids: true}", "is true; expected integer"),
        ("writeAllow: 7", "is 7; expected a list"),
        ("limits: [1, 2]", "is a list of 2; expected a mapping of keys"),
        ("limits: {pids: x}", "is text; expected integer"),
        ("limits: {pids: null}", "is null; expected integer"),
    ],
)
def test_a_fault_says_what_is_there_and_what_is_expected(text: str, end: str) -> None:
    with pytest.raises(PolicyInvalid) as refused:
        parse_policy(text.encode(), source="p.yml")
    assert end in refused.value.message


def test_further_faults_are_counted() -> None:
    def told(text: str) -> str:
        with pytest.raises(PolicyInvalid) as refused:
            parse_policy(text.encode(), source="p.yml")
        return refused.value.message

    assert "more)" not in told("nope: 1")
    assert told("nope: 1\nnothing: 2").endswith(" (and 1 more)")
    assert told("nope: 1\nnothing: 2\nnever: 3").endswith(" (and 2 more)")
    assert "\\x1b" in told('"a\\e": 1')


def test_a_digest_is_of_the_canonical_json_with_all_keys() -> None:
    loaded = parse_policy('env: {A: "é"}\nlimits: {cpus: 3}'.encode(), source="p")
    whole = loaded.policy.model_dump(mode="json", by_alias=True)
    assert whole["limits"]["runSeconds"] == 1800
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"))
    assert text.isascii() and ", " not in text
    assert loaded.digest == hashlib.sha256(text.encode("ascii")).hexdigest()


@pytest.mark.parametrize("name", ["p.yml", "p.yaml", "p.json"])
def test_a_bare_word_with_the_ending_of_a_file_is_a_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("version: 1")
    assert load_policy(name).source == name


def test_a_slash_and_a_path_make_a_file_of_any_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("default").write_text("writeAllow: [mine]")
    assert load_policy("./default").policy.write_allow == ("mine",)
    assert load_policy(Path("default")).policy.write_allow == ("mine",)
    assert load_policy("default").policy.write_allow != ("mine",)


def test_a_word_that_is_no_preset_is_told_the_nearest_or_all_of_them() -> None:
    def hint(name: str) -> str:
        with pytest.raises(PolicyInvalid) as refused:
            load_policy(name)
        return refused.value.hint or ""

    assert hint("strit").startswith("did you mean strict?")
    assert "default, " in hint("qqqq") and "strict" in hint("qqqq")


@pytest.mark.parametrize("text", ["a: *x", "[]", "nope: 1", "runtime: a b"])
def test_every_refusal_of_a_document_says_that_nothing_was_started(text: str) -> None:
    with pytest.raises(PolicyInvalid) as refused:
        parse_policy(text.encode(), source="p.yml")
    assert "nothing was started" in (refused.value.hint or "")


def test_what_cannot_be_read_is_told_with_a_mend(tmp_path: Path) -> None:
    for path in (tmp_path / "gone.yml", Path("a\0b.yml")):
        with pytest.raises(PolicyInvalid) as refused:
            load_policy(path)
        assert refused.value.hint


def test_a_file_is_read_to_its_bound_and_one_byte_further(tmp_path: Path) -> None:
    file = tmp_path / "p.yml"
    file.write_bytes(b"version: 1\n" + b"#" * (MAX_BYTES - 11))
    assert load_policy(file).policy.version == 1
    file.write_bytes(b"version: 1\n" + b"#" * (MAX_BYTES - 10))
    with pytest.raises(PolicyInvalid):
        load_policy(file)
