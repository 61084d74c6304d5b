"""Several threads that work off one list, and let a stop end it: what a server's handlers are to the controller."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

__all__ = ["work_off"]


def work_off(numbers: Iterable[int], workers: int, act: Callable[[int], None], stop: threading.Event) -> None:
    """`act` was called with each number by one of `workers` threads, and has ended; with none more after `stop`.

    `act` must not raise.
    """
    left, lock = iter(numbers), threading.Lock()

    def work() -> None:
        while not stop.is_set():
            with lock:
                number = next(left, None)
            if number is None:
                return
            act(number)

    threads = [threading.Thread(target=work, name=f"soak-{index}") for index in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
