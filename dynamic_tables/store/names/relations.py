"""Relations on Spark: the rows that a plan reads, as a data frame behind a temporary view.

Few rows are literals (a LocalRelation in Spark's plan): a query over literals lists no files, reads none, and
takes one task, so that a small refresh is not a chain of Spark jobs. Literals are fetched by Arrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING

from dynamic_tables.definition import Columns
from dynamic_tables.errors import StoreError
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.store.names.texts import no_rows
from dynamic_tables.store.port import Relation
from dynamic_tables.store.rows.arrow_frames import arrow_rows, holds_nested_variants
from dynamic_tables.store.sizes import SIZES, Sizes
from dynamic_tables.store.spark.spark_errors import store_errors

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_numbers = count()
_lock = Lock()


@dataclass(slots=True, eq=False)
class SparkRelation:
    """A data frame and the temporary view through which plans read it; both are made at the first use.

    `make`: makes the data frame. `local`: its rows are literals. `arrow`: the rows, where they are known
    without Spark. `count`: the number of rows, where it is known. Only one thread at a time may use it.
    """

    make: Callable[[], DataFrame]
    local: bool
    arrow: pa.Table | None = field(default=None, repr=False)
    count: int | None = None
    made: DataFrame | None = field(default=None, init=False, repr=False)
    name: str = field(default="", init=False)

    @property
    def frame(self) -> DataFrame:
        """The data frame, made by `make` at the first use. Raises StoreError."""
        if self.made is None:
            with store_errors():
                self.made = self.make()
        return self.made

    @property
    def view(self) -> str:
        """The name of the temporary view, created at the first use. Raises StoreError."""
        if not self.name:
            with _lock:
                name = f"dvs_{next(_numbers)}"
            with store_errors():
                # Literals become one partition, so that Spark plans no exchange (measured: x0.6 the time).
                (self.frame.coalesce(1) if self.local else self.frame).createOrReplaceTempView(name)
            self.name = name
        return self.name

    def has_more_than(self, rows: int) -> bool:
        """Tells whether it has more rows than that, or nobody knows how many."""
        return self.count is None or self.count > rows

    def table(self) -> pa.Table:
        """Returns all rows as an Arrow table. Raises StoreError."""
        if self.arrow is None:
            with store_errors():
                self.arrow = arrow_rows(self.frame)
        return self.arrow

    def rows(self) -> Sequence[tuple[object, ...]]:
        """Returns all rows as plain Python values. Raises StoreError."""
        with store_errors():
            # Not `collect`, which gives a TIMESTAMP in the time zone of this computer.
            return list(zip(*(column.to_pylist() for column in self.table().columns), strict=True))

    def last(self, count: int) -> Sequence[tuple[object, ...]]:
        """Returns the values of the last columns of all rows, without reading the values before them.

        Python has no value for some that Spark stores, such as a date in the year 10000. Raises StoreError.
        """
        with store_errors("a key is a text of bytes that are no UTF-8 (take hex of them)"):
            return list(zip(*(column.to_pylist() for column in self.table().columns[-count:]), strict=True))


@dataclass(frozen=True, slots=True)
class Workspace:
    """Makes and releases the relations of one Spark session."""

    session: SparkSession
    sizes: Sizes = SIZES

    def is_large(self, relation: Relation) -> bool:
        """Tells whether it has more rows than are kept for long."""
        return isinstance(relation, SparkRelation) and relation.has_more_than(self.sizes.literal_rows)

    def query(self, text: str) -> SparkRelation:
        """Returns a query over temporary views as a relation, not run yet. Raises StoreError."""
        with store_errors():
            return bound(self.session.sql(text), local=False)

    def small(self, frame: DataFrame, most: int | None = None) -> SparkRelation | None:
        """Returns the rows as literals, or None if there are more than `most`. Raises StoreError.

        None also where Arrow does not hold a type. At most `most` + 1 rows are read (by default of
        `literal_rows`).
        """
        from pyspark.errors import PySparkException
        from pyspark.sql.pandas.types import to_arrow_schema

        most = self.sizes.literal_rows if most is None else most
        with store_errors():
            schema = frame.schema
            if holds_nested_variants(frame):
                return None
            try:
                to_arrow_schema(schema, error_on_duplicated_field_names_in_struct=True, timezone="UTC")
            except (PySparkException, ValueError):
                # An interval of months, say, or a struct with two fields of one name.
                return None
            # By Arrow, which keeps every value. Rows of Java objects lose values: `java.sql.Date` has no
            # day from 5 to 14 October 1582, a map of more than four pairs loses their order, and a string
            # its bytes that are no UTF-8. One partition, so that one job reads the rows.
            rows = arrow_rows(frame.coalesce(1).limit(most + 1))
            if rows.num_rows > most:
                return None
            # By the schema of the frame: to Spark a STRING column may be a CHAR(n), which its metadata tells.
            return SparkRelation(
                lambda: self.session.createDataFrame(rows, schema=schema), True, rows, rows.num_rows
            )

    def few(self, relation: SparkRelation) -> SparkRelation | None:
        """Returns the rows of a query over literals as literals; None for many. Raises StoreError."""
        with for_few_rows(self.session):
            return self.small(relation.frame)

    def medium(self, frame: DataFrame) -> SparkRelation | None:
        """Returns computed rows as literals, or None for more than `changed_rows` or `changed_bytes`.

        The size is estimated before the rows are fetched: 8 bytes for each value, and the bytes of texts and
        of VARIANTs as JSON.
        """
        typed = (
            (SPARK.identifier(field.name), field.dataType.simpleString()) for field in frame.schema.fields
        )
        texts = [{"string": name, "variant": f"to_json({name})"}.get(type_, "") for name, type_ in typed]
        lengths = [f"COALESCE(SUM(OCTET_LENGTH({each})), 0)" for each in texts if each]
        with store_errors():
            (count, size) = frame.selectExpr("COUNT(*)", " + ".join(["0", *lengths])).collect()[0]
        size += 8 * count * len(frame.columns)
        sizes = self.sizes
        fits = count <= sizes.changed_rows and size <= sizes.changed_bytes
        return self.small(frame, sizes.changed_rows) if fits else None

    def literal(self, rows: pa.Table, columns: Columns) -> SparkRelation:
        """Returns the rows of an Arrow table as literals."""
        if not rows.num_rows:
            return self.nothing(columns)
        schema = ", ".join(f"{SPARK.identifier(name)} {type_}" for name, type_ in columns)
        return SparkRelation(
            lambda: self.session.createDataFrame(rows, schema=schema), True, rows, rows.num_rows
        )

    def nothing(self, columns: Columns) -> SparkRelation:
        """Returns a relation without rows."""
        return SparkRelation(lambda: no_rows(self.session, columns), True, count=0)

    def materialized(self, text: str, leaves: Sequence[Relation], *, few: bool = False) -> SparkRelation:
        """Returns the rows of a query, computed exactly once however often they are read. Raises StoreError.

        Over literals the result is fetched at once. Over tables Spark's block manager keeps the result (a
        local checkpoint), and only then it is looked whether the rows are few: to fetch first rows, and then
        to find too many, would compute the query twice. `few`: the caller expects few, so it is tried.
        """
        with store_errors():
            if all(isinstance(leaf, SparkRelation) and leaf.local for leaf in leaves):
                with for_few_rows(self.session):
                    small = self.small(self.session.sql(text), self._most_rows(leaves))
                if small is not None:
                    return small
            frame = self.session.sql(text)
            if few and (small := self.small(frame)) is not None:
                return small
            frame = frame.localCheckpoint(eager=True)
            return self.small(frame) or self.medium(frame) or bound(frame, local=False)

    def _most_rows(self, leaves: Sequence[Relation]) -> int:
        """Returns the most rows of a query over literals that may be literals, too.

        Many rows are admitted only if the leaves already have many, and if so many rows as wide as all large
        leaves together stay within four times `changed_bytes`.
        """
        large = [leaf for leaf in leaves if isinstance(leaf, SparkRelation) and self.is_large(leaf)]
        width = sum(leaf.table().nbytes // max(1, leaf.table().num_rows) for leaf in large)
        sizes = self.sizes
        fits = large and width * sizes.changed_rows <= 4 * sizes.changed_bytes
        return sizes.changed_rows if fits else sizes.literal_rows

    def release(self, relations: Sequence[Relation], but: Sequence[SparkRelation]) -> None:
        """Drops the temporary views of relations, but not those in `but`; data frames can still be read."""
        for relation in relations:
            if not isinstance(relation, SparkRelation) or any(relation is other for other in but):
                continue
            if relation.name:
                self.session.catalog.dropTempView(relation.name)
                relation.name = ""


FOR_FEW_ROWS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
"""Settings for a query over literals: compiling code for it, or planning it again between its steps (adaptive
execution), takes longer than running it."""


@contextmanager
def for_few_rows(session: SparkSession) -> Iterator[None]:
    """Plans and runs the queries of the block with FOR_FEW_ROWS; the session's own settings come back."""
    before = {name: session.conf.get(name, None) for name in FOR_FEW_ROWS}
    try:
        for name, value in FOR_FEW_ROWS.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, known in before.items():
            if known is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, known)


def bound(frame: DataFrame, *, local: bool, count: int | None = None) -> SparkRelation:
    """Returns a data frame as a relation; `local` if its rows are literals."""
    return SparkRelation(lambda: frame, local, count=count)


def view_names(leaves: Mapping[str, Relation]) -> Mapping[str, str]:
    """Returns leaf name -> view name. Raises StoreError: for a relation of another store."""
    names = {}
    for leaf, relation in leaves.items():
        if not isinstance(relation, SparkRelation):
            raise StoreError(f"{leaf} is bound to a relation of another store")
        names[leaf] = relation.view
    return names
