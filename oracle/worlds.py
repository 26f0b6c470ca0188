"""The invariants of change sets, checked for many small worlds at once, in DuckDB.

Every relation has a column `world`. What is checked, and in which words, is as in `invariants`; here it is
done by SQL over sets, because there are hundreds of thousands of worlds. `campaign.verify` calls it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import duckdb

from oracle.duck import open_duckdb
from oracle.errors import OracleError
from workload.outcomes.results import Check
from workload.types import Row


@dataclass(slots=True)
class Tables:
    """Tables by name, in a DuckDB of their own, set up as the oracle's is."""

    connection: duckdb.DuckDBPyConnection = field(default_factory=lambda: open_duckdb("4GB"))

    def make(self, name: str, query: str) -> None:
        """Computes a query into a table, which replaces one of the same name. Raises OracleError."""
        self.run(f"CREATE OR REPLACE TABLE {quoted(name)} AS {query}")

    def rows(self, query: str) -> Sequence[Row]:
        """Returns the rows of a query. Raises OracleError."""
        return self.run(query)

    def run(self, statement: str) -> list[Row]:
        """Runs a statement and returns its rows. Raises OracleError."""
        try:
            return self.connection.execute(statement).fetchall()
        except duckdb.Error as error:
            raise OracleError(f"{type(error).__name__}: {error}: {statement}") from error

    def close(self) -> None:
        """Closes the database, which drops everything in it."""
        self.connection.close()


def quoted(name: str) -> str:
    """Returns a name as SQL text."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class Broken:
    """A check that fails. `worlds`: in how many worlds; `world`: the least of their numbers."""

    check: Check
    message: str
    worlds: int
    world: int


@dataclass(frozen=True, slots=True)
class End:
    """The rows of a definition at one end of a change, with the `$ROW_ID` of a fresh initialization.

    `relation`: where they are. `by`: the column of the worlds that its column `world` stands for: the number
    of the world itself, or of the snapshot of the sources at that end, which many worlds share.
    """

    relation: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What is compared, by the names of relations.

    `worlds` has the columns `world`, `before` and `after`, which number the snapshots of the sources, and
    `changed`: whether any source differs. `changes` has the change set of each world. `columns`: those of the
    definition that are compared.
    """

    worlds: str
    before: End
    after: End
    changes: str
    columns: tuple[str, ...]


KNOWN = "known rows"
"""The table of the different rows of both ends, with the numbers of the row, of its id and its content."""
COUNTED = "counted rows"
"""The table with the number of times that each world has each row; see `_count`."""
CHANGES = "numbered changes"
"""The rows of the change sets by their numbers."""
CHANGED_IDS = "changed ids"
"""How often each world inserts (`came`) and deletes (`went`) each row id."""

NUMBERS = "CAST(4000000000 AS BIGINT)"
"""More than there are rows: a world and a row make one number."""

ID = '"$ROW_ID"'


def number_rows(tables: Tables, compared: Compared) -> None:
    """Numbers the different rows, ids and contents of both ends, so that worlds are compared by numbers."""
    names = ", ".join(map(quoted, compared.columns))
    ends = dict.fromkeys((compared.before.relation, compared.after.relation))
    tables.make(
        "all rows", " UNION ".join(f"SELECT DISTINCT {names}, {ID} FROM {quoted(end)}" for end in ends)
    )
    tables.make("ids", f'SELECT {ID}, row_number() OVER () AS id FROM (SELECT DISTINCT {ID} FROM "all rows")')
    numbered = (
        f'SELECT {names}, row_number() OVER () AS content FROM (SELECT DISTINCT {names} FROM "all rows")'
    )
    tables.make("contents", numbered)
    tables.make(
        KNOWN,
        'SELECT row_number() OVER () AS "row", i.id, b.content, a.* FROM "all rows" AS a '
        f"JOIN ids AS i ON a.{ID} IS NOT DISTINCT FROM i.{ID} "
        f"JOIN contents AS b ON {_same(compared.columns, 'a', 'b')}",
    )
    for end in ends:
        tables.make(
            f"{KNOWN} of {end}",
            f'SELECT a.world, b."row", b.id FROM {quoted(end)} AS a JOIN {quoted(KNOWN)} AS b '
            f"ON {_same((*compared.columns, '$ROW_ID'), 'a', 'b')}",
        )


def _same(columns: Sequence[str], left: str, right: str) -> str:
    return " AND ".join(f"{left}.{quoted(c)} IS NOT DISTINCT FROM {right}.{quoted(c)}" for c in columns)


def check_contents(
    tables: Tables, state: str, truth: str, columns: Sequence[str]
) -> tuple[Broken | None, ...]:
    """Checks every snapshot (or world): its rows are the oracle's, in `truth`, and their ids are unique."""
    names, weight = ", ".join(map(quoted, columns)), quoted("$WEIGHT")
    differing = (
        f"SELECT world FROM (SELECT world, {names}, 1 AS {weight} FROM {quoted(state)} "
        f"UNION ALL SELECT world, {names}, -1 FROM {quoted(truth)}) "
        f"GROUP BY world, {names} HAVING sum({weight}) <> 0"
    )
    shared = f"SELECT world FROM {quoted(state)} GROUP BY world, {ID} HAVING count(*) > 1 OR {ID} IS NULL"
    return (
        _broken(tables, Check.EQUALITY, "the contents are not the defining query", differing),
        _broken(tables, Check.ROW_IDS, "two rows have one row id, or a row has none", shared),
    )


