"""What a refresh costs, incremental beside full: `python -m benchmarks.refresh --rows 3000000`.

A fact table of some rows in eight files and a dimension of 10,000 rows; one dynamic table of each kind twice,
once INCREMENTAL and once FULL. In each round some rows change, and both are refreshed one after the other; so
is, with `--by-hand`, a table that a MERGE from the change feed maintains. Printed: the best of the rounds
after the first, in seconds. `ratio`: incremental / the column before.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from benchmarks.by_hand import TEXTS, ByHand
from dynamic_tables.account import Account
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.session import Settings, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES: Mapping[str, str] = {
    "filter": "SELECT f.id, f.k, f.v FROM fact AS f WHERE f.v > 10",
    "join": "SELECT f.id, d.name, f.v FROM fact AS f JOIN dim AS d ON f.k = d.k",
    "left join": "SELECT f.id, d.name, f.v FROM fact AS f LEFT JOIN dim AS d ON f.k = d.k",
    "grouped sum": "SELECT f.k, COUNT(*) AS n, SUM(f.v) AS s FROM fact AS f GROUP BY f.k",
    "first rows": "SELECT f.id, f.k, f.v FROM fact AS f ORDER BY f.v DESC, f.id LIMIT 100",
    "sum over join": "SELECT d.name, SUM(f.v) AS s FROM fact AS f JOIN dim AS d ON f.k = d.k GROUP BY d.name",
    "least": "SELECT f.k, MIN(f.v) AS least FROM fact AS f GROUP BY f.k",
    "distinct": "SELECT DISTINCT f.k, f.v FROM fact AS f",
    "running sum": "SELECT f.id, f.k, SUM(f.v) OVER (PARTITION BY f.k ORDER BY f.id) AS s FROM fact AS f",
    "last of a key": (
        "SELECT f.id, f.k, f.v FROM fact AS f "
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY f.k ORDER BY f.id DESC) = 1"
    ),
    "rollup": "SELECT f.k % 9 AS g, f.k, COUNT(*) AS n, SUM(f.v) AS s FROM fact f GROUP BY ROLLUP (1, f.k)",
    "exists or": (
        "SELECT f.id, f.v FROM fact AS f "
        "WHERE f.v > 900 OR EXISTS (SELECT 1 FROM dim AS d WHERE d.k = f.k AND d.name LIKE '%7')"
    ),
    "name by subquery": "SELECT f.id, f.v, (SELECT d.name FROM dim d WHERE d.k = f.k) AS name FROM fact AS f",
    "exists many": (
        "SELECT d.k, d.name FROM dim AS d "
        "WHERE EXISTS (SELECT 1 FROM fact AS f WHERE f.k = d.k GROUP BY f.k HAVING COUNT(*) > 50)"
    ),
    "three of each": (
        "SELECT d.k, q.id, q.v FROM dim AS d, "
        "LATERAL (SELECT f.id, f.v FROM fact AS f WHERE f.k = d.k ORDER BY f.v DESC, f.id LIMIT 3) AS q"
    ),
    "union": "SELECT f.k, f.v FROM fact AS f UNION ALL SELECT d.k, CAST(d.k AS BIGINT) AS v FROM dim AS d",
    "three levels": "SELECT n, COUNT(*) AS groups FROM {below} WHERE s > 0 GROUP BY n",
}
BELOW: Mapping[str, tuple[str, ...]] = {
    "three levels": (
        "SELECT f.id, d.name, f.v FROM fact AS f JOIN dim AS d ON f.k = d.k WHERE f.v > 10",
        "SELECT name, COUNT(*) AS n, SUM(v) AS s FROM {below} GROUP BY name",
    ),
}
"""The dynamic tables below a kind's own, lowest first."""

