"""Relations that hold many worlds at once, in DuckDB, and the invariants of change sets checked for all of them.

Every relation has a column `world`. What is checked, and in which words, is as in `invariants`; here it is
done by SQL over sets, because there are hundreds of thousands of worlds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import duckdb

from oracle.duck import open_duckdb
from oracle.errors import OracleError
from workload.results import Check
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
        """Drops everything."""
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
    """The rows of a definition at one end of a change, with `$ROW_ID`, as a fresh initialization gives them.

    `relation`: where they are. `by`: the column of the worlds that its column `world` stands for: the number of
    the world itself, or of the snapshot of the sources at that end, which many worlds share.
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
COUNTED = "counted rows"
ID = '"$ROW_ID"'


def number_rows(tables: Tables, compared: Compared) -> None:
    """Numbers the different rows, ids and contents of both ends, so that worlds are compared by numbers."""
    names = ", ".join(map(quoted, compared.columns))
    ends = dict.fromkeys((compared.before.relation, compared.after.relation))
    tables.make("all rows", " UNION ".join(f"SELECT {names}, {ID} FROM {quoted(end)}" for end in ends))
    tables.make("ids", f'SELECT {ID}, row_number() OVER () AS id FROM (SELECT DISTINCT {ID} FROM "all rows")')
    numbered = (
        f'SELECT {names}, row_number() OVER () AS content FROM (SELECT DISTINCT {names} FROM "all rows")'
    )
    tables.make("contents", numbered)
    tables.make(
        KNOWN,
        f'SELECT row_number() OVER () AS "row", i.id, b.content, a.* FROM (SELECT DISTINCT * FROM "all rows") AS a '
        f"JOIN ids AS i ON a.{ID} IS NOT DISTINCT FROM i.{ID} "
        f"JOIN contents AS b ON {_same(compared.columns, 'a', 'b')}",
    )
    for number, end in enumerate(ends):
        tables.make(
            f"{KNOWN} {number}",
            f'SELECT a.world, b."row", b.id FROM {quoted(end)} AS a JOIN {quoted(KNOWN)} AS b '
            f"ON {_same((*compared.columns, '$ROW_ID'), 'a', 'b')}",
        )


def _same(columns: Sequence[str], left: str, right: str) -> str:
    return " AND ".join(f"{left}.{quoted(c)} IS NOT DISTINCT FROM {right}.{quoted(c)}" for c in columns)


def check_contents(
    tables: Tables, state: str, truth: str, columns: Sequence[str]
) -> tuple[Broken | None, ...]:
    """Checks the rows of every snapshot (or world): they are the oracle's, in `truth`, and their ids are unique."""
    names = ", ".join(map(quoted, columns))
    differing = (
        f"SELECT world FROM (SELECT world, {names}, 1 AS n FROM {quoted(state)} "
        f"UNION ALL SELECT world, {names}, -1 FROM {quoted(truth)}) GROUP BY world, {names} HAVING sum(n) <> 0"
    )
    shared = f"SELECT world FROM {quoted(state)} GROUP BY world, {ID} HAVING count(*) > 1 OR {ID} IS NULL"
    return (
        _broken(tables, Check.EQUALITY, "the contents are not the defining query", differing),
        _broken(tables, Check.ROW_IDS, "two rows have one row id, or a row has none", shared),
    )


def check_changes(tables: Tables, compared: Compared) -> list[Broken]:
    """Checks the change set of every world by the invariants 1 to 6, after `number_rows`."""
    worlds, counted = quoted(compared.worlds), quoted(COUNTED)
    _count(tables, compared)
    of_ids = (
        "SELECT world, sum(came) AS came, sum(went) AS went, sum(before) AS before "
        f"FROM {counted} GROUP BY world, id HAVING sum(came) + sum(went) > 0"
    )
    tables.make("counted ids", of_ids)
    checks = (
        (
            Check.INVARIANT_1,
            "two changes have one row id and action",
            'FROM "counted ids" WHERE came > 1 OR went > 1',
        ),
        (Check.INVARIANT_2, "a row is deleted that is not stored so", f"FROM {counted} WHERE went > before"),
        (
            Check.INVARIANT_3,
            "a row is inserted under an id that is stored and not deleted",
            'FROM "counted ids" WHERE came > 0 AND went = 0 AND before > 0',
        ),
        (
            Check.EQUALITY,
            "the change set does not lead to the new contents and their row ids",
            f'FROM {counted} WHERE before - went + came <> after OR "row" = 0',
        ),
        (
            Check.INVARIANT_6,
            "there are changes, though no source has changed",
            f"FROM {worlds} WHERE NOT changed AND world IN (SELECT world FROM {quoted(compared.changes)})",
        ),
    )
    found = (_broken(tables, check, message, f"SELECT world {where}") for check, message, where in checks)
    return [broken for broken in found if broken is not None]


def amplification(tables: Tables, compared: Compared) -> int:
    """Returns the number of pairs of a DELETE and an INSERT of identical rows, after `check_changes`."""
    ((pairs,),) = tables.rows(
        "SELECT coalesce(sum(least(came, went)), 0)::BIGINT FROM (SELECT sum(came) AS came, sum(went) AS went "
        f'FROM {quoted(COUNTED)} JOIN {quoted(KNOWN)} USING ("row") WHERE came + went > 0 GROUP BY world, content)'
    )
    assert isinstance(pairs, int)
    return pairs


def _count(tables: Tables, compared: Compared) -> None:
    """Counts how often each world has each row before, after, and among the changes; row 0: no end has it."""
    second = 0 if compared.before.relation == compared.after.relation else 1

    def rows_at(end: End, number: int, counts: str) -> str:
        return (
            f'SELECT w.world, s."row", s.id, {counts}, 0 AS came, 0 AS went FROM {quoted(compared.worlds)} AS w '
            f"JOIN {quoted(f'{KNOWN} {number}')} AS s ON s.world = w.{end.by}"
        )

    action = "CASE WHEN c.\"$ACTION\" = '{}' THEN 1 ELSE 0 END"
    changes = (
        'SELECT c.world, coalesce(k."row", 0), coalesce(k.id, 0), 0, 0, '
        f"{action.format('INSERT')}, {action.format('DELETE')} FROM {quoted(compared.changes)} AS c "
        f"LEFT JOIN {quoted(KNOWN)} AS k ON {_same((*compared.columns, '$ROW_ID'), 'c', 'k')}"
    )
    parts = (
        rows_at(compared.before, 0, "1 AS before, 0 AS after"),
        rows_at(compared.after, second, "0, 1"),
        changes,
    )
    sums = ", ".join(f"sum({name}) AS {name}" for name in ("before", "after", "came", "went"))
    every = " UNION ALL ".join(parts)
    tables.make(COUNTED, f'SELECT world, "row", id, {sums} FROM ({every}) GROUP BY world, "row", id')


def _broken(tables: Tables, check: Check, message: str, worlds: str) -> Broken | None:
    ((count, least),) = tables.rows(f"SELECT count(DISTINCT world), min(world) FROM ({worlds})")
    if not count:
        return None
    assert isinstance(count, int)
    assert isinstance(least, int)
    return Broken(check, message, count, least)
