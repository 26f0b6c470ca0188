"""Times in messages: as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

SIMULATED_BELOW = 20 * 365 * 86_400_000_000
"""Microseconds below which a time is one of a simulated clock, which begins near 0, and no date."""

START = datetime(1970, 1, 1, tzinfo=UTC)


def moment(micros: int) -> str:
    """Returns a time in microseconds as `2026-11-27T16:23:20.123456Z`; a simulated one as its number.

    >>> moment(1_795_796_600_123_456), moment(48)
    ('2026-11-27T16:23:20.123456Z', '48')
    """
    if abs(micros) < SIMULATED_BELOW:
        return str(micros)
    try:
        shown = START + timedelta(microseconds=micros)
    except OverflowError:
        return str(micros)
    return shown.isoformat(timespec="microseconds").replace("+00:00", "Z")
