"""Random statements over given tables, which keep what is promised of their rows.

A statement is drawn, applied to the rows that the tables hold, and drawn again if it breaks a promise.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from generators.choices import Choices
from generators.given.contents import after, broken_promise, key_of, orphans
from generators.given.model import ColumnValues, GivenTable, Witness, WitnessRow
from workload import dml
from workload.query import Call, ColumnRef, Expr, Literal, both
from workload.schema import Clock, ForeignKey, moved
from workload.types import BOOLEAN, NESTED, Kind, Row, Value, fits
from workload.wellformed import is_too_late

ATTEMPTS = 12
"""How often a statement is drawn again because it would break a promise."""

MEETING_PERCENT = 45
"""Percent of a column's values that are drawn from the present values of columns that it is compared with."""

CONSTANT_PERCENT = 60
"""Percent of values that are drawn from those that the definitions name, where there are some."""

SAMPLED_PERCENT = 70
"""Percent of values that come as often as in a table of the user; the others still reach what is rare."""

SWEEPING = ("truncate", "overwrite", "restore", "replace", "delete")
"""The statements that take many rows of other tables along, where these refer to the table."""

SWEEPING_PERCENT = 25
"""Percent of sweeping statements that are kept on a table that others refer to; the others become UPDATE."""

DEEPEST = 8
"""The most rows that are inserted for one row, in a chain of rows of which each refers to the next."""

MISSED_PERCENT = 30
"""Percent of witnesses that miss one condition."""

AGAIN_PERCENT = 20
"""Percent of new rows that stood in the table before and were deleted, so that groups come back."""

PARENT_PERCENT = 85
"""Percent of foreign keys that are drawn from the rows they refer to; others are NULL where they may be."""

STEPS = (0, 1, 1, 60, 3600, 86400)
"""How much newer a row is than the newest one: in seconds, or the first three in days or units."""

ORDERED = frozenset({Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.DATE})
"""The kinds whose values Python and SQL order alike; they have no NaN."""


