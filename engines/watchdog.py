"""Cuts a scenario that takes too long, or all that are under way when the user ends the run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

AGAIN = 1.0
"""Seconds between one interruption and the next, while the scenario still runs."""


STOPPED = threading.Event()
"""Set while the scenarios under way in the threads of this process shall end."""


class HungQuery(RuntimeError):
    """Raised when a scenario was cut. Nothing was judged, so it is no pass."""


def ensure_not_stopped() -> None:
    """Does nothing while scenarios may run on. Raises HungQuery after STOPPED was set."""
    if STOPPED.is_set():
        raise HungQuery("the run was ended")


@contextmanager
def cut_after(seconds: float, interrupt: Callable[[], None]) -> Iterator[None]:
    """Calls `interrupt` from another thread when the time is up or STOPPED is set, and then raises HungQuery.

    Any error in the block after that counts as caused by the interruption, because code in between may have
    turned the original error into another one; so does a block that ends without an error.
    """
    fired, done = threading.Event(), threading.Event()

    end = time.monotonic() + seconds

    def watch() -> None:
        while not done.wait(min(AGAIN, max(0.01, end - time.monotonic()))):
            if STOPPED.is_set() or time.monotonic() >= end:
                fired.set()
                interrupt()
                # Repeated, because the query that hangs may not have started at the first interruption.
                done.wait(AGAIN)

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    cause = None
    try:
        yield
    except Exception as error:
        if not fired.is_set():
            raise
        cause = error
    finally:
        done.set()
        watching.join()
    if fired.is_set():
        ensure_not_stopped()
        raise HungQuery(f"cut after {seconds:g} s") from cause
