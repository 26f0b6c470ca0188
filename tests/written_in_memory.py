"""An account on Spark over rows in memory: what queries mean, without the commits that Delta makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp

from dynamic_tables.account import Account
from dynamic_tables.definition import BaseTable, Columns, DynamicTable, View
from dynamic_tables.differentiate.apply import OPERATION
from dynamic_tables.errors import ChangeDoesNotFit
from dynamic_tables.plan.nodes import DELETE, INSERT, ROW_ID, BoundQuery, Plan
from dynamic_tables.plan.types import STRING, Type
from dynamic_tables.reading.text.spark_text import SparkText
from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.store.names.relations import SparkRelation
from dynamic_tables.store.names.statements import Statement, check_statement, column_type
from dynamic_tables.store.names.texts import no_rows, schema_of, type_of
from dynamic_tables.store.names.witness import misread
from dynamic_tables.store.port import RefreshRecord, Relation
from dynamic_tables.store.spark.own_session import in_session, own_session
from dynamic_tables.store.tables.refresh_commits import stored_columns
from dynamic_tables.store.tables.small_merge import folded_here
from dynamic_tables.store.ticks.base_log import Stamp
from dynamic_tables.store.transactions.owner import this_process
from engines.memory.base_logs import LogProcess
from engines.memory.spark_store import SparkStore
from engines.operation import Operation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(slots=True)
class WrittenStore(SparkStore):
    """The store of the tier `spark` with what `DeltaStore` has beside it: it reads texts, writes base tables.

    Statements are INSERT, UPDATE and DELETE. A row keeps its id when it is updated.
    """

    clock: SimulatedClock = field(default_factory=SimulatedClock)
    writer: LogProcess = field(init=False)
    numbers: Iterator[int] = field(default_factory=count, init=False)

    def __post_init__(self) -> None:
        SparkStore.__post_init__(self)
        self.writer = self.base_logs.process(self.clock, self.version_rules)

    def type_of(self, expression: str, columns: Columns) -> Type | None:
        """Returns the type of an expression, as on Delta."""
        return type_of(self.session, expression, columns)

    def misread(self, text: str, query: BoundQuery) -> str:
        """Returns how the plan of a text differs from what it means to Spark, as on Delta."""
        return misread(self.workspace, text, query, self.known)

    @property
    def merge_validates(self) -> bool:
        """True: `merge` refuses changes that do not fit, as on Delta."""
        return True

    def folded(self, table: DynamicTable, changes: Relation) -> Relation | None:
        """Returns what the plan `fold` gives, without a query, as on Delta."""
        assert isinstance(changes, SparkRelation)
        columns = (*stored_columns(table), (OPERATION.name, STRING))
        return self.workspace.literal(folded_here(changes.table()), columns)

    def merge(self, table: DynamicTable, folded: Relation, apply: Plan, record: RefreshRecord) -> int:
        """Adds the contents with the changes as a new version, without a query. Raises ChangeDoesNotFit."""
        held = self.current(table)
        assert isinstance(held, SparkRelation)
        assert isinstance(folded, SparkRelation)
        rows, changes = held.table(), folded.table()
        is_new = pc.equal(changes[OPERATION.name], INSERT)
        known = pc.is_in(changes[ROW_ID], value_set=rows[ROW_ID])
        if any(pc.equal(is_new, known).to_pylist()):
            raise ChangeDoesNotFit(f"rows of {table.name} are inserted twice, or changed and not there")
        kept = rows.filter(pc.invert(pc.is_in(rows[ROW_ID], value_set=changes[ROW_ID])))
        written = changes.filter(pc.not_equal(changes[OPERATION.name], DELETE)).select(rows.column_names)
        # Of two columns one may hold NULL and the other not.
        both = pa.concat_tables([kept, written], promote_options="permissive")
        after = self.workspace.literal(both, stored_columns(table))
        return self._commit(table, self._noted(after), record, Operation.MERGE)

    def create_base_table(self, table: BaseTable) -> None:
        """Adds an empty base table, whose types are written as Spark writes them."""
        held = schema_of(no_rows(self.session, table.columns))
        table = replace(table, columns=tuple((name, column_type(name, type_)) for name, type_ in held))
        SparkStore.create_base_table(self, table)
        self._log(table.name, self.workspace.nothing(with_id(table)), None)
        self.writer.polled(table.name)
        self.writer.time.add_table(table.name)

    def write(self, statements: Sequence[str]) -> Mapping[str, int]:
        """Runs statements as one transaction, one unit of time later."""
        self.clock.set(self.clock.time + 1)
        checked = [check_statement(text, self.known) for text in statements]
        rows = {name: self.tables[name].rows[-1] for each in checked for name in each.names}
        for statement in checked:
            rows[statement.target] = self._after(statement, rows)
        targets = list(dict.fromkeys(statement.target for statement in checked))
        number = str(next(self.numbers))
        before = {name: self.base_logs.versions[name] - 1 for name in targets}
        for part, name in enumerate(targets, 1):
            stamp = Stamp(
                transaction=number,
                timestamp=self.clock.time,
                part=part,
                parts=len(targets),
                before=before,
                owner=this_process(),
            )
            self._log(name, rows[name], stamp)
        self.writer.time.add_write()
        return {name: self.base_logs.versions[name] - 1 for name in targets}

    def end_unfinished(self, *, keep: bool) -> Sequence[int]:
        """Does nothing: no transaction is left unfinished."""
        return ()

    def shown(self, name: str) -> DataFrame:
        """Returns the newest rows of a table without the columns that the engine hides."""
        definition = self.known[name]
        assert not isinstance(definition, View)
        return self.tables[name].rows[-1].frame.select(*(f"`{column}`" for column, _ in definition.columns))

    def _log(self, name: str, rows: SparkRelation, stamp: Stamp | None) -> None:
        self.add_rows(name, self._noted(rows))
        identity = f"{name}#0" if stamp is None else None
        added = [{"add": {"path": f"file {next(self.numbers)}", "dataChange": True}}]
        self.base_logs.commit(name, added, at=self.clock.time, stamp=stamp, identity=identity)

    def _after(self, statement: Statement, rows: Mapping[str, SparkRelation]) -> SparkRelation:
        """Returns the rows of the target of a statement after it."""
        table = self.known[statement.target]
        assert isinstance(table, BaseTable)
        tree = sqlglot.parse_one(statement.text, read=SparkText)
        for name in statement.names:
            rows[name].frame.createOrReplaceTempView(name)
        try:
            where = tree.args.get("where")
            condition = "TRUE" if where is None else where.this.sql(SparkText)
            if isinstance(tree, exp.Insert):
                text = self._with_new(table, tree.expression.sql(SparkText))
            elif isinstance(tree, exp.Delete):
                text = f"SELECT * FROM {table.name} WHERE NOT COALESCE({condition}, FALSE)"
            else:
                assert isinstance(tree, exp.Update), f"{statement.text} is not INSERT, UPDATE or DELETE"
                set_to = {each.this.name.lower(): each.expression.sql(SparkText) for each in tree.expressions}
                items = (
                    f"IF({condition}, CAST({set_to[column.lower()]} AS {type_}), `{column}`) AS `{column}`"
                    if column.lower() in set_to
                    else f"`{column}`"
                    for column, type_ in table.columns
                )
                text = f"SELECT {', '.join(items)}, `{ROW_ID}` FROM {table.name}"
            return self.workspace.literal(self.session.sql(text).toArrow(), with_id(table))
        finally:
            for name in statement.names:
                self.session.catalog.dropTempView(name)

    def _with_new(self, table: BaseTable, text: str) -> str:
        """Returns the query of the rows of a table and of those of another query, which get new ids."""
        names = [f"c{place}" for place in range(len(table.columns))]
        casts = (f"CAST({name} AS {type_})" for name, (_, type_) in zip(names, table.columns, strict=True))
        new_id = f"CONCAT('b{next(self.numbers)}.', MONOTONICALLY_INCREASING_ID())"
        new = f"SELECT {', '.join(casts)}, {new_id} FROM ({text}) AS q({', '.join(names)})"
        return f"SELECT * FROM {table.name} UNION ALL {new}"


@dataclass(slots=True, kw_only=True)
class WrittenAccount(Account):
    """An account over a `WrittenStore`. `caller`: the session of the data frames that `read` returns."""

    caller: SparkSession

    def read(self, name: str, at: int | None = None) -> DataFrame:
        """Returns the newest rows of a table as a data frame."""
        assert isinstance(self.store, WrittenStore)
        assert at is None
        return in_session(self.store.shown(name), self.caller)


@contextmanager
def written_in_memory(spark: SparkSession) -> Iterator[Account]:
    """Opens an account without tables, in simulated time: each transaction is one unit later."""
    clock = SimulatedClock()
    store = WrittenStore(own_session(spark), clock=clock)
    yield WrittenAccount(store=store, clock=clock, caller=spark)
    store.close()


def with_id(table: BaseTable) -> Columns:
    """Returns the columns of a base table and its row id."""
    return (*table.columns, (ROW_ID, STRING))
