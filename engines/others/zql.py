"""ZQL, the incremental queries of Rocicorp's Zero: the adapter `zql`, on Node.js. It has no SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from engines.adapter import Capabilities
from engines.others.node.processes import OnNode, stores
from engines.others.zql_queries import amended, gap, plan_of
from workload.limits import Limits, Timestamps
from workload.operators import Operator
from workload.scenario import DynamicTable
from workload.schema import Column, Table
from workload.sql import Dialect
from workload.types import Kind, Row

TYPES = {Kind.INT: "number", Kind.BIGINT: "number", Kind.STRING: "string", Kind.BOOLEAN: "boolean"}

LIMITS = Limits(
    operators=frozenset(
        {
            Operator.INNER_JOIN,
            Operator.LEFT_JOIN,
            Operator.RIGHT_JOIN,
            Operator.SEMI_JOIN,
            Operator.ANTI_JOIN,
            Operator.LIMIT,
            Operator.FILTER,
            Operator.PROJECTION,
        }
    ),
    types=frozenset(TYPES),
    timestamps=Timestamps.COMMIT,
    views=False,
    layered=False,
    keys=True,
    stores=stores,
    gap=gap,
    amend=amended,
)


class Zql(OnNode):
    """A pipeline and a view for each query, in the process on Node.js; DuckDB applies DML."""

    script: ClassVar[str] = "zql.mjs"
    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.DUCKDB, limits=LIMITS)

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table, and its source."""
        self.base.create(table, sql)
        columns = {each.name: {"type": TYPES[each.type.kind], "optional": True} for each in table.columns}
        self.ask(do="table", name=table.name, columns=columns, key=table.promises.keys[0])

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Builds the view of a query, with its rows. Raises Unsupported."""
        self.ask(do="define", name=table.name, **plan_of(table.query))

    def refresh(self, table: str, timestamp: int) -> None:
        """Does nothing: the commit has maintained the view already."""

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of a base table or of a view."""
        if name in self.base.tables:
            return self.base.held[name]
        return [tuple(row) for row in self.ask(do="rows", name=name)["rows"]]
