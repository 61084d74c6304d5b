"""`make fuzz` draws new inputs and says which; the usual tests draw the same each time."""

from __future__ import annotations

import pytest
from hypothesis import settings

from scripts.fuzz import main


class Rounds:
    """Stands for pytest; the round of the given number fails."""

    def __init__(self, failing: int = 0) -> None:
        self.commands: list[list[str]] = []
        self._failing = failing

    def __call__(self, command: list[str]) -> int:
        self.commands.append(command)
        return int(len(self.commands) == self._failing)

    @property
    def seeds(self) -> list[str]:
        words = [word for command in self.commands for word in command]
        return [word.partition("=")[2] for word in words if word.startswith("--hypothesis-seed=")]


def test_each_round_has_a_seed_of_its_own_and_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    rounds = Rounds()
    assert main(["--rounds", "4"], rounds) == 0
    assert len(set(rounds.seeds)) == 4
    assert capsys.readouterr().err == "".join(f"· seed {seed}\n" for seed in rounds.seeds)


def test_a_round_that_fails_ends_it_with_the_command_that_plays_it_again(capsys: pytest.CaptureFixture[str]) -> None:
    rounds = Rounds(failing=2)
    assert main(["--rounds", "4"], rounds) == 1
    assert len(rounds.seeds) == 2 and f"make fuzz SEED={rounds.seeds[1]}" in capsys.readouterr().err
    again = Rounds()
    assert main(["--seed", rounds.seeds[1], "--", "-x"], again) == 0
    assert again.commands == [[*rounds.commands[1], "-x"]]


def test_only_tests_that_draw_their_inputs_are_run() -> None:
    rounds = Rounds()
    main(["--rounds", "1"], rounds)
    (command,) = rounds.commands
    assert command[command.index("-m", 2) + 1 :][:2] == ["hypothesis", "--hypothesis-profile=fuzz"]
    fuzz = settings.get_profile("fuzz")
    assert fuzz.max_examples > settings().max_examples and fuzz.database is None


def test_the_usual_tests_draw_the_same_each_time(pytestconfig: pytest.Config) -> None:
    assert "--hypothesis-seed=0" in pytestconfig.getini("addopts")
