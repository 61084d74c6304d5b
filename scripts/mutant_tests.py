"""The tests for a mutation run, collected once: a mutant costs a fork and the tests that reach it, and no collection.

mutmut starts pytest anew for each mutant. With thousands of parametrized tests, collecting them takes longer than
running those that matter. Here the whole of mutmut runs inside one pytest session, between its collection and its end,
and each forked child runs items of that session.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import mutmut.workers.isolation as isolation
import pytest
from mutmut.configuration import config
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.runners.harness import ListAllTestsResult, TestRunner
from mutmut.state import state
from mutmut.utils.file_utils import change_cwd

__all__ = ["with_collected_tests"]

_IN_MEMORY = Path("/dev/shm")  # noqa: S108  # where it is there: a folder for each test of each mutant wears out a disk


def with_collected_tests(folder: Path, act: Callable[[], object]) -> None:
    """`act` has run, with the tests of `folder` collected; mutmut uses these.

    Raises:
        RuntimeError: the tests could not be collected, or fail without a mutant when all is done.
    """
    inside = _Inside(act)
    arguments = ["--rootdir=.", "-qq", "-s", "--tb=no", "--no-summary", *config().pytest_add_cli_args]
    arguments += config().pytest_add_cli_args_test_selection
    with change_cwd(folder):
        code = pytest.main(arguments, plugins=[inside])
    if not inside.reached:
        raise RuntimeError(f"the tests could not be collected (pytest: {code})")
    if inside.broken:
        raise RuntimeError("at the end the tests fail without a mutant too, so `killed` means nothing: make clean")


class _Inside:
    """The pytest plugin in whose loop `act` runs."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self._back = Path.cwd()
        self.reached = False
        self.broken = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.reached = not session.testsfailed
        if self.reached:
            runner = _Collected(session)
            setattr(isolation, "PytestRunner", lambda: runner)  # noqa: B010  # what mutmut makes its runner from
            with change_cwd(self._back):
                self._act()
                set_mutant_under_test("")
                self.broken = runner.run_tests(mutant_name=None, tests=[]) != 0
        return True

    @pytest.fixture
    def tmp_path(self) -> Iterator[Path]:
        """A folder without pytest's bookkeeping: nobody else cleans it up, and it is gone after the test."""
        folder = Path(tempfile.mkdtemp(prefix="mutant-", dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None))
        yield folder
        shutil.rmtree(folder, ignore_errors=True)


class _Collected(TestRunner):
    """mutmut's port to the tests, over the items of one session."""

    def __init__(self, session: pytest.Session) -> None:
        self._items = {item.nodeid: item for item in session.items}
        self._failed = False
        session.config.pluginmanager.register(self, "mutants")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remembers that something failed."""
        self._failed = self._failed or report.failed

    def list_all_tests(self) -> ListAllTestsResult:
        """All ids."""
        return ListAllTestsResult(ids=set(self._items))

    def run_stats(self, *, tests: Iterable[str]) -> int:
        """Which tests reach which functions, and how long each takes."""
        for name in list(tests) or list(self._items):
            state()._stats.clear()
            begin = time.monotonic()
            if self._run([name]):
                return 1
            state().duration_by_test[name] = time.monotonic() - begin
            for function in state()._stats:
                state().tests_by_mangled_function_name[function].add(name)
        return 0

    def run_forced_fail(self) -> int:
        """Every mutated function fails now, so some test has to."""
        return self._run(list(self._items))

    def run_tests(self, *, mutant_name: str | None, tests: Iterable[str]) -> int:
        """0 when all pass; the first that fails ends it. In a child that mutmut forked for a mutant nothing is said."""
        if mutant_name:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
        return self._run(list(tests) or list(self._items), ends=bool(mutant_name))

    def _run(self, names: list[str], *, ends: bool = False) -> int:
        self._failed = False
        with change_cwd("mutants"):
            for name, following in zip(names, [*names[1:], None], strict=True):
                # Each as if it were the last one: then all is torn down, and a run that stops at a failure leaves
                # nothing behind for the next. A process that ends anyway need not.
                after = self._items[following] if ends and following else None
                self._items[name].ihook.pytest_runtest_protocol(item=self._items[name], nextitem=after)
                if self._failed:
                    return 1
        return 0
