"""NEXMark's queries as dynamic tables: `python -m benchmarks.nexmark --events 1000000`.

People, auctions and bids come in the order of time, 1 : 3 : 46 as in NEXMark (github.com/nexmark/nexmark).
Each query is a table twice, INCREMENTAL and FULL; in each round new events arrive, and both are refreshed one
after the other. Windows of time are groups of a tick, a millisecond an event; ten minutes stand for a day.
q10 and q13 are about files and a clock on the wall, and NEXMark's own Flink refuses q6.
Printed: seconds of the best round after the first, their ratio, and the sums over all queries.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from benchmarks.refresh import refreshed
from dynamic_tables.account import Account
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOW, DAY = 10_000, 600_000
"""Ticks of a window of ten seconds, and of what stands for a day."""

TABLES: Mapping[str, str] = {
    "person": "id BIGINT, name STRING, city STRING, state STRING, tick BIGINT",
    "auction": (
        "id BIGINT, item STRING, category INT, initial BIGINT, reserve BIGINT, tick BIGINT, expires BIGINT, "
        "seller BIGINT"
    ),
    "bid": (
        "id BIGINT, auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, tick BIGINT"
    ),
}

# Of each fifty events the first is a person, three are auctions and the others bids. Bids go to the latest
# thousand auctions, half of them to every hundredth one.
EVENTS: Mapping[str, str] = {
    "person": (
        "SELECT id DIV 50 AS id, CONCAT('name ', id) AS name, CONCAT('city ', pmod(hash(id), 50)) AS city, "
        "element_at(array('AZ', 'CA', 'ID', 'OR', 'WA', 'WY'), 1 + pmod(hash(id, 1), 6)) AS state, "
        "id AS tick FROM events WHERE id % 50 = 0"
    ),
    "auction": (
        "SELECT id DIV 50 * 3 + id % 50 - 1 AS id, CONCAT('item ', pmod(hash(id), 1000)) AS item, "
        "CAST(10 + pmod(hash(id, 1), 5) AS INT) AS category, pmod(hash(id, 2), 1000) AS initial, "
        "pmod(hash(id, 3), 5000) AS reserve, id AS tick, id + 1000 + pmod(hash(id, 4), 30000) AS expires, "
        "greatest(0, id DIV 50 - pmod(hash(id, 5), 1000)) AS seller "
        "FROM events WHERE id % 50 BETWEEN 1 AND 3"
    ),
    "bid": (
        "SELECT id, greatest(0, CASE WHEN id % 2 = 0 THEN id DIV 50 * 3 DIV 100 * 100 "
        "ELSE id DIV 50 * 3 - pmod(hash(id), 1000) END) AS auction, "
        "greatest(0, id DIV 50 - pmod(hash(id, 1), 1000)) AS bidder, "
        "100 + pmod(hash(id, 2), 10000) AS price, "
        "CONCAT('channel ', pmod(hash(id, 3), 100)) AS channel, "
        "CONCAT('https://www.nexmark.com/', pmod(hash(id, 4), 100), '/item.htm?query=1&channel_id=', "
        "pmod(hash(id, 3), 100)) AS url, id AS tick FROM events WHERE id % 50 > 3"
    ),
}

QUERIES: Mapping[str, str] = {
    "0 as they are": "SELECT auction, bidder, price, tick FROM bid",
    "1 currency": "SELECT auction, bidder, CAST(price * 0.908 AS DECIMAL(20,3)) AS price, tick FROM bid",
    "2 selection": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "3 local items": (
        "SELECT p.name, p.city, p.state, a.id FROM auction AS a JOIN person AS p ON a.seller = p.id "
        "WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')"
    ),
    "4 price of category": (
        "SELECT q.category, AVG(q.final) AS price FROM (SELECT a.id, a.category, MAX(b.price) AS final "
        "FROM auction AS a JOIN bid AS b ON a.id = b.auction WHERE b.tick BETWEEN a.tick AND a.expires "
        "GROUP BY a.id, a.category) AS q GROUP BY q.category"
    ),
    "5 hot items": (
        f"SELECT q.win, q.auction, q.n FROM (SELECT tick DIV {WINDOW} AS win, auction, COUNT(*) AS n "
        f"FROM bid GROUP BY tick DIV {WINDOW}, auction) AS q "
        "QUALIFY RANK() OVER (PARTITION BY q.win ORDER BY q.n DESC) = 1"
    ),
    "7 highest bid": (
        f"SELECT b.auction, b.price, b.bidder, b.tick FROM bid AS b JOIN (SELECT tick DIV {WINDOW} AS win, "
        f"MAX(price) AS price FROM bid GROUP BY tick DIV {WINDOW}) AS m "
        f"ON b.price = m.price AND b.tick DIV {WINDOW} = m.win"
    ),
    "8 new users": (
        "SELECT DISTINCT p.id, p.name FROM person AS p JOIN auction AS a ON p.id = a.seller "
        f"AND p.tick DIV {WINDOW} = a.tick DIV {WINDOW}"
    ),
    "9 winning bids": (
        "SELECT a.id, a.item, b.bidder, b.price FROM auction AS a JOIN bid AS b ON a.id = b.auction "
        "WHERE b.tick BETWEEN a.tick AND a.expires "
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.tick) = 1"
    ),
    "11 sessions": (
        "SELECT bidder, session_window.start AS begins, session_window.end AS ends, COUNT(*) AS n FROM "
        "(SELECT bidder, timestamp_millis(tick) AS at FROM bid) "
        "GROUP BY bidder, session_window(at, '10 seconds')"
    ),
    "12 bids of a user": (
        f"SELECT bidder, tick DIV {WINDOW} AS win, COUNT(*) AS n FROM bid GROUP BY bidder, tick DIV {WINDOW}"
    ),
    "14 calculation": (
        "SELECT auction, bidder, CAST(price * 0.908 AS DECIMAL(20,3)) AS price, "
        "CASE WHEN tick DIV 60000 % 24 BETWEEN 8 AND 18 THEN 'dayTime' "
        "WHEN tick DIV 60000 % 24 <= 6 THEN 'nightTime' ELSE 'otherTime' END AS kind, "
        "length(url) - length(replace(url, 'c', '')) AS cs FROM bid WHERE price * 0.908 > 1000"
    ),
    "15 bids of a day": (
        f"SELECT tick DIV {DAY} AS day, COUNT(*) AS n, COUNT(*) FILTER (WHERE price < 1000) AS low, "
        "COUNT(*) FILTER (WHERE price >= 1000) AS high, COUNT(DISTINCT bidder) AS bidders, "
        f"COUNT(DISTINCT auction) AS auctions FROM bid GROUP BY tick DIV {DAY}"
    ),
    "16 channels": (
        f"SELECT channel, tick DIV {DAY} AS day, COUNT(*) AS n, COUNT(*) FILTER (WHERE price < 1000) AS low, "
        f"COUNT(DISTINCT bidder) AS bidders FROM bid GROUP BY channel, tick DIV {DAY}"
    ),
    "17 auctions": (
        f"SELECT auction, tick DIV {DAY} AS day, COUNT(*) AS n, COUNT(*) FILTER (WHERE price < 1000) AS low, "
        "MIN(price) AS least, MAX(price) AS most, AVG(price) AS mean, SUM(price) AS total "
        f"FROM bid GROUP BY auction, tick DIV {DAY}"
    ),
    "18 last bid": (
        "SELECT auction, bidder, price, channel, tick FROM bid "
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY tick DESC) = 1"
    ),
    "19 top ten": (
        "SELECT auction, bidder, price, tick, "
        "ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, tick) AS place "
        "FROM bid QUALIFY place <= 10"
    ),
    "20 bids with auctions": (
        "SELECT b.auction, b.bidder, b.price, a.item, a.category, a.expires FROM bid AS b "
        "JOIN auction AS a ON b.auction = a.id WHERE a.category = 10"
    ),
    "21 channel of a link": (
        "SELECT auction, bidder, price, channel, CASE WHEN channel = 'channel 1' THEN '1' "
        "ELSE regexp_extract(url, 'channel_id=([0-9]+)', 1) END AS channel_id FROM bid"
    ),
    "22 parts of a link": (
        "SELECT auction, bidder, price, channel, split_part(url, '/', 4) AS dir1, "
        "split_part(url, '/', 5) AS dir2 FROM bid"
    ),
}


def arrive(spark: SparkSession, path: str, first: int, end: int) -> None:
    """Appends the events of a span to the three tables, as plain Spark writes them."""
    spark.range(first, end, 1, 8 if end - first > 100_000 else 1).createOrReplaceTempView("events")
    for name, text in EVENTS.items():
        columns = (column.split() for column in TABLES[name].split(", "))
        items = ", ".join(f"CAST({column} AS {type_}) AS {column}" for column, type_ in columns)
        spark.sql(f"SELECT {items} FROM ({text})").write.format("delta").mode("append").save(f"{path}/{name}")


def create(account: Account, name: str, mode: str) -> str:
    """Creates the dynamic table of a query in a refresh mode; returns its name."""
    table = f"q{name.split()[0]}_{mode.lower()}"
    account.create_dynamic_table(table, QUERIES[name], refresh_mode=mode)
    return table


@click.command()
@click.option("--events", default=1_000_000, show_default=True, help="Before the first round.")
@click.option("--percent", default=0.1, show_default=True, help="New events of a round.")
@click.option("--rounds", default=3, show_default=True)
@click.option("--only", default="", help="Numbers of queries, separated by commas.  [default: all]")
def main(*, events: int, percent: float, rounds: int, only: str) -> None:
    """Compares incremental refreshes of NEXMark's queries with full ones."""
    chosen = {each.strip() for each in only.split(",")} if only else None
    queries = {name: text for name, text in QUERIES.items() if chosen is None or name.split()[0] in chosen}
    if chosen is not None and len(queries) < len(chosen):
        numbers = ", ".join(name.split()[0] for name in QUERIES)
        raise click.BadParameter(f"not all of {only} are queries; there are {numbers}", param_hint="--only")
    folder = tempfile.mkdtemp(prefix="nexmark-")
    try:
        spark, path = open_session(), f"{folder}/account"
        account = Account.open(path, spark, WallClock())
        for name, columns in TABLES.items():
            account.create_base_table(name, dict(each.split() for each in columns.split(", ")))
        arrive(spark, path, 0, events)
        tables = {name: [create(account, name, mode) for mode in ("INCREMENTAL", "FULL")] for name in queries}
        best: dict[str, list[float]] = {name: [float("inf")] * 2 for name in queries}
        step = round(events * percent / 100)
        for number in range(rounds):
            arrive(spark, path, events + number * step, events + (number + 1) * step)
            for name, pair in tables.items():
                seconds = [refreshed(account, table).total for table in pair]
                if number:
                    best[name] = [min(both) for both in zip(best[name], seconds, strict=True)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    click.echo(f"{events:,} events, {step:,} new; best of {rounds - 1} rounds, in seconds")
    click.echo(f"{'':24} {'changes':>8} {'full':>8} {'ratio':>8}")
    sums = [sum(each) for each in zip(*best.values(), strict=True)]
    for name, (mine, full) in [*best.items(), ("sum", sums)]:
        click.echo(f"{name:24} {mine:8.2f} {full:8.2f} {mine / full:8.2f}")


if __name__ == "__main__":
    main()
