"""Which worlds run together as one ordinary scenario: the values of the option of lifting."""

from __future__ import annotations

from enum import StrEnum


class Lifting(StrEnum):
    """Which worlds run together as one ordinary scenario; see `workload.lift`."""

    NONE = "none"
    """No lifting: each scenario runs as it is."""
    INTERVALS = "intervals"
    """The worlds are the scenario's refresh intervals, each from new tables: one refresh serves them all."""
    DATABASES = "databases"
    """The worlds hold different data, for the same definitions and the same history of statements."""
