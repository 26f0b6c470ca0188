"""Rows as Spark holds them: a data frame behind a temporary view, small ones as literal rows in the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any

from dynamic_tables.errors import StoreError
from dynamic_tables.store.port import Relation
from dynamic_tables.store.spark_errors import store_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOCAL_ROWS = 5_000
"""Up to so many rows are held as literals: a query over them lists no files and takes one task."""

_numbers = count()
_lock = Lock()


@dataclass(slots=True, eq=False)
class SparkRelation:
    """A data frame and the temporary view plans read it by; both are made when first asked for.

    `local`: its rows are literals. One thread uses it at a time.
    """

    make: Callable[[], DataFrame]
    local: bool
    made: DataFrame | None = field(default=None, init=False, repr=False)
    name: str = field(default="", init=False)

    @property
    def frame(self) -> DataFrame:
        """The rows."""
        if self.made is None:
            with store_errors():
                self.made = self.make()
        return self.made

    @property
    def view(self) -> str:
        """The view's name. Rows held as literals count as one partition, so nothing is shuffled."""
        if not self.name:
            with _lock:
                name = f"dvs_{next(_numbers)}"
            with store_errors():
                (self.frame.coalesce(1) if self.local else self.frame).createOrReplaceTempView(name)
            self.name = name
        return self.name

    def rows(self) -> Sequence[tuple[object, ...]]:
        """All rows as plain Python values."""
        with store_errors():
            return [tuple(row) for row in self.frame.collect()]


@dataclass(frozen=True, slots=True)
class Workspace:
    """One Spark session's temporary views."""

    session: SparkSession

    def query(self, text: str, leaves: Sequence[Relation] = ()) -> SparkRelation:
        """A query over bound relations, not run yet."""
        with store_errors():
            return bound(self.session.sql(text), local=False)

    def small(self, frame: DataFrame) -> SparkRelation | None:
        """The rows as literals if there are few; None otherwise, after reading at most LOCAL_ROWS of them.

        The rows stay in the JVM on their way.
        """
        with store_errors():
            # As one partition: `take` runs a job per partition until it has enough.
            java: Any = frame.coalesce(1)._jdf  # noqa: SLF001  (literal rows from JVM rows: pyspark has it only through Python)
            rows = java.takeAsList(LOCAL_ROWS + 1)
            if rows.size() > LOCAL_ROWS:
                return None
            local = self.session._jsparkSession.createDataFrame(rows, java.schema())  # noqa: SLF001
            return bound(type(frame)(local, self.session), local=True)

    def materialized(self, text: str, leaves: Sequence[Relation]) -> SparkRelation:
        """The rows of a query, computed exactly once whoever reads them and however often.

        Over literals the result is fetched at once. Over tables it is kept by Spark's block manager (a
        local checkpoint), since fetching the first rows and finding them too many would compute it twice.
        """
        with store_errors():
            frame = self.session.sql(text)
            if all(isinstance(leaf, SparkRelation) and leaf.local for leaf in leaves):
                small = self.small(frame)
                if small is not None:
                    return small
            frame = frame.localCheckpoint(eager=True)
            return self.small(frame) or bound(frame, local=False)

    def release(self, relations: Sequence[Relation], kept: Sequence[SparkRelation]) -> None:
        """Drops the views; data frames live on as long as somebody holds them, as does what they occupy."""
        for relation in relations:
            if not isinstance(relation, SparkRelation) or any(relation is other for other in kept):
                continue
            if relation.name:
                self.session.catalog.dropTempView(relation.name)
                relation.name = ""


def bound(frame: DataFrame, *, local: bool) -> SparkRelation:
    """A data frame as a relation."""
    return SparkRelation(lambda: frame, local)


def view_names(leaves: Mapping[str, Relation]) -> Mapping[str, str]:
    """Leaf name -> view name. Raises StoreError for a relation of another store."""
    names = {}
    for leaf, relation in leaves.items():
        if not isinstance(relation, SparkRelation):
            raise StoreError(f"{leaf} is bound to a relation of another store")
        names[leaf] = relation.view
    return names
