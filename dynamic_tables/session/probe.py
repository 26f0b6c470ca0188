"""Checks that Delta works on this machine, with a small table that has the features of base tables.

For `dvs doctor`; `class_archive` runs it to load the classes that every session needs.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dynamic_tables.store.names.catalog import BASE_TABLE_PROPERTIES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class DeltaProbe:
    """The rows by key as (value, row id), before and after an update, and the types of its change feed."""

    inserted: dict[int, tuple[str, int]]
    updated: dict[int, tuple[str, int]]
    changes: tuple[str, ...]

    @property
    def problem(self) -> str | None:
        """The first thing that is wrong, or None: an update must keep row ids and record both images."""
        if {key: value for key, (value, _) in self.updated.items()} != {1: "a", 2: "c"}:
            return f"rows read back are {self.updated}"
        if {key: row_id for key, (_, row_id) in self.updated.items()} != {
            key: row_id for key, (_, row_id) in self.inserted.items()
        }:
            return f"an update changed row ids: {self.inserted} became {self.updated}"
        if self.changes != ("update_postimage", "update_preimage"):
            return f"the change feed of an update is {self.changes}"
        return None


def commit_and_read(session: "SparkSession", folder: Path) -> DeltaProbe:
    """Creates a table in `folder`, inserts two rows, updates one, and returns everything read back."""
    table = f"delta.`{folder}`"
    properties = ", ".join(f"'{name}' = '{value}'" for name, value in BASE_TABLE_PROPERTIES.items())
    session.sql(f"CREATE TABLE {table} (k INT, v STRING) USING delta TBLPROPERTIES ({properties})")
    session.sql(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
    inserted = _rows(session, table)
    session.sql(f"UPDATE {table} SET v = 'c' WHERE k = 2")
    feed = session.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 2)
    changes = feed.load(str(folder)).select("_change_type").collect()
    return DeltaProbe(
        inserted=inserted,
        updated=_rows(session, table),
        changes=tuple(sorted(row["_change_type"] for row in changes)),
    )


def _rows(session: "SparkSession", table: str) -> dict[int, tuple[str, int]]:
    """Returns the rows of the table by key, as (value, row id)."""
    rows = session.sql(f"SELECT k, v, _metadata.row_id AS id FROM {table}").collect()
    return {row["k"]: (row["v"], row["id"]) for row in rows}
