"""What the worlds of a lifted scenario are."""

from __future__ import annotations

from enum import StrEnum


class Lifting(StrEnum):
    """How many worlds run as one ordinary scenario."""

    NONE = "none"
    """Each scenario runs as it is."""
    INTERVALS = "intervals"
    """The worlds are the scenario's refresh intervals, each from new tables: one refresh serves them all."""
    DATABASES = "databases"
    """The worlds hold different data, for the same definitions and the same history of statements."""
