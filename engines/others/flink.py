"""Apache Flink SQL: the adapter `flink`. A refresh is a streaming job over all changes so far."""

from __future__ import annotations

import atexit
import datetime as dt
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from typing import Any, ClassVar

from engines.adapter import Adapter, Capabilities, RefreshFailed, Transaction, Unsupported
from engines.others.base_tables import BaseTables
from engines.others.flink_cluster import Change, Cluster, Environment, FlinkError, jars, started
from engines.values import typed_rows
from workload import query as ir
from workload.limits import Limits
from workload.operators import OPERATORS, Operator
from workload.scenario import DynamicTable
from workload.schema import Column, Table
from workload.sql import Dialect, create_table_text, no_rows
from workload.sql.dialect import double_text
from workload.types import SCALAR, Kind, Row, SqlType, Value


def stores(value: Value, type_: SqlType) -> bool:
    """Tells whether tables may hold a value: not -0.0, because Flink has 0.0 and -0.0 in two groups."""
    return not (isinstance(value, float) and double_text(value) == "-0.0")


OVER = frozenset(
    {
        ir.WindowFunction.ROW_NUMBER,
        ir.WindowFunction.RANK,
        ir.WindowFunction.DENSE_RANK,
        ir.WindowFunction.LAG,
        ir.WindowFunction.FIRST_VALUE,
        ir.WindowFunction.LAST_VALUE,
        *ir.AggregateFunction,
    }
)
"""The functions that Flink calculates over a window of a stream."""


def gap(query: ir.Query) -> str | None:
    """Returns what Flink's streaming mode lacks of a query's windows; None: nothing."""
    for block in ir.blocks(query):
        windows = list(ir.windows_of(block))
        if _first_rows(block, windows):
            continue
        if not all(map(_over, windows)):
            return "a window other than the rows up to this one by one ascending key"
        if len({(each.partition, each.order, each.frame) for each in windows}) > 1:
            return "windows of two kinds in one block"
    return None


def _first_rows(block: ir.Select, windows: Sequence[ir.Window]) -> bool:
    """Tells whether a block keeps the first rows by a number: Flink has an operator for any such order."""
    match block.qualify:
        case ir.Call("le", (ir.Window(ir.WindowFunction.ROW_NUMBER) as number, ir.Literal())):
            return all(each == number for each in windows)
        case _:
            return False


def _over(window: ir.Window) -> bool:
    frame = window.frame
    up_to_this = frame is None or (frame.start is None and frame.end == 0)
    one_key = len(window.order) == 1 and not window.order[0].descending
    return window.function in OVER and up_to_this and one_key


LIMITS = Limits(
    gap=gap,
    operators=OPERATORS - {Operator.EXPLODE, Operator.SCALAR_AGGREGATION},
    types=SCALAR - {Kind.BINARY},
    stores=stores,
)


numbers = itertools.count()
"""Numbers the streams: a dynamic table gets another one with each refresh that changes it."""


@dataclass
class Stream:
    """What queries read: a table's columns, and its changes as texts.

    The columns of a dynamic table are not known before its rows are asked for. `sent`: the list of changes in
    the JVM, which has the first `count` ones; `shown`: whether Flink's table has all of them.
    """

    columns: Sequence[Column] = ()
    changes: list[Change] = field(default_factory=list)
    sent: Any = None
    count: int = 0
    shown: bool = False
    number: int = field(default_factory=lambda: next(numbers))

    def show(self, name: str, environment: Environment) -> None:
        """Makes Flink's table of this name, with all changes so far."""
        if self.shown or not self.columns:
            return
        if not self.changes:
            # Flink takes no stream of nothing.
            nothing = (None,) * len(self.columns)
            self.changes = [("+I", nothing), ("-D", nothing)]
        self.sent = environment.added(self.sent, self.changes[self.count :])
        self.count, self.shown = len(self.changes), True
        environment.show(name, self.columns, self.sent)


