"""What a refresh costs, incremental beside full: `python -m benchmarks.refresh --rows 3000000`.

A fact table of some rows in eight files and a dimension of 10,000 rows; one dynamic table of each kind twice,
once INCREMENTAL and once FULL. In each round some fact rows are updated, in one place or here and there, and
both are refreshed one after the other. Printed: the best of the rounds after the first, in seconds.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from dynamic_tables.account import Account
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES: Mapping[str, str] = {
    "filter": "SELECT f.id, f.k, f.v FROM fact AS f WHERE f.v > 10",
    "join": "SELECT f.id, d.name, f.v FROM fact AS f JOIN dim AS d ON f.k = d.k",
    "left join": "SELECT f.id, d.name, f.v FROM fact AS f LEFT JOIN dim AS d ON f.k = d.k",
    "grouped sum": "SELECT f.k, COUNT(*) AS n, SUM(f.v) AS s FROM fact AS f GROUP BY f.k",
    "sum over join": "SELECT d.name, SUM(f.v) AS s FROM fact AS f JOIN dim AS d ON f.k = d.k GROUP BY d.name",
    "least": "SELECT f.k, MIN(f.v) AS least FROM fact AS f GROUP BY f.k",
    "distinct": "SELECT DISTINCT f.k, f.v FROM fact AS f",
    "union": "SELECT f.k, f.v FROM fact AS f UNION ALL SELECT d.k, CAST(d.k AS BIGINT) AS v FROM dim AS d",
}
KEYS = 10_000


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of a refresh: to compute the changes or the contents, to commit them, and in all."""

    compute: float
    commit: float
    total: float


def load(spark: SparkSession, path: str, rows: int) -> Account:
    """Returns an account with both tables, written by plain Spark."""
    account = Account.open(path, spark, WallClock())
    account.create_base_table("fact", [("id", "BIGINT"), ("k", "INT"), ("v", "BIGINT")])
    account.create_base_table("dim", [("k", "INT"), ("name", "STRING")])
    columns = f"id, CAST(id % {KEYS} AS INT) AS k, (id * 7) % 1000 AS v"
    fact = spark.sql(f"SELECT {columns} FROM RANGE(0, {rows}, 1, 8)")
    fact.write.format("delta").mode("append").save(f"{path}/fact")
    dim = spark.sql(f"SELECT CAST(id AS INT) AS k, CONCAT('n', id) AS name FROM RANGE({KEYS})")
    dim.write.format("delta").mode("append").save(f"{path}/dim")
    return account


def update_text(rows: int, changed: int, number: int, *, scattered: bool) -> str:
    """Returns the UPDATE of a round."""
    if scattered:
        return f"UPDATE fact SET v = v + 1 WHERE id % {max(1, rows // changed)} = {number}"
    start = number * changed * 5
    return f"UPDATE fact SET v = v + 1 WHERE id BETWEEN {start} AND {start + changed - 1}"


def refreshed(account: Account, name: str) -> Cost:
    """Refreshes one table and returns what it cost."""
    seconds = account.refresh(name)[-1].record.seconds
    commit, total = seconds.get("commit", 0.0), sum(seconds.values())
    return Cost(total - commit, commit, total)


@click.command()
@click.option("--rows", default=3_000_000, show_default=True, help="Of the fact table.")
@click.option("--changed", default=1_000, show_default=True, help="Fact rows updated in each round.")
@click.option("--scattered", is_flag=True, help="Update rows here and there, not in one place.")
@click.option("--rounds", default=4, show_default=True)
@click.option("--only", default=",".join(QUERIES), help="Kinds, separated by commas.  [default: all]")
def main(rows: int, changed: int, scattered: bool, rounds: int, only: str) -> None:
    """Compares incremental refreshes with full ones on tables of a given size."""
    kinds = [kind.strip() for kind in only.split(",")]
    unknown = [kind for kind in kinds if kind not in QUERIES]
    if unknown:
        raise click.BadParameter(
            f"no kind {unknown[0]!r}; there are: {', '.join(QUERIES)}", param_hint="--only"
        )
    folder = tempfile.mkdtemp(prefix="refresh-")
    try:
        account = load(open_session(), f"{folder}/account", rows)
        names = {kind: kind.replace(" ", "_") for kind in kinds}
        for kind, name in names.items():
            for mode in ("INCREMENTAL", "FULL"):
                account.create_dynamic_table(f"{name}_{mode.lower()}", QUERIES[kind], refresh_mode=mode)
        costs: dict[str, list[tuple[Cost, Cost]]] = {kind: [] for kind in kinds}
        for number in range(rounds):
            account.execute(update_text(rows, changed, number, scattered=scattered))
            for kind, name in names.items():
                pair = refreshed(account, f"{name}_incremental"), refreshed(account, f"{name}_full")
                costs[kind].append(pair)
        place = "here and there" if scattered else "in one place"
        click.echo(f"{rows:,} rows, {changed:,} updated {place}; best of {rounds - 1} rounds, in seconds")
        click.echo(f"{'':14} {'changes':>8} {'commit':>8} {'total':>8}    {'full':>8}   incremental / full")
        for kind, pairs in costs.items():
            mine, full = (min(side, key=lambda cost: cost.total) for side in zip(*pairs[1:], strict=True))
            ratio = mine.total / full.total
            parts = f"{mine.compute:8.2f} {mine.commit:8.2f} {mine.total:8.2f}"
            click.echo(f"{kind:14} {parts}    {full.total:8.2f} {ratio:10.2f}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
