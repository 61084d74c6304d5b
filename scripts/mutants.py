"""`python -m scripts.mutants [PATTERN…]`: mutate `runner/policy`, and list the mutants that no test notices.

mutmut does the work and keeps its verdicts in `mutants/`, so an interrupted run goes on where it stopped. Verdicts of a
function are dropped when the function changes; those of survivors when a test changes. The list of survivors goes to
`build/mutants.txt`, counts by module to standard error, one line with the sum to standard output.

Left out is one kind of mutant: the wording of sentences. Texts are for people and may change; what tests pin is the
code and the rule of a refusal.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path

import libcst as cst
import mutmut.__main__ as tool
from mutmut.configuration import config
from mutmut.mutation import mutators
from mutmut.stats import print_stats, status_by_exit_code
from mutmut.type_checking import TypeCheckingError, run_type_checker
from mutmut.utils.file_utils import change_cwd, copy_also_copy_files, copy_src_dir, setup_source_paths
from mutmut.utils.format_utils import get_mutant_name

from scripts.mutant_tests import with_collected_tests

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "mutants"
POLICY = WORK / "runner" / "policy"
SURVIVORS = ROOT / "build" / "mutants.txt"
_STAMP = WORK / "tests.sha256"
_CHILDREN = 2
_ALIVE = ("survived", "no tests", "suspicious", "segfault")
_KILLED = ("killed", "timeout", "caught by type check")
_SENTENCE = re.compile(r"[\w,;:.`)] [\w`(]")
"""Two words with a blank between them. Lists of names, which are data, stand outside functions and are not mutated."""


def main(patterns: Sequence[str]) -> int:
    """Runs the mutants that have no verdict yet, or those that the patterns name; the exit code."""
    _leave_sentences_alone()
    setattr(tool, "filter_mutants_with_type_checker", _rejected_by_types)  # noqa: B010  # not exported, for mypy
    setattr(tool, "print_stats", _now_and_then(print_stats))  # noqa: B010
    _forget_survivors_of_other_tests()
    _make_mutants()
    with_collected_tests(
        WORK, lambda: tool.cli(["run", "--max-children", str(_CHILDREN), *patterns], standalone_mode=False)
    )
    return _report(_verdicts())


def _now_and_then(tell: Callable[..., None]) -> Callable[..., None]:
    """The same, once a second: it counts all mutants anew for each one."""
    last = 0.0

    def told(*arguments: object, force_output: bool = False) -> None:
        nonlocal last
        if force_output or time.monotonic() - last >= 1:
            tell(*arguments, force_output=force_output)
            last = time.monotonic()

    return told


def _make_mutants() -> None:
    """What mutmut does first when it runs; done before, so that the tests are collected over the mutated sources."""
    WORK.mkdir(exist_ok=True)
    copy_src_dir()
    copy_also_copy_files()
    setup_source_paths()
    sys.stderr.write("making mutants; a minute when none are there yet\n")
    with redirect_stdout(StringIO()):  # it names each file
        tool.create_mutants(_CHILDREN)


def _leave_sentences_alone() -> None:
    for index, (kind, operator) in enumerate(mutators.mutation_operators):
        if operator is mutators.operator_string:
            mutators.mutation_operators[index] = (kind, _string)  # type: ignore[index]  # a list, declared as a sequence


def _string(node: cst.BaseString) -> Iterable[cst.BaseString]:
    sentence = isinstance(node, cst.SimpleString) and _SENTENCE.search(node.value)
    return () if sentence else mutators.operator_string(node)


@dataclass(frozen=True, slots=True)
class _Rejected:
    """A mutant that mypy refuses."""

    error: TypeCheckingError


def _rejected_by_types() -> dict[str, _Rejected]:
    """What mutmut's own search does, by the index of lines that it keeps, and not by reading all the files again."""
    with change_cwd(WORK):
        errors = run_type_checker(config().type_check_command)
    return {_mutant_at(error): _Rejected(error) for error in errors}


def _mutant_at(error: TypeCheckingError) -> str:
    path = error.file_path.relative_to(WORK)
    for name, (first, last) in _spans(path).items():
        if first <= error.line_number <= last and not name.endswith("_orig"):
            return get_mutant_name(path, name)
    raise ValueError(f"{error.file_path}:{error.line_number} is in no mutant: {error.error_description}")


@cache
def _spans(path: Path) -> dict[str, tuple[int, int]]:
    spans: dict[str, tuple[int, int]] = json.loads((WORK / f"{path}.spans").read_text(encoding="utf-8"))["spans"]
    return spans


def _forget_survivors_of_other_tests() -> None:
    """A survivor is one of the tests as they were. Killed stays killed, unless its function changes."""
    stamp = hashlib.sha256(b"".join(path.read_bytes() for path in sorted((ROOT / "tests").rglob("*.py")))).hexdigest()
    if _STAMP.exists() and _STAMP.read_text(encoding="utf-8") != stamp:
        for path in POLICY.glob("*.meta"):
            meta = json.loads(path.read_text(encoding="utf-8"))
            codes = meta["exit_code_by_key"]
            codes.update({name: None for name, code in codes.items() if status_by_exit_code[code] in _ALIVE})
            path.write_text(json.dumps(meta, indent=4), encoding="utf-8")
        shutil.rmtree(WORK / "tests", ignore_errors=True)  # mutmut copies new files, and never removes one
        (WORK / "mutmut-stats.json").unlink(missing_ok=True)  # which test reaches what: a test may be another by its id
    WORK.mkdir(exist_ok=True)
    _STAMP.write_text(stamp, encoding="utf-8")


def _verdicts() -> dict[str, str]:
    verdicts: dict[str, str] = {}
    for path in sorted(POLICY.glob("*.meta")):
        codes = json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
        verdicts |= {name: status_by_exit_code[code] for name, code in codes.items()}
    return verdicts


def _report(verdicts: dict[str, str]) -> int:
    alive = {name: status for name, status in verdicts.items() if status in _ALIVE}
    SURVIVORS.parent.mkdir(exist_ok=True)
    SURVIVORS.write_text("".join(f"{name}: {status}\n" for name, status in alive.items()), encoding="utf-8")
    everywhere, living = Counter(map(_module, verdicts)), Counter(map(_module, alive))
    for module, count in living.most_common():
        sys.stderr.write(f"{module}: {count} of {everywhere[module]} survived\n")
    counts = Counter(verdicts.values())
    killed = sum(counts[status] for status in _KILLED)
    open_ = len(verdicts) - killed - len(alive)
    if open_:
        sys.stderr.write(f"{open_} mutants have no verdict yet; the same command goes on\n")
    sys.stderr.write(f"killed by types {counts['caught by type check']}, by time {counts['timeout']}\n")
    share = 100 * len(alive) / max(1, killed + len(alive))
    none = counts["no tests"]
    told = f"{len(verdicts)} total, {killed} killed, {len(alive) - none} survived, {none} no tests"
    sys.stdout.write(f"mutants: {told} ({share:.1f}%)\n")
    return 1 if open_ else 0


def _module(name: str) -> str:
    return name.removeprefix("runner.policy.").partition(".")[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
