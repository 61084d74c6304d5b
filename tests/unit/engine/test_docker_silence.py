"""Why a helper says nothing: only what the engine knows for sure counts."""

from __future__ import annotations

from typing import Any, cast

import docker
import pytest
from docker.errors import APIError, NotFound

from runner.engine.docker_silence import why_silent

RUNNING = {"State": {"Running": True, "Paused": False}}
QUIET = {"Processes": [["1", "Ss"], ["7", "S"], ["70", "T"]]}


class Engine:
    """Answers as it was told to; an exception is raised."""

    def __init__(self, state: Any = RUNNING, helper: Any = None, processes: Any = QUIET) -> None:
        self.answers = {"state": state, "helper": {"Running": True, "Pid": 7} if helper is None else helper}
        self.answers["processes"] = processes

    def _answer(self, name: str) -> Any:
        answer = self.answers[name]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def inspect_container(self, container: str) -> Any:
        return self._answer("state")

    def exec_inspect(self, identity: str) -> Any:
        return self._answer("helper")

    def top(self, container: str, ps_args: str) -> Any:
        return self._answer("processes")


def why(**how: Any) -> str | None:
    return why_silent(cast(docker.APIClient, Engine(**how)), "c", "e")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"state": {"State": {"Running": True, "Paused": True}}}, "its container is paused"),
        ({"state": {"State": {"Running": False}}}, "its container does not run any more"),
        ({"state": NotFound("no such container")}, "its container is gone"),
        ({"helper": {"Running": False, "Pid": 0}}, "its helper has ended"),
        ({"helper": NotFound("no such exec")}, "its container is gone"),
        ({"processes": {"Processes": [["7", "Ts"]]}}, "its helper was stopped"),
        ({"processes": {"Processes": [["7", "t"]]}}, "its helper was stopped"),
    ],
)
def test_what_keeps_a_helper_from_answering_is_named(how: dict[str, Any], said: str) -> None:
    assert why(**how) == said


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"processes": APIError("ps: not found")},
        {"processes": {"Processes": None}},
        {"processes": {"Processes": [["7", "D"]]}},
        {"state": APIError("busy")},
        {"state": ConnectionResetError()},
        {"state": {}},
    ],
    ids=str,
)
def test_a_program_that_takes_its_time_and_an_engine_that_cannot_say_are_no_reason(how: dict[str, Any]) -> None:
    assert why(**how) is None
