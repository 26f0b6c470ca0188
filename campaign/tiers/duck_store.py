"""The in-memory store on DuckDB, for the `rules` tier: every version is a DuckDB table of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle

import duckdb

from campaign.tiers.memory_store import MemoryStore
from dynamic_tables.errors import StoreError
from dynamic_tables.plan.dialects import DUCKDB, Dialect
from dynamic_tables.plan.nodes import Plan
from dynamic_tables.plan.render import render
from dynamic_tables.store.port import Relation

MARK = "\0"
"""Around a leaf's name in the text of a plan: no SQL text has it."""


@dataclass(frozen=True, slots=True)
class DuckRelation:
    """A DuckDB table by its (quoted) name, or a query not yet run."""

    connection: duckdb.DuckDBPyConnection
    name: str
    query: str | None = None

    def rows(self) -> Sequence[tuple[object, ...]]:
        """All rows."""
        text = self.query if self.query is not None else f'SELECT * FROM "{self.name}"'
        with store_errors():
            return self.connection.execute(text).fetchall()


@contextmanager
def store_errors() -> Iterator[None]:
    """DuckDB's errors as the engine knows them."""
    try:
        yield
    except duckdb.Error as error:
        raise StoreError(f"{type(error).__name__}: {str(error).splitlines()[0]}") from error


@dataclass(slots=True)
class DuckStore(MemoryStore[DuckRelation]):
    """A `Store` over one DuckDB connection."""

    connection: duckdb.DuckDBPyConnection
    names: int = 0
    texts: dict[Plan, list[str]] = field(default_factory=dict)

    @property
    def dialect(self) -> Dialect:
        """DuckDB's."""
        return DUCKDB

    def query(self, plan: Plan, leaves: Mapping[str, Relation]) -> DuckRelation:
        """The query itself."""
        names = {
            leaf: relation.name for leaf, relation in leaves.items() if isinstance(relation, DuckRelation)
        }
        return DuckRelation(self.connection, "", self._text(plan, leaves, names))

    def materialized(self, plan: Plan, leaves: Mapping[str, Relation]) -> DuckRelation:
        """A temporary table."""
        return self.computed(self.query(plan, leaves))

    def _text(self, plan: Plan, leaves: Iterable[str], names: Mapping[str, str]) -> str:
        """The text of a plan; rendered once, since a table's refreshes differ in the leaves' names only."""
        if plan not in self.texts:
            marked = render(plan, DUCKDB, {leaf: f"{MARK}{leaf}{MARK}" for leaf in leaves}).text()
            self.texts[plan] = marked.split(MARK)
        # Every second piece is a leaf.
        pieces = zip(self.texts[plan], cycle((False, True)), strict=False)
        return "".join(names[piece] if is_leaf else piece for piece, is_leaf in pieces)

    def compute_text(self, text: str, relations: Mapping[str, Relation]) -> DuckRelation:
        """Not here: the text is Spark's."""
        raise StoreError("this store runs plans only")

    def computed(self, contents: Relation) -> DuckRelation:
        """The rows of a query as a temporary table."""
        assert isinstance(contents, DuckRelation)
        if contents.query is None:
            return contents
        self.names += 1
        name = f"x@{self.names}"
        with store_errors():
            self.connection.execute(f'CREATE TEMP TABLE "{name}" AS {contents.query}').fetchall()
        return DuckRelation(self.connection, name)

    def release(self, relations: Sequence[Relation]) -> None:
        """Nothing: the connection does not outlive the scenario."""
