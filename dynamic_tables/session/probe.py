"""Does Delta work here? One small table with every feature dynamic tables lean on."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEATURES = (
    "delta.enableRowTracking",
    "delta.enableDeletionVectors",
    "delta.enableChangeDataFeed",
    "delta.enableInCommitTimestamps",
)


@dataclass(frozen=True, slots=True)
class DeltaProbe:
    """What was read back: rows by key as (value, row id) before and after an update, and its change feed."""

    inserted: dict[int, tuple[str, int]]
    updated: dict[int, tuple[str, int]]
    changes: tuple[str, ...]

    @property
    def problem(self) -> str | None:
        """What is wrong with it, or None: an update must keep row ids and leave both images."""
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
    """Create a table in `folder`, insert two rows, update one, and read everything back: three commits."""
    table = f"delta.`{folder}`"
    properties = ", ".join(f"'{feature}' = 'true'" for feature in FEATURES)
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
    rows = session.sql(f"SELECT k, v, _metadata.row_id AS id FROM {table}").collect()
    return {row["k"]: (row["v"], row["id"]) for row in rows}