KEYS = 10_000


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of a refresh: to compute the changes or the contents, to commit them, and in all."""

    compute: float
    commit: float
    total: float


def columns_of_fact(rows: int, *, clustered: bool) -> str:
    """Returns the columns of a row of `fact`, by its number `id`. `clustered`: a key has rows in a row."""
    key = f"id DIV {max(1, rows // KEYS)} % {KEYS}" if clustered else f"id % {KEYS}"
    return f"id, CAST({key} AS INT) AS k, (id * 7) % 1000 AS v"


def load(spark: SparkSession, path: str, rows: int, *, clustered: bool) -> Account:
    """Returns an account with both tables, written by plain Spark."""
    account = Account.open(path, spark, WallClock())
    account.create_base_table("fact", [("id", "BIGINT"), ("k", "INT"), ("v", "BIGINT")])
    account.create_base_table("dim", [("k", "INT"), ("name", "STRING")])
    columns = columns_of_fact(rows, clustered=clustered)
    fact = spark.sql(f"SELECT {columns} FROM RANGE(0, {rows}, 1, 8)")
    fact.write.format("delta").mode("append").save(f"{path}/fact")
    dim = spark.sql(f"SELECT CAST(id AS INT) AS k, CONCAT('n', id) AS name FROM RANGE({KEYS})")
    dim.write.format("delta").mode("append").save(f"{path}/dim")
    return account


def update_text(rows: int, changed: int, number: int, how: str, *, clustered: bool) -> str:
    """Returns the statement of a round. `how`: one of CHANGES."""
    if how == "dimension":
        return f"UPDATE dim SET name = CONCAT(name, 'x') WHERE k BETWEEN {number} AND {number + changed - 1}"
    if how == "append":
        first = rows + number * changed
        columns = columns_of_fact(rows, clustered=clustered)
        return f"INSERT INTO fact SELECT {columns} FROM RANGE({first}, {first + changed}, 1, 1)"
    if how == "scattered":
        return f"UPDATE fact SET v = v + 1 WHERE id % {max(1, rows // changed)} = {number}"
    start = number * changed * 5
    return f"UPDATE fact SET v = v + 1 WHERE id BETWEEN {start} AND {start + changed - 1}"


def refreshed(account: Account, name: str) -> Cost:
    """Refreshes a table and those below it, and returns what that cost."""
    seconds = [result.record.seconds for result in account.refresh(name)]
    commit = sum(each.get("commit", 0.0) for each in seconds)
    total = sum(sum(each.values()) for each in seconds)
    return Cost(total - commit, commit, total)


def create(account: Account, kind: str, mode: str) -> str:
    """Creates the dynamic tables of a kind in a refresh mode; returns the name of the topmost one."""
    name, below = f"{kind.replace(' ', '_')}_{mode.lower()}", ""
    for level, query in enumerate(BELOW.get(kind, ())):
        account.create_dynamic_table(f"{name}_{level}", query.format(below=below), refresh_mode=mode)
        below = f"{name}_{level}"
    account.create_dynamic_table(name, QUERIES[kind].format(below=below), refresh_mode=mode)
    return name


CHANGES: Mapping[str, str] = {
    "local": "rows updated in one place",
    "scattered": "rows updated here and there",
    "append": "rows appended",
    "dimension": "rows of the dimension updated",
}


@dataclass(frozen=True, slots=True)
class Round:
    """What one round cost: incremental, full, and in seconds by hand, if there is a text for it."""

    incremental: Cost
    full: Cost
    by_hand: float | None


@click.command()
@click.option("--rows", default=3_000_000, show_default=True, help="Of the fact table.")
@click.option("--changed", default=1_000, show_default=True, help="Rows changed in each round.")
@click.option("--change", type=click.Choice(list(CHANGES)), default="local", show_default=True)
@click.option("--clustered", is_flag=True, help="Rows of one key lie together, as those of one day do.")
@click.option("--settings", type=click.Choice([each.value for each in Settings]), default="sized")
@click.option("--rounds", default=4, show_default=True)
@click.option("--by-hand", is_flag=True, help="Measure a MERGE from the change feed, too.")
@click.option("--only", default=",".join(QUERIES), help="Kinds, separated by commas.  [default: all]")
def main(
    *,
    rows: int,
    changed: int,
    change: str,
    clustered: bool,
    settings: str,
    rounds: int,
    by_hand: bool,
    only: str,
) -> None:
    """Compares incremental refreshes with full ones on tables of a given size."""
    kinds = [kind.strip() for kind in only.split(",")]
    unknown = [kind for kind in kinds if kind not in QUERIES]
    if unknown:
        raise click.BadParameter(
            f"no kind {unknown[0]!r}; there are: {', '.join(QUERIES)}", param_hint="--only"
        )
    if by_hand and change == "dimension":
        raise click.BadParameter("the texts by hand follow changes of the fact table only")
    folder = tempfile.mkdtemp(prefix="refresh-")
    try:
        spark = open_session(settings=Settings(settings))
        account = load(spark, f"{folder}/account", rows, clustered=clustered)
        names = {
            kind: (create(account, kind, "INCREMENTAL"), create(account, kind, "FULL")) for kind in kinds
        }
        hand = ByHand(spark, f"{folder}/account")
        with_text = [kind for kind in kinds if by_hand and kind in TEXTS]
        for kind in with_text:
            hand.create(kind, QUERIES[kind])
        costs: dict[str, list[Round]] = {kind: [] for kind in kinds}
        for number in range(rounds):
            hand.seen()
            account.execute(update_text(rows, changed, number, change, clustered=clustered))
            for kind, (mine, full) in names.items():
                seconds = hand.refresh(kind) if kind in with_text else None
                costs[kind].append(Round(refreshed(account, mine), refreshed(account, full), seconds))
        click.echo(f"{rows:,} rows, {changed:,} {CHANGES[change]}; best of {rounds - 1} rounds, in seconds")
        show(costs)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def show(costs: Mapping[str, list[Round]]) -> None:
    """Prints the best of the rounds after the first."""
    head = f"{'':14} {'changes':>8} {'commit':>8} {'total':>8} {'full':>8} {'ratio':>8}"
    click.echo(f"{head} {'by hand':>8} {'ratio':>8}")
    for kind, rounds in costs.items():
        mine = min((each.incremental for each in rounds[1:]), key=lambda cost: cost.total)
        full = min(each.full.total for each in rounds[1:])
        hand = min((each.by_hand for each in rounds[1:] if each.by_hand is not None), default=None)
        line = f"{kind:14} {mine.compute:8.2f} {mine.commit:8.2f} {mine.total:8.2f} {full:8.2f}"
        line += f" {mine.total / full:8.2f}"
        click.echo(line if hand is None else f"{line} {hand:8.2f} {mine.total / hand:8.2f}")


if __name__ == "__main__":
    main()
