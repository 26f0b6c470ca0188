"""The law of snapshots (SCD type 2): one row for each version of each key, without gap or overlap."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from campaign.dbt.differences import Equal, NotJudged, RefreshDifference, Seen, Table
from campaign.dbt.project import Model
from reports.figures import plural

Row = tuple[str | None, ...]

FROM, TO, DELETED = "dbt_valid_from", "dbt_valid_to", "dbt_is_deleted"
"""The columns that dbt adds to a snapshot: the interval of a version, and whether its row was deleted."""

ZONE = re.compile(r"[+-]\d\d:\d\d$")
"""The offset at the end of a time with a zone."""


@dataclass(slots=True)
class Versions:
    """The results of a snapshot's query, after each run its columns and rows.

    `current`: the end of a version that is current, None for NULL.
    """

    states: list[tuple[tuple[str, ...], tuple[Row, ...]]] = field(default_factory=list)
    current: str | None = None


def law(model: Model, versions: Versions, found: Table | None, failed: str | None) -> Seen:
    """Returns whether a snapshot's table keeps the law; `failed`: the error of the last run."""
    if failed is not None:
        return RefreshDifference(error=f"the run failed: {failed}")
    if found is None or not versions.states:
        return RefreshDifference(error="the run left no table")
    if model.current and versions.current is None:
        return NotJudged(f"its dbt_valid_to_current, {model.current}, gives no time")
    found = as_usual(model, found, versions.current)
    columns = [name for name in versions.states[-1][0] if name in found.columns and name not in model.ignored]
    key = [name.lower() for name in model.key]
    if not key or not set(key) <= set(columns):
        return NotJudged("its unique_key is not among the columns that are compared")
    expected = histories(versions, columns, key)
    stored: dict[Row, list[dict[str, str | None]]] = {}
    for row in found.rows:
        values = dict(zip(found.columns, row, strict=True))
        if values.get(DELETED) != "True":
            stored.setdefault(tuple(values[name] for name in key), []).append(values)
    for each in sorted(expected.keys() | stored.keys(), key=str):
        if wrong := of_key(expected.get(each, []), stored.get(each, []), columns):
            return RefreshDifference(error=f"key {', '.join(str(value) for value in each)}: {wrong}")
    return Equal(filled=bool(found.rows))


def as_usual(model: Model, found: Table, current: str | None) -> Table:
    """Returns the table of a snapshot with dbt's usual names, and NULL for the end of a current version."""
    columns = tuple(model.renamed.get(name, name) for name in found.columns)
    if current is None or TO not in columns:
        return Table(columns, found.rows)
    place = columns.index(TO)
    end = ZONE.sub("", current)
    ends = {end, end.removesuffix(" 00:00:00")}
    rows = (
        (*row[:place], None if ZONE.sub("", row[place] or "") in ends else row[place], *row[place + 1 :])
        for row in found.rows
    )
    return Table(columns, tuple(rows))


def histories(versions: Versions, columns: Sequence[str], key: Sequence[str]) -> dict[Row, list[Row | None]]:
    """Returns the versions of each key in the order of the runs, each once; None where the key was gone."""
    found: dict[Row, list[Row | None]] = {}
    for names, rows in versions.states:
        now: dict[Row, Row] = {}
        for row in rows:
            values = dict(zip(names, row, strict=True))
            now[tuple(values.get(name) for name in key)] = tuple(values.get(name) for name in columns)
        for each in found.keys() | now.keys():
            history = found.setdefault(each, [])
            if (state := now.get(each)) != (history[-1] if history else None):
                history.append(state)
    return found


def of_key(expected: list[Row | None], stored: list[dict[str, str | None]], columns: Sequence[str]) -> str:
    """Returns what is wrong with the stored rows of one key, or an empty text."""
    ordered = sorted(stored, key=lambda row: (row[FROM] or "", row[TO] is None, row[TO] or ""))
    versions = [tuple(row[name] for name in columns) for row in ordered]
    places = [place for place, each in enumerate(expected) if each is not None]
    wanted = [each for each in expected if each is not None]
    if versions != wanted:
        if len(wanted) == len(versions):
            return "a stored version is not what the run saw"
        # With check_cols: all, dbt does so when the query gets a column.
        said = f"the runs saw {plural(len(wanted), 'version')}, the table has {plural(len(versions), 'row')}"
        once, seen_once = ([each for each, _ in groupby(some)] for some in (versions, wanted))
        return said + ("; dbt wrote a version again that is equal to the last" if once == seen_once else "")
    for number, (row, after) in enumerate(pairwise(ordered)):
        gone = expected[places[number] + 1] is None
        if row[TO] is None:
            return "two rows are current"
        end, begin = row[TO] or "", after[FROM] or ""
        if end > begin or (end != begin and not gone):
            return f"one version ends at {end}, the next begins at {begin}"
    if expected[-1] is not None and ordered[-1][TO] is not None:
        return "no row is current"
    if expected[-1] is None and ordered[-1][TO] is None:
        return "the row is gone from the source, and is still current"
    return ""
