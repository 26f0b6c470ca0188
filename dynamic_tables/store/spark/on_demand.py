"""Sessions that are opened when they are first used: reading logs and journals needs none."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class _OnDemand:
    """Stands for a session; the first use of an attribute opens it."""

    def __init__(self, open_: Callable[[], SparkSession]) -> None:
        self.open_once, self.opening = open_, Lock()
        self.opened: SparkSession | None = None

    def __getattr__(self, name: str) -> Any:
        with self.opening:
            if self.opened is None:
                self.opened = self.open_once()
        return getattr(self.opened, name)


def on_demand(open_: Callable[[], SparkSession]) -> SparkSession:
    """Returns a session that `open_` opens when it is first used. Using it raises what `open_` raises."""
    return cast("SparkSession", _OnDemand(open_))


def is_waiting(session: SparkSession) -> bool:
    """Tells whether a session is one that `on_demand` returned, and was not used yet."""
    return isinstance(session, _OnDemand) and session.opened is None
