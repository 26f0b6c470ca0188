"""The rows of the tables of an account as temporary views, over which Spark evaluates queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dynamic_tables.account import Account


def view_rows(account: Account, *names: str) -> None:
    """Makes the rows that tables hold now temporary views of their names, in the caller's session.

    They are literals, so that dozens of queries over them read no file.
    """
    for name in names:
        held = account.read(name)
        session = held.sparkSession
        session.createDataFrame(held.toArrow(), held.schema).createOrReplaceTempView(name)
