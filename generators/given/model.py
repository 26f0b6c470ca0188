"""The data model of given definitions (`--definitions`): tables, domains of values, witnesses and goals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from generators.given.documents import DocumentPart, document, part_value, path_text
from workload.query import names_read
from workload.scenario import Definition, DynamicTable
from workload.schema import Column, Table
from workload.types import Row, Value


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """The domain of one column, or of several columns that a CHECK compares, which are drawn together.

    `positions`: the columns. `values`: a tuple for each choice, one value for each column; the first
    `constants` of them are those that the definitions compare the columns with, or close to these. `meets`:
    the columns, by table and name, that the first column is compared with, so that it shares their values.
    `closed`: the columns hold no other values, because of a CHECK or because the user says so. `weights`: how
    often each of the values is drawn, and `null_percent`: how often NULL is, as in a table of the user; empty
    and None where nothing is known of one.
    """

    positions: tuple[int, ...]
    values: tuple[Row, ...]
    constants: int = 0
    meets: tuple[tuple[str, str], ...] = ()
    closed: bool = False
    weights: tuple[int, ...] = ()
    null_percent: int | None = None


@dataclass(frozen=True)
class GivenTable:
    """A base table with its promises, and the domains that its rows are drawn from.

    `rows`: least and most first rows; None: as the profile says. `parts`: values inside its documents that
    are drawn like columns, at places after those of the columns; such a document has no domain of its own.
    """

    table: Table
    domains: tuple[ColumnValues, ...]
    rows: tuple[int, int] | None = None
    parts: tuple[DocumentPart, ...] = ()

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the table, and behind them the parts of its documents, such as payload:id."""
        of = self.table.columns
        return (*of, *(Column(of[p.position].name + path_text(p.path), p.type) for p in self.parts))

    def place(self, name: str) -> int | None:
        """Returns the place of a column or of a part of a document; None if it is not drawn by itself."""
        names = [column.name for column in self.columns]
        return names.index(name) if name in names else None

    def column_of(self, place: int) -> int:
        """Returns the position of the column that a place is, or is a part of."""
        first = len(self.table.columns)
        return place if place < first else self.parts[place - first].position

    def value(self, row: Row, place: int) -> Value:
        """Returns what a row has at a place: the value of a column, or of a part of a document."""
        if place < len(row):
            return row[place]
        part = self.parts[place - len(row)]
        return part_value(row[part.position], part)

    def row(self, values: Mapping[int, Value]) -> Row:
        """Returns the row with these values by place; documents without a value are made of their parts."""
        whole = dict(values)
        first = len(self.table.columns)
        for position in {part.position for part in self.parts} - whole.keys():
            whole[position] = document(
                {part: values.get(n) for n, part in enumerate(self.parts, first) if part.position == position}
            )
        return tuple(whole[n] for n in range(first))

    @property
    def key(self) -> tuple[int, ...]:
        """The positions of the first key; of the first column where there is no key."""
        keys = self.table.promises.keys
        return self.positions(keys[0]) if keys else (0,)

    def positions(self, names: Iterable[str]) -> tuple[int, ...]:
        """Returns the positions of columns."""
        return tuple(map(self.table.position, names))

    def is_required(self, position: int) -> bool:
        """Tells whether a column is never NULL."""
        return self.columns[position].name in self.table.promises.required


@dataclass(frozen=True, slots=True)
class WitnessRow:
    """A row of a witness: its table, and the values of some of its columns, by name."""

    table: str
    values: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Witness:
    """Rows of base tables that together make a row of a definition, as far as its conditions can be solved.

    `equal`: groups of columns, by number of row and name, that hold one value. `ascending`: chains of
    columns, each of which holds a smaller value than the next.
    """

    rows: tuple[WitnessRow, ...]
    equal: tuple[tuple[tuple[int, str], ...], ...] = ()
    ascending: tuple[tuple[tuple[int, str], ...], ...] = ()


class Happening(Enum):
    """What may happen to a dynamic table between two refreshes, or to a base table behind it."""

    COLUMN_CHANGED = "other values in column"
    ROW_ADDED = "a row comes"
    ROW_REMOVED = "a row goes"
    GROUP_ADDED = "a group comes"
    GROUP_CHANGED = "a group changes"
    GROUP_EMPTIED = "a group goes"
    GROUP_REFILLED = "a group that was gone comes back"
    STATEMENT = "rows are changed by"


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """One thing that random data should bring about for a definition, so that its text is covered.

    `label`: in words, such as "line 3: WHERE price < 5 is NULL". `needs`: the one value that would reach the
    goal, if there is one. `line`: the line of the text that the goal is about, or 0. `probe`: a DuckDB query
    whose single value is TRUE when the goal is reached; it reads the sources of the definition under their
    names. Without a probe, the goal is reached by `happening`: `columns` are the positions of the column, or
    of those that identify a group; `table` and `statement` are those of STATEMENT.
    """

    label: str
    line: int = 0
    probe: str = ""
    happening: Happening | None = None
    columns: tuple[int, ...] = ()
    table: str = ""
    statement: str = ""
    needs: str = ""

    @property
    def unmet(self) -> str:
        """The words of a report for the goal if it was not reached."""
        return f"{self.label}; a row with {self.needs} can do it" if self.needs else self.label


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Tables and definitions that somebody else wrote.

    `source`: where they were read, for messages. `definitions`: upstreams first. `goals`: what random data
    should bring about in each dynamic table, by its name. `places`: the file in which each query stands, and
    the line in which it begins. `witnesses`: rows that make a row of each definition. `refused`: the
    definitions, and tables, that cannot be judged on the tier, each with the reason. `wrong`: those of them
    that no tier can judge until the user corrects the script. `by_key`: the definitions that are maintained
    only if the engine is told of the primary keys of what they read. `begin`, `tick`: when scenarios begin,
    and the time between two of their steps, in logical microseconds.
    """

    source: str
    tables: tuple[GivenTable, ...]
    definitions: tuple[Definition, ...]
    goals: Mapping[str, tuple[Goal, ...]] = field(default_factory=dict)
    places: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    witnesses: Mapping[str, tuple[Witness, ...]] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    wrong: frozenset[str] = frozenset()
    by_key: frozenset[str] = frozenset()
    begin: int = 0
    tick: int = 10

    @property
    def dynamic_tables(self) -> tuple[DynamicTable, ...]:
        """The dynamic tables, upstreams first."""
        return tuple(d for d in self.definitions if isinstance(d, DynamicTable))

    def closure(self, targets: Iterable[str]) -> tuple[list[GivenTable], list[Definition]]:
        """Returns the tables and definitions that `targets` need, themselves included, upstreams first."""
        needed = set(targets)
        definitions: list[Definition] = []
        for definition in reversed(self.definitions):
            if definition.name in needed:
                needed.update(names_read(definition.query))
                definitions.insert(0, definition)
        return [given for given in self.tables if given.table.name in needed], definitions
