"""The pleasant half: an agent's working day in the sample project, one tool call after the other.

Read, search, see the test fail, be stopped by the repository's own hook, mend, test, commit, push.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from examples.remote import CommitFacts, Remote
from examples.session import Answer, DemoFailed, Session
from examples.stage import Stage

__all__ = ["BRANCH", "Mended", "check_remote", "mend"]

BRANCH = "agent/mend-order"
MESSAGE = "Order releases by version, not by spelling\n\n1.10.0 was older than 1.9.0."
SOURCE, NEW_TEST, CHANGE_LOG = "src/select.js", "tests/order.test.js", "CHANGELOG.md"

_BUG = ".sort((a, b) => (a.version < b.version ? 1 : -1))"
_MENDED = ".sort((a, b) => semver.rcompare(a.version, b.version))"
_TEST = """\
import assert from "node:assert/strict";
import { test } from "node:test";
import { newestFirst } from "../src/index.js";

test("a release candidate is older than its release", () => {
  const order = newestFirst([{ version: "1.0.0-rc.1" }, { version: "1.0.0" }, { version: "0.9.0" }]);
  assert.deepEqual(order.map((release) => release.version), ["1.0.0", "1.0.0-rc.1", "0.9.0"]);
});
"""
_LAST_NOTE = "- colours, where the terminal has them\n"
_NEW_NOTE = "\n## Unreleased\n\n### Fixed\n\n- 1.10.0 is newer than 1.9.0\n"


@dataclass(frozen=True, slots=True)
class Mended:
    """What the runner says that it did."""

    commit: str
    files: frozenset[str]


class _Desk:
    """Calls the runner, shows each answer, and insists on what the day needs."""

    def __init__(self, session: Session, stage: Stage) -> None:
        self._session = session
        self._stage = stage

    def call(self, title: str, tool: str, **arguments: Any) -> Answer:
        """The answer, which must be one."""
        answer = self._session.call(tool, **arguments)
        if not answer.ok:
            raise DemoFailed(f"{title}: {answer.code}: {answer.error.get('message')}")
        return answer

    def show(self, title: str, answer: Answer, detail: str) -> None:
        """The step is on the stage."""
        self._stage.step(title, detail, answer.milliseconds)

    def do(self, title: str, detail: str, tool: str, **arguments: Any) -> Answer:
        """Call and show at once."""
        answer = self.call(title, tool, **arguments)
        self.show(title, answer, detail)
        return answer


def mend(session: Session, stage: Stage) -> Mended:
    """The bug is mended, tested, committed and pushed on a branch of its own. Raises DemoFailed."""
    desk = _Desk(session, stage)
    _look_around(desk)
    _see_it_fail(desk)
    _be_stopped_by_the_hook(session, stage, desk)
    desk.do("edit the source", SOURCE, "workspace.edit", path=SOURCE, oldString=_BUG, newString=_MENDED)
    addition = {"oldString": _LAST_NOTE, "newString": _LAST_NOTE + _NEW_NOTE}
    desk.do("add to the change log", CHANGE_LOG, "workspace.edit", path=CHANGE_LOG, **addition)
    tests = desk.call("pnpm test", "workspace.run_command", argv=["pnpm", "test"])
    _require(tests.result["code"] == 0, f"the tests still fail: {tests.result['stdout'][-500:]}")
    desk.show("pnpm test", tests, f"exit 0: {_tally(tests)}")
    return _hand_in(desk)


def _look_around(desk: _Desk) -> None:
    listing = desk.call("list the clone", "workspace.list_dir")
    desk.show("list the clone", listing, " ".join(entry["name"] for entry in listing.result["entries"]))
    window = desk.call("read a window", "workspace.read_file", path=SOURCE, startLine=3, limit=4)
    desk.show("read a window", window, " ".join(window.result.splitlines()[2].split()))
    found = desk.call("search", "workspace.search", pattern="newestFirst", globs=["src/**"])
    desk.show("search", found, f"{len(found.result['matches'])} lines: {found.result['matches'][0]['path']}, …")


def _see_it_fail(desk: _Desk) -> None:
    tests = desk.call("pnpm test", "workspace.run_command", argv=["pnpm", "test"])
    _require(tests.result["code"] == 1, "the sample's bug is not there")
    desk.show("pnpm test", tests, f"exit 1: {_tally(tests)}")


def _be_stopped_by_the_hook(session: Session, stage: Stage, desk: _Desk) -> None:
    desk.do("switch to a branch", BRANCH, "git", args=["switch", "--quiet", "-c", BRANCH])
    desk.do("write a test", NEW_TEST, "workspace.write_file", path=NEW_TEST, content=_TEST)
    early = session.call("workspace.git_commit", message="Too early")
    _require(early.code == "git_commit_failed", f"the pre-commit hook did not run: {early.output[:300]}")
    stage.step("commit too early", "git_commit_failed: the repository's own hook ran the tests", early.milliseconds)


def _hand_in(desk: _Desk) -> Mended:
    made = desk.call("commit", "workspace.git_commit", message=MESSAGE)
    commit, files = made.result["commit"], made.result["files"]
    desk.show("commit", made, f"{commit[:12]} {', '.join(files)}; the hook passed")
    pushed = desk.call("push", "workspace.git_push")
    _require(pushed.result == {"branch": BRANCH, "commit": commit, "pushed": True}, f"push: {pushed.output}")
    desk.show("push", pushed, f"{BRANCH} is on the remote")
    again = desk.call("push again", "workspace.git_push")
    _require(again.result["pushed"] is False, f"a second push pushed something: {again.output}")
    desk.show("push again", again, "nothing new, nothing changed")
    return Mended(commit, frozenset(files))


def check_remote(remote: Remote, before: dict[str, str], fixed_before: dict[str, bytes], mended: Mended) -> None:
    """The remote has exactly that commit on exactly that new branch, and is otherwise as it was. Raises DemoFailed."""
    expected_refs = {**before, f"refs/heads/{BRANCH}": mended.commit}
    _require(remote.refs() == expected_refs, f"refs: {remote.refs()}, expected {expected_refs}")
    _require(remote.fixed_files() == fixed_before, "HEAD, config or hooks of the remote changed")
    expected = CommitFacts(
        parents=(before["refs/heads/main"],),
        author="Demo Agent <agent@example.com>",
        files=frozenset({SOURCE, NEW_TEST, CHANGE_LOG}),
    )
    seen = remote.commit(mended.commit)
    _require(seen == expected and mended.files == expected.files, f"commit: {seen}, expected {expected}")


def _tally(tests: Answer) -> str:
    return ", ".join(re.findall(r"\b(?:pass|fail) \d+$", tests.result["stdout"], re.MULTILINE))


def _require(held: bool, message: str) -> None:
    if not held:
        raise DemoFailed(message)
