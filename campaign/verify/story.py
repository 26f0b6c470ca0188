"""A story: random changes of what dynamic tables read, on Delta, with a refresh after each and its check.

Each step changes rows or columns of a base table, or a view; then every dynamic table is refreshed. Either
its rows are those that Spark gives for its query over the tables as they are now; or the refresh fails, the
contents stay, and Spark refuses the query too. For example a column is dropped that a query reads: then the
refresh must fail, and must work again once the column is back. `evolution` runs many stories.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from dynamic_tables.account import Account
from dynamic_tables.errors import DynamicTablesError
from dynamic_tables.schedule.clock import SimulatedClock
from dynamic_tables.store.delta import DeltaStore
from workload.errors import first_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUERIES: Mapping[str, str] = {
    "star": "SELECT * FROM r",
    "some": "SELECT k, a FROM r WHERE a > 1",
    "sums": "SELECT k, SUM(a) AS n, COUNT(*) AS c FROM r GROUP BY k",
    "pairs": "SELECT r.k, r.a, s.b FROM r LEFT JOIN s ON r.k = s.k",
    "seen": "SELECT k, COUNT(*) AS n FROM v GROUP BY k",
    "over": "SELECT n, COUNT(*) AS m FROM sums GROUP BY n",
    "whole": "SELECT DISTINCT * FROM s",
    # An added column may take over what a name in these queries means, or become a key of a join or pivot.
    "named": "SELECT k, a + 1 AS b, b * 2 AS c FROM r",
    "grouped": "SELECT k + 1 AS c, COUNT(a) AS n FROM r GROUP BY c",
    "inner": "SELECT k FROM r WHERE EXISTS (SELECT 1 FROM s WHERE s.k = r.k AND s.b > a)",
    "natural": "SELECT k, b FROM r NATURAL JOIN s",
    "pivot": "SELECT x, y FROM r PIVOT (COUNT(*) FOR t IN ('x', 'y'))",
    "blanks": "SELECT k, length(t) AS n FROM r WHERE t = 'x' OR CAST(t AS STRING) = 'y'",
}
VIEWS = (
    "SELECT k, b FROM s",
    "SELECT k, b + 1 AS b FROM s WHERE b > 1",
    "SELECT * FROM s",
    "SELECT k, a AS b FROM r",
)
OTHER_COLUMNS = (
    "k INT, a INT, b INT",
    "k INT, a BIGINT, b {text}, t {text}",
    "a INT, k INT, b INT, t {text}",
)
TEXTS = ("STRING", "STRING", "VARCHAR(9)", "CHAR(2)")
"""The types of text; Spark pads a CHAR with blanks as it reads, whatever the files hold."""

# Table properties of Delta as SQL, such as 'delta.enableRowTracking' = 'true'.
TRACKED, MAPPED, WIDENED, VECTORS = (
    f"'delta.{name}'"
    for name in (
        "enableRowTracking' = 'true",
        "columnMapping.mode' = 'name",
        "enableTypeWidening' = 'true",
        "enableDeletionVectors' = 'true",
    )
)
PROPERTIES = (
    TRACKED,
    f"{TRACKED}, {MAPPED}",
    f"{MAPPED}, {WIDENED}",
    f"{TRACKED}, {MAPPED}, {WIDENED}",
    f"{VECTORS}, {TRACKED}",
)


Contents = tuple[list[str], Counter[str]]
"""The columns with their types, in order, and how often each row is there."""


def contents(frame: DataFrame) -> Contents:
    """Returns the contents of a data frame."""
    return [" ".join(each) for each in frame.dtypes], Counter(map(repr, map(tuple, frame.collect())))


@dataclass(frozen=True, slots=True)
class Misread:
    """A mistake that a story has shown, with the story's seed and all that had happened before (`told`)."""

    seed: int
    message: str
    told: Sequence[str]


