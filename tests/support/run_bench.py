"""A host in memory for whole runs: a fake engine with scripted programs, a real repository and state folder on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runner.audit.chain import verify_chain
from runner.audit.forms import check_line
from runner.audit.keys import PublicKey
from runner.audit.record_forms import ReceiptFile, ReportFile
from runner.audit.seal import file_digests
from runner.audit.verify import Verdict, Word, verify_record
from runner.controller.confinement import NOTHING_REQUIRED, Required
from runner.controller.host import GateMode, Host
from runner.controller.records import StateFolder
from runner.controller.run import open_run
from runner.controller.spec import RunRequest
from runner.engine.fake import FakeCall, FakeEngine, FakeOutcome, FakeSandbox
from runner.policy.load import LoadedPolicy, policy_digest
from runner.tools.registry import TOOLS
from tests.support.clocks import ManualClock
from tests.support.fake_run import FILES
from tests.support.policies import P0, policy
from tests.support.repos import Commit, bare_repository

__all__ = ["CHANGES", "Bench", "fill", "git"]

CHANGES = b":000000 100644 %s %s A\tsrc/n.txt\n\ndiff --git\n" % (b"0" * 40, b"c" * 40)
"""What the program that makes `changes.patch` says: one new file, and its patch."""


def git(call: FakeCall) -> FakeOutcome:
    """As much of git as a run asks for that neither commits nor pushes."""
    return FakeOutcome(exit=1) if "config" in call.argv else FakeOutcome()


def fill(sandbox: FakeSandbox) -> None:
    """The clone, which scripted programs do not make."""
    for path, data in FILES.items():
        sandbox.tree.put_file(path, data)


class Bench:
    """A host in memory, a repository on disk, and what a run left of itself."""

    def __init__(self, folder: Path, engine: FakeEngine | None = None, required: Required = NOTHING_REQUIRED) -> None:
        programs: dict[str, Callable[[FakeCall], FakeOutcome]] = {
            "git": git,
            "sh": lambda _call: FakeOutcome(stdout=CHANGES),
        }
        programs |= {name: lambda _call: FakeOutcome() for name in ("tar", "rm", "node", "tee", "python3", "cp")}
        self.engine = engine or FakeEngine()
        self.engine.programs, self.engine.prepare = programs, fill
        self.clock = ManualClock()
        self.state = StateFolder(folder / "state")
        self.repository = bare_repository(
            folder / "r.git", [Commit({path: data for path, data in FILES.items() if ".git/" not in path})]
        )
        self.out = folder / "out"
        self.out.mkdir()
        self.said: list[str] = []
        self.host = Host(
            engine=self.engine,
            state=self.state,
            image="fake:latest",
            gate=GateMode.HOST,
            gate_image="fake-gate:latest",
            ssh_known_hosts=None,
            ca_file=None,
            npm_registry=None,
            secrets={},
            monotonic=self.clock,
            unix=self.clock,
            required=required,
        )

    def open(self, tools: frozenset[str] | None = None, repository: str | None = None, **keys: object) -> Any:
        made = policy(**{**P0, "setup": "off", **keys})
        loaded = LoadedPolicy(made, "p0.yml", policy_digest(made))
        declared = frozenset(TOOLS) if tools is None else tools
        request = RunRequest(repository or str(self.repository), None, loaded, declared, self.out)
        return open_run(self.host, request, self.said.append)

    def report(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.out / "report.json").read_text())
        return loaded

    def events(self) -> list[dict[str, Any]]:
        lines = (self.out / "audit.jsonl").read_bytes().splitlines(keepends=True)
        assert verify_chain(lines) == self.report()["audit"]["lines"]
        events = [json.loads(line) for line in lines]
        for event in events:
            check_line(event)
        return events

    def proved_gone(self) -> None:
        """Nothing is left in the engine, the record is released, and the report says so."""
        assert self.engine.objects() == []
        assert [box.removed for box in self.engine.sandboxes.values()] == [True] * len(self.engine.sandboxes)
        (folder,) = (self.state.path / "runs").iterdir()
        assert not self.state.alive(folder.name)
        assert self.report()["teardown"] == {"verified": True, "leftovers": []}
        assert self.verdict().word is Word.VERIFIED
        ReportFile.model_validate(self.report())
        ReceiptFile.model_validate_json((self.out / "receipt.json").read_bytes())
        self.events()

    def verdict(self) -> Verdict:
        """What somebody says of `--out` who has the controller's public key and nothing else."""
        with (self.out / "audit.jsonl").open("rb") as lines:
            receipt = self.out / "receipt.json"
            sealed = receipt.read_bytes() if receipt.exists() else None
            key = PublicKey.in_file(self.state.path / "audit-key.pub")
            return verify_record(lines, sealed, key, file_digests(self.out))

    def statement(self) -> dict[str, Any]:
        """What the receipt says."""
        loaded: dict[str, Any] = json.loads((self.out / "receipt.json").read_text())["statement"]
        return loaded
