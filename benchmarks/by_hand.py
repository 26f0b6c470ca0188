"""What a user would write in place of a dynamic table: the change feed, a join, and one MERGE.

It is a baseline for cost alone. Each text is right for changes of the table `fact` only.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from delta.tables import DeltaTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POST = "_change_type IN ('insert', 'update_postimage')"
LAST_IMAGES = f"(SELECT * FROM changes WHERE {POST} OR _change_type = 'delete')"

BY_KEY = """
MERGE INTO {target} AS t USING {changes} AS c ON t.id = c.id
WHEN MATCHED AND (c._change_type = 'delete' OR NOT c.kept) THEN DELETE
WHEN MATCHED THEN UPDATE SET {sets}
WHEN NOT MATCHED AND c._change_type <> 'delete' AND c.kept THEN INSERT ({columns}) VALUES ({values})"""

BY_GROUP = """
MERGE INTO {target} AS t USING (
  SELECT k, SUM(w) AS dn, SUM(w * v) AS ds
  FROM (SELECT k, v, CASE WHEN {post} THEN 1 ELSE -1 END AS w FROM changes) GROUP BY k
) AS c ON t.k = c.k
WHEN MATCHED AND t.n + c.dn = 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET n = t.n + c.dn, s = t.s + c.ds
WHEN NOT MATCHED THEN INSERT (k, n, s) VALUES (c.k, c.dn, c.ds)"""


def _by_key(changes: str, columns: tuple[str, ...]) -> str:
    return BY_KEY.format(
        target="{target}",
        changes=changes,
        sets=", ".join(f"{name} = c.{name}" for name in columns),
        columns=", ".join(columns),
        values=", ".join(f"c.{name}" for name in columns),
    )


TEXTS: Mapping[str, str] = {
    "filter": _by_key(f"(SELECT *, v > 10 AS kept FROM {LAST_IMAGES})", ("id", "k", "v")),
    "join": _by_key(
        "(SELECT id, name, v, _change_type, name IS NOT NULL AS kept "
        f"FROM {LAST_IMAGES} AS f LEFT JOIN {{dim}} AS d ON f.k = d.k)",
        ("id", "name", "v"),
    ),
    "left join": _by_key(
        f"(SELECT id, name, v, _change_type, TRUE AS kept FROM {LAST_IMAGES} AS f LEFT JOIN {{dim}} AS d "
        "ON f.k = d.k)",
        ("id", "name", "v"),
    ),
    "grouped sum": BY_GROUP.format(target="{target}", post=POST),
}
"""The kinds of queries that have a text by hand."""


@dataclass(slots=True)
class ByHand:
    """Tables beside an account that are maintained by these texts. `version`: of `fact`, as read last."""

    spark: SparkSession
    account: str
    version: int = -1

    def create(self, kind: str, query: str) -> None:
        """Writes the first contents of a table."""
        text = query.replace("fact AS f", f"{self._named('fact')} AS f")
        text = text.replace("dim AS d", f"{self._named('dim')} AS d")
        writer = self.spark.sql(text).write.format("delta").option("delta.enableDeletionVectors", "true")
        writer.save(self._path(kind))

    def refresh(self, kind: str) -> float:
        """Brings a table up to the newest version of `fact`; returns the seconds that it took."""
        start = time.perf_counter()
        changes = self.spark.read.format("delta").option("readChangeFeed", "true")
        changes = changes.option("startingVersion", self.version + 1)
        changes.load(f"{self.account}/fact").createOrReplaceTempView("changes")
        target = f"delta.`{self._path(kind)}`"
        self.spark.sql(TEXTS[kind].format(target=target, dim=self._named("dim")))
        return time.perf_counter() - start

    def seen(self) -> None:
        """Notes that all tables have read the newest version of `fact`."""
        newest = DeltaTable.forPath(self.spark, f"{self.account}/fact").history(1).collect()[0]
        self.version = int(newest["version"])

    def _named(self, name: str) -> str:
        return f"delta.`{self.account}/{name}`"

    def _path(self, kind: str) -> str:
        return f"{self.account}-by-hand/{kind.replace(' ', '_')}"
