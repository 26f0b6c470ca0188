"""Triggers of keys: tables that are written again as a whole, of which few rows differ; and frozen keys.

Only the acts of an intent write such a table, because random rows would break its key. Any query may read it.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from generators.builder import ScenarioBuilder, source_of
from generators.domains import TableSketch
from generators.intents import shapes
from generators.intents.script import (
    Act,
    Script,
    act,
    column,
    delete,
    insert,
    is_value,
    key as key_of,
    move_key,
    script,
)
from generators.queries.expressions import Term
from generators.queries.relations import COUNT_STAR, select
from workload.dml import Assignment, Delete, Dml, Insert, Merge, Overwrite, Replace, Truncate, Update
from workload.limits import NO_LIMITS
from workload.query import Call, Expr, JoinKind, Literal
from workload.sql.passing_time import START
from workload.types import BOOLEAN, INT, TIMESTAMP, Row, Value


@dataclass(slots=True)
class Keyed:
    """A table with a primary key over its first `width` columns, and the rows that it has after the acts.

    `rows`: by number; None is the row with a NULL in its key. Of a key of two columns, two rows have the same
    first one. `free`: the next key that no row has had. None is used again, because an engine's limits may
    take out the statement by which the row left that has it.
    """

    b: ScenarioBuilder
    table: TableSketch
    width: int
    rows: dict[int | None, Row]
    free: int = 20

    def key(self, number: int | None) -> dict[str, Value]:
        """Returns the values of the key of a row, by column."""
        if self.width == 1 or number is None:
            return {"k": number, "a": 0} if self.width == 2 else {"k": number}
        return {"k": number // 2, "a": number % 2}

    def new(self, number: int | None) -> Row:
        """Returns a random row with a key."""
        return self.b.row(self.table, **self.key(number))

    def has_key(self, number: int | None) -> Expr:
        """Returns the condition that a row has a key."""
        first, *others = (is_value(self.table, name, value) for name, value in self.key(number).items())
        return Call("and", (first, *others), BOOLEAN) if others else first

    def differs(self) -> None:
        """Changes `rows`: at most one gets other values, at most one goes, and at most one comes."""
        keys = list(self.rows)
        for key in self.b.choices.subset(keys, 0, 1):
            self.rows[key] = self.new(key)
        for key in self.b.choices.subset(keys, 0, 1):
            del self.rows[key]
        if self.b.choices.chance(50):
            key = self.b.choices.integer(5, 9)
            self.rows[key] = self.new(key)

    def written(self, how: type[Overwrite | Replace] = Overwrite) -> Dml:
        """Returns the statement that writes all rows again."""
        return how(self.table.name, tuple(self.rows.values()))

    def overwritten(self) -> Act:
        """Returns an INSERT OVERWRITE with few other rows."""
        self.differs()
        return act(self.written())

    def overwritten_twice(self) -> Act:
        """Returns two commits; the first takes all rows away, or the second changes some back."""
        if self.b.choices.chance(40):
            return act(Overwrite(self.table.name, ())) + self.overwritten()
        before = dict(self.rows)
        first = self.overwritten()
        self.rows = before if self.b.choices.chance(50) else self.rows
        return first + act(self.written())

    def replaced(self) -> Act:
        """Returns a CREATE OR REPLACE with few other rows."""
        self.differs()
        return act(self.written(Replace))

    def emptied_and_filled(self) -> Act:
        """Returns TRUNCATE and INSERT of few other rows, in one transaction."""
        self.differs()
        return act(Truncate(self.table.name), Insert(self.table.name, tuple(self.rows.values())))

    def key_moves(self) -> Act:
        """Returns an UPDATE of the key of one row to a key that no row has."""
        old = self.b.choices.pick(list(self.rows) or [0])
        new, self.free = self.free, self.free + 1
        if old in self.rows:
            self.rows[new] = (*self.key(new).values(), *self.rows.pop(old)[self.width :])
        to = tuple(
            Assignment(name, Literal(value, column(self.table, name).type))
            for name, value in self.key(new).items()
        )
        return act(Update(self.table.name, to, self.has_key(old)))

    def merged(self) -> Act:
        """Returns a MERGE on the key, and then a DELETE of a row."""
        keys = self.b.choices.subset([*self.rows, 14, 15], 1, 2)
        new = {key: self.new(key) for key in keys}
        self.rows.update(new)
        gone = self.b.choices.pick(list(self.rows))
        del self.rows[gone]
        names = tuple(self.key(gone))
        merge = Merge(self.table.name, names, tuple(new.values()), None, insert_unmatched=True)
        return act(merge) + act(Delete(self.table.name, self.has_key(gone)))


def written_again_by_key(b: ScenarioBuilder) -> Script:
    """Overwrites, empties and replaces a table with a primary key, most of whose rows stay the same."""
    keyed = [_new_table(b) for _ in range(b.choices.weighted(((2, 1), (1, 2))))]
    target = _define_over(b, [each.table for each in keyed])
    kinds = (
        *(Keyed.overwritten, Keyed.overwritten, Keyed.overwritten_twice, Keyed.replaced),
        *(Keyed.emptied_and_filled, Keyed.key_moves, Keyed.merged),
    )
    acts = [
        sum((b.choices.pick(kinds)(each) for each in b.choices.subset(keyed, 1, 2)), ())
        for _ in range(b.choices.integer(2, 4))
    ]
    return script(target, *acts)


def _new_table(b: ScenarioBuilder) -> Keyed:
    """Adds a table with a key and its first rows; the key may have two columns, and NULL in one row."""
    table = b.add_table((INT,), shared=False)
    keyed = Keyed(b, table, 2 if b.choices.chance(35) else 1, {})
    b.primary_keys[table.name] = tuple(column.name for column in table.columns[: keyed.width])
    b.sources.append(source_of(table, 8))
    numbers: list[int | None] = [*range(b.choices.integer(2, 6))]
    if b.profile.limits == NO_LIMITS and b.choices.chance(40):
        numbers.append(None)
    for number in numbers:
        keyed.rows[number] = keyed.new(number)
    b.commit((Insert(table.name, tuple(keyed.rows.values())),))
    return keyed


def _define_over(b: ScenarioBuilder, tables: list[TableSketch]) -> str:
    """Defines a dynamic table over tables with keys; joins of two of them, and of one with itself."""
    first, last = tables[0], tables[-1]
    match b.choices.pick(("any", "join", "join", "stacked", "grouped")):
        case "any":
            return shapes.anything(b, first)
        case "join" if first is last:
            return shapes.twice(b, first)
        case "join":
            kind = b.choices.pick((JoinKind.INNER, JoinKind.LEFT, JoinKind.FULL, JoinKind.SEMI))
            return shapes.key_join(b, first.name, last.name, kind, "plain")
        case "stacked":
            return shapes.stacked(b, last)
        case _:
            return shapes.define_over(b, shapes.reading(b, first.name), 8, "grouped")


def frozen_by_key(b: ScenarioBuilder) -> Script:
    """Changes rows on both sides of a frozen part's boundary, and moves rows or the boundary across."""
    if b.choices.chance(60):
        return _frozen_by_time(b)
    table = b.choices.pick(b.tables)
    bound = b.choices.integer(0, 3)
    source = shapes.reading(b, table.name)
    if b.choices.chance(50):
        block = select(source, source.scope[:2])
    else:
        block = select(source, [source.scope[0], Term(COUNT_STAR)], group_by=source.scope[:1])
    target = b.add_dynamic_table(block, shared=False)
    b.freeze(target.name, f"{target.columns[0].name} <= {bound}")
    return script(
        target.name,
        act(insert(b, table, k=bound), insert(b, table, k=bound + 1)),
        act(move_key(table, bound, bound + 1), insert(b, table, k=bound - 1)),
        act(move_key(table, bound + 1, bound), delete(table, "k", bound - 1)),
    )


