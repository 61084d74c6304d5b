"""docs/GUARD_RAILS.md: every key, every code of the rules for commands and every control stands there."""

from __future__ import annotations

import re

from runner.controller.posture import Cage, prove
from runner.engine.contract import Mount, SandboxLimits
from runner.engine.fake import GOOD_GUEST, GOOD_HOST
from runner.policy.builtin_rules import BUILTIN_RULES
from runner.policy.document import Policy
from runner.policy.effective import BOTH, BOUNDARY, GUARD_RAIL, flat, kind_of
from tests.architecture.sources import ROOT

PAGE = (ROOT / "docs" / "GUARD_RAILS.md").read_text(encoding="utf-8")
LIMITS = SandboxLimits(60, 64, 1.0, 16, 64, 16, 100, 1)


def section(title: str) -> str:
    """The text below the heading, up to the next one."""
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(title: str) -> list[list[str]]:
    """The cells of the section's table, without its head."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def names(title: str) -> list[str]:
    """What the first cells name, in order."""
    return [name for row in rows(title) for name in re.findall(r"`([^`]+)`", row[0])]


def keys() -> set[str]:
    """The keys of the document model, with those of its sections; what an operator names himself is one key."""
    return {key for key in flat(Policy().model_dump(mode="json", by_alias=True))}


def test_every_policy_key_stands_on_the_page_once() -> None:
    assert sorted(names("Policy keys")) == sorted(keys())


def test_every_key_is_of_the_kind_that_the_tools_say() -> None:
    words = {BOTH: "both", BOUNDARY: "boundary", GUARD_RAIL: "guard rail", None: "-"}
    for row in rows("Policy keys"):
        key = row[0].strip("`")
        assert row[1].partition(";")[0] == words[kind_of(key)], key


def test_every_key_that_restrains_says_what_enforces_it_and_where() -> None:
    for row in rows("Policy keys"):
        assert len(row) == 4, row
        assert row[1] == "-" or re.search(r"`(?:runner|images)/|^as `", row[2]), row


def test_every_code_of_the_rules_for_command_lines_stands_on_the_page() -> None:
    codes = {str(rule.code) for rule in BUILTIN_RULES if rule.code is not None}
    assert set(names("Rules for command lines")) == codes


def test_every_posture_control_stands_on_the_page_once_in_the_order_of_the_report() -> None:
    proved = [check.control for check in prove(LIMITS, "runc", GOOD_HOST, GOOD_GUEST)]
    assert names("Controls of the container") == proved


def test_the_controls_of_the_gates_rooms_stand_on_the_page_too() -> None:
    cage = Cage("1:1", (Mount("/m"),))
    for check in prove(LIMITS, "runc", GOOD_HOST, GOOD_GUEST, cage):
        assert f"`{check.control}`" in section("Controls of the container"), check.control
