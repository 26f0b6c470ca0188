"""What people write means to Spark what the text with every operator in parentheses means."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from generators.generate import scenario_at
from generators.profiles import SMOKE
from tests.truth import spark_truth
from tests.truth.bag_evaluator import Relation
from tests.truth.matrix_queries import qualified_groups
from tests.truth.matrix_tables import RELATIONS
from workload.dml import Insert
from workload.query import Query, names_read
from workload.scenario import Commit, Scenario
from workload.sql import Dialect, render_query
from workload.writing import written_query
from workload.writing.writer import names_of

pytestmark = [pytest.mark.nightly, pytest.mark.spark]


def of_base_tables(scenario: Scenario) -> Iterator[Query]:
    tables = {table.name for table in scenario.tables}
    for definition in scenario.definitions:
        if tables.issuperset(names_read(definition.query)):
            yield definition.query


def load(session: SparkSession, scenario: Scenario) -> None:
    """The tables of a scenario with the rows that its first commit inserts."""
    first = next(step for step in scenario.steps if isinstance(step, Commit))
    inserted = {each.table: each.rows for each in first.statements if isinstance(each, Insert)}
    relations = {t.name: Relation(t.columns, inserted.get(t.name, ())) for t in scenario.tables}
    spark_truth.load(session, relations)


def answer(session: SparkSession, text: str) -> tuple[list[str], list[str]]:
    frame = session.sql(text)
    return frame.columns, sorted(map(repr, frame.collect()))


def test_styles_mean_the_same_to_spark(spark: SparkSession) -> None:
    session, texts = spark.newSession(), 0
    for index in range(20):
        scenario = scenario_at(77, SMOKE, index)
        queries = list(of_base_tables(scenario))
        if not queries:
            continue
        load(session, scenario)
        for number, query in enumerate(queries):
            house, written = (
                render_query(query, Dialect.SPARK),
                written_query(query, 100 * index + number + 1, names_of(scenario)),
            )
            assert answer(session, written) == answer(session, house), f"{written}\n{house}"
            texts += written != house
    assert texts > 15


def test_qualify_over_groups_names_what_spark_finds_there(spark: SparkSession) -> None:
    """Spark finds the outputs there, and no column of FROM; an output named as a column is no other one."""
    session, found = spark.newSession(), set()
    spark_truth.load(session, RELATIONS)
    names = {name: relation.columns for name, relation in RELATIONS.items()}
    for query in qualified_groups().values():
        house = answer(session, render_query(query, Dialect.SPARK))
        for style in range(1, 25):
            written = written_query(query, style, {k: [c.name for c in v] for k, v in names.items()})
            assert answer(session, written) == house, written
            found.add(next(word for word in ("qualify", "where") if word in written.lower()))
    assert found == {"qualify", "where"}
