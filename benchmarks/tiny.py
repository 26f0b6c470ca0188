"""What refreshes of tiny tables cost in the session that users get: `python -m benchmarks.tiny`.

Three dynamic tables over 100 rows, of which ten change in each round; then the same in an account with many
more tables. Printed: the median of the rounds, in seconds.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from statistics import median

import click

from dynamic_tables.account import Account
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.session import Settings, open_session

QUERIES: Mapping[str, str] = {
    "filter": "SELECT k, v FROM r WHERE v > 2",
    "join": "SELECT r.k, v, w FROM r JOIN s ON r.k = s.k",
    "grouped sum": "SELECT v, SUM(k) AS t FROM r GROUP BY v",
}
ROUNDS = 6


def name_of(kind: str) -> str:
    """Returns the name of the dynamic table of a kind."""
    return kind.replace(" ", "_")


def measure(account: Account, label: str) -> None:
    """Prints what refreshes with ten changed rows cost, and refreshes without any."""
    seconds: dict[tuple[str, str], list[float]] = {}
    for number in range(ROUNDS):
        account.execute(f"UPDATE r SET v = v + 1 WHERE k BETWEEN {number * 10} AND {number * 10 + 9}")
        for action in ("INCREMENTAL", "NO_DATA"):
            for kind in QUERIES:
                start = time.perf_counter()
                result = account.refresh(name_of(kind))[-1]
                seconds.setdefault((action, kind), []).append(time.perf_counter() - start)
                assert result.action.value == action
    for kind in QUERIES:
        changed, unchanged = (median(seconds[action, kind]) for action in ("INCREMENTAL", "NO_DATA"))
        click.echo(f"{label:12} {kind:12} incremental {changed:.2f}  no data {unchanged:.2f}")


@click.command()
@click.option("--tables", default=200, show_default=True, help="Other dynamic tables, in the second part.")
@click.option("--settings", type=click.Choice([each.value for each in Settings]), default="sized")
def main(tables: int, settings: str) -> None:
    """Measures refreshes of tiny tables."""
    with tempfile.TemporaryDirectory(prefix="tiny-") as folder:
        account = Account.open(folder, open_session(settings=Settings(settings)), WallClock())
        for name, value in (("r", "v"), ("s", "w")):
            account.create_base_table(name, [("k", "INT"), (value, "BIGINT")])
            account.execute(f"INSERT INTO {name} SELECT CAST(id AS INT), id % 7 FROM RANGE(100)")
        for kind, query in QUERIES.items():
            account.create_dynamic_table(name_of(kind), query)
        measure(account, "few tables")
        if not tables:
            return
        for number in range(tables):
            query = QUERIES[list(QUERIES)[number % 3]]
            account.create_dynamic_table(f"other_{number}", query, initialize=False)
        measure(account, f"{tables} tables")


if __name__ == "__main__":
    main()
