"""The results of a model in a trial (`Seen`): equal to its full refresh, different from it, or not judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

Cell = str | None
Bag = Counter[tuple[Cell, ...]]


@dataclass(frozen=True, slots=True)
class Table:
    """The contents of a model: the names of the columns, and rows with values in this order, as text."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def bag(self, columns: Sequence[str]) -> Bag:
        """Returns the rows as a bag, with only some columns."""
        places = [self.columns.index(name) for name in columns]
        return Counter(tuple(row[place] for place in places) for row in self.rows)


@dataclass(frozen=True, slots=True)
class RefreshDifference:
    """The difference of incremental runs from a full refresh. `error`: the run failed, or a law is broken.

    `missing`: rows of the full refresh that the table lacks; `extra`: rows that only the table has. `lost`,
    `added`: columns. `inherited`: models above that differ too, which may be the cause.
    """

    columns: tuple[str, ...] = ()
    missing: tuple[tuple[Cell, ...], ...] = ()
    extra: tuple[tuple[Cell, ...], ...] = ()
    lost: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    error: str = ""
    inherited: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Equal:
    """Incremental runs left what a full refresh gives. `filled`: some rows. `note`: what else was seen."""

    note: str = ""
    filled: bool = True


@dataclass(frozen=True, slots=True)
class NotJudged:
    """Nothing can be said of a model in this trial; `reason`: why.

    `differs_already`: without the change of the trial the model differs, too.
    """

    reason: str
    differs_already: bool = False


Seen = RefreshDifference | Equal | NotJudged


def compare(found: Table, expected: Table, ignored: frozenset[str]) -> RefreshDifference | None:
    """Returns the difference of two tables by the names of columns; None where they are equal."""
    lost = tuple(name for name in expected.columns if name not in found.columns and name not in ignored)
    added = tuple(name for name in found.columns if name not in expected.columns and name not in ignored)
    columns = tuple(name for name in expected.columns if name in found.columns and name not in ignored)
    have, want = found.bag(columns), expected.bag(columns)
    if have == want and not lost and not added:
        return None
    return RefreshDifference(
        columns, tuple((want - have).elements()), tuple((have - want).elements()), lost, added
    )
