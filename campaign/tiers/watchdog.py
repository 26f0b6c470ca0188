"""A query that hangs is cut, so that the campaign goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LIMIT = 300.0
"""Seconds that one scenario may take in memory; most take a quarter of one."""


class HungQuery(RuntimeError):
    """The time was up and the query under way was cut: nothing was judged, which is no pass."""


@contextmanager
def cut_after(seconds: float, interrupt: Callable[[], None]) -> Iterator[None]:
    """Calls `interrupt` from another thread when the time is up; what comes of it is HungQuery.

    Whatever error the interruption causes inside is taken for what it is, also where someone has caught it
    and made another one of it.
    """
    fired = threading.Event()

    def cut() -> None:
        fired.set()
        interrupt()

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception as error:
        if fired.is_set():
            raise HungQuery(f"cut after {seconds:g} s") from error
        raise
    finally:
        timer.cancel()
    if fired.is_set():
        raise HungQuery(f"cut after {seconds:g} s")
