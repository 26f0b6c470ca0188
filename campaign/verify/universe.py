"""All small worlds of some tables as relations in DuckDB, made once for all definitions over these tables.

A world is one history of each table: its rows before and after one change, such as r (0) -> (1) and s
unchanged. For each table there are relations with the columns of the table, `world` and `$ROW_ID`: its rows
at both ends (`r@t0`, `r@t1`), and its rows in every snapshot (`r@snapshot`), where `world` is the number of
the snapshot. Snapshots are the different contents of all tables at one end of any world. There are far fewer
of them than worlds, so what depends on one end alone is computed once for each snapshot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from generators.small_worlds import Bound, Place, TableHistory, table_histories
from oracle.worlds import Tables, quoted
from workload.lift import WORLD, WORLDS
from workload.schema import Table
from workload.types import Row, Value

EVERY_WORLD = "every world"
EVERY_SNAPSHOT = "every snapshot"

# Behind the name of a table and @: its rows before the change, after it, in each snapshot, its changes.
T0, T1, SNAPSHOT, DELTA = "t0", "t1", "snapshot", "delta"

Snapshot = tuple[tuple[int, Row], ...]
"""The rows of a table at one end of its history, each with its place, which is its row id."""


@dataclass(frozen=True)
class Universe:
    """All worlds of some tables within a bound. `relations`: a DuckDB of their own."""

    tables: tuple[Table, ...]
    bound: Bound
    relations: Tables

    @staticmethod
    def of(
        tables: Sequence[Table], bound: Bound, given: Sequence[Iterable[TableHistory]] | None = None
    ) -> Universe:
        """Makes the relations of all worlds, and returns their universe.

        Smaller worlds have smaller numbers: the least number for which a check fails is a small
        counterexample. `given`: for each table the histories that it may have, in place of all within the
        bound.
        """
        universe = Universe(tuple(tables), bound, Tables())
        every = given or [table_histories(len(table.columns), bound) for table in tables]
        for table, histories in zip(tables, every, strict=True):
            _make_histories(universe.relations, table, bound, histories)
        _make_worlds(universe.relations, universe.tables, bound)
        for table in tables:
            _make_ends(universe.relations, table)
        _make_lifted_worlds(universe.relations)
        return universe

    @cached_property
    def worlds(self) -> int:
        """The number of worlds."""
        return self._count(EVERY_WORLD)

    @cached_property
    def snapshots(self) -> int:
        """The number of snapshots."""
        return self._count(EVERY_SNAPSHOT)

    @cached_property
    def unchanged(self) -> int:
        """The number of worlds in which no source changes."""
        return self._count(EVERY_WORLD, "WHERE NOT changed")

    def _count(self, relation: str, where: str = "") -> int:
        ((count,),) = self.relations.rows(f"SELECT count(*) FROM {quoted(relation)} {where}")
        assert isinstance(count, int)
        return count


def _make_histories(relations: Tables, table: Table, bound: Bound, every: Iterable[TableHistory]) -> None:
    """Makes relations of the histories of one table, as numbers of snapshots, and of the snapshots' rows."""
    numbers: dict[Snapshot, int] = {}
    histories = []
    for history in every:
        before, after = (numbers.setdefault(end, len(numbers)) for end in _ends(history, bound))
        changes = sum(place.changed for place in history)
        if table.primary_key and Counter(p.before for p in history) == Counter(p.after for p in history):
            # The same rows at other places. With a primary key a row id is made of the key, not of the place,
            # so nothing has changed.
            changes = 0
        histories.append((before, after, changes, len(history)))
    _fill(relations, f"{table.name} histories", ("before", "after", "changes", "size"), histories)
    names = ("snapshot", "place", *(column.name for column in table.columns))
    rows = ((number, place, *row) for end, number in numbers.items() for place, row in end)
    _fill(relations, f"{table.name} rows", names, list(rows))


def _ends(history: TableHistory, bound: Bound) -> Iterator[Snapshot]:
    """Yields both ends of a history. Inserted rows have the same places however many rows there were."""
    stored = sum(place.before is not None for place in history)
    places: list[tuple[int, Place]] = [
        (number if number < stored else bound.rows + number - stored, place)
        for number, place in enumerate(history)
    ]
    yield tuple((number, place.before) for number, place in places if place.before is not None)
    yield tuple((number, place.after) for number, place in places if place.after is not None)


