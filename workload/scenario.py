"""A scenario: the whole test case as one value, complete before anything runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from workload.dml import Dml
from workload.query import Query
from workload.schema import Table

SCENARIO_VERSION = 1
"""Version of the JSON form and of its meaning; a file of another version is refused."""


class RefreshMode(Enum):
    """What a dynamic table asks for; AUTO lets the engine choose by what it supports."""

    AUTO = "AUTO"
    FULL = "FULL"
    INCREMENTAL = "INCREMENTAL"


@dataclass(frozen=True, slots=True)
class View:
    """A named query, expanded wherever it is read. `style`, `known_as`: see `DynamicTable`."""

    name: str
    query: Query
    style: int = 0
    known_as: str = ""

    @property
    def public_name(self) -> str:
        """The name by which an engine knows the view."""
        return self.known_as or self.name


@dataclass(frozen=True, slots=True)
class DynamicTable:
    """A dynamic table; `target_lag` in logical microseconds, None for DOWNSTREAM.

    `style`: the number of the style in which the text of the query is written for an engine that reads
    Spark's SQL (`workload.writing.writer`); 0: each operator in parentheses. It does not change the meaning.
    `known_as`: the name by which an engine knows the table, if it is another one than `name`: that of a
    definition that was dropped or replaced before. Names in a scenario are never used twice, also not in
    queries. `frozen_where`: the condition of the frozen part (docs/semantics.md); `frozen_translated`: the
    same in DuckDB's SQL, where that is another text.
    """

    name: str
    query: Query
    mode: RefreshMode = RefreshMode.AUTO
    target_lag: int | None = None
    style: int = 0
    known_as: str = ""
    frozen_where: str = ""
    frozen_translated: str = ""

    @property
    def frozen_condition(self) -> str:
        """The condition of the frozen part in DuckDB's SQL; empty where there is none."""
        return self.frozen_translated or self.frozen_where

    @property
    def public_name(self) -> str:
        """The name by which an engine knows the table."""
        return self.known_as or self.name


Definition = View | DynamicTable


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """How a process commits that is another one than the process that refreshes.

    What it commits, and at which logical time, is the same as without it; only an engine that confuses
    versions shows other rows. If a creation or refresh is the step before, the commit is made while that step
    is under way: counted in calls that the engine makes of its storage, from the one that decides the data
    timestamp, the last statement is committed before call `last`, and those before it before call `first`
    (0: before the data timestamp is decided).

    `clock`: how far the clock of the process is ahead of logical time, in microseconds; negative: behind.
    `foreign`: the process is no account of the engine, so each statement is a commit of its own. `abandoned`:
    before it a third process inserts the same rows in a transaction and is killed before its end.
    """

    first: int = 1
    last: int = 1
    clock: int = 0
    foreign: bool = False
    abandoned: bool = False


@dataclass(frozen=True, slots=True)
class Commit:
    """One transaction at logical time `at`: statements over one or several base tables.

    `meanwhile`: how another process makes it; None: nothing else is under way. `rolled_back`: before it the
    same statements run in a transaction that ends with a ROLLBACK, so that they have no effect.
    """

    at: int
    statements: tuple[Dml, ...]
    meanwhile: Meanwhile | None = None
    rolled_back: bool = False


@dataclass(frozen=True, slots=True)
class Create:
    """Creation of a view or dynamic table at time `at`; a dynamic table is initialized at once."""

    at: int
    name: str


@dataclass(frozen=True, slots=True)
class Drop:
    """A view or dynamic table that nothing reads any more is dropped at time `at`, with all its contents.

    Its name is free then: a later definition may be `known_as` it.
    """

    at: int
    name: str


@dataclass(frozen=True, slots=True)
class Redefine:
    """CREATE OR REPLACE at time `at`: `names[0]` takes the place of the definition that it is known as.

    The definitions that read the replaced one, at any depth, go on under their names; here they are new ones
    too, because from now on they mean something else: the other `names`, in order of creation. Their queries
    are the old ones over the new names. A dynamic table that replaces another one is refreshed at once; all
    others get their new contents with their next refresh.
    """

    at: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refresh:
    """A manual refresh issued at time `at` for data timestamp `timestamp` <= `at`, upstreams first.

    `killed`: the process is killed before that call of its storage, counted as in `Meanwhile`, and another
    one refreshes again; None: it is not. An engine whose calls nobody sees is opened again before call 0.
    """

    at: int
    table: str
    timestamp: int
    killed: int | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """One statement of a reader transaction: reads base and dynamic tables as they are stored at time `at`.

    Statements of one `reader` number are one transaction, from its first to its last; each sees what is
    newest when it runs (read committed).
    """

    at: int
    reader: int
    tables: tuple[str, ...]


Step = Commit | Create | Drop | Redefine | Refresh | Read


def renamed(step: Step, names: Mapping[str, str]) -> Step:
    """Returns the step about other definitions: `names` has the new name of each that gets one."""
    match step:
        case Drop(at, name):
            return Drop(at, names.get(name, name))
        case Refresh(table=table):
            return replace(step, table=names.get(table, table))
        case Read(tables=tables):
            return replace(step, tables=tuple(names.get(table, table) for table in tables))
        case _:
            return step


@dataclass(frozen=True, slots=True)
class Scenario:
    """A schema, a DAG of definitions, and a history of steps in time order.

    `name` says where it comes from (seed, profile, index); `intents` names the triggers that were built
    into it on purpose, for coverage.
    """

    name: str
    tables: tuple[Table, ...]
    definitions: tuple[Definition, ...]
    steps: tuple[Step, ...]
    intents: tuple[str, ...] = ()

    def definition(self, name: str) -> Definition:
        """Returns the view or dynamic table of that name. Raises KeyError: there is none."""
        for definition in self.definitions:
            if definition.name == name:
                return definition
        raise KeyError(name)

    def replaced(self, step: Redefine, live: Collection[str]) -> Mapping[str, str]:
        """Returns, for each of the `live` definitions that a step replaces, the new one. Raises KeyError."""
        by_public_name = {self.definition(name).public_name: name for name in live}
        return {by_public_name[self.definition(new).public_name]: new for new in step.names}

    def live_after(self, steps: Sequence[Step]) -> list[str]:
        """Returns the definitions that exist after the first steps, upstreams first. Raises KeyError."""
        live: list[str] = []
        for step in steps:
            match step:
                case Create(_, name):
                    live.append(name)
                case Drop(_, name):
                    live.remove(name)
                case Redefine():
                    replaced = self.replaced(step, live)
                    # What the new definition reads may have been created after the old one.
                    live = [name for name in live if name not in replaced]
                    live.extend(step.names)
                case _:
                    pass
        return live

    @property
    def dynamic_tables(self) -> tuple[DynamicTable, ...]:
        """The dynamic tables, upstreams first."""
        return tuple(d for d in self.definitions if isinstance(d, DynamicTable))
