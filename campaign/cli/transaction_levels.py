"""The levels of single transactions, as the command line names them: `--transaction-level PL-2:3,4`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from campaign.errors import CampaignError
from dvs_model.check import Checked
from dvs_model.levels import BY_NAME
from dvs_model.mixing import MIXED, mixing
from dvs_model.names import Level

FORM = re.compile(r"(?P<level>[^:]+):\s*(?P<txns>T?\d+(\s*,\s*T?\d+)*)\s*", re.IGNORECASE)
KNOWN = ", ".join(level.value for level in MIXED)


def transaction_levels(texts: Sequence[str]) -> Mapping[int, Level]:
    """Returns by transaction its level. Raises CampaignError: another form, or a transaction twice."""
    levels: dict[int, Level] = {}
    for text in texts:
        match = FORM.fullmatch(text)
        level = None if match is None else _level(match["level"].strip())
        if match is None or level is None:
            raise CampaignError(
                f"--transaction-level {text}: write LEVEL:T,..., such as PL-2:3,4; the levels: {KNOWN}"
            )
        for number in map(int, re.findall(r"\d+", match["txns"])):
            if number in levels:
                raise CampaignError(f"--transaction-level names T{number} twice; give it one level")
            levels[number] = level
    return levels


def others_level(requested: Sequence[Level]) -> Level:
    """Returns the level of the transactions that are not named. Raises CampaignError: it cannot be mixed."""
    if not requested:
        return Level.PL_3
    if len(requested) > 1 or requested[0] not in MIXED:
        raise CampaignError(
            f"beside --transaction-level there is one --level for all others; take one of {KNOWN}"
        )
    return requested[0]


def with_mixed(checked: Checked, levels: Mapping[int, Level], others: Level) -> Checked:
    """Returns the verdicts with the one on a history of several levels.

    Raises CampaignError: the history was recorded by clients, or has no such transaction.
    """
    name = checked.original.name or "the history"
    if checked.seen is not None:
        raise CampaignError(
            f"{name} was recorded by clients; --transaction-level is for the notation and Delta logs"
        )
    committed = checked.analysis.facts.commits
    missing = [txn for txn in levels if txn not in committed]
    if missing:
        raise CampaignError(
            f"{name} has no committed transaction T{missing[0]}; --transaction-level names it"
        )
    return replace(checked, mixed=mixing(checked.analysis, levels, others))


def _level(name: str) -> Level | None:
    level = {known.lower(): level for known, level in BY_NAME.items()}.get(name.lower())
    return level if level in MIXED else None