def _frozen_by_time(b: ScenarioBuilder) -> Script:
    """Changes rows before and after time has made them frozen; other tables may read them."""
    table = b.add_table((TIMESTAMP,), shared=False)
    b.sources.append(source_of(table, 8))

    def row(first: int, last: int) -> Dml:
        """Returns the INSERT of a row that is frozen between the first and the last of some coming ticks."""
        at = b.now + b.choices.integer(first, last) * b.tick + b.choices.pick((0, 0, 1, -1))
        return insert(b, table, a=START + dt.timedelta(microseconds=at))

    rows = shapes.reading(b, table.name)
    at, key = shapes.column_of(rows, "a"), rows.scope[0]
    if b.choices.chance(50):
        block = select(rows, (at, key))
    else:
        block = select(rows, (at, Term(COUNT_STAR)), group_by=(at,))
    frozen = b.add_dynamic_table(block)
    moment = b.choices.pick(("current_timestamp()", "current_timestamp() - INTERVAL 30 MICROSECOND"))
    b.freeze(frozen.name, f"{frozen.columns[0].name} {b.choices.pick(('<', '<='))} {moment}")
    target = frozen.name
    if b.choices.chance(50):
        target = shapes.define_over(b, shapes.reading(b, target), 8, b.choices.pick(("plain", "grouped")))
    return script(
        target,
        act(row(0, 10), row(4, 20), row(10, 40)),
        act(row(-2, 10), delete(table, "k", key_of(b))),
        act(move_key(table, key_of(b), key_of(b)), row(5, 30)),
        act(delete(table, "k", key_of(b)), row(-4, 20)),
    )
