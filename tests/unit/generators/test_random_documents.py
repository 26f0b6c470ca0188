"""Scripts of random definitions over documents."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from campaign.errors import CampaignError
from campaign.lanes.spec import LaneSpec
from campaign.runs.definitions import over_random_documents
from generators.generate import scenario_at
from generators.profiles import DOCUMENTS
from generators.random_documents import random_documents
from workload.errors import WorkloadError

TABLE = re.compile(r"CREATE TABLE (\w+)_documents \(k INT, payload VARIANT\);")


def test_a_seed_gives_one_script() -> None:
    assert random_documents(3, 6) == random_documents(3, 6) != random_documents(4, 6)


def test_a_script_has_as_many_dynamic_tables_as_it_is_told() -> None:
    script = random_documents(3, 7)
    assert len(re.findall("^CREATE DYNAMIC TABLE", script, re.MULTILINE)) == 7
    assert len(set(re.findall(r"^CREATE \w+(?: TABLE)? (\w+)", script, re.MULTILINE))) == len(
        script.splitlines()
    )


def test_each_base_table_is_read_by_parts_of_its_documents() -> None:
    script = random_documents(5, 12)
    tables = TABLE.findall(script)
    assert len(tables) == len(re.findall("^CREATE TABLE", script, re.MULTILINE)) > 3
    for table in tables:
        parts = f"CREATE VIEW {table} AS SELECT k, payload:"
        assert parts in script
        assert re.search(rf"FROM {table}_documents;", script)


def test_other_tiers_refuse_the_profile_in_one_line() -> None:
    with pytest.raises(CampaignError, match="which Delta alone judges; add --tier delta"):
        over_random_documents(DOCUMENTS, 1, LaneSpec(tier="rules"))
    assert over_random_documents(replace(DOCUMENTS, documents=0), 1, LaneSpec(tier="rules")).given is None


def test_without_definitions_the_profile_draws_nothing() -> None:
    with pytest.raises(WorkloadError, match="--tier delta"):
        scenario_at(1, DOCUMENTS, 0)
