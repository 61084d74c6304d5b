"""Where the time goes is told of the product's own stacks, and of nothing beside it."""

from __future__ import annotations

from benchmarks.stacks import Spent, summary, table

ROUNDS = "<module> (benchmarks/__main__.py:1);interleave (benchmarks/interleave.py:60)"
OURS = f"{ROUNDS};call (runner/controller/pipeline.py:75)"
LINES = [
    f"{OURS};read (runner/engine/channel.py:102);recv (socket.py:7) 6\n",
    f"{OURS};read (runner/engine/channel.py:110) 3\n",
    f"{OURS} 1\n",
    f"{ROUNDS};exec (docker/api.py:9) 50\n",
    "<module> (benchmarks/__main__.py:1);<module> (runner/app.py:3) 70\n",
    "not a stack\n",
]


def test_stacks_outside_the_rounds_and_those_that_pass_no_module_of_the_product_are_left_out() -> None:
    seen, spent = summary(LINES)
    assert seen == 10
    assert all("docker" not in one.function and "app" not in one.function for one in spent)


def test_a_function_is_one_entry_wherever_in_it_the_time_went() -> None:
    _, spent = summary(LINES)
    assert spent == [
        Spent("call (runner/controller/pipeline.py)", own=1, total=10),
        Spent("read (runner/engine/channel.py)", own=3, total=9),
        Spent("recv (socket.py)", own=6, total=6),
    ]


def test_a_function_that_calls_itself_counts_once() -> None:
    _, spent = summary([f"{OURS};walk (runner/a.py:1);walk (runner/a.py:2) 4\n"])
    assert next(one for one in spent if one.function.startswith("walk")) == Spent("walk (runner/a.py)", 4, 4)


def test_nothing_seen_is_nothing_spent() -> None:
    assert summary([]) == (0, [])


def test_shares_are_of_the_samples_that_passed_through_the_product() -> None:
    lines = table(*summary(LINES)).splitlines()
    assert "  100.0   10.0  call (runner/controller/pipeline.py)" in lines
    assert "   60.0  recv (socket.py)" in lines
