"""The 99 queries of TPC-DS as dynamic tables: which are INCREMENTAL, are they right, how long they take.

    python -m benchmarks.tpcds --rounds 3
    python -m benchmarks.tpcds --only 4,11,74

After each round of inserts, updates and deletes each table is refreshed and compared with its query.
"""

from __future__ import annotations

import math
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import click
import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.tpcds_world import RETURNS, Rows, Schema, archive, queries, schema, tables
from dynamic_tables.account import Account
from dynamic_tables.errors import DynamicTablesError
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.session import open_session

ARROW = {
    "bigint": pa.int64(),
    "string": pa.string(),
    "date": pa.date32(),
    "decimal(7,2)": pa.decimal128(7, 2),
}
AMOUNTS = {
    "ss": "ss_ext_sales_price",
    "cs": "cs_ext_sales_price",
    "ws": "ws_ext_sales_price",
    "sr": "sr_return_amt",
    "cr": "cr_return_amount",
    "wr": "wr_return_amt",
}
"""The column of each table of sales and returns, by its prefix, that a round updates."""

OTHERS = (
    "UPDATE customer SET c_current_addr_sk = c_current_addr_sk % 70 + 2 WHERE c_customer_sk % 11 = 3",
    "DELETE FROM customer WHERE c_customer_sk % 41 = 7",
    "UPDATE item SET i_current_price = i_current_price + 3, i_category = 'Music' WHERE i_item_sk % 13 = 4",
    "UPDATE customer_address SET ca_state = 'TX' WHERE ca_address_sk % 9 = 2",
    "DELETE FROM inventory WHERE inv_item_sk % 17 = 2",
    "UPDATE date_dim SET d_moy = 11, d_year = 2000 WHERE d_date_sk % 61 = 5",
    "DELETE FROM store WHERE s_store_sk = 3",
)
"""What every second round changes in the other tables."""


def statements(seed: int, number: int) -> Iterator[str]:
    """Yields the DML of a round."""
    draw = random.Random(seed * 100 + number)
    sold = {sales: theirs for sales, _, theirs, _ in RETURNS.values()}
    for table, prefix in {**sold, **{returned: of[1] for returned, of in RETURNS.items()}}.items():
        item, amount = f"{prefix}_item_sk", AMOUNTS[prefix]
        if number % 3 != 2:
            yield f"DELETE FROM {table} WHERE {item} % 23 = {draw.randrange(23)}"
        yield f"UPDATE {table} SET {amount} = {amount} + 1 WHERE {item} % 19 = {draw.randrange(19)}"
        yield f"INSERT INTO {table} SELECT * FROM {table} WHERE {item} % 29 = {draw.randrange(29)}"
    if number % 2:
        yield from OTHERS


