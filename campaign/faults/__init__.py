"""Planted faults: real bugs of real engines, each planted from outside the engine, to test the harness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from campaign.errors import CampaignError
from campaign.faults import (
    aggregates,
    changes,
    exploded,
    fences,
    from_contents,
    groups,
    joins,
    keys,
    limits,
    linear,
    outer_joins,
    passing_time,
    protocol,
    reading,
    recording,
    semi_joins,
    sessions,
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
            passing_time,
            keys,
            protocol,
            reading,
            recording,
            values,
            versions,
        ),
        *(sessions, fences),
    )
    for fault in faults.FAULTS
}
"""Every planted fault by name, except those in the analysis of histories (`histories.py`)."""


def faults_on(tier: str, *, documents: bool = False) -> tuple[str, ...]:
    """Returns the names of the planted faults that can show on a tier; `documents`: tables have VARIANTs."""
    return tuple(
        name
        for name, fault in FAULTS.items()
        if tier.startswith(fault.only_on) and documents >= fault.documents
    )


def plant(name: str, subject: Subject) -> Subject:
    """Returns the subject with one more fault. Raises CampaignError for an unknown name."""
    fault = FAULTS.get(name)
    if fault is None:
        raise CampaignError(f"no planted fault named {name!r}; `dvs mutants --list` shows the names")
    return fault.plant(subject)


__all__ = ["FAULTS", "Fault", "faults_on", "plant"]


def known_faults(names: Sequence[str]) -> tuple[str, ...]:
    """The names as given. Raises CampaignError: a name is no planted fault."""
    for name in names:
        if name not in FAULTS:
            raise CampaignError(f"no planted fault named {name!r}; `dvs mutants --list` lists them")
    return tuple(names)
