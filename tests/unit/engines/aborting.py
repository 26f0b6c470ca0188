"""An engine that ends its process, as one with a failed assertion in C does."""

from __future__ import annotations

import os

from engines import Notes
from tests.unit.engines.sample import Recomputing


class Aborting(Recomputing):
    """Ends the process when a table that it refreshes gets more than eight rows."""

    def refresh(self, table: str, timestamp: int) -> Notes | None:
        notes = super().refresh(table, timestamp)
        if len(self.db.table(table).fetchall()) > 8:
            os.abort()
        return notes
