"""Stored tables before and after a change, with a symbol for the number of rows of each place.

A place is what a row was and what it is: (0, 1) -> (0, 2) is a row whose value changed, absent -> (0, 1) one
that came. Every contents of a table and every change of it is one choice of these numbers: the ids of rows
are only compared, so which of the alike rows has which id does not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from campaign.verify.unbounded.bags import Alike, Bag, Place as Class
from campaign.verify.unbounded.cells import Atom, Cell, Text, of
from campaign.verify.unbounded.counts import Count
from campaign.verify.unbounded.terms import Number, Truth, both, equal, total, variable
from dynamic_tables.plan.nodes import ROW_ID
from generators.small_worlds import Place, TableHistory
from workload.schema import Column, Table
from workload.types import Row, Value

Domain = Mapping[str, tuple[Value, ...]]
"""The values of each column, by its name."""


@dataclass(frozen=True, slots=True)
class SymbolicTable:
    """A table whose numbers of rows are symbols. `places`: each with its class of rows, and their number.

    Of a table with a primary key nothing is known but its rows at both ends: it may be written anew.
    """

    table: Table
    places: Mapping[Place, Class]

    @staticmethod
    def of(table: Table, domain: Domain, *, changes: bool = True) -> SymbolicTable:
        """Returns a table over a domain of values; `changes`: its rows may come, go and change."""
        rows: list[Row | None] = [*product(*(domain[column.name] for column in table.columns))]
        if changes:
            pairs = [(a, b) for a, b in product([*rows, None], repeat=2) if (a, b) != (None, None)]
            if table.primary_key:
                pairs = [(a, b) for a, b in pairs if None in (a, b)]
        else:
            pairs = [(row, row) for row in rows]
        places = {}
        for before, after in pairs:
            name = f"{table.name} {_shown(before)} -> {_shown(after)}"
            number = variable(name)
            places[Place(before, after)] = Class(table.name, name, Count(number, number > 0))
        return SymbolicTable(table, places)

    def rows(self, *, before: bool) -> Bag:
        """Returns the rows at one end, with their ids."""
        row_id = Cell(False, Text((Atom(0),)))
        entries = []
        for place, of_place in self.places.items():
            row = place.before if before else place.after
            if row is not None:
                entries.append(Alike((*map(of, row), row_id), places=(of_place,)))
        return Bag((*(column.name for column in self.table.columns), ROW_ID), tuple(entries))

    def changing(self) -> dict[str, Truth]:
        """Returns the places of rows that come, go or change, each with the condition that it has no rows.

        Of a table with a primary key it is one condition under its name: both ends have the same rows.
        """
        if self.table.primary_key:
            counts = self._counts(self.table.columns)
            return {self.table.name: both(*(equal(*ends) for ends in counts))}
        return {c.name: equal(c.rows.value, 0) for place, c in self.places.items() if place.changed}

    def unique(self) -> list[Truth]:
        """Returns what holds of a table with a primary key: at each end at most one row has a key."""
        key = [column for column in self.table.columns if column.name in self.table.primary_key]
        return [number <= 1 for ends in self._counts(key) for number in ends] if key else []

    def _counts(self, columns: Sequence[Column]) -> list[tuple[Number, Number]]:
        """Returns how many rows have each value of some columns, before and after."""
        at = [self.table.position(column.name) for column in columns]
        found: dict[tuple[Value, ...], list[list[Number]]] = {}
        for place, of_place in self.places.items():
            for end, row in enumerate((place.before, place.after)):
                if row is not None:
                    numbers = found.setdefault(tuple(row[i] for i in at), [[], []])
                    numbers[end].append(of_place.rows.value)
        return [(total(before), total(after)) for before, after in found.values()]

    def numbers(self) -> list[Number]:
        """Returns the symbols: the number of rows of each place."""
        return [of_place.rows.value for of_place in self.places.values()]

    def history(self, values: Mapping[str, int]) -> TableHistory:
        """Returns the rows of the table where the symbols have values, by name; first those stored before."""
        found: list[Place] = []
        for place, of_place in self.places.items():
            found += [place] * values.get(of_place.name, 0)
        return tuple(sorted(found, key=lambda place: place.before is None))


def _shown(row: Row | None) -> str:
    return "absent" if row is None else f"({', '.join('NULL' if v is None else str(v) for v in row)})"


def leaves(tables: Sequence[SymbolicTable]) -> dict[str, Bag]:
    """Returns the rows of every table at both ends, by the names of leaves."""
    return {
        f"{symbolic.table.name}@{end}": symbolic.rows(before=end == "t0")
        for symbolic in tables
        for end in ("t0", "t1")
    }
