"""The turn of a thread at an account: its operations run one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import RLock
from types import TracebackType


@dataclass(slots=True)
class Turn:
    """A lock that a thread may take again while it has it. `begin` is called only when it takes it first.

    `depth`: how often the thread has taken the lock and not given it back.
    """

    begin: Callable[[], None]
    lock: RLock = field(default_factory=RLock)
    depth: int = 0

    def __enter__(self) -> None:
        self.lock.acquire()
        try:
            if not self.depth:
                self.begin()
        except BaseException:
            self.lock.release()
            raise
        self.depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.depth -= 1
        self.lock.release()
