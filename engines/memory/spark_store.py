"""The engine's store for the tier `spark`: every version of a table is a data frame of literal rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from dynamic_tables.definition import Columns
from dynamic_tables.plan.dialects import SPARK, SPARK_ON_FEW_ROWS, Dialect
from dynamic_tables.plan.nodes import ROW_ID, BoundQuery, Leaf, Plan, walk
from dynamic_tables.plan.rewrites.stages import stages
from dynamic_tables.plan.written.render import render
from dynamic_tables.store.names.relations import SparkRelation, Workspace, bound, view_names
from dynamic_tables.store.names.texts import columns_of_text, text_frame, with_names
from dynamic_tables.store.port import Relation
from dynamic_tables.store.spark.spark_errors import one_line, store_errors
from engines.memory.store import MemoryStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


MOST_OPERATORS = 250
"""Operators of one query: over few rows Spark plans longer than it runs."""


class NotHandedOver(Exception):
    """Raised where the harness could not give Spark the rows of a base table: no error of the engine."""


@dataclass(slots=True)
class SparkStore(MemoryStore[SparkRelation]):
    """A `Store` over a Spark session of its own. `bound`: the relations whose views `close` drops."""

    session: SparkSession
    queries_in: Dialect = SPARK_ON_FEW_ROWS
    workspace: Workspace = field(init=False)
    bound: list[SparkRelation] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        MemoryStore.__post_init__(self)
        self.workspace = Workspace(self.session)

    @property
    def dialect(self) -> Dialect:
        """The dialect of Spark."""
        return SPARK

    def query(self, plan: Plan, leaves: Mapping[str, Relation]) -> SparkRelation:
        """Returns the query of a plan, not run yet."""
        return self._noted(self.workspace.query(self._text(plan, leaves)))

    def materialized(self, plan: Plan, leaves: Mapping[str, Relation]) -> SparkRelation:
        """Computes a plan now, in several queries if it is large."""
        staged, relations = stages(plan, (), MOST_OPERATORS), dict(leaves)
        for name, step in staged.steps:
            relations[name] = self._computed_now(step, relations)
        return self._computed_now(staged.last, relations)

    def _computed_now(self, plan: Plan, leaves: Mapping[str, Relation]) -> SparkRelation:
        read = {node.name for node in walk(plan) if isinstance(node, Leaf)}
        leaves = {name: relation for name, relation in leaves.items() if name in read}
        return self._noted(self.workspace.materialized(self._text(plan, leaves), tuple(leaves.values())))

    def compute_text(self, text: str, relations: Mapping[str, Relation], time: int) -> SparkRelation:
        """Returns a query by its own text, over the given relations; views in it are expanded."""
        frames = {
            name: relation.frame.drop(
                *(column for column in relation.frame.columns if column.startswith("$"))
            )
            for name, relation in relations.items()
            if isinstance(relation, SparkRelation)
        }
        with store_errors():
            frame = text_frame(self.session, text, frames, self.known, time)
            return self._noted(bound(with_names(frame), local=False))

    def columns_of_text(self, text: str, relations: Iterable[str]) -> Columns:
        """Returns names and types of a query's columns as Spark sees them. Raises DefinitionError."""
        return columns_of_text(self.session, text, self.known)

    def misread(self, text: str, query: BoundQuery) -> str:
        """Returns nothing: here the judge compares, so that a text that is misread is found."""
        return ""

    def computed(self, contents: Relation) -> SparkRelation:
        """Returns the rows as literals if they are few, else as a checkpoint."""
        assert isinstance(contents, SparkRelation)
        if contents.local:
            return contents
        small = self.workspace.small(contents.frame)
        if small is not None:
            return self._noted(small)
        with store_errors():
            return self._noted(bound(contents.frame.localCheckpoint(eager=True), local=False))

    def from_duckdb(
        self, connection: duckdb.DuckDBPyConnection, name: str, columns: Columns
    ) -> SparkRelation:
        """Returns the rows as a data frame, which is made when it is first read."""
        arrow = connection.sql(f'SELECT * FROM "{name}"').to_arrow_table()
        if not arrow.num_rows:
            # PySpark refuses columns of nested types without any batch.
            empty = pa.RecordBatch.from_pylist([], schema=arrow.schema)
            arrow = pa.Table.from_batches([empty])
        schema = ", ".join(
            f"{SPARK.identifier(column)} {type_}" for column, type_ in (*columns, (ROW_ID, "STRING"))
        )

        def make() -> DataFrame:
            try:
                return self.session.createDataFrame(arrow, schema=schema)
            except Exception as error:
                # It happens in the middle of a refresh, which must not count as failed.
                raise NotHandedOver(one_line(error)) from error

        return self._noted(SparkRelation(make, local=True))

    def release(self, relations: Sequence[Relation]) -> None:
        """Does nothing: versions are read again, and `close` drops all views."""

    def close(self) -> None:
        """Drops every view. The store cannot be used afterwards."""
        self.workspace.release(self.bound, ())
        self.bound.clear()
        self.shared_results.clear()

    def _text(self, plan: Plan, leaves: Mapping[str, Relation]) -> str:
        return render(plan, self.queries_in, view_names(leaves)).text()

    def _noted(self, relation: SparkRelation) -> SparkRelation:
        self.bound.append(relation)
        return relation
