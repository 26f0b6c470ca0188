"""The law of snapshots: each planted mistake breaks it, and a right table does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.dbt.differences import Equal, NotJudged, RefreshDifference, Table
from campaign.dbt.snapshots import Versions, law as law_of
from tests.unit.dbt.projects import CUSTOMERS, model

SNAPSHOT = replace(model("versions", CUSTOMERS.id), materialized="snapshot")
COLUMNS = ("id", "country", "dbt_valid_from", "dbt_valid_to")
RIGHT = (("1", "a", "t1", "t2"), ("1", "b", "t2", None), ("2", "a", "t1", "t3"))


def seen() -> Versions:
    """Customer 1 moves from a to b; customer 2 is deleted."""
    columns = ("id", "country")
    first, second = (("1", "a"), ("2", "a")), (("1", "b"), ("2", "a"))
    return Versions([(columns, first), (columns, second), (columns, (("1", "b"),))])


def law(*rows: tuple[str | None, ...]) -> str:
    """What is wrong with a stored table."""
    found = law_of(SNAPSHOT, seen(), Table(COLUMNS, rows), None)
    return found.error if isinstance(found, RefreshDifference) else ""


def test_a_right_table_keeps_the_law() -> None:
    assert law(*RIGHT) == ""


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        (RIGHT[1:], "key 1: the runs saw 2 versions, the table has 1 row"),
        (
            (*RIGHT, ("2", "a", "t1", "t3")),
            "key 2: the runs saw 1 version, the table has 2 rows; dbt wrote a version again that is equal",
        ),
        ((("1", "a", "t1", "t2"), ("1", "c", "t2", None), RIGHT[2]), "key 1: a stored version is not what"),
        ((("1", "a", "t1", "t3"), *RIGHT[1:]), "key 1: one version ends at t3, the next begins at t2"),
        ((("1", "a", "t1", "t15"), *RIGHT[1:]), "key 1: one version ends at t15, the next begins at t2"),
        ((("1", "a", "t1", None), *RIGHT[1:]), "key 1: two rows are current"),
        ((RIGHT[0], ("1", "b", "t2", "t4"), RIGHT[2]), "key 1: no row is current"),
        (
            (*RIGHT[:2], ("2", "a", "t1", None)),
            "key 2: the row is gone from the source, and is still current",
        ),
        ((*RIGHT, ("3", "a", "t1", None)), "key 3: the runs saw 0 versions, the table has 1 row"),
    ],
)
def test_a_mistake_breaks_it(rows: tuple[tuple[str | None, ...], ...], wrong: str) -> None:
    assert wrong in law(*rows)


def test_a_value_that_comes_back_is_a_version_of_its_own() -> None:
    versions = seen()
    versions.states.append((("id", "country"), (("1", "a"),)))
    back = (RIGHT[0], ("1", "b", "t2", "t4"), ("1", "a", "t4", None), RIGHT[2])
    assert law_of(SNAPSHOT, versions, Table(COLUMNS, back), None) == Equal()


def test_a_run_that_failed_breaks_it() -> None:
    found = law_of(SNAPSHOT, seen(), Table(COLUMNS, RIGHT), "no such column")
    assert found == RefreshDifference(error="the run failed: no such column")
    assert law_of(SNAPSHOT, seen(), None, None) == RefreshDifference(error="the run left no table")


def test_a_key_that_is_not_compared_is_no_pass() -> None:
    other = replace(SNAPSHOT, key=("number",))
    assert isinstance(law_of(other, seen(), Table(COLUMNS, RIGHT), None), NotJudged)


@pytest.mark.parametrize("shown", ["9999-12-31", "9999-12-31 00:00:00", "9999-12-31 00:00:00+00:00"])
def test_columns_of_other_names_and_an_end_of_its_own_keep_it(shown: str) -> None:
    """`snapshot_meta_column_names` and `dbt_valid_to_current`: both were left out as unknown."""
    other = replace(SNAPSHOT, renamed={"begins": "dbt_valid_from", "ends": "dbt_valid_to"})
    versions = replace(seen(), current="9999-12-31 00:00:00")
    rows = tuple((*row[:3], row[3] or shown) for row in RIGHT)
    columns = ("id", "country", "begins", "ends")
    assert law_of(other, versions, Table(columns, rows), None) == Equal()
    # What the end is could not be asked of the database: then nobody knows which versions are current.
    unknown = replace(other, current="no_such_function()")
    assert isinstance(law_of(unknown, seen(), Table(columns, rows), None), NotJudged)
    stays = (*rows[:2], ("2", "a", "t1", shown))
    found = law_of(other, versions, Table(columns, stays), None)
    assert isinstance(found, RefreshDifference)
    assert "still current" in found.error