def check_changes(tables: Tables, compared: Compared) -> list[Broken]:
    """Checks the change set of every world by the invariants 1 to 6, after `number_rows`."""
    _number_changes(tables, compared)
    _count(tables, compared)
    worlds, stored = quoted(compared.worlds), quoted(f"{KNOWN} of {compared.before.relation}")
    found = (
        _broken(
            tables,
            Check.INVARIANT_1,
            "two changes have one row id and action",
            f"SELECT world FROM {quoted(CHANGED_IDS)} WHERE came > 1 OR went > 1",
        ),
        _broken(
            tables,
            Check.INVARIANT_2,
            "a row is deleted that is not stored so",
            f"SELECT world FROM {quoted(COUNTED)} WHERE went > before",
        ),
        _broken(
            tables,
            Check.INVARIANT_3,
            "a row is inserted under an id that is stored and not deleted",
            f"SELECT c.world FROM (SELECT * FROM {quoted(CHANGED_IDS)} WHERE came > 0 AND went = 0) AS c "
            f"JOIN {worlds} AS w ON w.world = c.world "
            f"SEMI JOIN {stored} AS s ON s.world = w.{compared.before.by} AND s.id = c.id",
        ),
        _broken(
            tables,
            Check.EQUALITY,
            "the change set does not lead to the new contents and their row ids",
            f'SELECT world FROM {quoted(COUNTED)} WHERE before - went + came <> after OR "row" = 0',
        ),
        _broken(
            tables,
            Check.INVARIANT_6,
            "there are changes, though no source has changed",
            f"SELECT c.world FROM {quoted(CHANGES)} AS c JOIN {worlds} AS w "
            "ON w.world = c.world AND NOT w.changed",
        ),
    )
    return [broken for broken in found if broken is not None]


def amplification(tables: Tables, compared: Compared) -> int:
    """Returns the number of pairs of a DELETE and an INSERT of identical rows, after `check_changes`."""
    ((pairs,),) = tables.rows(
        "SELECT coalesce(sum(least(came, went)), 0)::BIGINT FROM (SELECT count(*) FILTER (came) AS came, "
        f'count(*) FILTER (NOT came) AS went FROM {quoted(CHANGES)} WHERE "row" > 0 GROUP BY world, content)'
    )
    assert isinstance(pairs, int)
    return pairs


def _number_changes(tables: Tables, compared: Compared) -> None:
    """Numbers the rows of the change sets; row 0: a row that neither end has in any world."""
    tables.make(
        CHANGES,
        'SELECT c.world, coalesce(k."row", 0) AS "row", coalesce(k.id, 0) AS id, k.content, '
        f"c.\"$ACTION\" = 'INSERT' AS came FROM {quoted(compared.changes)} AS c "
        f"LEFT JOIN {quoted(KNOWN)} AS k ON {_same((*compared.columns, '$ROW_ID'), 'c', 'k')}",
    )
    tables.make(
        CHANGED_IDS,
        "SELECT world, id, count(*) FILTER (came) AS came, count(*) FILTER (NOT came) AS went "
        f"FROM {quoted(CHANGES)} GROUP BY world, id",
    )


PLACE = 1_000
"""Four counts are one number with four digits to this base: one sum is several times faster than four."""


def _count(tables: Tables, compared: Compared) -> None:
    """Counts how often each world has each row before, after, and among the changes.

    Rows that stay and are not among the changes are left out.
    """

    def rows_at(end: End, code: int) -> str:
        return (
            f'SELECT w.world * {NUMBERS} + s."row" AS place, CAST({code} AS DOUBLE) AS code '
            f"FROM {quoted(compared.worlds)} AS w "
            f"JOIN {quoted(f'{KNOWN} of {end.relation}')} AS s ON s.world = w.{end.by}"
        )

    changes = (
        f'SELECT world * {NUMBERS} + "row", CASE WHEN came THEN {PLACE**2} ELSE {PLACE**3} END '
        f"FROM {quoted(CHANGES)}"
    )
    parts = (rows_at(compared.before, 1), rows_at(compared.after, PLACE), changes)
    counts = ", ".join(
        f"code // {PLACE**digit} % {PLACE} AS {name}"
        for digit, name in enumerate(("before", "after", "came", "went"))
    )
    every = " UNION ALL ".join(parts)
    tables.make(
        COUNTED,
        f'SELECT CAST(place // {NUMBERS} AS INTEGER) AS world, place % {NUMBERS} AS "row", {counts} '
        "FROM "
        f"(SELECT place, CAST(sum(code) AS BIGINT) AS code FROM ({every}) GROUP BY place) "
        f"WHERE code <> {1 + PLACE}",
    )


def _broken(tables: Tables, check: Check, message: str, worlds: str) -> Broken | None:
    """Returns a check as failed in the worlds that a query yields; None: it yields none."""
    ((count, least),) = tables.rows(f"SELECT count(DISTINCT world), min(world) FROM ({worlds})")
    if not count:
        return None
    assert isinstance(count, int)
    assert isinstance(least, int)
    return Broken(check, message, count, least)
