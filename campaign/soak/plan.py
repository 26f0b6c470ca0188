"""What happens to a simulated account, complete before anything runs: a function of seed, hours and size."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import Enum

SECOND = 1_000_000
TICK = 48 * SECOND
"""The shortest period, in microseconds: the process that refreshes looks once in it."""

BASES = ("r", "s")
LAGS = (None, 60, 60, 120, 300)
"""Target lags in seconds; None for DOWNSTREAM."""

KEYS, VALUES = 6, 9

CLONES = 3
"""Most copies of tables in one account."""


class Kind(Enum):
    """What a dynamic table computes; the value is its query, over one or two tables with columns a and b."""

    FILTER = "SELECT a, b FROM {0} WHERE b > {n}"
    COUNT = "SELECT a, COUNT(*) AS b FROM {0} GROUP BY a"
    SUM = "SELECT a, SUM(b) AS b FROM {0} GROUP BY a"
    JOIN = "SELECT {0}.a AS a, {1}.b AS b FROM {0} JOIN {1} ON {0}.a = {1}.a"
    UNION = "SELECT a, b FROM {0} UNION ALL SELECT a, b FROM {1}"
    QUOTIENT = "SELECT a, b FROM {0} WHERE 100 / b > {n}"
    """Fails where b is 0."""


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
    """Rows (table, a, b) that are inserted; then rows whose a, or b, has a value are deleted."""

    inserted: tuple[tuple[str, int, int], ...] = ()
    deleted: tuple[tuple[str, str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Alter:
    """A table gets another target lag, in seconds."""

    name: str
    lag: int | None


@dataclass(frozen=True, slots=True)
class Switch:
    """A table is suspended, or resumed."""

    name: str
    on: bool


@dataclass(frozen=True, slots=True)
class Group:
    """A group of tables is made; one with the same name is dropped before."""

    members: tuple[str, ...]
    isolation: str


@dataclass(frozen=True, slots=True)
class Ungroup:
    """The group is dropped."""


@dataclass(frozen=True, slots=True)
class Redefine:
    """A dynamic table gets another number in its query."""

    name: str
    number: int


@dataclass(frozen=True, slots=True)
class Clone:
    """A dynamic table gets a copy, which goes on by itself."""

    name: str
    copy: str


@dataclass(frozen=True, slots=True)
class Down:
    """The process that refreshes does not run for some ticks; another one follows it."""

    ticks: int


Happening = Write | Alter | Switch | Group | Ungroup | Redefine | Clone | Down


@dataclass(frozen=True, slots=True)
class Plan:
    """`ticks`: what happens before each look of the process, in order."""

    seed: int
    tables: tuple[Declared, ...]
    ticks: tuple[tuple[Happening, ...], ...]


def plan_of(seed: int, hours: float, tables: int = 12) -> Plan:
    """Returns the plan of an account."""
    draw = random.Random(f"soak {seed} {hours} {tables}")
    declared = _tables(draw, tables)
    count = round(hours * 3600 * SECOND / TICK)
    ticks: list[tuple[Happening, ...]] = [(Write(tuple(_row(draw) for _ in range(12))),)]
    names = [each.name for each in declared]
    ticks += [_tick(draw, names, tables + CLONES) for _ in range(count - 1)]
    return Plan(seed, declared, tuple(ticks))


def _tables(draw: random.Random, count: int) -> tuple[Declared, ...]:
    made: list[Declared] = []
    for number in range(count):
        kind = draw.choice(list(Kind)) if number % 4 else draw.choice((Kind.FILTER, Kind.COUNT, Kind.SUM))
        # Every fourth table begins a component of its own over the base tables; joins stay small.
        near = [each.name for each in made[number // 4 * 4 :]]
        first = draw.choice(near) if near else draw.choice(BASES)
        small = [each.name for each in made if each.kind in (Kind.COUNT, Kind.SUM)]
        second = draw.choice([*small, *BASES])
        two = kind in (Kind.JOIN, Kind.UNION)
        if two and first == second:
            kind, two = Kind.FILTER, False
        sources = (first, second) if two else (first,)
        if number == 1:
            # One table of each account meets every row that it may fail on.
            kind, sources = Kind.QUOTIENT, (draw.choice(BASES),)
        made.append(Declared(f"t{number}", kind, sources, draw.choice(LAGS), draw.randrange(4)))
    return tuple(made)


def _row(draw: random.Random) -> tuple[str, int, int]:
    return draw.choice(BASES), draw.randrange(KEYS), draw.randrange(1, VALUES)


def _tick(draw: random.Random, names: list[str], most: int) -> tuple[Happening, ...]:
    """Returns what happens before a look. `names`: the tables, to which a copy is added, up to `most`."""
    happened: list[Happening] = []
    if draw.random() < 0.7:
        rows = tuple(_row(draw) for _ in range(draw.randrange(1, 4)))
        gone = ((draw.choice(BASES), "a", draw.randrange(KEYS)),) if draw.random() < 0.4 else ()
        happened.append(Write(rows, gone))
    if draw.random() < 0.1:
        happened.append(Write(((draw.choice(BASES), draw.randrange(KEYS), 0),)))
    if draw.random() < 0.12:
        happened.append(Write(deleted=tuple((base, "b", 0) for base in BASES)))
    name = draw.choice(names)
    match draw.randrange(24):
        case 0:
            happened.append(Switch(name, False))
        case 1 | 2 | 3:
            happened += [Switch(each, True) for each in names]
        case 4 | 5:
            happened.append(Alter(name, draw.choice(LAGS)))
        case 6:
            members = tuple(draw.sample(names, draw.randrange(2, 4)))
            happened.append(Group(members, draw.choice(("read_committed", "repeatable_read"))))
        case 7:
            happened.append(Ungroup())
        case 8:
            happened.append(Redefine(name, draw.randrange(4)))
        case 9:
            happened.append(Down(draw.randrange(1, 4)))
        case 10 | 11 if len(names) < most:
            happened.append(Clone(name, f"t{len(names)}"))
            names.append(f"t{len(names)}")
        case _:
            pass
    return tuple(happened)
