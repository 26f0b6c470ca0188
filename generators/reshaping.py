"""Scenarios in the shapes of statements that an engine takes: with keys, without NULL, row by row.

Some engines refuse most random statements as they are. Instead of dropping these, `reshaped` writes others:
an UPDATE of many rows becomes one of the row of a single key, for example.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from workload.dml import Delete, Dml, Insert, Merge, Overwrite, Replace, Restore, Update, WithRows
from workload.limits import Limits, Timestamps
from workload.query import Call, ColumnRef, Expr, Literal, Verbatim
from workload.scenario import Commit, Create, Definition, DynamicTable, Refresh, Scenario, Step
from workload.schema import NO_PROMISES, Column, Promises, Table
from workload.types import BOOLEAN, INT, Value

KEY = "id"
"""The column that a table gets as its primary key; each row of a scenario has its own number."""

KEYED = Promises(keys=((KEY,),), required=(KEY,))

NEVER_NULL = frozenset({"add", "sub", "mul", "neg", "abs", "concat", "upper", "lower", "trim", "length"})
"""Functions whose result is NULL only where an argument is."""

WIDER = (1, 100, 10_000, 1_000_000)
"""How much longer the time between two steps gets where the statements of a transaction need room.

The first of these factors that is enough: a table that is filled row by row needs the last ones.
"""


MOST_ROWS = 30
"""Rows of an INSERT that are inserted one by one; thousands of them would be thousands of transactions."""


def reshaped(scenario: Scenario, limits: Limits) -> Scenario:
    """Returns the scenario in the shapes that the limits name, without what has none; idempotent."""
    if limits.keys or limits.single_rows or not limits.nulls:
        scenario = _without_drawn_keys(scenario)
    if limits.keys:
        scenario = _with_keys(scenario)
    if not limits.nulls:
        scenario = _without_nulls(scenario)
    if limits.single_rows:
        scenario = _row_by_row(scenario)
    return _apart(scenario, limits) if limits.single_statements else scenario


def has_key(table: Table) -> bool:
    """Tells whether a table promises a key over columns that it has."""
    names = {column.name for column in table.columns}
    return any(names.issuperset(key) for key in table.promises.keys)


def _changed(scenario: Scenario, change: Mapping[int, Sequence[Dml]]) -> Scenario:
    """Returns the scenario with other statements in its commits, by number; a commit without any goes."""
    steps: list[Step] = []
    for number, step in enumerate(scenario.steps):
        if not isinstance(step, Commit):
            steps.append(step)
        elif statements := tuple(change[number]):
            steps.append(replace(step, statements=statements))
    return replace(scenario, steps=tuple(steps))


def _commits(scenario: Scenario) -> Iterator[tuple[int, Commit]]:
    return ((number, step) for number, step in enumerate(scenario.steps) if isinstance(step, Commit))


def _without_drawn_keys(scenario: Scenario) -> Scenario:
    """Returns the scenario without the keys of intents: statements that go or change may break them."""
    if _has_texts(scenario):
        return scenario
    tables = (
        table if table.promises == KEYED else replace(table, promises=NO_PROMISES)
        for table in scenario.tables
    )
    return replace(scenario, tables=tuple(tables))


def _has_texts(scenario: Scenario) -> bool:
    """Tells whether definitions are texts of somebody else, whose tables promise what their scripts say."""
    return any(isinstance(definition.query, Verbatim) for definition in scenario.definitions)


def _with_keys(scenario: Scenario) -> Scenario:
    """Returns the scenario with a key column in each table without a key; statements that break it go."""
    if _has_texts(scenario):
        # A text may read all columns with a star; a table of it without a key is refused.
        return scenario
    without = {table.name for table in scenario.tables if not has_key(table)}
    tables = tuple(
        replace(table, columns=(*table.columns, Column(KEY, INT)), promises=KEYED)
        if table.name in without
        else table
        for table in scenario.tables
    )
    by_name = {table.name: table for table in tables}
    used: dict[str, set[Value]] = {table.name: set() for table in tables}
    changed: dict[int, list[Dml]] = {}
    for number, commit in _commits(scenario):
        changed[number] = []
        for dml in commit.statements:
            if dml.table in without and isinstance(dml, WithRows):
                first = len(used[dml.table])
                dml = replace(dml, rows=tuple((*row, first + i) for i, row in enumerate(dml.rows)))
            if _keeps_keys(dml, by_name.get(dml.table), used):
                changed[number].append(dml)
    return _changed(replace(scenario, tables=tables), changed)


def _keeps_keys(dml: Dml, table: Table | None, used: dict[str, set[Value]]) -> bool:
    """Tells whether a statement leaves the added keys unique; notes the keys that it writes."""
    if table is None or table.promises != KEYED:
        return table is not None and not isinstance(dml, Merge)
    match dml:
        case Merge():
            return False
        case Update(_, assignments, _):
            return all(assignment.column != KEY for assignment in assignments)
        case Insert() | Overwrite() | Replace():
            keys = [row[table.position(KEY)] for row in dml.rows]
            if None in keys or len({*keys}) < len(keys) or used[table.name].intersection(keys):
                return False
            used[table.name].update(keys)
    return True


def _without_nulls(scenario: Scenario) -> Scenario:
    """Returns the scenario with values of the column in place of NULL; what may still write NULL goes."""
    substitutes: dict[tuple[str, int], Value] = {}
    for _, commit in _commits(scenario):
        for dml in commit.statements:
            for row in dml.rows if isinstance(dml, WithRows) else ():
                for position, value in enumerate(row):
                    if value is not None:
                        substitutes.setdefault((dml.table, position), value)
    changed: dict[int, list[Dml]] = {}
    for number, commit in _commits(scenario):
        changed[number] = []
        for dml in commit.statements:
            match dml:
                case Insert(_, rows) | Merge(rows=rows) | Overwrite(_, rows) | Replace(_, rows):
                    filled = tuple(
                        tuple(substitutes.get((dml.table, i)) if v is None else v for i, v in enumerate(row))
                        for row in rows
                    )
                    whole = tuple(row for row in filled if None not in row)
                    # MERGE takes no two rows of one key, which may have become equal.
                    if (whole or not rows) and not (isinstance(dml, Merge) and filled != rows):
                        changed[number].append(dml if whole == rows else replace(dml, rows=whole))
                case Update(_, assignments, _):
                    if all(_never_null(assignment.value) for assignment in assignments):
                        changed[number].append(dml)
                case _:
                    changed[number].append(dml)
    return _changed(scenario, changed)


def _never_null(expr: Expr) -> bool:
    """Tells whether an expression over columns without NULL is never NULL."""
    match expr:
        case Literal(value):
            return value is not None
        case ColumnRef():
            return True
        case Call(function, args):
            return function in NEVER_NULL and all(map(_never_null, args))
        case _:
            return False


def _row_by_row(scenario: Scenario) -> Scenario:
    """Returns the scenario with statements of one row each, as far as statements have that shape."""
    tables = {table.name: table for table in scenario.tables}
    rows: dict[str, list[Value]] = {name: [] for name in tables}
    changed: dict[int, list[Dml]] = {}
    for number, commit in _commits(scenario):
        changed[number] = []
        for dml in commit.statements:
            table = tables.get(dml.table)
            keyed = table is not None and table.promises == KEYED
            match dml:
                case Insert(name, all_rows):
                    given = all_rows[:MOST_ROWS]
                    changed[number] += [Insert(name, (row,)) for row in given]
                    if table is not None and keyed:
                        rows[name] += [row[table.position(KEY)] for row in given]
                case Update() | Delete() if keyed and _names_a_key(dml):
                    # Also where the INSERT of that row is beyond the limits, and gone the second time.
                    changed[number].append(dml)
                case Update() | Delete() if keyed and rows[dml.table]:
                    changed[number].append(_of_one_row(dml, rows[dml.table], commit.at))
                case _:
                    pass
    return _changed(scenario, changed)


def _names_a_key(dml: Update | Delete) -> bool:
    """Tells whether a statement is for the row of one key."""
    match dml.where:
        case Call("eq", (left, Literal())) | Call("and", (Call("eq", (left, Literal())), _)):
            return left == ColumnRef(dml.table, KEY, INT)
        case _:
            return False


def _of_one_row(dml: Update | Delete, keys: Sequence[Value], at: int) -> Update | Delete:
    """Returns the statement for the row of one key, chosen by the time."""
    one = Call("eq", (ColumnRef(dml.table, KEY, INT), Literal(keys[at % len(keys)], INT)), BOOLEAN)
    return replace(dml, where=one if dml.where is None else Call("and", (one, dml.where), BOOLEAN))


def _apart(scenario: Scenario, limits: Limits) -> Scenario:
    """Returns the scenario with each statement in a transaction of its own, and longer times if needed."""
    candidate, steps = scenario, list[Step]()
    for factor in WIDER:
        candidate = scenario if factor == 1 else _stretched(scenario, factor)
        steps = []
        # Where commits maintain the tables, each is followed by a refresh of every table.
        between, room = 1, True
        for number, step in enumerate(candidate.steps):
            following = candidate.steps[number + 1 : number + 2]
            match step:
                case Commit(at, statements):
                    kept = [each for each in statements if not isinstance(each, Restore)]
                    steps += [
                        replace(step, at=at + i * between, statements=(each,)) for i, each in enumerate(kept)
                    ]
                    fits = not following or at + len(kept) * between <= following[0].at
                    room = room and (fits or len(kept) < 2)
                case _:
                    steps.append(step)
                    if limits.timestamps is Timestamps.COMMIT and isinstance(step, Create):
                        between += isinstance(candidate.definition(step.name), DynamicTable)
        if room:
            break
    return replace(candidate, steps=tuple(steps))


def _stretched(scenario: Scenario, factor: int) -> Scenario:
    def later(step: Step) -> Step:
        moved = replace(step, at=step.at * factor)
        return replace(moved, timestamp=moved.timestamp * factor) if isinstance(moved, Refresh) else moved

    def lagging(definition: Definition) -> Definition:
        if isinstance(definition, DynamicTable) and definition.target_lag is not None:
            return replace(definition, target_lag=definition.target_lag * factor)
        return definition

    return replace(
        scenario,
        steps=tuple(map(later, scenario.steps)),
        definitions=tuple(map(lagging, scenario.definitions)),
    )
