"""What an engine can be asked: the limits of the scenarios that are made for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from workload.query import Query

OPERATORS = frozenset(
    {
        "projection",
        "filter",
        "inner join",
        "cross join",
        "left join",
        "right join",
        "full join",
        "union all",
        "distinct",
        "grouped aggregation",
        "scalar aggregation",
    }
)
"""Every operator that is generated, by the name that coverage counts."""

PORTABLE = frozenset({"insert", "update", "delete", "merge", "truncate", "overwrite"})
"""The kinds of statement that every engine has (`workload.sql.dml_texts`), named as in profiles."""


class Timestamps(Enum):
    """Which data timestamps an engine can refresh a table to."""

    ANY = "any"
    """A given one, also one before the newest commit."""

    NOW = "now"
    """The time of the refresh: it reads its sources as they are."""

    COMMIT = "commit"
    """That of every commit: tables are maintained within the transaction, and a refresh has nothing to do."""


def no_gap(query: Query) -> str | None:
    """Every query is supported whose operators are."""
    return None


def as_it_is(query: Query) -> Query:
    """No query needs to be another."""
    return query


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an engine can be asked.

    `layered`: whether a dynamic table may read another. `gap`: why a query is not supported, though its
    operators are; None where it is. `amend`: a query nearer to what the engine takes, with the same columns
    and perhaps more; amending it again changes nothing.
    """

    operators: frozenset[str] = OPERATORS
    statements: frozenset[str] = PORTABLE
    timestamps: Timestamps = Timestamps.NOW
    views: bool = True
    layered: bool = True
    gap: Callable[[Query], str | None] = no_gap
    amend: Callable[[Query], Query] = as_it_is


NO_LIMITS = Limits(
    statements=PORTABLE | {"restore", "optimize", "replace"},
    timestamps=Timestamps.ANY,
)


def both(a: Limits, b: Limits) -> Limits:
    """What two engines can both be asked."""
    if a == b or b == NO_LIMITS:
        return a
    if a == NO_LIMITS:
        return b
    strictest = list(Timestamps)
    return Limits(
        operators=a.operators & b.operators,
        statements=a.statements & b.statements,
        timestamps=max(a.timestamps, b.timestamps, key=strictest.index),
        views=a.views and b.views,
        layered=a.layered and b.layered,
        gap=lambda query: a.gap(query) or b.gap(query),
        amend=lambda query: b.amend(a.amend(query)),
    )
