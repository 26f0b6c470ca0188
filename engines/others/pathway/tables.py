"""Pathway, dataflow in Rust behind tables in Python: the adapter `pathway`. It gets streams of changes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, ClassVar

from engines.adapter import Adapter, Capabilities, RefreshFailed, Transaction, Unsupported
from engines.errors import shown
from engines.others.base_tables import BaseTables
from engines.others.pathway.queries import Built, gap, library, query_table
from workload import query as ir
from workload.limits import Limits
from workload.operators import Operator
from workload.scenario import DynamicTable
from workload.schema import Column, Table
from workload.sql import Dialect
from workload.types import Kind, Row

TYPES: Mapping[Kind, type] = {Kind.INT: int, Kind.BIGINT: int, Kind.STRING: str, Kind.BOOLEAN: bool}
ROW = "dvs_row"
"""The key of each base table: Pathway keeps rows by it."""

LIMITS = Limits(
    operators=frozenset(Operator)
    - {
        Operator.SCALAR_AGGREGATION,
        Operator.GROUPING_SETS,
        Operator.WINDOW,
        Operator.LIMIT,
        Operator.EXPLODE,
        Operator.EXCEPT_ALL,
        Operator.INTERSECT_ALL,
        Operator.SCAN,
        Operator.CTE,
        Operator.TEXT,
    },
    types=frozenset(TYPES),
    views=False,
    # None is a value like others there: it equals itself.
    nulls=False,
    gap=gap,
)


class Pathway(Adapter):
    """Streams of changes, which each refresh runs anew through all tables; DuckDB applies DML."""

    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.DUCKDB, limits=LIMITS)

    @classmethod
    def ready(cls) -> None:
        """Checks that Pathway is installed. Raises EngineError."""
        library()

    def __init__(self) -> None:
        self._base = BaseTables()
        self._numbers = count(1)
        self._time = 4
        self._keys: dict[str, dict[Row, list[int]]] = {}
        self._streams: dict[str, list[tuple[Any, ...]]] = {}
        self._queries: dict[str, ir.Query] = {}
        self._found: dict[str, list[Row]] = {}
        self._ran: dict[str, list[Row]] | None = None

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table."""
        self._base.create(table, sql)
        self._keys[table.name] = defaultdict(list)
        # A stream has a first row, which comes at time 2 and goes at time 4: what never had a row is a table
        # of its own kind.
        row = (0, *(TYPES[column.type.kind]() for column in table.columns))
        self._streams[table.name] = [(*row, 2, 1), (*row, 4, -1)]

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Notes the query, if its tables can be built. Raises Unsupported."""
        self._queries[table.name] = table.query
        self._ran = None
        try:
            self._built()
        except (TypeError, ValueError, Unsupported) as error:
            del self._queries[table.name]
            raise Unsupported(shown(error)) from error

    def commit(self, transaction: Transaction) -> None:
        """Applies a transaction, whose changes get a time; a row that changed keeps its key."""
        self._time += 2
        for name, changes in self._base.commit(transaction).items():
            keys_of, stream = self._keys[name], self._streams[name]
            gone = [(keys_of[row].pop(), row) for row, copies in changes.items() for _ in range(-copies)]
            come = [row for row, copies in changes.items() for _ in range(copies)]
            stream += ((key, *row, self._time, -1) for key, row in gone)
            keys = [*(key for key, _ in gone[: len(come)]), *(next(self._numbers) for _ in come[len(gone) :])]
            for key, row in zip(keys, come, strict=True):
                keys_of[row].append(key)
                stream.append((key, *row, self._time, 1))
        self._ran = None

    def refresh(self, table: str, timestamp: int) -> None:
        """Runs all tables on the changes so far, unless they have run. Raises RefreshFailed."""
        if self._ran is None:
            self._ran = self._run()
        self._found[table] = self._ran[table]

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of a base table, or those of a view as of its last refresh."""
        return self._base.held[name] if name in self._base.tables else self._found[name]

    def close(self) -> None:
        """Closes the base tables."""
        self._base.database.close()

    def _built(self) -> dict[str, Built]:
        """Returns the tables of all names, in a new graph."""
        pw = library()
        # Tables belong to a graph of the process, and each run would run all that was ever built.
        pw.internals.parse_graph.G.clear()
        tables: dict[str, Built] = {}
        for name, stream in self._streams.items():
            columns = self._base.tables[name].columns
            fields = {f"c_{each.name}": TYPES[each.type.kind] for each in columns}
            defined = {each: pw.column_definition(dtype=type_) for each, type_ in fields.items()}
            key = pw.column_definition(dtype=int, primary_key=True)
            schema = pw.schema_builder({ROW: key, **defined})
            table = pw.debug.table_from_rows(schema, stream, is_stream=True)
            tables[name] = Built(table, {("", each.name): f"c_{each.name}" for each in columns})
        for name, query in self._queries.items():
            tables[name] = query_table(query, tables)
        return tables

    def _run(self) -> dict[str, list[Row]]:
        pw = library()
        tables = self._built()
        bags: dict[str, Counter[Row]] = {name: Counter() for name in self._queries}

        def note(name: str, *, key: Any, row: Mapping[str, Any], time: int, is_addition: bool) -> None:
            values = tuple(row[column] for column in tables[name].columns.values())
            bags[name][values] += 1 if is_addition else -1

        for name in self._queries:
            pw.io.subscribe(tables[name].table, on_change=partial(note, name))
        try:
            pw.run(monitoring_level=pw.MonitoringLevel.NONE, default_logging=False)
        except Exception as error:
            raise RefreshFailed(shown(error)) from error
        negative = [row for bag in bags.values() for row, copies in bag.items() if copies < 0]
        assert not negative, f"rows with a negative number of copies: {negative}"
        return {name: [*bag.elements()] for name, bag in bags.items()}
