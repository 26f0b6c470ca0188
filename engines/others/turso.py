"""Turso, the rewrite of SQLite in Rust: the adapter `turso`. Its views are maintained in every commit."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from math import copysign
from typing import Any, ClassVar

from engines.adapter import Adapter, Capabilities, RefreshFailed, Transaction, Unsupported
from engines.errors import EngineError
from engines.values import typed_rows
from workload import query as ir
from workload.limits import Limits, Timestamps
from workload.operators import Operator
from workload.scenario import DynamicTable
from workload.schema import Column, Table
from workload.sql import Dialect
from workload.types import Kind, Row

UNKNOWN = frozenset({"not", "same", "differs", "neg"})
"""Functions that Turso's compiler of views does not know in a condition."""


def gap(query: ir.Query) -> str | None:
    """Returns why Turso 0.8 refuses a query as a view; None: no reason is known.

    Its compiler of views knows fewer expressions than its queries, and finds a column that is named by a
    sub-query only in the list of SELECT. Of 1,278 random queries it refused 468, of which this function names
    455; it names 6 others.
    """
    if any(isinstance(node, ir.With) for node in ir.walk(query)):
        return "a CTE"
    return next(filter(None, map(_gap_of_block, ir.blocks(query))), None)


def _gap_of_block(block: ir.Select) -> str | None:
    if block.having is not None:
        return "HAVING"
    relations = list(ir.relations_of(block.source))
    joined = [each for of in relations if isinstance(of, ir.Join) for each in ir.conjuncts(of.on)]
    if not all(map(_equates_columns, joined)):
        return "a join on more than equalities of columns"
    shown = [part for item in block.items for part in ir.subexpressions(item.expr)]
    if any(
        isinstance(part, ir.Aggregate) and not isinstance(part.arg, ir.ColumnRef | None) for part in shown
    ):
        return "an aggregate of an expression"
    condition = () if block.where is None else tuple(ir.subexpressions(block.where))
    if any(map(_is_unknown, condition)):
        return "a condition with NOT, IS or a negative number"
    grouped = [part for key in block.group_by or () for part in ir.subexpressions(key)]
    named = {name for relation in relations for name in _named_by(relation)}
    needed = (*condition, *grouped, *(part for each in joined for part in ir.subexpressions(each)))
    if any(isinstance(part, ir.ColumnRef) and (part.relation, part.name) in named for part in needed):
        return "a column named by a sub-query, outside of the list of SELECT"
    return None


def _equates_columns(condition: ir.Expr) -> bool:
    match condition:
        case ir.Call("eq", (ir.ColumnRef(), ir.ColumnRef())):
            return True
        case _:
            return False


def _is_unknown(part: ir.Expr) -> bool:
    match part:
        case ir.Call(function):
            return function in UNKNOWN
        case ir.Literal(int() | float() as number):
            return copysign(1, number) < 0
        case _:
            return False


def _named_by(relation: ir.Relation) -> Iterator[tuple[str, str]]:
    """Yields the columns of a sub-query that have another name than what they show."""
    if isinstance(relation, ir.Derived):
        for block in ir.blocks(relation.query):
            for item in block.items:
                if not isinstance(item.expr, ir.ColumnRef) or item.expr.name != item.name:
                    yield relation.alias, item.name


LIMITS = Limits(
    operators=frozenset(
        {
            Operator.INNER_JOIN,
            Operator.DISTINCT,
            Operator.UNION,
            Operator.UNION_ALL,
            Operator.GROUPED_AGGREGATION,
            Operator.SCALAR_AGGREGATION,
            Operator.FILTER,
            Operator.PROJECTION,
        }
    ),
    types=frozenset({Kind.INT, Kind.BIGINT, Kind.STRING, Kind.DOUBLE}),
    timestamps=Timestamps.COMMIT,
    views=False,
    layered=False,
    restarts=True,
    rollbacks=True,
    gap=gap,
    # Read inexactly (found/turso/number-in-a-text): no view would be compared.
    stores=lambda value, type_: value != -1e-300,
)


class Turso(Adapter):
    """A database in a file of its own."""

    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.SQLITE, limits=LIMITS)

    @classmethod
    def ready(cls) -> None:
        """Checks that Turso is installed. Raises EngineError."""
        try:
            import turso  # noqa: F401
        except ImportError as error:
            raise EngineError("Turso is not installed; pip install 'dvs-harness[turso]'") from error

    def __init__(self) -> None:
        import turso

        self._folder = tempfile.TemporaryDirectory(prefix="dvs-turso-")
        self._database = self._opened()
        # The same tables without a view: whether a transaction fails because of one.
        self._plain = turso.connect(":memory:", isolation_level=None)

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table."""
        self._run(sql)
        self._plain.cursor().execute(sql)

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Creates a materialized view with its contents. Raises Unsupported."""
        try:
            self._run(f"CREATE MATERIALIZED VIEW {table.name} AS {query}")
        except Exception as error:
            raise Unsupported(str(error)) from error

    def commit(self, transaction: Transaction) -> None:
        """Applies a transaction, which maintains the views. Raises RefreshFailed if these make it fail."""
        self._transact(transaction, "COMMIT")

    def roll_back(self, transaction: Transaction) -> None:
        """Runs a transaction and rolls it back. Raises RefreshFailed as `commit` does."""
        self._transact(transaction, "ROLLBACK")

    def _transact(self, transaction: Transaction, end: str) -> None:
        for text in ("BEGIN", *transaction.sql, end):
            self._plain.cursor().execute(text)
        try:
            for text in ("BEGIN", *transaction.sql, end):
                self._run(text)
        except Exception as error:
            # Some errors have ended the transaction already; then Turso refuses the ROLLBACK.
            with suppress(Exception):
                self._run("ROLLBACK")
            raise RefreshFailed(str(error)) from error

    def refresh(self, table: str, timestamp: int) -> None:
        """Does nothing: the commit has maintained the table already."""

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of a table or a view."""
        return self._select(f"SELECT * FROM {name}", columns)

    def restart(self) -> None:
        """Opens the file again. Raises RefreshFailed."""
        try:
            self._database.close()
            self._database = self._opened()
        except Exception as error:
            raise RefreshFailed(f"the database cannot be opened again: {error}") from error

    def close(self) -> None:
        """Closes the databases and removes the file."""
        with suppress(Exception):
            self._database.close()
        self._folder.cleanup()

    def evaluate(self, query: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns Turso's own answer to a query, without a view."""
        return self._select(query, columns)

    def _opened(self) -> Any:
        import turso

        return turso.connect(f"{self._folder.name}/db", experimental_features="views", isolation_level=None)

    def _select(self, text: str, columns: Sequence[Column]) -> list[Row]:
        return typed_rows(self._run(text).fetchall(), columns)

    def _run(self, text: str) -> Any:
        return self._database.cursor().execute(text)
