"""Accounts whose tables are compared with what Spark says of their queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from dynamic_tables.account import Account
from dynamic_tables.definition import RefreshMode
from dynamic_tables.schedule.clock import Clock
from dynamic_tables.store.delta import DeltaStore
from dynamic_tables.store.port import Action
from dynamic_tables.store.sizes import Sizes


def view_rows(account: Account, *names: str) -> None:
    """Makes the rows that tables hold now temporary views of their names, in the caller's session.

    They are literals, so that dozens of queries over them read no file.
    """
    for name in names:
        held = account.read(name)
        session = held.sparkSession
        session.createDataFrame(held.toArrow(), held.schema).createOrReplaceTempView(name)


def create_maintained(account: Account, texts: Sequence[str]) -> None:
    """Creates the dynamic tables d0, d1, .. of some texts; each is maintained incrementally."""
    for number, text in enumerate(texts):
        table = account.create_dynamic_table(f"d{number}", text, refresh_mode=RefreshMode.INCREMENTAL)
        assert table.incremental, (text, table.reason)


def assert_maintained(
    account: Account, texts: Sequence[str], source: str, rounds: Sequence[Sequence[str]]
) -> None:
    """Changes the rows of a table in rounds, after each of which d0, d1, .. are what Spark says."""
    for statements in rounds:
        account.execute(*statements)
        view_rows(account, source)
        for number, text in enumerate(texts):
            assert account.refresh(f"d{number}")[-1].action is Action.INCREMENTAL
            found = account.read(f"d{number}")
            due = found.sparkSession.sql(text)
            assert found.columns == due.columns
            rows = found.collect()
            assert Counter(map(repr, rows)) == Counter(map(repr, due.collect())), (statements, text)


def with_sizes(path: Path, spark: SparkSession, clock: Clock, sizes: Sizes) -> Account:
    """Returns an account on Delta whose store takes few rows for many."""
    return Account(store=DeltaStore(str(path), spark, clock, sizes=sizes), clock=clock)