def _fill(relations: Tables, name: str, columns: Sequence[str], rows: Sequence[Sequence[Value]]) -> None:
    listed = ", ".join(f"{quoted(column)} INTEGER" for column in columns)
    relations.run(f"CREATE TABLE {quoted(name)} ({listed})")
    for start in range(0, len(rows), 2000):
        texts = (
            "(" + ", ".join("NULL" if v is None else str(v) for v in row) + ")"
            for row in rows[start : start + 2000]
        )
        relations.run(f"INSERT INTO {quoted(name)} VALUES {', '.join(texts)}")


def _make_worlds(relations: Tables, tables: Sequence[Table], bound: Bound) -> None:
    """Makes the relation of worlds, each one history of each table, and the relation of snapshots.

    In the relation of worlds `before` and `after` are numbers of snapshots. `tables_changed` is a bit set: 1
    for the first table, 2 for the second, 4 for the third, if it changes.
    """
    source = ""
    for number, table in enumerate(tables):
        so_far = " + ".join(f"h{i}.changes" for i in range(number + 1))
        item = f"{quoted(f'{table.name} histories')} AS h{number}"
        source = f"{source} JOIN {item} ON {so_far} <= {bound.in_all}" if source else item
    ends = [f"h{i}.{end} AS {end}{i}" for i in range(len(tables)) for end in ("before", "after")]
    size = " + ".join(f"h{i}.size" for i in range(len(tables)))
    changes = " + ".join(f"h{i}.changes" for i in range(len(tables)))
    which = " + ".join(f"CASE WHEN h{i}.changes > 0 THEN {2**i} ELSE 0 END" for i in range(len(tables)))
    relations.make(
        "combined",
        f"SELECT CAST(row_number() OVER (ORDER BY {size}, {changes}) - 1 AS INTEGER) AS world, "
        f"{', '.join(ends)}, {changes} > 0 AS changed, {which} AS tables_changed FROM {source}",
    )
    at = {end: ", ".join(f"{end}{i} AS n{i}" for i in range(len(tables))) for end in ("before", "after")}
    relations.make(
        "numbered",
        "SELECT CAST(row_number() OVER () - 1 AS INTEGER) AS world, * FROM "
        f"(SELECT {at['before']} FROM combined UNION SELECT {at['after']} FROM combined)",
    )
    same = {
        end: " AND ".join(f"c.{end}{i} = {end[0]}.n{i}" for i in range(len(tables)))
        for end in ("before", "after")
    }
    relations.make(
        EVERY_WORLD,
        f"SELECT c.*, b.world AS before, a.world AS after FROM combined AS c "
        f"JOIN numbered AS b ON {same['before']} JOIN numbered AS a ON {same['after']}",
    )
    relations.make(EVERY_SNAPSHOT, "SELECT * FROM numbered")


def _make_ends(relations: Tables, table: Table) -> None:
    """Makes the relations of a table's rows in every world at both ends, and in every snapshot."""
    number = table_number(table)
    names = ", ".join(f"r.{quoted(column.name)}" for column in table.columns)
    # Rows of different tables share ids, as they may on Delta, where each table numbers its own.
    row_id = "CAST(r.place AS VARCHAR)"
    over = {
        T0: (EVERY_WORLD, f"before{number}"),
        T1: (EVERY_WORLD, f"after{number}"),
        SNAPSHOT: (EVERY_SNAPSHOT, f"n{number}"),
    }
    for end, (every, column) in over.items():
        relations.make(
            f"{table.name}@{end}",
            f'SELECT {names}, w.world AS {WORLD.name}, {row_id} AS "$ROW_ID" FROM {quoted(every)} AS w '
            f"JOIN {quoted(f'{table.name} rows')} AS r ON r.snapshot = w.{column}",
        )


def table_number(table: Table) -> int:
    """Returns the place of a table among r, s, t."""
    return "rst".index(table.name)


def _make_lifted_worlds(relations: Tables) -> None:
    """Makes the table of all worlds, which a lifted aggregate over all rows reads; it never changes."""
    row = f'world AS {WORLD.name}, CAST(world AS VARCHAR) AS "$ROW_ID"'
    for end, every in ((T0, EVERY_WORLD), (T1, EVERY_WORLD), (SNAPSHOT, EVERY_SNAPSHOT)):
        relations.make(f"{WORLDS.name}@{end}", f"SELECT {row} FROM {quoted(every)}")
    relations.make(
        f"{WORLDS.name}@{DELTA}",
        f'SELECT {WORLD.name}, \'INSERT\' AS "$ACTION", "$ROW_ID" '
        f"FROM {quoted(f'{WORLDS.name}@{T0}')} LIMIT 0",
    )
