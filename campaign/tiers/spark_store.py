"""The in-memory store on Spark, for the `spark` tier: every version is a data frame of literal rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from campaign.tiers.memory_store import MemoryStore
from dynamic_tables.definition import Columns
from dynamic_tables.plan.dialects import SPARK, SPARK_ON_FEW_ROWS, Dialect
from dynamic_tables.plan.nodes import Plan
from dynamic_tables.plan.render import render
from dynamic_tables.store.port import Relation
from dynamic_tables.store.relations import SparkRelation, Workspace, bound, view_names
from dynamic_tables.store.spark_errors import one_line, store_errors
from dynamic_tables.store.texts import columns_of_text, text_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class NotHandedOver(Exception):
    """The harness could not give Spark the rows of a base table; no error of the engine's."""


@dataclass(slots=True)
class SparkStore(MemoryStore[SparkRelation]):
    """A `Store` over one Spark session, which nobody else uses meanwhile."""

    session: SparkSession
    queries_in: Dialect = SPARK_ON_FEW_ROWS
    workspace: Workspace = field(init=False)
    bound: list[SparkRelation] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.workspace = Workspace(self.session)

    @property
    def dialect(self) -> Dialect:
        """Spark's."""
        return SPARK

    def query(self, plan: Plan, leaves: Mapping[str, Relation]) -> SparkRelation:
        """A plan over bound leaves, not run yet."""
        return self._noted(self.workspace.query(self._text(plan, leaves)))

    def materialized(self, plan: Plan, leaves: Mapping[str, Relation]) -> SparkRelation:
        """A plan over bound leaves, run."""
        return self._noted(self.workspace.materialized(self._text(plan, leaves), tuple(leaves.values())))

    def compute_text(self, text: str, relations: Mapping[str, Relation]) -> SparkRelation:
        """A query's own text; views in it are expanded over the relations given."""
        frames = {
            name: relation.frame
            for name, relation in relations.items()
            if isinstance(relation, SparkRelation)
        }
        with store_errors():
            frame = text_frame(self.session, text, frames, self.known)
            return self._noted(bound(frame, local=False))

    def columns_of_text(self, text: str, relations: Iterable[str]) -> Columns:
        """Names and types of a query's result as Spark sees them. Raises DefinitionError."""
        return columns_of_text(self.session, text, self.known)

    def computed(self, contents: Relation) -> SparkRelation:
        """The rows as literals, however the engine left them."""
        assert isinstance(contents, SparkRelation)
        if contents.local:
            return contents
        small = self.workspace.small(contents.frame)
        if small is not None:
            return self._noted(small)
        with store_errors():
            return self._noted(bound(contents.frame.localCheckpoint(eager=True), local=False))

    def literal(self, rows: object, columns: str) -> SparkRelation:
        """An Arrow table as a relation, given to Spark when first read. `columns`: its schema in SQL."""
        session = self.session

        def make() -> DataFrame:
            try:
                return session.createDataFrame(rows, schema=columns)
            except Exception as error:
                # Made in the middle of a refresh, which is not to blame.
                raise NotHandedOver(one_line(error)) from error

        return self._noted(SparkRelation(make, local=True))

    def release(self, relations: Sequence[Relation]) -> None:
        """Nothing before `close`: versions are read again, and views cost little."""

    def close(self) -> None:
        """Drops every view. The store is of no use afterwards."""
        self.workspace.release(self.bound, ())
        self.bound.clear()
        self.done.clear()

    def _text(self, plan: Plan, leaves: Mapping[str, Relation]) -> str:
        return render(plan, self.queries_in, view_names(leaves)).text()

    def _noted(self, relation: SparkRelation) -> SparkRelation:
        self.bound.append(relation)
        return relation
