"""The kinds of change that a source can see, and the promises of a model that exclude some of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from campaign.errors import CampaignError

UNITS = {"minute": 1, "hour": 60, "day": 1440, "week": 10080, "month": 44640}
"""The units of a lateness, in minutes."""


class ChangeKind(Enum):
    """What happens to a source between two runs; the values are the keys of the JSON answer."""

    APPENDED = "appended"
    APPENDED_LATE = "appended_late"
    APPENDED_TWICE = "appended_twice"
    UPDATED = "updated"
    UPDATED_WITHOUT_CLOCK = "updated_without_clock"
    KEY_CHANGED = "key_changed"
    DELETED = "deleted"
    NULL_KEY = "null_key"
    NULL_CLOCK = "null_clock"
    EQUAL_CLOCK = "equal_clock"
    DIMENSION_CHANGED = "dimension_changed"
    SCHEMA_CHANGED = "schema_changed"
    FAILED_RUN = "failed_run"
    TWO_RUNS = "two_runs"


@dataclass(frozen=True, slots=True)
class Words:
    """A kind of change in words. `happens`: the change; `need`: what a model needs that differs after it."""

    happens: str
    need: str


WORDS: dict[ChangeKind, Words] = {
    ChangeKind.APPENDED: Words("rows are appended, newer than all others", "no row is ever appended"),
    ChangeKind.APPENDED_LATE: Words(
        "rows are appended that are older than the newest seen", "no row arrives late"
    ),
    ChangeKind.APPENDED_TWICE: Words("a row is appended again as it is", "no row is delivered twice"),
    ChangeKind.UPDATED: Words("a row is updated, and its clock column with it", "no row is updated"),
    ChangeKind.UPDATED_WITHOUT_CLOCK: Words(
        "a row is updated, its clock column is not", "every update sets the clock column"
    ),
    ChangeKind.KEY_CHANGED: Words("the key of a row changes", "keys never change"),
    ChangeKind.DELETED: Words("a row is deleted", "no row is deleted"),
    ChangeKind.NULL_KEY: Words("a row is appended with NULL in its key", "keys are never NULL"),
    ChangeKind.NULL_CLOCK: Words(
        "a row is appended with NULL in its clock column", "the clock column is never NULL"
    ),
    ChangeKind.EQUAL_CLOCK: Words(
        "a row is appended with the clock value of the newest",
        "clock values after a run are newer than those before",
    ),
    ChangeKind.DIMENSION_CHANGED: Words(
        "a joined row changes, appears or goes after the row that it is joined to",
        "joined rows are there first and do not change",
    ),
    ChangeKind.SCHEMA_CHANGED: Words("the source gets a new column", "the sources get no new columns"),
    ChangeKind.FAILED_RUN: Words("a run fails half way and is run again", "no run fails half way"),
    ChangeKind.TWO_RUNS: Words("two runs at once", "one run at a time"),
}

PROMISES: dict[str, tuple[ChangeKind, ...]] = {
    "append_only": (
        ChangeKind.UPDATED,
        ChangeKind.UPDATED_WITHOUT_CLOCK,
        ChangeKind.KEY_CHANGED,
        ChangeKind.DELETED,
    ),
    "no_updates": (ChangeKind.UPDATED, ChangeKind.UPDATED_WITHOUT_CLOCK, ChangeKind.KEY_CHANGED),
    "no_deletes": (ChangeKind.DELETED,),
    "in_order": (ChangeKind.APPENDED_LATE,),
    "strict_clock": (ChangeKind.APPENDED_LATE, ChangeKind.EQUAL_CLOCK),
    "clock_not_null": (ChangeKind.NULL_CLOCK,),
    "updates_set_clock": (ChangeKind.UPDATED_WITHOUT_CLOCK,),
    "no_duplicates": (ChangeKind.APPENDED_TWICE,),
    "key_not_null": (ChangeKind.NULL_KEY,),
    "stable_keys": (ChangeKind.KEY_CHANGED,),
    "fixed_dimensions": (ChangeKind.DIMENSION_CHANGED,),
    "fixed_schema": (ChangeKind.SCHEMA_CHANGED,),
    "whole_runs": (ChangeKind.FAILED_RUN,),
    "single_runs": (ChangeKind.TWO_RUNS,),
}
"""The promises on a model's sources and runs, and the kinds of change that they exclude."""

LATE_BY = "late_by"
"""The promise with a value: how much older than the newest row a row may be when it arrives."""


@dataclass(frozen=True, slots=True)
class Promised:
    """The promises of a model. `late_by`: in minutes; None for any lateness."""

    names: tuple[str, ...]
    excluded: frozenset[ChangeKind]
    late_by: int | None = None

    def covers(self, kind: ChangeKind, late: int | None) -> bool:
        """Returns whether a change of this kind, late by so many minutes, may happen under the promises."""
        too_late = self.late_by is not None and late is not None and late > self.late_by
        return kind not in self.excluded and not too_late


def promised(entries: object, where: str) -> Promised:
    """Returns the promises of a model's list. Raises CampaignError naming `where`, the model and its file."""
    names: list[str] = []
    excluded: set[ChangeKind] = set()
    late_by: int | None = None
    if not isinstance(entries, list):
        raise CampaignError(f"{where}: `promises` is no list; write promises: [append_only]")
    for entry in entries:
        if isinstance(entry, dict) and len(entry) != 1:
            raise CampaignError(f"{where}: {entry!r} are several promises; give each an entry of its own")
        name, value = next(iter(entry.items())) if isinstance(entry, dict) else (entry, None)
        if name == LATE_BY:
            late_by = minutes(value, where)
            names.append(f"{LATE_BY}: {value}")
        elif name in PROMISES:
            excluded.update(PROMISES[name])
            names.append(name)
        else:
            known = ", ".join([*PROMISES, f'{LATE_BY}: "3 days"'])
            raise CampaignError(f"{where}: {name!r} is no promise; choose among {known}")
    return Promised(tuple(names), frozenset(excluded), late_by)


def minutes(text: object, where: str) -> int:
    """Returns the minutes of a lateness such as '3 days'. Raises CampaignError naming `where`."""
    number, _, unit = str(text).strip().partition(" ")
    unit = unit.strip().removesuffix("s")
    if not number.isdigit() or unit not in UNITS:
        raise CampaignError(f'{where}: {text!r} is no lateness; write it like "3 days" or "10 minutes"')
    return int(number) * UNITS[unit]


def duration(lateness: int) -> str:
    """Returns minutes in words.

    >>> duration(4320), duration(61)
    ('3 days', '61 minutes')
    """
    for unit in ("day", "hour"):
        if lateness and lateness % UNITS[unit] == 0:
            count = lateness // UNITS[unit]
            return f"{count} {unit}" + ("s" if count > 1 else "")
    return f"{lateness} minute" + ("s" if lateness != 1 else "")
