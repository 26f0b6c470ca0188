"""ZQL, the incremental queries of Rocicorp's Zero: the adapter `zql`, on Node.js. It has no SQL."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from engines.adapter import Adapter, Capabilities, RefreshFailed, Transaction
from engines.others.base_tables import BaseTables
from engines.others.node.packages import needed
from engines.others.node.processes import server, stores
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


class Zql(Adapter):
    """A pipeline and a view for each query, in the process on Node.js; DuckDB applies DML."""

    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.DUCKDB, limits=LIMITS)

    @classmethod
    def ready(cls) -> None:
        """Checks that Node.js and the package are installed. Raises NodeMissing."""
        needed(os.environ)

    def __init__(self) -> None:
        self._base = BaseTables()
        self._server = server("zql.mjs")
        self._ask(do="open")

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table, and its source."""
        self._base.create(table, sql)
        columns = {each.name: {"type": TYPES[each.type.kind], "optional": True} for each in table.columns}
        self._ask(do="table", name=table.name, columns=columns, key=table.promises.keys[0])

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Builds the view of a query, with its rows. Raises Unsupported."""
        self._ask(do="define", name=table.name, **plan_of(table.query))

    def commit(self, transaction: Transaction) -> None:
        """Applies a transaction, and pushes its changes into every view. Raises RefreshFailed."""
        for name, changes in self._base.commit(transaction).items():
            pairs = [each for each in changes.items() if each[1]]
            answer = self._server.ask({"do": "change", "table": name, "changes": pairs})
            if "broken" in answer:
                raise RefreshFailed(answer["broken"], broken=True)

    def refresh(self, table: str, timestamp: int) -> None:
        """Does nothing: the commit has maintained the view already."""

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of a base table or of a view."""
        if name in self._base.tables:
            return self._base.held[name]
        return [tuple(row) for row in self._ask(do="rows", name=name)["rows"]]

    def interrupt(self) -> None:
        """Ends the process on Node.js; the next database gets a new one."""
        self._server.process.kill()
        server.cache_clear()

    def close(self) -> None:
        """Closes the base tables; the process goes on for other databases."""
        self._base.database.close()

    def _ask(self, **request: Any) -> dict[str, Any]:
        answer = self._server.ask(request)
        if "broken" in answer:
            raise RuntimeError(answer["broken"])
        return answer
