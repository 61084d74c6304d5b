"""A process that keeps warm runs for a repository under a policy, says so, and waits: `REPOSITORY POLICY`."""

from __future__ import annotations

import signal
import sys

from runner.app import compose
from runner.controller.run import keep_ready
from runner.controller.spec import RunRequest
from runner.policy.load import load_policy
from runner.settings import Settings

__all__ = ["main"]


def main(repository: str, policy: str) -> None:
    """Says `full` once all are up; ends, and takes them down, at the end of its input or a signal."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    loaded = load_policy(policy)
    request = RunRequest(repository, None, loaded, frozenset({"git"}), None)
    with compose(Settings.from_environment(), pool=True) as host:
        assert host.pool is not None
        keep_ready(host, request)
        assert host.pool.round(), host.pool.trouble
        sys.stdout.write("full\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
