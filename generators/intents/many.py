"""Triggers of size: tables and change sets too large for what an engine does with a few rows."""

from __future__ import annotations

from generators.builder import ScenarioBuilder, source_of
from generators.domains import TableSketch
from generators.intents.script import Script, act, column, insert, key, script, set_value
from generators.queries import relations
from generators.queries.expressions import Term, call, constant
from workload.dml import Delete, Insert
from workload.query import Aggregate, AggregateFunction, Call, Derived, JoinKind, Literal
from workload.types import BOOLEAN, INT, STRING

SIZES = ((50, 60), (45, 6_000), (5, 20_000))
"""How often the table has so many rows: few, beyond what the engine hands to Spark as literals, and many.

In memory a scenario of the largest size takes 2 to 4 s, on Spark 11 to 15 s.
"""

MOST_VALUES = 100_000
"""Values of the largest table: fewer rows where it has many columns.

DuckDB takes 10 KB for each value of a statement: 20,000 rows of 30 columns are a statement of 14 MB, and took
6 GB and a minute in the engine and again in the oracle.
"""


def many_rows(b: ScenarioBuilder) -> Script:
    """Changes most rows of a large table at once, then deletes many, then inserts one."""
    table = b.add_table((INT, STRING), shared=False)
    rows = min(b.choices.weighted(SIZES), MOST_VALUES // len(table.columns))
    b.commit((Insert(table.name, tuple(b.row(table) for _ in range(rows))),))
    target = b.add_dynamic_table(b.choices.pick((_copy, _groups, _matches))(b, table, rows), shared=False)
    k = column(table, "k")
    most = Call("ge", (k, Literal(1, INT)), BOOLEAN)
    some = Call("le", (k, Literal(b.choices.integer(0, 1), INT)), BOOLEAN)
    return script(
        target.name,
        act(set_value(table, "a", b.choices.integer(0, 3), most)),
        act(Delete(table.name, some)),
        act(insert(b, table, k=key(b))),
    )


def _source(b: ScenarioBuilder, table: TableSketch, rows: int) -> relations.FromClause:
    return relations.read(source_of(table, rows), b.queries.alias())


def _copy(b: ScenarioBuilder, table: TableSketch, rows: int) -> relations.Generated:
    """Returns the query for the rows whose key is at least 0."""
    source = _source(b, table, rows)
    return relations.select(source, source.scope, call("ge", BOOLEAN, source.scope[0], constant(0, INT)).expr)


def _groups(b: ScenarioBuilder, table: TableSketch, rows: int) -> relations.Generated:
    """Returns the query for groups by the key and a text."""
    source = _source(b, table, rows)
    greatest = Term(Aggregate(AggregateFunction.MAX, source.scope[1].expr, False, INT))
    keys = [source.scope[0], source.scope[2]]
    return relations.select(source, [*keys, greatest, Term(relations.COUNT_STAR)], group_by=keys)


def _matches(b: ScenarioBuilder, table: TableSketch, rows: int) -> relations.Generated:
    """Returns the query for a join with the keys of a small table; a left join keeps rows without a match."""
    few = b.choices.pick(b.tables)
    keys = relations.read(b.source(few.name), b.queries.alias())
    small = relations.select(keys, [Term(keys.scope[0].expr)], distinct=True)
    alias = b.queries.alias()
    derived = relations.FromClause(Derived(small.query, alias), relations.scope_of(alias, small.columns), 8)
    source = _source(b, table, rows)
    kind = b.choices.pick((JoinKind.INNER, JoinKind.LEFT))
    condition = call("eq", BOOLEAN, source.scope[0], derived.scope[0]).expr
    return relations.select(
        relations.joined(kind, source, derived, condition), [*source.scope[:3], derived.scope[0]]
    )
