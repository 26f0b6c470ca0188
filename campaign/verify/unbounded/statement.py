"""The invariants 1 to 6 of change sets, which a rule must keep, as formulas that must have no solution.

They are stated for one row id at a time. An id that names places stands for each row of these places, so what
is shown of it holds for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from campaign.verify.unbounded.bags import Bag, atoms, one_row
from campaign.verify.unbounded.cells import Cell, parts_of, same_cells
from campaign.verify.unbounded.counts import Count, summed
from campaign.verify.unbounded.keys import Keyed, buckets, key_of
from campaign.verify.unbounded.terms import Number, Truth, both, either, equal, negated
from dynamic_tables.plan.nodes import ACTION, DELETE, INSERT, ROW_ID
from workload.outcomes.results import Check

BEFORE, AFTER = "before", "after"


@dataclass(frozen=True, slots=True)
class Violation:
    """A formula that is true where a check fails."""

    check: Check
    formula: Truth


@dataclass(frozen=True, slots=True)
class _Row:
    """One entry of the contents or of the changes, with what its rows are compared by.

    `kind`: BEFORE, AFTER, INSERT or DELETE. `key`: the row id with the compared columns. `premise`: that the
    places it names have rows. `tables`: the form of the id, and the tables whose rows it names.
    """

    kind: str
    count: Count
    row_id: Keyed
    key: Keyed
    premise: Truth
    places: frozenset[str]
    tables: tuple[object, tuple[str, ...]] = ((), ())


def violations(
    before: Bag, after: Bag, changes: Bag, columns: Sequence[str], changing: Mapping[str, Truth]
) -> Iterator[Violation]:
    """Yields the ways in which a change set may fail to lead from the contents before to those after.

    `columns`: those that are compared. `changing`: the places of rows that come, go or change, by name, each
    with the condition that it has no rows.
    """
    unchanged = both(*changing.values())
    rows = [
        *_rows(before, columns, BEFORE),
        *_rows(after, columns, AFTER),
        *_rows(changes, columns, None),
    ]
    yield from _of_tables(rows)
    for numbers in buckets([row.row_id for row in rows]):
        together = [rows[number] for number in numbers]
        yield from _of_ids(together)
        yield from _of_rows(together, changing, unchanged)


def _rows(bag: Bag, columns: Sequence[str], kind: str | None) -> Iterator[_Row]:
    at = [bag.at(name) for name in columns]
    for entry in bag.entries:
        row_id = entry.cells[bag.at(ROW_ID)]
        of_kind = kind or _action(entry.cells[bag.at(ACTION)])
        count, premise = one_row(entry)
        values = [entry.cells[i] for i in at]
        places = frozenset(place.name for place in entry.places)
        form, _ = parts_of(row_id, lambda atom: "stored id")
        tables = form, tuple(entry.places[number].table for number in atoms(row_id))
        row_key = key_of(entry, (row_id, *values))
        yield _Row(of_kind, count, key_of(entry, (row_id,)), row_key, premise, places, tables)


def _action(cell: Cell) -> str:
    for action in (INSERT, DELETE):
        if cell.null is False and cell.value.parts == (action,):
            return action
    raise ValueError(f"no action: {cell}")


def _sum(rows: Sequence[_Row], kind: str, same: Sequence[Truth]) -> Number:
    """Returns how many rows of a kind there are; `same`: for each entry the condition that it counts."""
    return summed(
        row.count.only(is_same) for row, is_same in zip(rows, same, strict=True) if row.kind == kind
    ).value


def _of_ids(rows: Sequence[_Row]) -> Iterator[Violation]:
    """Yields violations by one row id of some entries: that it is not unique, and of invariants 1 and 3."""
    for one in _different(rows, [row.row_id for row in rows]):
        same = [same_cells(one.row_id[1], row.row_id[1]) for row in rows]
        came, went, stored, now = (_sum(rows, kind, same) for kind in (INSERT, DELETE, BEFORE, AFTER))
        yield from _violation(Check.ROW_IDS, one, stored > 1)
        yield from _violation(Check.ROW_IDS, one, now > 1)
        yield from _violation(Check.INVARIANT_1, one, came > 1)
        yield from _violation(Check.INVARIANT_1, one, went > 1)
        yield from _violation(Check.INVARIANT_3, one, both(came > 0, equal(went, 0), stored > 0))


def _of_tables(rows: Sequence[_Row]) -> Iterator[Violation]:
    """Yields violations by rows of two tables that have one id, because each table numbers its own rows.

    Two ids of the same form that name rows of different tables may be equal texts.
    """
    of_forms: dict[object, dict[tuple[str, ...], list[_Row]]] = {}
    for row in rows:
        form, tables = row.tables
        if row.kind in (BEFORE, AFTER):
            of_forms.setdefault((row.kind, form), {}).setdefault(tables, []).append(row)
    for by_tables in of_forms.values():
        for some, others in combinations(by_tables.values(), 2):
            for one in some:
                there = either(both(row.premise, row.count.some) for row in others)
                yield from _violation(Check.ROW_IDS, one, both(one.count.some, there))


def _of_rows(rows: Sequence[_Row], changing: Mapping[str, Truth], unchanged: Truth) -> Iterator[Violation]:
    """Yields violations by one row, id and values: of invariants 2 and 6, and of the new contents."""
    for one in _different(rows, [row.key for row in rows]):
        same = [row.key[0] == one.key[0] and same_cells(one.key[1], row.key[1]) for row in rows]
        came, went, stored, now = (_sum(rows, kind, same) for kind in (INSERT, DELETE, BEFORE, AFTER))
        there = both(one.premise, one.count.some)
        yield from _violation(Check.INVARIANT_2, one, went > stored)
        yield from _violation(Check.EQUALITY, one, both(there, negated(equal(stored + came, now + went))))
        if one.kind in (INSERT, DELETE):
            still = False if one.places & changing.keys() else unchanged
            yield from _violation(Check.INVARIANT_6, one, both(there, still))


def _violation(check: Check, row: _Row, formula: Truth) -> Iterator[Violation]:
    yield Violation(check, both(row.premise, formula))


def _different(rows: Sequence[_Row], keys: Sequence[Keyed]) -> Iterator[_Row]:
    """Yields one entry for each key, as it is written, and for each kind: equal ones give equal formulas."""
    seen = set()
    for row, (form, cells) in zip(rows, keys, strict=True):
        written = (row.kind, form, tuple(_written(cell) for cell in cells))
        if written not in seen:
            seen.add(written)
            yield row


def _written(cell: Cell) -> object:
    if cell.null is True:
        return None
    return (cell.null, cell.value)


def wrong_contents(state: Bag, truth: Bag, columns: Sequence[str]) -> Iterator[Violation]:
    """Yields the ways in which the rows of a query by the rules may differ from those that its plan means."""
    rows = []
    for kind, bag in ((BEFORE, state), (AFTER, truth)):
        at = [bag.at(name) for name in columns]
        for entry in bag.entries:
            values = [entry.cells[i] for i in at]
            key = key_of(entry, values)
            rows.append(_Row(kind, entry.all_rows, key, key, True, frozenset()))
    for numbers in buckets([row.key for row in rows]):
        together = [rows[number] for number in numbers]
        for one in _different(together, [row.key for row in together]):
            same = [same_cells(one.key[1], row.key[1]) for row in together]
            stored, right = (_sum(together, kind, same) for kind in (BEFORE, AFTER))
            yield from _violation(Check.EQUALITY, one, both(one.count.some, negated(equal(stored, right))))
