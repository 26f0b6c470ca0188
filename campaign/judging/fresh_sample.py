"""Which refreshes are followed by a comparison of row ids with those of a fresh initialization.

A fresh initialization costs as much as a refresh in full, so only a sample is compared.
"""

from __future__ import annotations

import zlib

from engines.drive import FreshWanted
from workload.scenario import Scenario
from workload.timeline import due_refreshes


def fresh_sample(scenario: Scenario, percent: int) -> FreshWanted:
    """Selects the last refresh of each table, and `percent` of the others, drawn by the scenario's name."""
    last: dict[str, int] = {}
    for step, refreshes in enumerate(due_refreshes(scenario)):
        for due in refreshes:
            last[due.table] = step

    def wanted(step: int, table: str) -> bool:
        draw = zlib.crc32(f"{scenario.name}/{step}/{table}".encode()) % 100
        return last.get(table) == step or draw < percent

    return wanted
