"""Engines whose process ends: by themselves, as after a failed assertion in C, or because of its memory."""

from __future__ import annotations

import os
import time

from campaign.lanes import workers
from engines import Notes
from tests.unit.engines.sample import Recomputing


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
