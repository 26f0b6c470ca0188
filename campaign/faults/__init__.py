"""Planted faults: real bugs of real engines, each planted from outside the engine, to test the harness."""

from __future__ import annotations

from collections.abc import Mapping

from campaign.errors import CampaignError
from campaign.faults import (
    aggregates,
    changes,
    exploded,
    from_contents,
    groups,
    joins,
    limits,
    linear,
    outer_joins,
    protocol,
    reading,
    recording,
    semi_joins,
    statistics,
    subqueries,
    tails,
    values,
    versions,
    windows,
)
from campaign.faults.fault import Fault, Subject

FAULTS: Mapping[str, Fault] = {
    fault.name: fault
    for faults in (
        *(linear, joins, outer_joins, semi_joins, groups, aggregates, statistics, from_contents),
        *(
            subqueries,
            limits,
            windows,
            tails,
            exploded,
            changes,
            protocol,
            reading,
            recording,
            values,
            versions,
        ),
    )
    for fault in faults.FAULTS
}
"""Every planted fault by name, except those in the analysis of histories (`histories.py`)."""


def plant(name: str, subject: Subject) -> Subject:
    """Returns the subject with one more fault. Raises CampaignError for an unknown name."""
    fault = FAULTS.get(name)
    if fault is None:
        raise CampaignError(f"no planted fault named {name!r}; `dvs mutants --list` shows the names")
    return fault.plant(subject)


__all__ = ["FAULTS", "Fault", "plant"]