@dataclass
class Story:
    """An account with dynamic tables over two attached tables, r and s, and what happens to it.

    `view`: the query of the view v. `told`: the statements so far. `met`: how often each kind of change, and
    of refresh, was met. `held`: the contents of each dynamic table after its last refresh.
    """

    path: Path
    spark: SparkSession
    seed: int
    account: Account = field(init=False)
    clock: SimulatedClock = field(init=False)
    draw: random.Random = field(init=False)
    view: str = VIEWS[0]
    told: list[str] = field(default_factory=list)
    met: Counter[str] = field(default_factory=Counter)
    wrong: list[Misread] = field(default_factory=list)
    held: dict[str, Contents] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.draw, self.clock = random.Random(f"evolution {self.seed}"), SimulatedClock(10)
        self.account = Account.open(str(self.path / "account"), self.spark, self.clock)
        for name, column in (("r", "a"), ("s", "b")):
            self.create(name, f"k INT, {column} INT, t {{text}}")
            self.account.attach(name, self.place(name))
            self.sql(f"INSERT INTO {{{name}}} VALUES (1, 2, 'x'), (2, 3, 'y'), (3, NULL, NULL)")
        self.account.create_view("v", self.view)
        for name, query in QUERIES.items():
            self.account.create_dynamic_table(name, query)

    def close(self) -> None:
        """Forgets the names of the account in Spark."""
        assert isinstance(self.account.store, DeltaStore)
        self.account.store.close()

    def place(self, name: str) -> str:
        return str(self.path / name)

    def create(self, name: str, columns: str, *, again: str = "") -> None:
        """Creates a base table with random types of text, partitions and properties."""
        columns = columns.format(text=self.draw.choice(TEXTS))
        parts = self.draw.choice(("", "", " PARTITIONED BY (k)"))
        properties = self.draw.choice(PROPERTIES)
        self.sql(
            f"CREATE {again}TABLE {{{name}}} ({columns}) USING delta{parts} TBLPROPERTIES ({properties})"
        )

    def sql(self, text: str) -> None:
        """Runs a statement, in which {r} and {s} stand for the base tables by their folders."""
        self.told.append(text)
        self.spark.sql(text.format(**{name: f"delta.`{self.place(name)}`" for name in ("r", "s")}))

    def columns(self, name: str) -> list[tuple[str, str]]:
        schema = self.spark.sql(f"SELECT * FROM delta.`{self.place(name)}`").schema
        return [(each.name, each.dataType.simpleString()) for each in schema]

    # The changes: each method of `EVENTS` does one to a base table, or to a view or dynamic table beside it.

    def happens(self) -> None:
        """Does one random change, and counts it, or counts that Spark or the engine refuses it."""
        name = self.draw.choice("rs")
        event = self.draw.choice(EVENTS)
        try:
            event(self, name)
            self.met[event.__name__] += 1
        except (PySparkException, DynamicTablesError) as error:
            self.told.append(f"  refused: {first_line(error)[:150]}")
            self.met["refused"] += 1

    def insert(self, name: str) -> None:
        for _ in range(self.draw.randrange(1, 3)):
            values = ", ".join(self.value(type_) for _, type_ in self.columns(name))
            self.sql(f"INSERT INTO {{{name}}} VALUES ({values})")

    def value(self, type_: str) -> str:
        """Returns a random value of a type as SQL, NULL once in five times."""
        if self.draw.random() < 0.2:
            return f"CAST(NULL AS {type_})"
        number = self.draw.randrange(5)
        return f"CAST({number} AS {type_})" if type_ != "string" else f"'{'xyz'[number % 3]}'"

    def update(self, name: str) -> None:
        column, type_ = self.draw.choice(self.columns(name))
        self.sql(f"UPDATE {{{name}}} SET {column} = {self.value(type_)} WHERE k = {self.draw.randrange(4)}")

    def delete(self, name: str) -> None:
        self.sql(f"DELETE FROM {{{name}}} WHERE k = {self.draw.randrange(4)}")

    def overwrite(self, name: str) -> None:
        values = ", ".join(self.value(type_) for _, type_ in self.columns(name))
        self.sql(f"INSERT OVERWRITE {{{name}}} VALUES ({values})")

    def optimize(self, name: str) -> None:
        self.sql(f"OPTIMIZE {{{name}}}")

    def restore(self, name: str) -> None:
        newest = (
            self.spark.sql(f"DESCRIBE HISTORY delta.`{self.place(name)}`")
            .agg({"version": "max"})
            .collect()[0][0]
        )
        self.sql(
            f"RESTORE TABLE {{{name}}} TO VERSION AS OF {self.draw.randrange(max(1, newest - 4), newest + 1)}"
        )

    def add_column(self, name: str) -> None:
        type_ = self.draw.choice(("INT", "BIGINT", "DOUBLE", "ARRAY<INT>", *TEXTS))
        place = self.draw.choice(("", "", " FIRST"))
        self.sql(f"ALTER TABLE {{{name}}} ADD COLUMNS ({self.draw.choice('abcdt')} {type_}{place})")

    def drop_column(self, name: str) -> None:
        self.sql(f"ALTER TABLE {{{name}}} DROP COLUMN {self.draw.choice(self.columns(name))[0]}")

    def rename_column(self, name: str) -> None:
        column = self.draw.choice(self.columns(name))[0]
        self.sql(f"ALTER TABLE {{{name}}} RENAME COLUMN {column} TO {self.draw.choice('abcdkt')}")

    def swap_columns(self, name: str) -> None:
        first, second = self.draw.sample(self.columns(name), 2)
        for old, new in ((first[0], "old"), (second[0], first[0]), ("old", second[0])):
            self.sql(f"ALTER TABLE {{{name}}} RENAME COLUMN {old} TO {new}")

    def add_column_again(self, name: str) -> None:
        column, type_ = self.draw.choice(self.columns(name))
        self.sql(f"ALTER TABLE {{{name}}} DROP COLUMN {column}")
        self.sql(f"ALTER TABLE {{{name}}} ADD COLUMNS ({column} {type_})")

    def move_column(self, name: str) -> None:
        self.sql(f"ALTER TABLE {{{name}}} ALTER COLUMN {self.draw.choice(self.columns(name))[0]} FIRST")

    def widen_column(self, name: str) -> None:
        numbers = [column for column, type_ in self.columns(name) if type_ == "int"]
        self.sql(f"ALTER TABLE {{{name}}} ALTER COLUMN {self.draw.choice(numbers or ['k'])} TYPE BIGINT")

    def map_columns(self, name: str) -> None:
        self.sql(f"ALTER TABLE {{{name}}} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")

    def replace_table(self, name: str) -> None:
        self.create(name, self.draw.choice(OTHER_COLUMNS), again="OR REPLACE ")
        self.insert(name)

    def replace_view(self, name: str) -> None:
        text = self.draw.choice(VIEWS)
        self.told.append(f"v = {text}")
        self.account.create_view("v", text, or_replace=True)
        self.view = text

    def attach_again(self, name: str) -> None:
        self.told.append(f"{name} is detached and attached again")
        self.account.drop(name, even_if_read=True)
        self.account.attach(name, self.place(name))

    def drop_and_undrop(self, name: str) -> None:
        self.told.append("sums is dropped and comes back")
        self.account.drop("sums", even_if_read=True)
        self.account.undrop("sums")

    # The check after a change.

    def check(self) -> None:
        """Refreshes every dynamic table, compares it with its query, and notes what is wrong."""
        spark = self.spark_now()
        for name, query in QUERIES.items():
            before, failed = self.held.get(name) or self.stored(name), ""
            try:
                action = self.account.refresh(name)[-1].action.name
            except DynamicTablesError as error:
                action, failed = "failed", str(error)
            self.met[action] += 1
            due, now = truth(spark, query), self.stored(name)
            self.held[name] = now
            if failed and now != before:
                self.found(f"{name} failed, and it changed: {failed}")
            elif failed and due is not None:
                self.found(f"{name} fails, and its query does not: {failed}")
            elif not failed and due is None:
                self.found(f"{name}: {action}, and Spark refuses its query")
            elif not failed and now != due:
                self.found(f"{name}: {action}, and it is not its query: {difference(due, now)}")

    def found(self, message: str) -> None:
        """Notes a mistake, with all that has happened before."""
        self.wrong.append(Misread(self.seed, message, tuple(self.told)))

    def stored(self, name: str) -> Contents:
        return contents(self.account.read(name))

    def spark_now(self) -> SparkSession:
        """Returns a session with r and s as they are now, and the views v and sums unless Spark refuses them.

        The view sums has the query of the dynamic table sums, which another one reads.
        """
        session = self.spark.newSession()
        for name in ("r", "s"):
            session.sql(f"SELECT * FROM delta.`{self.place(name)}`").createTempView(name)
        views = {"v": self.view, **{name: query for name, query in QUERIES.items() if name == "sums"}}
        for name, query in views.items():
            with suppress(PySparkException):
                session.sql(f"CREATE TEMP VIEW {name} AS {query}")
        return session


