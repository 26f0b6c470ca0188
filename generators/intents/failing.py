"""Triggers of data that fails: the query divides by zero, overflows or casts a text, and later no longer."""

from __future__ import annotations

from dataclasses import replace

from generators.builder import ScenarioBuilder
from generators.domains import TableSketch
from generators.intents import shapes
from generators.intents.script import Script, act, delete, insert, is_value, key, script, set_value
from generators.queries.expressions import Term, call, constant
from generators.queries.relations import FromClause, joined, read, select
from workload.dml import Dml, Insert
from workload.query import Aggregate, AggregateFunction, JoinKind
from workload.types import BOOLEAN, DOUBLE, INT, STRING, SqlType, Value

BAD: dict[SqlType, Value] = {INT: 77, STRING: "oops"}
"""Values that no random row has: the queries of these intents fail on a row with one."""


def data_that_fails(b: ScenarioBuilder) -> Script:
    """Inserts a row on which the query fails, changes other rows, and takes that row away again."""
    type_ = b.choices.pick((INT, INT, STRING))
    table = b.add_table((type_,))
    k, bad = key(b), BAD[type_]
    good = table.domains[1].values[0]
    b.commit((insert(b, table, k=k, a=good), insert(b, table)))
    source = shapes.reading(b, table.name)
    target = _define(b, source, _undefined_at(b, shapes.column_of(source, "a"), bad))
    appears = act(insert(b, table, k=k, a=bad))
    if b.choices.chance(40):
        appears = act(insert(b, table, k=k)) + act(set_value(table, "a", bad, is_value(table, "k", k)))
    goes: Dml = delete(table, "a", bad)
    if b.choices.chance(40):
        goes = set_value(table, "a", good, is_value(table, "a", bad))
    more = act(insert(b, table, k=key(b)))
    return script(target, more, appears, more, act(goes), act(insert(b, table, k=k)))


def pair_of_two_times(b: ScenarioBuilder) -> Script:
    """Gives a row of one side of a join the value that a row of the other side had until then.

    The query divides by zero where both have one value. They never have, but a term of the change query pairs
    rows of two times. Later both have one value for a while, and the query itself fails.
    """
    left, right = b.add_table((INT,)), b.add_table((INT,))
    k = key(b)
    b.commit((_row(b, left, k, 20), _row(b, right, k, 30)))
    first, second = shapes.reading(b, left.name), shapes.reading(b, right.name)
    kind = b.choices.weighted(((4, JoinKind.INNER), (2, JoinKind.LEFT), (1, JoinKind.FULL)))
    source = replace(joined(kind, first, second, shapes.on_keys(first, second)), rows=16)
    same = call("eq", BOOLEAN, shapes.column_of(first, "a"), shapes.column_of(second, "a"))
    target = _define(b, source, _quotient(same))
    follows = _moved(left, k, 30), _moved(right, k, 40)
    if b.choices.chance(50):
        follows = _moved(right, k, 20), _moved(left, k, 10)
    meets = _moved(left, k, 50), _moved(right, k, 50)
    return script(
        target,
        act(*follows) if b.choices.chance(50) else act(follows[1]) + act(follows[0]),
        act(*meets),
        act(insert(b, left, k=k)),
        act(_moved(left, k, 60)),
    )


def _row(b: ScenarioBuilder, table: TableSketch, k: int, value: int) -> Insert:
    return Insert(table.name, (b.row(table, k=k, a=value),))


def _moved(table: TableSketch, k: int, value: int) -> Dml:
    return set_value(table, "a", value, is_value(table, "k", k))


def _quotient(when: Term) -> Term:
    """Returns 10 / 0 where a condition is true, else 10 / 3."""
    divisor = call("case", INT, when, constant(0, INT), constant(3, INT))
    return call("div", DOUBLE, constant(10, INT), divisor)


def _undefined_at(b: ScenarioBuilder, column: Term, bad: Value) -> Term:
    """Returns an expression over a column that fails on one value."""
    when = call("eq", BOOLEAN, column, constant(bad, column.type))
    if column.type == STRING:
        number = call("cast", INT, column)
        return call("case", INT, when, number, call("length", INT, column))
    if b.choices.chance(60):
        return _quotient(when)
    sum_ = call("add", INT, column, constant(2**31 - 1, INT))
    return call("case", INT, when, sum_, column)


def _define(b: ScenarioBuilder, source: FromClause, value: Term) -> str:
    """Defines a dynamic table that shows the value, or its maximum by key, sometimes with one above it.

    No other definition reads it: what is planned for a table above it must not depend on whether it fails.
    """
    keys = source.scope[:1]
    if b.choices.chance(35):
        greatest = Term(Aggregate(AggregateFunction.MAX, value.expr, False, value.type))
        query = select(source, [*keys, greatest], group_by=keys)
    else:
        query = select(source, [*keys, value, *source.scope[1:2]])
    defined = b.add_dynamic_table(query, shared=False)
    if b.choices.chance(30):
        b.add_dynamic_table(b.queries.over(read(defined, b.queries.alias()), "plain"), shared=False)
    return defined.name
