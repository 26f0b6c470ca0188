"""Cuts a scenario that takes too long, or all that are under way when the user ends the run."""

from __future__ import annotations

import faulthandler
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

AGAIN = 1.0
"""Seconds between one interruption and the next, while the scenario still runs."""


STOPPED = threading.Event()
"""Set while the scenarios under way in the threads of this process shall end."""


UNINTERRUPTED_S = 30.0
"""Seconds after its time limit at which a block that no interruption ends is ended with its process."""


@dataclass(slots=True)
class LastResort:
    """What ends the process when a call cannot be interrupted, such as C code that never returns.

    `log`: the file to which the stacks of the threads are written then. None: the process waits on, because
    it holds more than one scenario, or the user's own program.
    """

    log: TextIO | None = None


LAST_RESORT = LastResort()
"""That of this process."""


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
    turned the original error into another one; so does a block that ends without an error. Where the process
    has a LAST_RESORT, a block that the interruptions do not end is ended with the process.
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
    if LAST_RESORT.log is not None:
        # A thread in C: C code that holds Python's global lock stops all threads of Python, `watch` too.
        faulthandler.dump_traceback_later(seconds + UNINTERRUPTED_S, exit=True, file=LAST_RESORT.log)
    cause = None
    try:
        yield
    except Exception as error:
        if not fired.is_set():
            raise
        cause = error
    finally:
        if LAST_RESORT.log is not None:
            # Not always: a user's pytest may have set it, too.
            faulthandler.cancel_dump_traceback_later()
        done.set()
        watching.join()
    if fired.is_set():
        ensure_not_stopped()
        raise HungQuery(f"cut after {seconds:g} s") from cause
