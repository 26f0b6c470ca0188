"""Documents in own definitions, judged on Delta: a change of a document alone is a change of its row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from campaign.faults import plant
from campaign.faults.fault import Subject
from campaign.judging.lane import Lane
from campaign.lanes.spec import LaneSpec
from campaign.runs.definitions import over_random_documents
from engines.engine import Engine
from engines.spark.on_delta import DeltaPlatform
from engines.variant import Variant
from generators.generate import scenario_at
from generators.profiles import DOCUMENTS
from workload.dml import Assignment, Insert, Update
from workload.outcomes.results import Check, OutcomeClass
from workload.query import Literal, Named, Verbatim
from workload.scenario import Commit, Create, DynamicTable, Refresh, RefreshMode, Scenario
from workload.schema import Column, Table
from workload.types import INT, SqlType, parse_type

pytestmark = pytest.mark.spark

DOCUMENT = parse_type("VARIANT")

BEFORE, AFTER = (
    '{"lines":[{"sku":"a"},{"sku":"b"}],"total":1}',
    '{"lines":[{"sku":"a"},{"sku":"c"}],"total":2}',
)


def defined(name: str, text: str, translated: str, **columns: SqlType) -> DynamicTable:
    query = Verbatim(text, translated, (Named("r", "r"),), tuple(columns.items()))
    return DynamicTable(name, query, RefreshMode.INCREMENTAL)


CHANGED = Scenario(
    "a document is updated, and its row is not",
    (Table("r", (Column("k", INT), Column("p", DOCUMENT))),),
    (
        defined("kept", "SELECT k, p FROM r", "SELECT k, p FROM r", k=INT, p=DOCUMENT),
        defined(
            "totals",
            "SELECT k, p:total::INT AS total FROM r WHERE variant_get(p, '$.total', 'int') > 0",
            "SELECT k, CAST(p ->> '$.total' AS INT) AS total FROM r WHERE CAST(p ->> '$.total' AS INT) > 0",
            k=INT,
            total=INT,
        ),
    ),
    (
        Commit(10, (Insert("r", ((1, BEFORE), (2, "null"), (3, None))),)),
        Create(20, "kept"),
        Create(21, "totals"),
        Commit(30, (Update("r", (Assignment("p", Literal(AFTER, DOCUMENT)),), None),)),
        Refresh(40, "kept", 40),
        Refresh(50, "totals", 50),
    ),
)


def lane_on_delta(spark: SparkSession, folder: Path, *, faulty: bool) -> Lane:
    """A lane with Spark's own answer; `faulty`: all documents look alike, so changes of them alone cancel."""
    variant = plant("documents-look-alike", Subject()).variant if faulty else Variant()
    started = Engine.started(lambda: DeltaPlatform(spark=spark, folder=folder, variant=variant))
    return Lane(engine=started, on_spark=True)


@pytest.mark.nightly
def test_a_change_of_a_document_is_seen(tmp_path: Path, spark: SparkSession) -> None:
    assert lane_on_delta(spark, tmp_path, faulty=False).judge(CHANGED).outcome is OutcomeClass.PASSED
    outcome = lane_on_delta(spark, tmp_path, faulty=True).judge(CHANGED)
    assert outcome.outcome is OutcomeClass.PRODUCT_FAILURE
    assert {(each.check, each.table) for each in outcome.findings} >= {(Check.EQUALITY, "kept")}


@pytest.mark.nightly
def test_random_definitions_over_documents(tmp_path: Path, spark: SparkSession) -> None:
    profile = over_random_documents(replace(DOCUMENTS, documents=3), 3, LaneSpec(tier="delta"))
    assert profile.given is not None
    assert not profile.given.refused
    scenarios = [scenario_at(3, profile, index) for index in range(4)]
    sound = lane_on_delta(spark, tmp_path, faulty=False)
    judged = [sound.judge(each) for each in scenarios[:2]]
    assert [(each.outcome, each.reason) for each in judged] == [(OutcomeClass.PASSED, "")] * 2
    assert all(each.refreshes for each in judged)
    faulty = lane_on_delta(spark, tmp_path, faulty=True)
    assert any(faulty.judge(each).outcome is OutcomeClass.PRODUCT_FAILURE for each in scenarios)
