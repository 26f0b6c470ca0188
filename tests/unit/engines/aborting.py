"""Engines whose process ends: by themselves, as after a failed assertion in C, or ended by the harness."""

from __future__ import annotations

import ctypes
import os
import time
from dataclasses import replace
from typing import ClassVar

from campaign.lanes import workers
from engines import Capabilities, Notes, watchdog
from engines.engine import TIME_LIMIT_S
from tests.unit.engines.sample import Recomputing
from workload.limits import Limits
from workload.scenario import DynamicTable


class Aborting(Recomputing):
    """Ends the process when a table that it refreshes gets more than eight rows."""

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        notes = super().refresh(table, timestamp)
        if len(self.db.table(table).fetchall()) > 8:
            os.abort()
        return notes


class Growing(Recomputing):
    """Holds more memory than its process may when a table that it refreshes gets more than eight rows."""

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        notes = super().refresh(table, timestamp)
        if len(self.db.table(table).fetchall()) > 8:
            workers.MOST_MEMORY = 0
            time.sleep(60)
        return notes


class Hanging(Recomputing):
    """Never returns, in C code that holds Python's global lock, when a table gets more than eight rows."""

    def __init__(self) -> None:
        # The process is ended so many seconds after the beginning of a scenario, also on a slow machine.
        watchdog.UNINTERRUPTED_S = 15.0 - TIME_LIMIT_S
        super().__init__()

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        notes = super().refresh(table, timestamp)
        if len(self.db.table(table).fetchall()) > 8:
            ctypes.PyDLL(None).sleep(1000)
        return notes


class AbortingWhenAsked(Recomputing):
    """Ends the process when it is to make a table by an aggregation; its limits ask it for each query."""

    capabilities: ClassVar[Capabilities] = replace(Recomputing.capabilities, limits=Limits(asks=True))

    def create_dynamic_table(self, table: DynamicTable, query: str) -> bool | None:
        if "GROUP BY" in query:
            os.abort()
        return super().create_dynamic_table(table, query)