class Flink(Adapter):
    """Streams in the cluster of this process; DuckDB keeps the base tables and applies DML.

    A table is the sum of the changes that its job gives; what reads it reads these changes.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(dialect=Dialect.FLINK, limits=LIMITS)

    @classmethod
    def ready(cls) -> None:
        """Checks that Flink and a Java are installed. Raises EngineError."""
        jars()

    def __init__(self) -> None:
        self._base = BaseTables()
        self._environment = _cluster().environment("STREAMING")
        self._streams: dict[str, Stream] = {}
        self._queries: dict[str, str] = {}
        self._views: dict[str, str] = {}
        self._rows: dict[str, list[Row]] = {}
        self._read: dict[str, list[tuple[int, int]]] = {}

    def create_table(self, table: Table, sql: str) -> None:
        """Creates a base table."""
        self._base.create(table, create_table_text(table, Dialect.DUCKDB))
        self._streams[table.name] = Stream(table.columns)

    def create_view(self, name: str, query: str) -> None:
        """Creates a view. Raises Unsupported."""
        self._plan(query)
        self._environment.run(f"CREATE TEMPORARY VIEW {name} AS {query}")
        self._views[name] = query

    def create_dynamic_table(self, table: DynamicTable, query: str) -> None:
        """Plans the query of a table. Raises Unsupported."""
        self._plan(query)
        self._queries[table.name] = query
        self._streams[table.name] = Stream()

    def commit(self, transaction: Transaction) -> None:
        """Applies a transaction, and notes its changes."""
        for name, changes in self._base.commit(replace(transaction, dialect=Dialect.DUCKDB)).items():
            gone = [("-D", row) for row, copies in changes.items() for _ in range(-copies)]
            come = [("+I", row) for row, copies in changes.items() for _ in range(copies)]
            stream = self._streams[name]
            stream.changes += [(kind, tuple(map(_text, row))) for kind, row in (*gone, *come)]
            stream.shown = False

    def refresh(self, table: str, timestamp: int) -> None:
        """Runs the job of a table. Raises RefreshFailed."""
        query = self._queries[table]
        read = self._show(query)
        if read == self._read.get(table):
            # A job that gets nothing new gives nothing new.
            return
        try:
            changes = self._environment.changes(query)
        except FlinkError as error:
            raise RefreshFailed(str(error)) from error
        self._read[table] = read
        self._rows[table] = _sum(changes)
        texts: list[Change] = [(kind, tuple(map(_text, row))) for kind, row in changes]
        self._streams[table] = Stream(self._streams[table].columns, texts)

    def rows(self, name: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns the rows of a base table or dynamic table."""
        if name in self._base.tables:
            return self._base.held[name]
        self._streams[name].columns = columns
        return typed_rows(self._rows[name], columns)

    def evaluate(self, query: str, columns: Sequence[Column]) -> Iterable[Row]:
        """Returns Flink's own answer to a query over the present rows, in batch mode."""
        environment = _cluster().environment("BATCH")
        for name, stream in self._streams.items():
            rows = self._base.held[name] if name in self._base.tables else self._rows.get(name, [])
            changes: list[Change] = [("+I", tuple(map(_text, row))) for row in rows]
            if changes:
                Stream(stream.columns, changes).show(name, environment)
            elif stream.columns:
                nothing = no_rows(stream.columns, Dialect.FLINK)
                environment.run(f"CREATE TEMPORARY VIEW {name} AS {nothing}")
        for name, text in self._views.items():
            environment.run(f"CREATE TEMPORARY VIEW {name} AS {text}")
        return typed_rows(_sum(environment.changes(query)), columns)

    def interrupt(self) -> None:
        """Ends the JVM; the next database gets a new one."""
        _cluster().end()
        _cluster.cache_clear()

    def close(self) -> None:
        """Closes the base tables; the cluster goes on for other databases."""
        self._base.database.close()

    def _plan(self, query: str) -> None:
        self._show(query)
        try:
            self._environment.plan(query)
        except FlinkError as error:
            raise Unsupported(str(error)) from error

    def _show(self, query: str) -> list[tuple[int, int]]:
        """Makes the tables that a query reads, also in views; returns number and length of each stream."""
        found: list[tuple[int, int]] = []
        for word in sorted(set(re.findall(r"\w+", query))):
            if word in self._views:
                found += self._show(self._views[word])
            elif word in self._streams:
                self._streams[word].show(word, self._environment)
                found.append((self._streams[word].number, self._streams[word].count))
        return found


def _sum(changes: Iterable[Change]) -> list[Row]:
    """Returns the rows that changes leave; a row that went more often than it came is not there."""
    left: Counter[Row] = Counter()
    for kind, row in changes:
        left[tuple(row)] += 1 if kind in ("+I", "+U") else -1
    return list(left.elements())


def _text(value: Any) -> str | None:
    """Returns a value as the text that Flink's CAST reads."""
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            return double_text(value)
        case Decimal():
            return f"{value:f}"
        case dt.datetime():
            return value.isoformat(sep=" ")
        case _:
            return str(value)


@cache
def _cluster() -> Cluster:
    """Returns the cluster of this process, started on first use."""
    cluster = started()
    atexit.register(cluster.end)
    return cluster
