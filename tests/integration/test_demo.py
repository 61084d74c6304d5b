"""The whole demo with real parts, as `make demo` runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from examples.remote import Remote
from examples.work import BRANCH
from runner.audit.forms import check_line
from runner.audit.keys import PUBLIC_KEY, PublicKey
from runner.audit.record_forms import ReceiptFile, ReportFile
from runner.audit.seal import file_digests
from runner.audit.verify import Word, verify_record
from runner.engine.docker_engine import DockerEngine

ROOT = Path(__file__).resolve().parents[2]
DEMO_SECONDS = 240  # twice what the demo promises, for a busy machine


@pytest.mark.docker
@pytest.mark.slow
def test_the_demo_holds_and_leaves_nothing_but_one_branch_on_each_remote(
    docker_engine: DockerEngine, tmp_path: Path
) -> None:
    folder = tmp_path / "demo"
    finished = subprocess.run(
        [sys.executable, "-m", "examples.demo", "--keep", str(folder)],
        cwd=ROOT,
        capture_output=True,
        check=False,
        timeout=DEMO_SECONDS,
    )
    assert finished.returncode == 0, (finished.stdout + finished.stderr).decode(errors="replace")
    sample, twin = Remote(folder / "sample.git"), Remote(folder / "twin.git")
    assert set(sample.refs()) == {"refs/heads/main", f"refs/heads/{BRANCH}"}
    assert sample.commit(BRANCH).parents == (sample.refs()["refs/heads/main"],)
    assert set(twin.refs()) == {"refs/heads/main", "refs/heads/agent/fine"}
    assert set(Remote(folder / "set-up.git").refs()) == {"refs/heads/main"}
    report = json.loads((folder / "sample-out" / "report.json").read_text(encoding="utf-8"))
    assert (report["status"], report["exit_code"]) == ("completed", 0)
    runs = {run.name for run in (folder / "state" / "runs").iterdir()}
    assert len(runs) == 4
    assert not [found for found in docker_engine.objects() if found.run_id in runs]
    for run in runs:
        require_whole_record(folder / "state" / "runs" / run, PublicKey.in_file(folder / "state" / PUBLIC_KEY))


def require_whole_record(folder: Path, key: PublicKey) -> None:
    """The record verifies, and every file of it has its published form."""
    lines = (folder / "audit.jsonl").read_bytes().splitlines(keepends=True)
    receipt = (folder / "receipt.json").read_bytes()
    assert verify_record(lines, receipt, key, file_digests(folder)).word is Word.VERIFIED
    for line in lines:
        check_line(json.loads(line))
    ReceiptFile.model_validate_json(receipt)
    ReportFile.model_validate_json((folder / "report.json").read_bytes())
