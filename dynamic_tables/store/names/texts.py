"""Queries that run as text, without a plan of the engine: tables that are FULL because only Spark reads them.

The names in the text must mean the relations of the account as of a data timestamp. So the data frames of
those versions become temporary views with these names, while Spark analyses the text; views of the account
are expanded in the same way, as texts inside the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from dynamic_tables.definition import Columns, Definition, View
from dynamic_tables.errors import DefinitionError, StoreError
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.nested_types import holds_interval
from dynamic_tables.plan.types import Kind, Type
from dynamic_tables.reading.blocks.grouping import UNNAMED
from dynamic_tables.reading.text.current_time import at_time
from dynamic_tables.reading.text.parse import parse_query
from dynamic_tables.reading.text.spark_text import spelt_for_spark
from dynamic_tables.reading.text.text import read_text
from dynamic_tables.store.names.catalog import parse_type
from dynamic_tables.store.spark.java_classes import java_class
from dynamic_tables.store.spark.spark_errors import store_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType


NOT_IN_NAMES = frozenset(" ,;{}()\n\t=")
"""Characters that Delta has in no name of a column, unless columns are mapped, as in no dynamic table."""


def ensure_names(names: Iterable[str]) -> None:
    """Raises DefinitionError for a name that no column of a Delta table has."""
    for name in names:
        if wrong := sorted(NOT_IN_NAMES.intersection(name)):
            plain = "".join("_" if sign in NOT_IN_NAMES else sign for sign in name)
            raise DefinitionError(
                f"a dynamic table has no column named {name!r}, because of {wrong[0]!r}; write {plain}"
            )


def text_frame(
    session: SparkSession,
    text: str,
    frames: Mapping[str, DataFrame],
    definitions: Mapping[str, Definition],
    time: int = 0,
) -> DataFrame:
    """Returns the text as a data frame, not run yet. `frames`: the rows of every stored relation below it.

    `time`: the current time of the text and of the views in it, in microseconds.
    Raises DefinitionError: for a text that `reading.text.text.read_text` refuses; Spark's own errors pass
    through.
    """
    bound = dict(frames)

    def bind(name: str) -> None:
        definition = definitions[name]
        if name not in bound and isinstance(definition, View):
            bound[name] = analysed(definition.text)

    from pyspark.errors import AnalysisException

    def spark_sql(written: str) -> DataFrame:
        try:
            return session.sql(written)
        except AnalysisException:
            spelt = spelt_for_spark(written)
            if spelt == written:
                raise
            return session.sql(spelt)

    def analysed(current: str) -> DataFrame:
        names = read_text(current, definitions).names
        for name in names:
            bind(name)
        with _views(session, {name: bound[name] for name in names}):
            timed = at_time(current, time)
            frame = spark_sql(timed)
            # Spark names a column without an alias by its text, which must not change with the time.
            return frame if timed == current else frame.toDF(*spark_sql(current).columns)

    return analysed(text)


@contextmanager
def _views(session: SparkSession, frames: Mapping[str, DataFrame]) -> Iterator[None]:
    # The names are those of users, so the views exist only while the text is analysed. The frame that comes
    # out is bound to the frames, and does not look the names up again.
    try:
        for name, frame in frames.items():
            frame.createOrReplaceTempView(name)
        yield
    finally:
        for name in frames:
            session.catalog.dropTempView(name)


def columns_of_text(session: SparkSession, text: str, definitions: Mapping[str, Definition]) -> Columns:
    """Returns names and types of a text's result by Spark's analysis; nothing runs.

    Raises DefinitionError: for a text that Spark refuses, or a column of a type that no table may hold.
    """
    try:
        with store_errors():
            empty = {}
            read = read_text(text, definitions)
            for name in read.sources:
                definition = definitions[name]
                assert not isinstance(definition, View)
                empty[name] = no_rows(session, definition.columns)
            frame = text_frame(session, text, empty, definitions)
            ensure_determined(frame)
            aliases = {each.alias for part in read.texts for each in parse_query(part).find_all(exp.Alias)}
            # Any other such name is one that Spark has made.
            ensure_names(name for name in frame.columns if name in aliases)
            found = schema_of(with_names(frame))
    except StoreError as error:
        raise DefinitionError(f"Spark refuses the query: {error}") from error
    columns = []
    for name, type_name in found:
        type_ = parse_type(type_name)
        if type_ is None or holds_interval(type_):
            shown = f"column {name} is of type {type_name}"
            raise DefinitionError(f"{shown}, which dynamic tables do not hold; cast it, say to STRING")
        columns.append((name, type_))
    return tuple(columns)


ONE_ROW = frozenset({"Project", "SubqueryAlias", "OneRowRelation"})
"""The operators that Spark's plan may have for `SELECT expression`: any other one, such as Aggregate, Window
or Generate, shows that the expression is none over one row."""


def type_of(session: SparkSession, expression: str, columns: Columns) -> Type | None:
    """Returns the type of an expression over some columns by Spark's analysis; nothing runs.

    None for an expression that Spark refuses, that is no expression over one row (an aggregate, a window, a
    function that yields rows), that is not deterministic, or of a type that no table may hold. An INTERVAL,
    which none holds either, is a step on the way to what one does, such as `ts - before > INTERVAL 1 DAY`.
    """
    items = ", ".join(f"CAST(NULL AS {type_}) AS {SPARK.identifier(name)}" for name, type_ in columns)
    below = f" FROM (SELECT {items})" if columns else ""
    try:
        with store_errors():
            frame = session.sql(f"SELECT {expression} AS value{below}")
            ensure_determined(frame)
            plan: Any = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
            if not _operators(plan) <= ONE_ROW or len(frame.columns) != 1:
                return None
            ((_, name),) = schema_of(frame)
    except (DefinitionError, StoreError):
        return None
    return Type(Kind.OTHER, name=name) if name.startswith("interval ") else parse_type(name)


def _operators(plan: Any) -> frozenset[str]:
    children = plan.children()
    below = (_operators(children.apply(place)) for place in range(children.size()))
    return frozenset({str(plan.nodeName())}).union(*below)


def with_names(frame: DataFrame) -> DataFrame:
    """Returns a data frame whose columns have names that Delta stores; `_c0` is one without a name."""
    names = [f"{UNNAMED}{i}" if set(name) & NOT_IN_NAMES else name for i, name in enumerate(frame.columns)]
    return frame if names == frame.columns else frame.toDF(*names)


def schema_of(frame: DataFrame) -> tuple[tuple[str, str], ...]:
    """Returns names and types of the columns of a data frame."""
    return tuple((field.name, type_text(field.dataType)) for field in frame.schema.fields)


def ensure_determined(frame: DataFrame) -> None:
    """Raises DefinitionError for a query whose expressions are not deterministic, to Spark's knowledge."""
    plan: Any = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    # CAST('today' AS DATE) is deterministic to Spark, but its value moves. Spark's own rule replaces each
    # such text by the date; if the rule changes the plan, there is one.
    replace, special = (
        java_class(frame.sparkSession, f"org.apache.spark.sql.catalyst.optimizer.{rule}")
        for rule in ("ReplaceExpressions", "SpecialDatetimeValues")
    )
    spelt_out = replace.apply(plan)
    moves = not special.apply(spelt_out).fastEquals(spelt_out)
    if not plan.deterministic() or moves:
        raise DefinitionError("the query is refused: its value does not depend on the data alone")


def type_text(type_: DataType) -> str:
    """Returns the name of a type in SQL, with the names of fields in quotes, whatever they are."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    match type_:
        case ArrayType():
            return f"array<{type_text(type_.elementType)}>"
        case MapType():
            return f"map<{type_text(type_.keyType)},{type_text(type_.valueType)}>"
        case StructType():
            fields = (f"{SPARK.identifier(each.name)}:{type_text(each.dataType)}" for each in type_.fields)
            return f"struct<{','.join(fields)}>"
        case _:
            return type_.simpleString()


def no_rows(session: SparkSession, columns: Columns) -> DataFrame:
    """Returns a data frame with these columns and no row."""
    nulls = (f"CAST(NULL AS {type_}) AS {SPARK.identifier(name)}" for name, type_ in columns)
    return session.sql(f"SELECT {', '.join(nulls)} WHERE FALSE")
