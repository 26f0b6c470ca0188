"""Cuts a scenario that takes too long, so that a query that hangs does not stop the campaign."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

AGAIN = 1.0
"""Seconds between one interruption and the next, while the scenario still runs."""


class HungQuery(RuntimeError):
    """Raised when a scenario was cut because its time was up. Nothing was judged, so it is no pass."""


@contextmanager
def cut_after(seconds: float, interrupt: Callable[[], None]) -> Iterator[None]:
    """Calls `interrupt` from another thread when the time is up, and then raises HungQuery.

    Any error in the block after that counts as caused by the interruption, because code in between may have
    turned the original error into another one; so does a block that ends without an error.
    """
    fired, done = threading.Event(), threading.Event()

    def watch() -> None:
        if done.wait(seconds):
            return
        fired.set()
        interrupt()
        # Repeated, because the query that hangs may not have started at the first interruption.
        while not done.wait(AGAIN):
            interrupt()

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
        raise HungQuery(f"cut after {seconds:g} s") from cause
