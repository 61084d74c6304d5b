from __future__ import annotations

from pathlib import Path

import pytest

from runner.policy.load import load_policy
from runner.policy.presets import DEFAULT_PRESET, preset_names, preset_path
from runner.policy.writes import PathFacts, WriteIntent, WriteOp, WriteRules, decide_write

NAMES = preset_names()


def test_the_presets_that_are_promised_ship() -> None:
    assert set(NAMES) == {"default", "read-only", "node-app", "docs-only", "tests-append-only", "strict"}
    assert DEFAULT_PRESET in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_preset_loads_and_says_whom_it_is_for(name: str) -> None:
    loaded = load_policy(name)
    assert Path(loaded.source).read_text(encoding="utf-8").startswith("# For whom: ")


@pytest.mark.parametrize("name", NAMES)
def test_no_preset_has_a_network_while_the_run_goes_on(name: str) -> None:
    policy = load_policy(name).policy
    assert policy.network.run.allow == ()
    assert policy.network.setup.allow == (("npm",) if name == "node-app" else ())


@pytest.mark.parametrize("name", ["../policies/default", "schema", "Default", "", "default.yml", "./default"])
def test_a_name_that_is_no_preset_has_no_file(name: str) -> None:
    assert preset_path(name) is None


WRITABLE = {
    "default": (
        ["src/a.ts", "README.md", "package.json", "docs/x"],
        ["pnpm-lock.yaml", ".github/w.yml", ".env", ".npmrc"],
    ),
    "read-only": ([], ["README.md", "src/a.ts"]),
    "node-app": (["src/a.ts", "package.json", "CHANGELOG.md"], ["README.md", "docs/old.md", "src/.env.local"]),
    "strict": (["src/a.ts", "tests/x.ts"], ["package.json", "mise.toml", "README.md", "src/.env"]),
    "docs-only": (["README.md", "docs/x.png"], ["src/a.ts", "a.md/x.js", ".github/README.md", "requirements.txt"]),
    "tests-append-only": (["src/a.ts", "tests/a.test.ts"], ["README.md", "package.json"]),
}


@pytest.mark.parametrize("name", NAMES)
def test_every_preset_lets_its_work_be_done_and_refuses_a_near_miss(name: str) -> None:
    rules = WriteRules.compile(load_policy(name).policy)
    allowed, refused = WRITABLE[name]
    for path in [*allowed, *refused]:
        facts = PathFacts(path, via_link=False, existed_at_start=True)
        decision = decide_write(rules, WriteIntent(WriteOp.WRITE, path), facts)
        assert decision.allowed == (path in allowed), path


def test_existing_tests_cannot_be_deleted_under_tests_append_only() -> None:
    rules = WriteRules.compile(load_policy("tests-append-only").policy)
    facts = PathFacts("src/a.test.ts", via_link=False, existed_at_start=True)
    assert decide_write(rules, WriteIntent(WriteOp.DELETE, "src/a.test.ts"), facts).rule == "append.delete"


@pytest.mark.parametrize("name", NAMES)
def test_every_deny_of_a_preset_refuses_something(name: str) -> None:
    rules = WriteRules.compile(load_policy(name).policy)
    for pattern in rules.deny.patterns:
        path = pattern.removeprefix("**/").removesuffix("/").replace("**", "x").replace("*", "x")
        decision = decide_write(
            rules, WriteIntent(WriteOp.WRITE, path), PathFacts(path, via_link=False, existed_at_start=False)
        )
        assert decision.rule == "write.deny.pattern", path