@dataclass(slots=True)
class GivenStatements:
    """The source of random transactions over given tables, which keep all promises.

    `contents`: what the tables hold after the transactions so far. `past`: for each table, what it held after
    each of its commits, by time; RESTORE goes back to one. `witnesses`: those of the definitions that read
    the tables. `newest`: the greatest value so far of the columns that grow, by table.
    """

    choices: Choices
    tables: Sequence[GivenTable]
    null_percent: int
    weights: Mapping[str, int]
    contents: dict[str, tuple[Row, ...]] = field(default_factory=dict)
    past: dict[str, dict[int, tuple[Row, ...]]] = field(default_factory=dict)
    witnesses: Sequence[Witness] = ()
    newest: dict[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for given in self.tables:
            self.contents.setdefault(given.table.name, ())
            self.past.setdefault(given.table.name, {})

    def committed(self, statements: Sequence[dml.Dml], at: int) -> None:
        """Notes what the tables hold after a commit that `transaction` or `initial` gave."""
        for statement in statements:
            past = self.past[statement.table]
            if isinstance(statement, dml.Replace):
                # RESTORE to a time before the replacement would bring back another table: never drawn.
                past.clear()
            past[at] = self.contents[statement.table]

    def initial(self, low: int, high: int) -> tuple[dml.Dml, ...]:
        """Returns the first contents of all tables, tables that others refer to first."""
        statements: list[dml.Dml] = []
        for given in self.tables:
            count = self.choices.integer(*(given.rows or (low, high)))
            rows = self._rows(given, count)
            if rows:
                self._try([dml.Insert(given.table.name, rows)], statements, first=True)
        return tuple(statements)

    def witness(self) -> tuple[dml.Dml, ...]:
        """Returns a transaction that inserts the rows of a witness, with the rows that they refer to.

        Sometimes it leaves out a value that a condition asks for, so that this condition alone fails.
        """
        if not self.witnesses:
            return ()
        witness = self.choices.pick(self.witnesses)
        missed = self.choices.integer(0, len(witness.rows)) if self.choices.chance(MISSED_PERCENT) else -1
        rows = [self._row_values(each, left_out=number == missed) for number, each in enumerate(witness.rows)]
        for group in witness.equal:
            self._unify(witness, group, rows)
        for chain in witness.ascending:
            self._ascend(witness, chain, rows)
        statements: list[dml.Dml] = []
        # Tables come after those that they refer to, and so do their rows.
        for given in self.tables:
            for each, values in zip(witness.rows, rows, strict=True):
                if values is not None and each.table == given.table.name:
                    self._try(self._with_parents(given, values), statements)
        return tuple(statements)

    def _with_parents(self, given: GivenTable, values: Mapping[int, Value], depth: int = 0) -> list[dml.Dml]:
        """Returns the INSERT of a row, after those of the rows that it refers to and that are not there.

        Tables may refer to each other in a circle, so this ends at some depth.
        """
        row = given.row(values)
        inserts: list[dml.Dml] = []
        for foreign in given.table.promises.foreign:
            key = key_of(row, given.table, foreign.columns)
            if foreign.table not in self.contents or key is None or depth > DEEPEST:
                continue
            other = self._table(foreign.table)
            held = self.contents[foreign.table]
            if key not in {key_of(each, other.table, foreign.referred) for each in held}:
                parent = self._random_values(other)
                named = zip(other.positions(foreign.referred), given.positions(foreign.columns), strict=True)
                parent.update({to: row[of] for to, of in named})
                inserts += self._with_parents(other, parent, depth + 1)
        return [*inserts, dml.Insert(given.table.name, (row,))]

    def _row_values(self, row: WitnessRow, *, left_out: bool) -> dict[int, Value] | None:
        """Returns the values of a row of a witness, by place; None where its table takes no part."""
        given = next((each for each in self.tables if each.table.name == row.table), None)
        if given is None:
            return None
        values = self._random_values(given)
        for foreign in given.table.promises.foreign:
            values.update(self._referring(given, foreign, ()))
        asked = list(row.values)
        if left_out and asked:
            asked.remove(self.choices.pick(asked))
        values.update({n: value for name, value in asked if (n := given.place(name)) is not None})
        for part in given.parts:
            # A document is put together from its parts, which others may still change.
            values.pop(part.position, None)
        return values

    def _random_values(self, given: GivenTable) -> dict[int, Value]:
        """Returns random values of columns and parts of documents, by place; now and then no document."""
        values = {n: value for domain in given.domains for n, value in self._values_of(given, domain).items()}
        for position in dict.fromkeys(part.position for part in given.parts):
            if not given.is_required(position) and self.choices.chance(self.null_percent):
                values[position] = None
        return values

    def _columns_of(
        self, witness: Witness, group: Sequence[tuple[int, str]], rows: Sequence[dict[int, Value] | None]
    ) -> list[tuple[dict[int, Value], GivenTable, int]]:
        """Returns the columns of a group whose tables take part: their rows, tables and positions."""
        found = []
        for number, name in group:
            row = rows[number]
            if row is not None:
                given = self._table(witness.rows[number].table)
                if (place := given.place(name)) is not None:
                    found.append((row, given, place))
        return found

    def _unify(
        self, witness: Witness, group: Sequence[tuple[int, str]], rows: Sequence[dict[int, Value] | None]
    ) -> None:
        """Gives the columns of a group one value: one that a condition asks for, else one that is new."""
        columns = self._columns_of(witness, group, rows)
        if not columns:
            return
        asked = [
            value for number, name in group for column, value in witness.rows[number].values if column == name
        ]
        value = asked[0] if asked else self._new_value([(given, position) for _, given, position in columns])
        for row, given, position in columns:
            if fits(value, given.columns[position].type):
                row[position] = value

    def _ascend(
        self, witness: Witness, chain: Sequence[tuple[int, str]], rows: Sequence[dict[int, Value] | None]
    ) -> None:
        """Gives the columns of a chain ascending values."""
        columns = self._columns_of(witness, chain, rows)
        if len(columns) < len(chain):
            return
        known: set[Any] = {value for _, given, n in columns for value in self._possible(given, n)}
        try:
            values = sorted(known)
        except TypeError:
            # Of types that have no common order.
            return
        if len(values) >= len(columns):
            ascending = self.choices.subset(values, len(columns), len(columns))
            for (row, given, n), value in zip(columns, ascending, strict=True):
                if fits(value, given.columns[n].type):
                    row[n] = value

    def _possible(self, given: GivenTable, position: int) -> set[Value]:
        """Returns the values that a column is drawn from, if it is drawn alone."""
        domains = (domain for domain in given.domains if domain.positions == (position,))
        return {values[0] for domain in domains for values in domain.values}

    def _new_value(self, places: Sequence[tuple[GivenTable, int]]) -> Value:
        """Returns a value that may stand in all of some columns; if there is one, one that stands in none."""
        held = {given.value(row, n) for given, n in places for row in self.contents[given.table.name]}
        possible = [self._possible(given, n) for given, n in places]
        shared = set.intersection(*possible)
        options = sorted((shared - held) or shared or possible[0] or {None}, key=repr)
        return self.choices.pick(options)

    def transaction(self, count: int) -> tuple[dml.Dml, ...]:
        """Returns a transaction of `count` statements, and those that foreign keys need beside them."""
        statements: list[dml.Dml] = []
        for _ in range(count):
            for _ in range(ATTEMPTS):
                given = self.choices.pick(self.tables)
                statement = self._statement(given)
                if statement is not None and self._try([statement], statements):
                    break
        return tuple(statements)

    def _try(self, drawn: list[dml.Dml], statements: list[dml.Dml], *, first: bool = False) -> bool:
        """Appends drawn statements and those on referring rows; returns False if they break a promise.

        `first`: they are the first rows of a table, which even one that never changes has.
        """
        before, newest = dict(self.contents), dict(self.newest)
        # This adds to the newest values, too.
        late = [is_too_late(each, self._table(each.table).table, self.newest) for each in drawn]
        for statement in drawn:
            self.contents[statement.table] = self._after(statement)
        # Promises hold after a commit, not between its statements, so this order is as good as the other.
        deleted = self._cascade(drawn[-1].table)
        changed = deleted if first else [*drawn, *deleted]
        if (
            any(late)
            or broken_promise(self.tables, self.contents)
            or not all(map(self._is_admitted, changed))
        ):
            self.contents, self.newest = before, newest
            return False
        statements.extend([*drawn, *deleted])
        return True

    def _is_admitted(self, statement: dml.Dml) -> bool:
        """Tells whether a table gets statements of this kind."""
        promises = self._table(statement.table).table.promises
        return isinstance(statement, dml.Optimize) or promises.admits(type(statement).__name__.lower())

    def _after(self, statement: dml.Dml) -> tuple[Row, ...]:
        """Returns the rows of a table after a statement."""
        table = self._table(statement.table)
        if isinstance(statement, dml.Restore):
            return self.past[statement.table][statement.to]
        return after(statement, table.table, self.contents[statement.table])

    def _table(self, name: str) -> GivenTable:
        return next(given for given in self.tables if given.table.name == name)

    def _cascade(self, name: str) -> list[dml.Dml]:
        """Deletes the rows that refer to no row of a table any more, at any depth; returns the statements."""
        deleted: list[dml.Dml] = []
        other = self._table(name).table
        for given in self.tables:
            for foreign in given.table.promises.foreign:
                if foreign.table != name:
                    continue
                rows = self.contents[given.table.name]
                gone = list(orphans(foreign, given.table, rows, other, self.contents[name]))
                positions = given.positions(foreign.columns)
                for key in dict.fromkeys(tuple(row[n] for n in positions) for row in gone):
                    where = self._where(given, dict(zip(positions, key, strict=True)))
                    deleted.append(dml.Delete(given.table.name, where))
                if gone:
                    kept = tuple(row for row in rows if row not in gone)
                    self.contents[given.table.name] = kept
                    if given.table.name != name:
                        deleted += self._cascade(given.table.name)
        return deleted

    def _statement(self, given: GivenTable) -> dml.Dml | None:
        """Returns a random statement on a table, which may break a promise; None where it can have none."""
        past = list(self.past[given.table.name])
        options = [
            (weight, kind)
            for kind, weight in self.weights.items()
            if kind in DRAWN
            and (kind != "restore" or past)
            and (kind == "optimize" or given.table.promises.admits(kind))
        ]
        if not options:
            return None
        kind = self.choices.weighted(options)
        foreign = (key for each in self.tables for key in each.table.promises.foreign)
        referred = any(key.table == given.table.name for key in foreign)
        if kind in SWEEPING and referred and not self.choices.chance(SWEEPING_PERCENT):
            if not given.table.promises.admits("update"):
                return None
            kind = "update"
        if kind == "restore":
            return dml.Restore(given.table.name, self.choices.pick(past))
        return DRAWN[kind](self, given)

    def _rows(self, given: GivenTable, count: int) -> tuple[Row, ...]:
        """Returns up to `count` random rows that may stand beside those of the table."""
        rows: list[Row] = []
        for _ in range(count):
            for _ in range(ATTEMPTS):
                row = self._row_again(given, rows) or self._row(given, rows)
                if row is not None:
                    rows.append(row)
                    break
        if rows and not given.table.promises.keys and self.choices.chance(30):
            rows.append(self.choices.pick(rows))
        return tuple(rows)

    def _row_again(self, given: GivenTable, beside: Sequence[Row]) -> Row | None:
        """Returns a row that stood in the table before and may stand there again, but seldom; else None."""
        name = given.table.name
        if not self.choices.chance(AGAIN_PERCENT):
            return None
        held = {*self.contents[name], *beside}
        gone = [row for rows in self.past[name].values() for row in rows if row not in held]
        if not gone:
            return None
        row = self.choices.pick(list(dict.fromkeys(gone)))
        trial = {**self.contents, name: (*self.contents[name], *beside, row)}
        return None if broken_promise(self.tables, trial) else row

    def _row(self, given: GivenTable, beside: Sequence[Row]) -> Row | None:
        """Returns a random row; None where the one that was drawn may not stand beside the others."""
        values = self._random_values(given)
        for foreign in given.table.promises.foreign:
            values.update(self._referring(given, foreign, beside))
        row = given.row(values)
        trial = {given.table.name: (*self.contents[given.table.name], *beside, row)}
        # Foreign keys to other tables are checked in `_try`, with the rest of the transaction.
        return None if broken_promise([given], trial) else row

    def _values_of(self, given: GivenTable, domain: ColumnValues) -> Mapping[int, Value]:
        """Returns random values for the columns of a domain, by place."""
        position = domain.positions[0]
        nullable = len(domain.positions) == 1 and not given.is_required(position)
        sampled = domain.null_percent is not None and self.choices.chance(SAMPLED_PERCENT)
        null_percent = domain.null_percent if sampled else self.null_percent
        if nullable and self.choices.chance(null_percent or 0):
            return {position: None}
        if len(domain.positions) == 1 and self.choices.chance(MEETING_PERCENT):
            present = self._present(domain)
            if present:
                return {position: self.choices.pick(present)}
        clock, newest = given.table.promises.clock, self.newest.get(given.table.name)
        if clock is not None and newest is not None and given.table.position(clock.column) == position:
            value = self._next(domain, clock, newest)
            return {position: value if fits(value, given.table.columns[position].type) else newest}
        values = domain.values
        if sampled and any(domain.weights):
            return {position: self.choices.weighted(list(zip(domain.weights, values, strict=True)))[0]}
        if 0 < domain.constants < len(values) and self.choices.chance(CONSTANT_PERCENT):
            values = values[: domain.constants]
        return dict(zip(domain.positions, self.choices.pick(values), strict=True))

    def _next(self, domain: ColumnValues, clock: Clock, newest: Any) -> Value:
        """Returns a value for a column that grows: a little late, or the same, or later."""
        earliest: Any = clock.earliest(newest)
        ahead = [v for (v, *_) in domain.values if v is not None and earliest <= v] if domain.values else []
        if ahead and (domain.closed or self.choices.chance(50)):
            return self.choices.pick(ahead)
        if clock.late and self.choices.chance(40):
            return moved(newest, -self.choices.pick((1, clock.late, (clock.late + 1) // 2)))
        return moved(newest, self.choices.pick(STEPS if isinstance(newest, dt.datetime) else STEPS[:3]))

    def _present(self, domain: ColumnValues) -> list[Value]:
        """Returns the present values of the columns that a column is compared with, if it may have them."""
        known = {values[0] for values in domain.values}
        present: dict[Value, None] = {}
        for name, column in domain.meets:
            if name in self.contents and (position := self._table(name).place(column)) is not None:
                values = (self._table(name).value(row, position) for row in self.contents[name])
                present.update(dict.fromkeys(value for value in values if value in known))
        return list(present)

    def _referring(self, given: GivenTable, foreign: ForeignKey, beside: Sequence[Row]) -> dict[int, Value]:
        """Returns values of a foreign key: those of a row that it may refer to, or NULL."""
        if foreign.table not in self.contents:
            return {}
        other = self._table(foreign.table)
        parents = [*self.contents[foreign.table], *(beside if other is given else ())]
        keys = [
            tuple(row[n] for n in other.positions(foreign.referred))
            for row in parents
            if key_of(row, other.table, foreign.referred) is not None
        ]
        positions = given.positions(foreign.columns)
        nullable = [n for n in positions if not given.is_required(n)]
        if keys and (not nullable or self.choices.chance(PARENT_PERCENT)):
            return dict(zip(positions, self.choices.pick(keys), strict=True))
        return dict.fromkeys(nullable, None)

    def insert(self, given: GivenTable) -> dml.Dml | None:
        """Returns an INSERT of one to three rows; None where no row was drawn that may stand there."""
        rows = self._rows(given, self.choices.integer(1, 3))
        return dml.Insert(given.table.name, rows) if rows else None

    def overwrite(self, given: GivenTable) -> dml.Dml:
        """Returns an INSERT OVERWRITE with old and new rows."""
        return dml.Overwrite(given.table.name, self._anew(given))

    def replace(self, given: GivenTable) -> dml.Dml:
        """Returns a CREATE OR REPLACE TABLE with old and new rows."""
        return dml.Replace(given.table.name, self._anew(given))

    def _anew(self, given: GivenTable) -> tuple[Row, ...]:
        """Returns rows for a table that is written anew; some of them are old ones."""
        held = self.contents[given.table.name]
        kept = self.choices.subset(held, 0, 3) if held else []
        new = self._rows(given, self.choices.integer(0, 3))
        return (*kept, *new)

    def delete(self, given: GivenTable) -> dml.Dml:
        """Returns a DELETE of the rows that a condition picks."""
        return dml.Delete(given.table.name, self._condition(given))

    def update(self, given: GivenTable) -> dml.Dml | None:
        """Returns an UPDATE of the columns of one or two domains; None where none may be updated."""
        assignments: dict[int, Value] = {}
        free = given.table.promises.updated
        domains = [
            each
            for each in given.domains
            if free is None or {*map(given.column_of, each.positions)} <= {*given.positions(free)}
        ]
        if not domains:
            return None
        for domain in self.choices.subset(domains, 1, 2):
            assignments.update(self._values_of(given, domain))
        for foreign in given.table.promises.foreign:
            if any(n in assignments for n in given.positions(foreign.columns)):
                assignments.update(self._referring(given, foreign, ()))
        columns = given.table.columns
        if any(n >= len(columns) for n in assignments):
            assignments = self._with_documents(given, assignments)
        sets = tuple(
            dml.Assignment(columns[n].name, Literal(value, columns[n].type))
            for n, value in sorted(assignments.items())
        )
        if self.choices.chance(8):
            # What is set to itself changes no row.
            position = self.choices.integer(0, len(columns) - 1)
            column = columns[position]
            sets = (dml.Assignment(column.name, ColumnRef(given.table.name, column.name, column.type)),)
        return dml.Update(given.table.name, sets, self._condition(given))

    def _with_documents(self, given: GivenTable, assignments: Mapping[int, Value]) -> dict[int, Value]:
        """Returns the assignments with documents in place of parts; other parts are those of some row."""
        first = len(given.table.columns)
        changed = {given.parts[n - first].position for n in assignments if n >= first}
        held = self.contents[given.table.name]
        row = self.choices.pick(held) if held else given.row(self._random_values(given))
        values = {n: given.value(row, n) for n in range(len(given.columns)) if n not in changed}
        new = given.row({**values, **assignments})
        return {n: value for n, value in assignments.items() if n < first} | {n: new[n] for n in changed}

    def merge(self, given: GivenTable) -> dml.Dml | None:
        """Returns a MERGE on the first key of a table, or on its first column; None if no row was drawn."""
        positions = given.key
        held = self.contents[given.table.name]
        rows: dict[tuple[Value, ...], Row] = {}
        for new in self._rows(given, self.choices.integer(1, 3)):
            row = list(new)
            if held and self.choices.chance(60):
                old = self.choices.pick(held)
                for n in positions:
                    row[n] = old[n]
            if (updated := given.table.promises.updated) is not None:
                free = given.positions(updated)
                key = [row[n] for n in positions]
                for old in held:
                    if key == [old[n] for n in positions]:
                        row = [value if n in free else old[n] for n, value in enumerate(row)]
            rows.setdefault(tuple(row[n] for n in positions), tuple(row))
        names = tuple(given.table.columns[n].name for n in positions)
        if not rows:
            return None
        return dml.Merge(given.table.name, names, tuple(rows.values()), None, self.choices.chance(70))

    def _condition(self, given: GivenTable) -> Expr | None:
        """Returns a random WHERE about a row that is there, or about a value; None for all rows."""
        if self.choices.chance(6):
            return None
        held = self.contents[given.table.name]
        columns = [n for n, column in enumerate(given.table.columns) if column.type.kind not in NESTED]
        if not columns:
            return None
        keyed = bool(given.table.promises.keys)
        if held and keyed and self.choices.chance(50):
            row = self.choices.pick(held)
            return self._where(given, {n: row[n] for n in given.key})
        if held and self.choices.chance(60):
            row = self.choices.pick(held)
            n = self.choices.pick(columns)
            return self._where(given, {n: row[n]})
        domain = self.choices.pick([d for d in given.domains if set(d.positions) & set(columns)])
        drawn = self._values_of(given, domain)
        n = self.choices.pick([position for position in drawn if position in columns])
        column = given.table.columns[n]
        if drawn[n] is not None and column.type.kind in ORDERED and self.choices.chance(40):
            function = self.choices.pick(("le", "gt"))
            return self._compared(given, n, function, drawn[n])
        return self._where(given, {n: drawn[n]})

    def _where(self, given: GivenTable, values: Mapping[int, Value]) -> Expr:
        """Returns the condition that columns have these values, or are NULL."""
        parts = [self._compared(given, n, "same", value) for n, value in values.items()]
        return reduce(both, parts)

    def _compared(self, given: GivenTable, n: int, function: str, value: Value) -> Expr:
        """Returns the comparison of a column with a value."""
        column = given.table.columns[n]
        ref = ColumnRef(given.table.name, column.name, column.type)
        return Call(function, (ref, Literal(value, column.type)), BOOLEAN)


DRAWN: Mapping[str, Callable[[GivenStatements, GivenTable], dml.Dml | None]] = {
    "insert": GivenStatements.insert,
    "update": GivenStatements.update,
    "delete": GivenStatements.delete,
    "merge": GivenStatements.merge,
    "truncate": lambda draw, given: dml.Truncate(given.table.name),
    "overwrite": GivenStatements.overwrite,
    "optimize": lambda draw, given: dml.Optimize(given.table.name),
    "replace": GivenStatements.replace,
    "restore": lambda draw, given: None,
}
"""The function that draws each kind of statement; RESTORE needs a history and is drawn apart."""
