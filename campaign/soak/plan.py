"""The plan of a simulated account: all that happens to it, as a function of seed, hours and number of tables.

The plan is complete before anything runs, so it can be kept in a file, run again, and made smaller.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from dynamic_tables.schedule.group import Isolation

SECOND = 1_000_000
TICK = 48 * SECOND
"""The shortest period, in microseconds: the process that refreshes looks once in it."""

BASES = ("r", "s")
VIEW = "v"
"""The view over the first base table, which dynamic tables read as well."""

LAGS = (None, 60, 60, 120, 300)
"""Target lags in seconds; None for DOWNSTREAM."""

KEYS, VALUES = 6, 9
"""Column a has values from 0, column b from 1 (0 makes a QUOTIENT fail), both below these."""

FEWEST = 4
"""The least number of tables that have their own names at any time."""

CLONES = 3
"""The most copies of tables in one account."""


class Kind(Enum):
    """What a dynamic table computes; the value is its query, over one or two tables with columns a and b."""

    FILTER = "SELECT a, b FROM {0} WHERE b > {n}"
    COUNT = "SELECT a, COUNT(*) AS b FROM {0} GROUP BY a"
    SUM = "SELECT a, SUM(b) AS b FROM {0} GROUP BY a"
    JOIN = "SELECT {0}.a AS a, {1}.b AS b FROM {0} JOIN {1} ON {0}.a = {1}.a"
    UNION = "SELECT a, b FROM {0} UNION ALL SELECT a, b FROM {1}"
    QUOTIENT = "SELECT a, b FROM {0} WHERE 100 / b > {n}"
    """Fails where b is 0."""

    @property
    def of_two(self) -> bool:
        """Whether it reads two tables."""
        return self in (Kind.JOIN, Kind.UNION)


def view_query(number: int) -> str:
    """Returns the query of the view."""
    return f"SELECT a, b FROM {BASES[0]} WHERE b > {number}"


@dataclass(frozen=True, slots=True)
class Declared:
    """A dynamic table: its query by kind, sources and a number; its target lag in seconds."""

    name: str
    kind: Kind
    sources: tuple[str, ...]
    lag: int | None
    number: int = 0

    @property
    def query(self) -> str:
        """The defining query."""
        return self.kind.value.format(*self.sources, n=self.number)


@dataclass(frozen=True, slots=True)
class Write:
    """A transaction that inserts rows (table, a, b), and then deletes rows by (table, column, its value)."""

    inserted: tuple[tuple[str, int, int], ...] = ()
    deleted: tuple[tuple[str, str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Alter:
    """A table gets another target lag, in seconds."""

    name: str
    lag: int | None


@dataclass(frozen=True, slots=True)
class Switch:
    """A table is suspended, or resumed if `on`."""

    name: str
    on: bool


@dataclass(frozen=True, slots=True)
class Group:
    """A refresh group is created; the group that there was is dropped before."""

    members: tuple[str, ...]
    isolation: str


@dataclass(frozen=True, slots=True)
class Ungroup:
    """The group is dropped."""


@dataclass(frozen=True, slots=True)
class Redefine:
    """A dynamic table gets another number in its query, and another kind if both kinds read one table."""

    name: str
    number: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class ReplaceView:
    """The view gets another number in its query."""

    number: int


@dataclass(frozen=True, slots=True)
class Clone:
    """A dynamic table gets a copy, which is refreshed by itself from then on."""

    name: str
    copy: str


@dataclass(frozen=True, slots=True)
class Rename:
    """A dynamic table gets another name; those that read the old one must wait for a table of that name."""

    name: str
    other: str


@dataclass(frozen=True, slots=True)
class Swap:
    """Two dynamic tables exchange their names."""

    name: str
    other: str


@dataclass(frozen=True, slots=True)
class Drop:
    """A dynamic table is dropped, whether others read it or not."""

    name: str


@dataclass(frozen=True, slots=True)
class Undrop:
    """The dynamic table that was dropped comes back."""

    name: str


@dataclass(frozen=True, slots=True)
class DropBase:
    """A base table is dropped, though others read it."""

    name: str


@dataclass(frozen=True, slots=True)
class BaseBack:
    """The base table that was dropped comes back. `anew`: another one takes its name, without rows."""

    name: str
    anew: bool


@dataclass(frozen=True, slots=True)
class Down:
    """The process that refreshes does not run for some ticks; another one follows it."""

    ticks: int


Happening = (
    Write
    | Alter
    | Switch
    | Group
    | Ungroup
    | Redefine
    | ReplaceView
    | Clone
    | Rename
    | Swap
    | Drop
    | Undrop
    | DropBase
    | BaseBack
    | Down
)


def named_by(happening: Happening) -> tuple[str, ...]:
    """Returns the dynamic tables that must be there for something to happen to them."""
    match happening:
        case Write() | Ungroup() | ReplaceView() | DropBase() | BaseBack() | Down():
            return ()
        case Group(members, _):
            return members
        case Swap(name, other):
            return name, other
        case _:
            return (happening.name,)


@dataclass(frozen=True, slots=True)
class Plan:
    """The dynamic tables of an account, and in `ticks` the events before each look of the process."""

    seed: int
    tables: tuple[Declared, ...]
    ticks: tuple[tuple[Happening, ...], ...]


def plan_of(seed: int, hours: float, tables: int = 12) -> Plan:
    """Returns the plan of an account. `hours`: simulated; `tables`: how many dynamic tables."""
    draw = random.Random(f"soak {seed} {hours} {tables}")
    declared = _tables(draw, tables)
    count = round(hours * 3600 * SECOND / TICK)
    ticks: list[tuple[Happening, ...]] = [(Write(tuple(_row(draw) for _ in range(12))),)]
    names = _Names([each.name for each in declared], tables, tables + CLONES)
    ticks += [_tick(draw, names) for _ in range(count - 1)]
    return Plan(seed, declared, tuple(ticks))


def _tables(draw: random.Random, count: int) -> tuple[Declared, ...]:
    """Returns random dynamic tables, each after those that it reads."""
    tables: list[Declared] = []
    for number in range(count):
        kind = draw.choice(list(Kind)) if number % 4 else draw.choice((Kind.FILTER, Kind.COUNT, Kind.SUM))
        # Every fourth table begins a component of its own over the base tables; joins stay small.
        near = [each.name for each in tables[number // 4 * 4 :]]
        first = draw.choice(near) if near else draw.choice((*BASES, VIEW))
        small = [each.name for each in tables if each.kind in (Kind.COUNT, Kind.SUM)]
        second = draw.choice([*small, *BASES, VIEW])
        if kind.of_two and first == second:
            kind = Kind.FILTER
        sources = (first, second) if kind.of_two else (first,)
        if number == 1:
            # One table of each account reads a base table itself, and so meets every row that it may fail on.
            kind, sources = Kind.QUOTIENT, (draw.choice(BASES),)
        tables.append(Declared(f"t{number}", kind, sources, draw.choice(LAGS), draw.randrange(4)))
    return tuple(tables)


def _row(draw: random.Random) -> tuple[str, int, int]:
    """Returns a random row (base table, a, b) on which no query fails."""
    return draw.choice(BASES), draw.randrange(KEYS), draw.randrange(1, VALUES)


@dataclass(slots=True)
class _Names:
    """The dynamic tables that have their names now. `made`: how many there ever were, at most `most`.

    `away`: tables without their names: the ticks until they come back, the name, and the event that brings
    them back. `bases`: the base tables that are there.
    """

    present: list[str]
    made: int
    most: int
    away: list[tuple[int, str, Rename | Undrop | BaseBack]] = field(default_factory=list)
    bases: list[str] = field(default_factory=lambda: [*BASES])

    def back(self) -> list[Happening]:
        """Returns the events that bring back the tables whose time has come; the others wait a tick less."""
        due = [(name, back) for left, name, back in self.away if left <= 0]
        self.away = [(left - 1, name, back) for left, name, back in self.away if left > 0]
        for name, _ in due:
            (self.bases if name in BASES else self.present).append(name)
        return [back for _, back in due]

    def send(self, name: str, ticks: int, back: Rename | Undrop | BaseBack) -> None:
        """Notes that a table is without its name for some ticks, until the event `back`."""
        (self.bases if name in BASES else self.present).remove(name)
        self.away.append((ticks, name, back))


def _tick(draw: random.Random, names: _Names) -> tuple[Happening, ...]:
    """Returns the events before a look: tables that come back, writes, and a command."""
    happened = names.back()
    if draw.random() < 0.7:
        rows = tuple(_row(draw) for _ in range(draw.randrange(1, 4)))
        gone = ((draw.choice(BASES), "a", draw.randrange(KEYS)),) if draw.random() < 0.4 else ()
        happened.append(Write(rows, gone))
    if draw.random() < 0.1:
        happened.append(Write(((draw.choice(BASES), draw.randrange(KEYS), 0),)))
    if draw.random() < 0.12:
        happened.append(Write(deleted=tuple((base, "b", 0) for base in BASES)))
    happened += _command(draw, names)
    return tuple(happened)


def _command(draw: random.Random, names: _Names) -> Sequence[Happening]:
    """Returns the random command, if any, that somebody gives before a look."""
    name, present = draw.choice(names.present), names.present
    match number := draw.randrange(30):
        case 0:
            return [Switch(name, False)]
        case 1 | 2 | 3:
            return [Switch(each, True) for each in present]
        case 4 | 5:
            return [Alter(name, draw.choice(LAGS))]
        case 6 | 29 if len(present) > 2:
            members = tuple(draw.sample(present, draw.randrange(2, 4)))
            return [Group(members, draw.choice([each.value for each in Isolation]))]
        case 7:
            return [Ungroup()]
        case 8:
            return [Redefine(name, draw.randrange(4), draw.choice(list(Kind)))]
        case 9:
            return [Down(draw.randrange(1, 4))]
        case 10 | 11 if names.made < names.most:
            copy = f"t{names.made}"
            names.made += 1
            present.append(copy)
            return [Clone(name, copy)]
        case 28:
            return [ReplaceView(draw.randrange(4))]
        case _:
            return _moving(draw, names, name, number)


def _moving(draw: random.Random, names: _Names, name: str, number: int) -> Sequence[Happening]:
    """Returns a rename, a drop or a swap, if the number means one; what was taken away comes back later."""
    present = names.present
    match number:
        case 12 if len(present) > FEWEST:
            names.send(name, draw.randrange(1, 8), Rename(f"{name}x", name))
            return [Rename(name, f"{name}x")]
        case 13 if len(present) > FEWEST:
            names.send(name, draw.randrange(1, 8), Undrop(name))
            return [Drop(name)]
        case 14 | 15 if len(present) > 1:
            return [Swap(*draw.sample(present, 2))]
        case 16 if len(names.bases) > 1 and draw.random() < 0.5:
            base = draw.choice(names.bases)
            names.send(base, draw.randrange(5), BaseBack(base, draw.random() < 0.3))
            return [DropBase(base)]
        case _:
            return []
