"""The spec file: strict, bounded, and every refusal names the file and the field."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runner.controller.spec import RunRequest, SpecFile, read_spec
from runner.model.errors import UsageError
from runner.policy.load import load_policy


def spec(folder: Path, text: str | bytes) -> Path:
    path = folder / "spec.yml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_whole_spec_is_read(tmp_path: Path) -> None:
    text = "repo: /r\nref: main\ndepth: 3\npolicy: default\ntools: [workspace.read_file, git]\n"
    wanted = SpecFile(repo="/r", ref="main", depth=3, policy="default", tools=["workspace.read_file", "git"])
    assert read_spec(spec(tmp_path, text)) == wanted


def test_what_is_left_out_is_left_open_and_no_tools_are_no_tools(tmp_path: Path) -> None:
    assert read_spec(spec(tmp_path, "{}")) == SpecFile(repo=None, ref=None, policy=None, tools=None)
    assert read_spec(spec(tmp_path, "tools: []")).tools == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("rpeo: /r\n", "rpeo"),
        ("repo: 7\n", "repo"),
        ("depth: 0\n", "depth"),
        ("depth: 1000001\n", "depth"),
        ("depth: '3'\n", "depth"),
        ("depth: true\n", "depth"),
        ("tools: workspace.read_file\n", "tools"),
        ("tools: [workspace.reed_file]\n", "workspace.reed_file"),
        ("tools: [7]\n", "tools.0"),
        ("- repo\n", "mapping"),
        ("", "empty"),
        ("repo: [\n", "YAML"),
        ("repo: !!python/object/apply:os.system [id]\n", "tag"),
        (b"\xff\xfe\xff", "UTF-8"),
        ("[" * 1500, "nested"),
        ("#" + "x" * 2_000_000, "larger"),
        ("repo: /a\nrepo: /b\n", "twice"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nrepo: {<<: [*b, *b]}\n", "anchor"),
        ("repo: " + "9" * 5000, "digits"),
        ("tools: [" + "x" * 500_000 + "]", "tools"),
    ],
)
def test_a_spec_that_cannot_be_used_is_refused_by_name(tmp_path: Path, text: str | bytes, named: str) -> None:
    path = spec(tmp_path, text)
    with pytest.raises(UsageError) as refused:
        read_spec(path)
    assert str(path) in refused.value.message and named in refused.value.message
    assert "\n" not in refused.value.message and len(refused.value.message) < 500


@pytest.mark.parametrize("name", ["absent.yml", ".", "pipe", "a\0b", "x" * 300])
def test_a_spec_that_cannot_be_read_is_refused_and_never_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError):
        read_spec(tmp_path / name)


def test_a_task_that_declares_no_tool_needs_no_workspace() -> None:
    policy = load_policy("default")
    assert not RunRequest(None, None, policy, frozenset(), None).needs_workspace
    assert RunRequest(None, None, policy, frozenset({"workspace.read_file"}), None).needs_workspace
