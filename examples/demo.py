"""`python -m examples.demo`: the runner on a pleasant repository and on its hostile twin, with real parts.

It exits with 0 only when every step worked and every attempt was refused or contained. Nothing is left on the host,
unless `--keep FOLDER` asks for the repositories and the records.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from examples.attempts import Attempt, Ground, attempts
from examples.endings import endings
from examples.host_watch import HostWatch, host_addresses
from examples.hostile import spoil, spoil_set_up
from examples.records import check_receipt, check_records, leftovers
from examples.remote import Remote, copy_sample, make_remote
from examples.session import DemoFailed, Session
from examples.stage import Row, Stage
from examples.verdict import Scene, escaped, judge
from examples.work import check_remote, mend
from runner.policy.load import load_policy

__all__ = ["main"]

POLICY = Path(__file__).resolve().parent / "policy.yml"


@dataclass(frozen=True, slots=True)
class Place:
    """Where this demo happens: a folder of its own, the environment of its runners, and the secret planted there."""

    folder: Path
    environment: dict[str, str]
    canary: str
    stage: Stage

    @property
    def state(self) -> Path:
        """The runners' state folder."""
        return self.folder / "state"

    @property
    def trap(self) -> Path:
        """The file that the twin's payloads would write, did they run on the host."""
        return self.folder / "sprung-on-the-host"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 when everything held, 1 when something did not."""
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description=__doc__)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="work in this new folder, and leave it there")
    kept: Path | None = parser.parse_args(arguments).keep
    started = time.monotonic()
    if kept is None:
        with tempfile.TemporaryDirectory(prefix="runner-demo-") as folder:
            failures = _show(Path(folder).resolve())
    else:
        try:
            kept.mkdir(parents=True)
        except OSError as error:
            parser.error(f"--keep {kept}: {error.strerror}")
        failures = _show(kept.resolve())
    seconds = time.monotonic() - started
    verdict = "everything held" if not failures else f"NOT HELD: {'; '.join(failures)}"
    Stage().closing([f"{verdict}, in {seconds:.0f} s"], good=not failures)
    return 1 if failures else 0


def _show(folder: Path) -> list[str]:
    """Names of what did not hold."""
    canary = f"canary-{secrets.token_hex(12)}"
    environment = {**os.environ, "RUNNER_STATE_DIR": str(folder / "state"), "RUNNER_DEMO_SECRET": canary}
    place = Place(folder, environment, canary, Stage())
    failures: list[str] = []
    try:
        _pleasant(place)
        failures = [name for name, verdict in _hostile(place) if not verdict.held]
        place.stage.chapter("What is left")
        left = leftovers(place.state, environment)
        place.stage.step("leftovers", ", ".join(left) or "none")
        failures += [f"left over: {name}" for name in left]
    except DemoFailed as failed:
        place.stage.failure(str(failed))
        failures.append(str(failed))
    return failures


def _pleasant(place: Place) -> None:
    place.stage.chapter("A bug in a small package is mended")
    remote = make_remote(place.folder / "sample.git", copy_sample)
    refs, fixed = remote.refs(), remote.fixed_files()
    out = place.folder / "sample-out"
    with _session(place, remote, out) as session:
        mended = mend(session, place.stage)
    _require_exit(session)
    check_remote(remote, refs, fixed, mended)
    place.stage.step("the remote, seen from outside", f"one new branch at {mended.commit[:12]}; main as it was")
    place.stage.step("report, audit log, patch", check_records(out, place.canary))
    place.stage.step("receipt", check_receipt(out, place.environment))


def _hostile(place: Place) -> list[Row]:
    place.stage.chapter("Its hostile twin tries what it can (this takes a moment)")
    twin = make_remote(place.folder / "twin.git", lambda draft: spoil(draft, place.trap))
    set_up = make_remote(place.folder / "set-up.git", spoil_set_up)
    fixed = twin.fixed_files()
    out = place.folder / "twin-out"
    with HostWatch() as watch:
        ground = Ground(load_policy(str(POLICY)).policy, str(twin.path), host_addresses(), watch.port)
        with _session(place, twin, out) as session:
            rows = [_try(place, twin, watch, session, attempt) for attempt in attempts(ground)]
        _require_exit(session)
        rows += endings(set_up, twin, POLICY, place.folder, place.environment)
    if twin.fixed_files() != fixed or place.trap.exists():
        rows.append(("change the remote or the host", escaped("HEAD, config, hooks or the trap changed")))
    place.stage.verdicts(rows)
    place.stage.step("report, audit log, patch", check_records(out, place.canary))
    place.stage.step("receipt", check_receipt(out, place.environment))
    return rows


def _try(place: Place, twin: Remote, watch: HostWatch, session: Session, attempt: Attempt) -> Row:
    place.stage.trying(attempt.name)
    for call in attempt.before:
        answer = session.send(call)
        if not answer.ok or answer.result.get("code", answer.result.get("exit", 0)) != 0:
            return attempt.name, escaped(f"could not be tried: {answer.output[:300]}")
    before = twin.refs()
    answers = [session.send(call) for call in attempt.calls]
    after = twin.refs()
    scene = Scene(
        answers=answers,
        canary=place.canary,
        moved_refs=frozenset(name for name in {*before, *after} if before.get(name) != after.get(name)),
        allowed_refs=attempt.may_move,
        host_contacts=watch.contacts,
        host_trap_sprung=place.trap.exists(),
    )
    return attempt.name, judge(scene, attempt.judge)


def _session(place: Place, remote: Remote, out: Path) -> Session:
    return Session(("--repo", remote.address, "--policy", str(POLICY), "--out", str(out)), place.environment)


def _require_exit(session: Session) -> None:
    if session.exit_code != 0:
        raise DemoFailed(f"the runner ended with {session.exit_code}: its own words are above")


if __name__ == "__main__":
    sys.exit(main())
