"""A query that hangs is cut, so that the campaign goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LIMIT = 300.0
"""Seconds that one scenario may take in memory; most take a quarter of one."""

AGAIN = 1.0
"""Seconds between one interruption and the next, while anything still runs."""


class HungQuery(RuntimeError):
    """The time was up and the query under way was cut: nothing was judged, which is no pass."""


@contextmanager
def cut_after(seconds: float, interrupt: Callable[[], None]) -> Iterator[None]:
    """Calls `interrupt` from another thread when the time is up; what comes of it is HungQuery.

    Whatever error the interruption causes inside is taken for what it is, also where someone has caught it
    and made another one of it.
    """
    fired, done = threading.Event(), threading.Event()

    def watch() -> None:
        if done.wait(seconds):
            return
        fired.set()
        interrupt()
        # Again and again: the query that hangs may have been about to start.
        while not done.wait(AGAIN):
            interrupt()

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    except Exception as error:
        if fired.is_set():
            raise HungQuery(f"cut after {seconds:g} s") from error
        raise
    finally:
        done.set()
        watching.join()
    if fired.is_set():
        raise HungQuery(f"cut after {seconds:g} s")