@dataclass(slots=True)
class Bench:
    """An account with the tables of TPC-DS. `wrong`: queries refused, refreshes failed, contents wrong."""

    folder: str
    spark: SparkSession
    account: Account
    columns: Schema
    texts: Mapping[str, str]
    wrong: list[str] = field(default_factory=list)

    def fill(self, rows: Mapping[str, Rows]) -> None:
        """Creates the base tables with their rows."""
        for table, of in self.columns.items():
            self.account.create_base_table(table, list(of.items()))
            arrow = pa.table(
                {name: pa.array([row[name] for row in rows[table]], ARROW[kind]) for name, kind in of.items()}
            )
            frame = self.spark.createDataFrame(arrow).coalesce(1)
            frame.write.format("delta").mode("append").save(f"{self.folder}/{table}")

    def create(self, number: str) -> bool | None:
        """Creates the table of a query; tells whether it is INCREMENTAL, None if it cannot be created."""
        try:
            table = self.account.create_dynamic_table(f"q{number}", self.texts[number])
        except DynamicTablesError as error:
            self.wrong.append(f"q{number} is refused: {str(error)[:200]}")
            print(self.wrong[-1], flush=True)
            return None
        print(f"q{number}: {'INCREMENTAL' if table.incremental else f'FULL: {table.reason}'}", flush=True)
        self.compare(number, "created")
        return table.incremental

    def refresh(self, number: str, when: str) -> tuple[float, float]:
        """Refreshes a table and compares it; returns the seconds of the refresh and of the query."""
        start = time.perf_counter()
        try:
            action = self.account.refresh(f"q{number}")[-1].action.value
        except DynamicTablesError as error:
            self.wrong.append(f"q{number} {when}: {str(error)[:200]}")
            print(self.wrong[-1], flush=True)
            return 0.0, 0.0
        spent = time.perf_counter() - start
        alone, rows = self.compare(number, when)
        print(f"{when} q{number}: {action}, {rows} rows, {spent:.1f} s; its query: {alone:.1f} s", flush=True)
        return spent, alone

    def compare(self, number: str, when: str) -> tuple[float, int]:
        """Compares a table with its query on Spark; returns the seconds of the query and its rows."""
        for table in self.columns:
            self.spark.read.format("delta").load(f"{self.folder}/{table}").createOrReplaceTempView(table)
        names = ", ".join(f"`{name}`" for name, _ in self.account.describe(f"q{number}").table.columns)
        stored = self.spark.sql(f"SELECT {names} FROM delta.`{self.folder}/q{number}`").collect()
        start = time.perf_counter()
        due = self.spark.sql(self.texts[number]).collect()
        spent = time.perf_counter() - start
        if not same([tuple(row) for row in stored], [tuple(row) for row in due]):
            self.wrong.append(f"q{number} {when}: {len(stored)} rows, not the {len(due)} of its query")
            print(self.wrong[-1], flush=True)
        return spent, len(due)


def same(stored: Sequence[tuple[object, ...]], due: Sequence[tuple[object, ...]]) -> bool:
    """Tells whether two results have the same rows, sums of DOUBLE but for their last digits."""

    def key(row: tuple[object, ...]) -> tuple[str, ...]:
        return tuple(f"{value:.4f}" if isinstance(value, float | Decimal) else str(value) for value in row)

    def close(left: object, right: object) -> bool:
        if isinstance(left, float) and isinstance(right, float):
            return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-6)
        return left == right

    pairs = zip(sorted(stored, key=key), sorted(due, key=key), strict=False)
    return len(stored) == len(due) and all(all(map(close, *pair)) for pair in pairs)


@click.command()
@click.option("--rounds", type=click.IntRange(min=0), default=3, show_default=True)
@click.option("--facts", type=click.IntRange(min=8), default=4000, show_default=True, help="Rows of sales.")
@click.option("--seed", default=1, show_default=True)
@click.option("--only", default="", help="Numbers of queries, separated by commas.")
def main(rounds: int, facts: int, seed: int, only: str) -> None:
    """Create, change, refresh, compare."""
    folder = tempfile.mkdtemp(prefix="dvs-tpcds-")
    try:
        tests = archive(Path(folder))
        columns, texts = schema(tests), queries(tests)
        spark = open_session()
        account = Account.open(f"{folder}/account", spark, WallClock())
        bench = Bench(f"{folder}/account", spark, account, columns, texts)
        bench.fill(tables(seed, columns, texts.values(), facts))
        wanted = only.split(",") if only else list(texts)
        modes = {number: bench.create(number) for number in wanted}
        for round_ in range(rounds):
            for statement in statements(seed, round_):
                account.execute(statement)
            times = [bench.refresh(n, f"round {round_}") for n in wanted if modes[n] is not None]
            spent, alone = (sum(each) for each in zip(*times, strict=True))
            print(f"round {round_}: {spent:.0f} s of refreshes; the queries alone: {alone:.0f} s", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    shown = {True: "INCREMENTAL", False: "FULL", None: "refused"}
    print(", ".join(f"{count} {shown[mode]}" for mode, count in Counter(modes.values()).items()))
    print("\n".join(bench.wrong) or "every table is its query")
    sys.exit(1 if bench.wrong else 0)


if __name__ == "__main__":
    main()
