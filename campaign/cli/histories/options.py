"""Options of the commands that read histories, and what those of `dvs check` ask of a history."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from campaign.errors import CampaignError
from dvs_model.checking.mixing import MIXED
from dvs_model.formats.registry import FORMATS
from dvs_model.graph.reading import Derivations, DerivedWrites, Predicates, Reading
from dvs_model.judging.options import CheckOptions
from dvs_model.observed.seen import RealTime
from dvs_model.theory.levels import BY_NAME
from dvs_model.theory.names import Level, Phenomenon

FORM = re.compile(r"(?P<level>[^:]+):\s*(?P<txns>T?\d+(\s*,\s*T?\d+)*)\s*", re.IGNORECASE)
"""The form of `--transaction-level`, such as PL-2:3,4."""

KNOWN = ", ".join(level.value for level in MIXED)

files = click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
format_ = click.option(
    "--format", "format_", type=click.Choice([*FORMATS, "cobra", "delta", "auto"]), default="auto"
)


def options_of(
    *,
    names: Sequence[str],
    clients: tuple[str, ...],
    forbidden: Sequence[str],
    mixed: Sequence[str],
    executing: bool,
    derivations: str,
    predicates: str,
    derived_writes: str,
    order: str,
    **others: Any,
) -> CheckOptions:
    """Returns what is asked of histories, by default PL-3. Raises CampaignError: options exclude each other.

    `names`: levels. `others`: fields of CheckOptions, passed on as they are.
    """
    named = tuple(BY_NAME[name] for name in names)
    if not (named or clients or forbidden or mixed):
        named = (Level.PL_3,)
    return CheckOptions(
        requested=() if mixed else named,
        clients=clients,
        forbidden=tuple(map(Phenomenon, forbidden)),
        mixed=transaction_levels(mixed) if mixed else None,
        others=others_level(named) if mixed else Level.PL_3,
        executing=(named or (Level.PL_3,)) if executing else (),
        reading=Reading(Derivations(derivations), Predicates(predicates), DerivedWrites(derived_writes)),
        order=RealTime(order),
        **others,
    )


def transaction_levels(texts: Sequence[str]) -> Mapping[int, Level]:
    """Returns the level of each transaction named. Raises CampaignError: another form, or one named twice."""
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


def _level(name: str) -> Level | None:
    """Returns the level of a name in any case; None where transactions of it cannot be mixed with others."""
    level = {known.lower(): level for known, level in BY_NAME.items()}.get(name.lower())
    return level if level in MIXED else None