def truth(session: SparkSession, query: str) -> Contents | None:
    """Returns what Spark gives for a query; None where it refuses, also for lack of a view that it reads."""
    try:
        return contents(session.sql(query))
    except PySparkException:
        return None


def difference(due: Contents | None, now: Contents) -> str:
    """Returns in words how stored contents (`now`) differ from those that Spark gives (`due`)."""
    assert due is not None, "the query has a result"
    if due[0] != now[0]:
        return f"the columns are {', '.join(now[0])} instead of {', '.join(due[0])}"
    return f"lacks {dict(due[1] - now[1])} and has {dict(now[1] - due[1])}"


EVENTS: tuple[Callable[[Story, str], None], ...] = (
    *[Story.insert] * 4,
    *[Story.update] * 3,
    *[Story.delete] * 2,
    Story.overwrite,
    Story.optimize,
    Story.restore,
    *[Story.add_column] * 3,
    *[Story.drop_column] * 2,
    *[Story.rename_column] * 3,
    *[Story.swap_columns] * 2,
    Story.add_column_again,
    Story.move_column,
    *[Story.widen_column] * 2,
    Story.map_columns,
    Story.replace_table,
    *[Story.replace_view] * 2,
    Story.drop_and_undrop,
    Story.attach_again,
)
"""The changes that may happen; those that stand here more often are drawn more often."""
