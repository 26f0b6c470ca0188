"""How long an engine works, apart from the harness around it."""

from __future__ import annotations

import threading
import time


class WorkingTime(threading.local):
    """The seconds that the blocks of this thread took; a block inside another one adds nothing."""

    seconds = 0.0
    depth = 0
    begun = 0.0

    def __enter__(self) -> None:
        if not self.depth:
            self.begun = time.perf_counter()
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1
        if not self.depth:
            self.seconds += time.perf_counter() - self.begun


ENGINE_WORKS = WorkingTime()
"""Stands around every call of an adapter, also around the iteration over rows that it may compute late."""
