"""The smallest world in which a check of `verify` fails, as text: query, tables, contents, change sets."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence

from campaign.verify.engine import Engine
from campaign.verify.from_contents import AFTER as END
from campaign.verify.universe import SNAPSHOT, T0, T1, Universe
from oracle.worlds import Compared, End, quoted
from workload.lift import WORLD
from workload.sql import Dialect, render_query
from workload.sql.passing_time import START
from workload.types import Row

ID = "$ROW_ID"
ACTION = "$ACTION"

ROWS_SHOWN = 12
"""The most rows of a block that are shown; only a fault has more in so small a world."""


def counterexample(engine: Engine, compared: Compared, world: int, *, back: bool = False) -> str:
    """Returns one world as text. `back`: the change is undone, so that the tables go from t1 to t0."""
    definition, universe = engine.definition, engine.universe
    lines = [render_query(definition.query, Dialect.SPARK)]
    if engine.reads_time:
        before, after = (START + dt.timedelta(microseconds=time) for time in engine.times)
        lines.append(f"current time: {before} before, {after} after")
    ends = ((T1, "before"), (T0, "after")) if back else ((T0, "before"), (T1, "after"))
    for table in definition.tables:
        names = [column.name for column in table.columns]
        for end, word in ends:
            rows = _rows(universe, f"{table.name}@{end}", world, (*names, ID))
            lines += block(f"{table.name} {word}", (*names, ID), rows)
    columns = (*compared.columns, ID)
    first, last = (_contents(universe, compared, world, end) for end in (compared.before, compared.after))
    lines += block("contents before", columns, first)
    lines += block("contents after", columns, last)
    expected = [(*row, "DELETE") for row in first if row not in last]
    expected += [(*row, "INSERT") for row in last if row not in first]
    lines += block("changes expected", (*columns, ACTION), expected)
    actual = _rows(universe, compared.changes, world, (*columns, ACTION))
    return "\n".join([*lines, *block("changes computed", (*columns, ACTION), actual)])


def contradiction(engine: Engine, number: int, state: str, truth: str) -> str:
    """Returns as text the rows by the engine (`state`) and by the oracle (`truth`) over some tables.

    `number`: of the snapshot, or of the world if these relations have rows of worlds, not of snapshots.
    """
    universe, of_worlds = engine.universe, state == END
    lines = [render_query(engine.definition.query, Dialect.SPARK)]
    for table in engine.definition.tables:
        shown = (*(column.name for column in table.columns), ID)
        end = T1 if of_worlds else SNAPSHOT
        lines += block(table.name, shown, _rows(universe, f"{table.name}@{end}", number, shown))
    lines += block("by the oracle", engine.columns, _rows(universe, truth, number, engine.columns))
    shown = (*engine.columns, ID)
    return "\n".join([*lines, *block("by the engine", shown, _rows(universe, state, number, shown))])


def _contents(universe: Universe, compared: Compared, world: int, end: End) -> Sequence[Row]:
    names = ", ".join(f"s.{quoted(name)}" for name in (*compared.columns, ID))
    return universe.relations.rows(
        f"SELECT {names} FROM {quoted(end.relation)} AS s JOIN {quoted(compared.worlds)} AS w "
        f"ON s.world = w.{end.by} WHERE w.world = {world} ORDER BY ALL"
    )


def _rows(universe: Universe, relation: str, world: int, columns: Sequence[str]) -> Sequence[Row]:
    names = ", ".join(map(quoted, columns))
    return universe.relations.rows(
        f"SELECT {names} FROM {quoted(relation)} WHERE {WORLD.name} = {world} ORDER BY ALL"
    )


def block(title: str, columns: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    """Yields the lines of a title, the names of the columns, and the rows, aligned."""
    cells = [[*columns], *(["NULL" if value is None else str(value) for value in row] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    texts = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]
    yield f"{title}:" + ("" if rows else " no rows")
    if rows:
        yield from (f"    {text}" for text in texts[: ROWS_SHOWN + 1])
    if len(rows) > ROWS_SHOWN:
        yield f"    and {len(rows) - ROWS_SHOWN} more"
