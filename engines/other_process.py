"""What other processes do while the engine refreshes: one commits, and the refreshing one may be killed."""

from __future__ import annotations

from dataclasses import dataclass

from engines.adapter import OtherCommit
from workload.scenario import Meanwhile


class Killed(BaseException):
    """Raised in place of a call of the engine's storage: the process that refreshes ends there."""


@dataclass(slots=True)
class Other:
    """A commit of another process under way. `done`: how many of its parts are committed."""

    commit: OtherCommit
    meanwhile: Meanwhile
    done: int = 0

    def reached(self, call: int) -> None:
        """Commits the parts that come before a call of the engine's storage. Raises WriterFailed."""
        parts = self.commit.parts
        try:
            if call >= self.meanwhile.first:
                while self.done < len(parts) - 1:
                    self._next()
            if call >= self.meanwhile.last:
                self.finish()
        except Exception as error:
            raise WriterFailed(error) from error

    def finish(self) -> None:
        """Commits all parts that are left."""
        while self.done < len(self.commit.parts):
            self._next()

    def _next(self) -> None:
        self.done += 1
        self.commit.parts[self.done - 1]()


class WriterFailed(BaseException):
    """Raised through the engine, which must not take it for a failed refresh: another process failed."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


@dataclass(slots=True)
class Processes:
    """What happens beside one step. `killed`: before which call the process is still to be killed, if any."""

    other: Other | None
    killed: int | None

    def before(self, call: int) -> None:
        """Does what comes before a call of the engine's storage. Raises Killed and WriterFailed."""
        if self.other is not None:
            self.other.reached(call)
        if call == self.killed:
            self.killed = None
            raise Killed
