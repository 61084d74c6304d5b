from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.model.errors import RepositoryUnavailable
from runner.setup.workspace_yml import WorkspaceFile, parse_workspace_file, workspace_schema_text
from tests.architecture.sources import ROOT


def code_of(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    with pytest.raises(RepositoryUnavailable) as refused:
        parse_workspace_file(data)
    assert refused.value.hint
    assert "\n" not in refused.value.message
    return refused.value.code


@pytest.mark.parametrize("key", ["run", "setup"])
def test_commands_are_argv_lists(key: str) -> None:
    file = parse_workspace_file(f"{key}:\n  - [pnpm, install]\n  - [node, -e, 'console.log(1)']\n".encode())

    assert file.run == (("pnpm", "install"), ("node", "-e", "console.log(1)"))


def test_every_word_is_taken_as_it_is_written() -> None:
    file = parse_workspace_file(
        b"run: [[node, 010, 1e3, yes, null, ~, 2020-01-01, 1:30]]\nenv: {A: 1, B: true, C: ''}\n"
    )

    assert file.run == (("node", "010", "1e3", "yes", "null", "~", "2020-01-01", "1:30"),)
    assert dict(file.env) == {"A": "1", "B": "true", "C": ""}


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}\n"])
def test_an_empty_file_says_nothing(text: str) -> None:
    assert parse_workspace_file(text.encode()) == WorkspaceFile()


def test_an_empty_list_of_commands_is_a_word_of_its_own() -> None:
    assert (parse_workspace_file(b"run: []").run, parse_workspace_file(b"").run) == ((), None)


def test_versions_are_taken_as_they_are_written() -> None:
    tools = "tools: {node: 22.10, pnpm: '10', python: ~3.11, npm: '>=10 <12', mise: 2026.9.15}"
    assert dict(parse_workspace_file(tools.encode()).tools) == {
        "node": "22.10",
        "pnpm": "10",
        "python": "~3.11",
        "npm": ">=10 <12",
        "mise": "2026.9.15",
    }


@pytest.mark.parametrize("text", ["verify: [pnpm, test]", "verify: [[pnpm, test]]"])
def test_one_command_of_verification_may_stand_alone(text: str) -> None:
    assert parse_workspace_file(text.encode()).verify == (("pnpm", "test"),)


@pytest.mark.parametrize(
    ("text", "caches"), [("false", ()), ("[]", ()), ("[npm]", ("npm",)), ("[pnpm, npm]", ("pnpm", "npm"))]
)
def test_caches_are_named_or_refused(text: str, caches: tuple[str, ...]) -> None:
    assert parse_workspace_file(f"cache: {text}".encode()).cache == caches


@pytest.mark.parametrize(
    "text",
    [
        "setup: [\"sh -c 'touch /tmp/pwn'\"]",
        "run: [pnpm install]",
        "run: pnpm install",
        "run: [[pnpm, install], pnpm test]",
        "run: [pnpm, install]",
        "verify: pnpm test",
        "verify: [pnpm test]",
        "verify: [[pnpm, test], pnpm lint]",
    ],
)
def test_a_command_in_one_string_is_refused_by_the_codes_own_name(text: str) -> None:
    assert code_of(text) == "bin_not_allowlisted"


@pytest.mark.parametrize(
    "text",
    [
        "unknown: 1",
        "tools: [node]",
        "tools: {node: [22]}",
        "tools: {node: ''}",
        "tools: {NODE: 22}",
        "tools: {../x: 22}",
        'tools: {node: "22\\n23"}',
        "tools: {" + ", ".join(f"t{n}: 1" for n in range(33)) + "}",
        "tools: {node: " + "1" * 65 + "}",
        "cache: [node_modules]",
        "cache: true",
        "cache: pnpm",
        "cache: [pnpm, npm, npm]",
        "cache:",
        "verify: [['']]",
        "verify: {a: b}",
        "verify: [[a], [[b]]]",
        "run: [[a]]\nsetup: [[a]]",
        "run: [[a]]\nrun: [[b]]",
        "env: {A: x, A: y}",
        "[run]",
        "run",
        "run: {a: b}",
        "run: [{a: b}]",
        "run: [[]]",
        "run: [['']]",
        'run: [["a\\0b"]]',
        "run: [[a, [b]]]",
        "run:",
        "env: [A]",
        "env: {A: [b]}",
        "env: {A: {b: c}}",
        "? [a]\n: b",
        "<<: {run: [[a]]}",
        "run: [[a]]\n---\nrun: [[b]]",
        "run: [[a]",
        "\trun: [[a]]",
        "run: [[" + "a, " * 201 + "a]]",
        "run: [" + "[a], " * 51 + "[a]]",
        "env: {" + ", ".join(f"V{n}: x" for n in range(65)) + "}",
    ],
)
def test_what_cannot_be_acted_on_is_refused(text: str) -> None:
    assert code_of(text) == "workspace_file_invalid"


def _laughs() -> str:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for name, former in zip("bcdefgh", "abcdefg", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{former}'] * 9)}]")
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        _laughs(),
        "run: &x [[a]]",
        "run: [*x]",
        "run: !!python/object/apply:os.system [touch /tmp/pwn]",
        "run: [[!!python/name:os.system a]]",
        "run: !custom [[a]]",
        "run: [[!!str a]]",
        "[" * 60_000,
        "{a: " * 15_000,
        "- " * 30_000,
        "? " * 30_000,
        "run: [[" + "a," * 30_000,
        "env: {A: " + "1:" * 30_000 + "1}",
        "run: [[" + "9" * 60_000 + "]]",
        "x" * 65_537,
    ],
    ids=lambda text: text[:24],
)
@pytest.mark.timeout(5)
def test_a_file_made_to_exhaust_or_execute_is_refused_quickly(text: str) -> None:
    assert code_of(text) == "workspace_file_invalid"


@pytest.mark.parametrize("data", [b"\xff\xfe", b"run: [[\xe9]]", b"run: [[a\x00]]", b"\x1b[31m", b"%YAML 9.9\n--- {}"])
def test_what_is_not_text_is_refused(data: bytes) -> None:
    assert code_of(data) == "workspace_file_invalid"


def test_a_variable_that_steers_programs_is_refused() -> None:
    assert code_of("env: {NODE_OPTIONS: --require ./x.js}") == "workspace_file_invalid"
    assert dict(parse_workspace_file(b"env: {APP_MODE: test}").env) == {"APP_MODE": "test"}


@given(st.one_of(st.binary(max_size=200), st.text(alphabet="runsetpv:[]{}-&*!?|>'\"#,% \n\ta1", max_size=80)))
def test_garbage_is_understood_or_refused_and_nothing_else(content: bytes | str) -> None:
    with contextlib.suppress(RepositoryUnavailable):
        parse_workspace_file(content if isinstance(content, bytes) else content.encode())


def test_the_checked_in_schema_is_fresh() -> None:
    stored = (ROOT / "docs" / "workspace.schema.json").read_text(encoding="utf-8")
    assert stored == workspace_schema_text(), "write runner.setup.workspace_yml.workspace_schema_text() to it"


def test_the_schema_has_each_key_that_is_read() -> None:
    assert set(json.loads(workspace_schema_text())["properties"]) == {*WorkspaceFile.model_fields, "setup"}
