"""Queries that have no plan, run as the text they are: names bound to data frames, views expanded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dynamic_tables.definition import Columns, Definition, View
from dynamic_tables.errors import DefinitionError, StoreError
from dynamic_tables.plan.bind import StoredRelation, ViewRelation
from dynamic_tables.plan.dialects import SPARK
from dynamic_tables.plan.text import read_text
from dynamic_tables.store.catalog import parse_type
from dynamic_tables.store.spark_errors import store_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class _Known:
    definitions: Mapping[str, Definition]

    def relation(self, name: str) -> StoredRelation | ViewRelation | None:
        """What a name means."""
        match self.definitions.get(name):
            case None:
                return None
            case View(_, text):
                return ViewRelation(text)
            case stored:
                return StoredRelation(stored.columns)


def text_frame(
    session: SparkSession, text: str, frames: Mapping[str, DataFrame], definitions: Mapping[str, Definition]
) -> DataFrame:
    """The text as a data frame, not run yet. `frames`: its stored relations at any depth.

    The names exist as temporary views while the text is analysed and no longer: they are users' names.
    """
    known = _Known(definitions)
    bound = dict(frames)

    def bind(name: str) -> None:
        definition = definitions[name]
        if name not in bound and isinstance(definition, View):
            bound[name] = analysed(definition.text)

    def analysed(current: str) -> DataFrame:
        names = read_text(current, known).names
        for name in names:
            bind(name)
        with _views(session, {name: bound[name] for name in names}):
            return session.sql(current)

    return analysed(text)


@contextmanager
def _views(session: SparkSession, frames: Mapping[str, DataFrame]) -> Iterator[None]:
    try:
        for name, frame in frames.items():
            frame.createOrReplaceTempView(name)
        yield
    finally:
        for name in frames:
            session.catalog.dropTempView(name)


def columns_of_text(session: SparkSession, text: str, definitions: Mapping[str, Definition]) -> Columns:
    """The columns of a text by Spark's analysis. Raises DefinitionError."""
    try:
        with store_errors():
            sources = read_text(text, _Known(definitions)).sources
            empty = {name: _empty(session, name, definitions) for name in sources}
            fields = text_frame(session, text, empty, definitions).schema.fields
    except StoreError as error:
        raise DefinitionError(f"Spark refuses the query: {error}") from error
    columns = []
    for field in fields:
        type_ = parse_type(field.dataType.simpleString())
        if type_ is None:
            found = field.dataType.simpleString()
            raise DefinitionError(
                f"column {field.name} is of type {found}, which dynamic tables do not hold; cast it"
            )
        columns.append((field.name, type_))
    return tuple(columns)


def _empty(session: SparkSession, name: str, definitions: Mapping[str, Definition]) -> DataFrame:
    definition = definitions[name]
    assert not isinstance(definition, View)
    return no_rows(session, definition.columns)


def no_rows(session: SparkSession, columns: Columns) -> DataFrame:
    """A data frame with these columns and no row."""
    nulls = (f"CAST(NULL AS {type_}) AS {SPARK.identifier(name)}" for name, type_ in columns)
    return session.sql(f"SELECT {', '.join(nulls)} WHERE FALSE")
