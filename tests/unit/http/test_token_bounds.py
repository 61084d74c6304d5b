"""What `runner token create` takes for repositories and policies: what a request can name, as it is compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.doors.http.token_bounds import policy_of, repository_of
from runner.model.errors import RunnerError
from runner.store.tokens import Token, Verb


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop").mkdir()
    (tmp_path / "to-shop").symlink_to("shop")
    (tmp_path / "policy.yml").write_text("setup: 'off'\n")
    (tmp_path / "broken.yml").write_text("nosuch: 1\n")
    return tmp_path.resolve()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("https://Git.Example/web/shop", "https://git.example/web/shop"),
        ("git@git.example:web/shop", "git@git.example:web/shop"),
        ("https://git.example/web/*", "https://git.example/web/*"),
        ("git@git.example:web/*", "git@git.example:web/*"),
        ("*", "*"),
        ("file:///srv/none.git", "file:///srv/none.git"),
        ("shop", "file://HERE/shop"),
        ("./to-shop", "file://HERE/shop"),
        ("./*", "file://HERE/*"),
        ("/srv/x*", "file:///srv/x*"),
        ("/*", "file:///*"),
    ],
)
def test_a_repository_is_kept_as_a_runs_address_is_written(text: str, kept: str, here: Path) -> None:
    assert repository_of(text) == kept.replace("HERE", str(here))


@pytest.mark.parametrize(
    "text", ["", " ", "nosuch", "shop*", "web/shop", "https://", "ftp://x/y", "gopher://x/*", "https://u:p@x/y", "-x"]
)
def test_what_no_address_can_be_is_refused_with_a_mend(text: str) -> None:
    with pytest.raises(RunnerError) as refused:
        repository_of(text)
    assert refused.value.hint


def test_a_policy_is_a_preset_that_there_is_or_a_file_that_takes_effect(here: Path) -> None:
    assert [policy_of(text) for text in ("default", "*", "policy.yml")] == ["default", "*", f"{here}/policy.yml"]
    for text in ("nopreset", "nosuch.yml", "broken.yml", "shop/../policy.yml", ""):
        with pytest.raises(RunnerError) as refused:
            policy_of(text)
        assert refused.value.hint


def test_a_token_for_a_file_by_its_whole_path_is_good_for_the_file_as_a_server_was_told_it(here: Path) -> None:
    kept = policy_of(str(here / "policy.yml"))
    assert Token("i", "a", frozenset({kept}), ("*",), frozenset(Verb), 0, 1, None, "").may_use_policy("policy.yml")
