"""Planted faults: real bugs of real engines, one registry entry replaced each, from outside the engine."""

from __future__ import annotations

from collections.abc import Mapping

from campaign.engine import Engine
from campaign.errors import CampaignError
from campaign.faults import (
    aggregates,
    changes,
    groups,
    joins,
    linear,
    outer_joins,
    protocol,
    recording,
    sums,
    zeros,
)
from campaign.faults.fault import Fault

FAULTS: Mapping[str, Fault] = {
    **linear.FAULTS,
    **joins.FAULTS,
    **outer_joins.FAULTS,
    **groups.FAULTS,
    **aggregates.FAULTS,
    **changes.FAULTS,
    **protocol.FAULTS,
    **recording.FAULTS,
    **sums.FAULTS,
    **zeros.FAULTS,
}
"""Every planted fault by name."""


def plant(name: str, engine: Engine) -> Engine:
    """The engine with one fault. Raises CampaignError for an unknown name."""
    fault = FAULTS.get(name)
    if fault is None:
        raise CampaignError(f"no planted fault named {name!r}; `dvs mutants --list` shows them")
    return fault.plant(engine)


__all__ = ["FAULTS", "Fault", "plant"]
