"""`python -m scripts.fuzz [--rounds N] [--seed SEED] [-- PYTEST…]`: the property tests on inputs that they never met.

`make test` gives them the same inputs each time, so that a change is judged alone. Here each round draws a seed, says
it before it begins, and gives every property test inputs of its own, ten times as many where the test sets no number.
The first round that fails ends it, with the command that plays it again. Nothing is kept for `make test` to meet.
"""

from __future__ import annotations

import argparse
import secrets
import subprocess
import sys
from collections.abc import Callable, Sequence

__all__ = ["main", "pytest_command"]

_SEEDS = 2**32
_TESTS = ("tests/property", "tests/unit")


def pytest_command(seed: int, more: Sequence[str] = ()) -> list[str]:
    """What a round runs: the tests that draw their inputs, and no others."""
    drawn = ("-m", "hypothesis", "--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}")
    return [sys.executable, "-m", "pytest", *_TESTS, *drawn, *more]


def main(arguments: Sequence[str], call: Callable[[list[str]], int] = subprocess.call) -> int:
    """The exit code: pytest's of the first round that failed, or 0."""
    parser = argparse.ArgumentParser(prog="scripts.fuzz")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, help="play this one round again")
    parser.add_argument("pytest", nargs="*", help="further words for pytest")
    told = parser.parse_args(arguments)
    seeds = [told.seed] if told.seed is not None else [secrets.randbelow(_SEEDS) for _ in range(told.rounds)]
    for seed in seeds:
        sys.stderr.write(f"· seed {seed}\n")
        failed = call(pytest_command(seed, told.pytest))
        if failed:
            sys.stderr.write(f"· failed; once more with: make fuzz SEED={seed}\n")
            return failed
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
