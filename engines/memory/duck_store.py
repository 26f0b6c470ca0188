"""The engine's store for the tier `rules`: every version of a table is a DuckDB table of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle

import duckdb

from dynamic_tables.definition import Columns
from dynamic_tables.errors import StoreError
from dynamic_tables.plan.dialects import DUCKDB, Dialect
from dynamic_tables.plan.nodes import Plan
from dynamic_tables.plan.written.render import render
from dynamic_tables.store.port import Relation
from engines.memory.database import fetched
from engines.memory.store import MemoryStore
from workload.errors import first_line

MARK = "\0"
"""Marks the names of leaves in the text of a plan: a character that no SQL text contains."""


@dataclass(frozen=True, slots=True)
class DuckRelation:
    """A DuckDB table by its (quoted) name, or a query not yet run."""

    connection: duckdb.DuckDBPyConnection
    name: str
    query: str | None = None

    @property
    def local(self) -> bool:
        """False: reading the rows runs a query."""
        return False

    def rows(self) -> Sequence[tuple[object, ...]]:
        """Returns all rows, in any order. Raises StoreError."""
        text = self.query if self.query is not None else f'SELECT * FROM "{self.name}"'
        with store_errors():
            return fetched(self.connection.execute(text))

    def last(self, count: int) -> Sequence[tuple[object, ...]]:
        """Returns the values of the last columns of all rows."""
        return [row[-count:] for row in self.rows()]


@contextmanager
def store_errors() -> Iterator[None]:
    """Turns errors of DuckDB into StoreError."""
    try:
        yield
    except duckdb.Error as error:
        raise StoreError(f"{type(error).__name__}: {first_line(error)}") from error


@dataclass(slots=True)
class DuckStore(MemoryStore[DuckRelation]):
    """A `Store` over one DuckDB connection. `texts`: the rendered plans, in pieces around their leaves."""

    connection: duckdb.DuckDBPyConnection
    names: int = 0
    texts: dict[Plan, list[str]] = field(default_factory=dict)

    @property
    def dialect(self) -> Dialect:
        """The dialect of DuckDB."""
        return DUCKDB

    def query(self, plan: Plan, leaves: Mapping[str, Relation]) -> DuckRelation:
        """Returns the query of a plan, not run yet."""
        names = {
            leaf: self.computed(relation).name
            for leaf, relation in leaves.items()
            if isinstance(relation, DuckRelation)
        }
        return DuckRelation(self.connection, "", self._text(plan, leaves, names))

    def materialized(self, plan: Plan, leaves: Mapping[str, Relation]) -> DuckRelation:
        """Computes a plan into a temporary table."""
        return self.computed(self.query(plan, leaves))

    def _text(self, plan: Plan, leaves: Iterable[str], names: Mapping[str, str]) -> str:
        """Returns the text of a plan, rendered once: refreshes of a table differ in names of leaves only."""
        if plan not in self.texts:
            marked = render(plan, DUCKDB, {leaf: f"{MARK}{leaf}{MARK}" for leaf in leaves}).text()
            self.texts[plan] = marked.split(MARK)
        # Every second piece is a leaf.
        pieces = zip(self.texts[plan], cycle((False, True)), strict=False)
        return "".join(names[piece] if is_leaf else piece for piece, is_leaf in pieces)

    def compute_text(self, text: str, relations: Mapping[str, Relation], time: int) -> DuckRelation:
        """Raises StoreError: the texts of queries are in Spark's dialect."""
        raise StoreError("this store runs plans only")

    def computed(self, contents: Relation) -> DuckRelation:
        """Computes a query into a temporary table, unless it is a table already."""
        assert isinstance(contents, DuckRelation)
        if contents.query is None:
            return contents
        self.names += 1
        name = f"x@{self.names}"
        with store_errors():
            self.connection.execute(f'CREATE TEMP TABLE "{name}" AS {contents.query}').fetchall()
        return DuckRelation(self.connection, name)

    def from_duckdb(self, connection: duckdb.DuckDBPyConnection, name: str, columns: Columns) -> DuckRelation:
        """Returns the table itself."""
        return DuckRelation(connection, name)

    def release(self, relations: Sequence[Relation]) -> None:
        """Does nothing: the database is dropped after the scenario."""
