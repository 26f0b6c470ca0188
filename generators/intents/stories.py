"""Stories of a key: several refreshes in a row in each of which something happens to the same group or row.

What a table keeps of a group (a count, a best value, the number of rows that have it) is right after one
change and wrong after the next if a step forgets something. So a story leads a group through a state that
only an earlier refresh can have left, and goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from generators.builder import ScenarioBuilder
from generators.domains import TableSketch
from generators.intents import group_shapes, shapes
from generators.intents.script import (
    Act,
    Script,
    act,
    delete,
    four_values,
    insert,
    is_value,
    script,
    set_value,
)
from generators.queries.expressions import Term, call, constant
from generators.queries.queries import never_false
from generators.queries.relations import COUNT_STAR, FromClause, joined, select, summed_type
from generators.queries.windows import Windows
from workload.dml import Delete, Dml
from workload.query import Aggregate, AggregateFunction, ExceptAll, JoinKind, OrderKey, both
from workload.types import BIGINT, BOOLEAN, INT, SMALLINT, Value


@dataclass(frozen=True, slots=True)
class Story:
    """The rows of one key in a table: acts change the values of column `a`, and `b` tells rows apart."""

    b: ScenarioBuilder
    table: TableSketch
    key: int | None

    def comes(self, value: Value, number: int = 0) -> Dml:
        """Returns the INSERT of a row of the key."""
        return insert(self.b, self.table, k=self.key, a=value, b=number)

    def goes(self, value: Value, number: int | None = None) -> Dml:
        """Returns the DELETE of the rows of the key with a value; with a `number` of one of them."""
        parts = [is_value(self.table, "k", self.key), is_value(self.table, "a", value)]
        parts += [] if number is None else [is_value(self.table, "b", number)]
        return Delete(self.table.name, reduce(both, parts))

    def leaves(self) -> Dml:
        """Returns the DELETE of all rows of the key."""
        return delete(self.table, "k", self.key)

    def becomes(self, value: Value) -> Dml:
        """Returns the UPDATE of all rows of the key to a value."""
        return set_value(self.table, "a", value, is_value(self.table, "k", self.key))


Values = Sequence[Value]
"""Four values of column `a`, from the least to the greatest (`four_values`)."""


def computed_anew_then_better(who: Story, values: Values) -> Sequence[Act]:
    """Deletes the best row, so that the group is computed anew; inserts a better one, and deletes it as well.

    Two rows have the best value in between, which is what the better one takes over from.
    """
    low, second, third, high = values
    both = [who.comes(value, number) for value in (second, third) for number in (0, 1)]
    return (
        act(*both, who.comes(low), who.comes(high)),
        act(who.goes(low), who.goes(high)),
        act(who.comes(high), who.comes(low)),
        act(who.goes(high), who.goes(low)),
    )


def best_of_two_goes(who: Story, values: Values) -> Sequence[Act]:
    """Deletes two rows with the best value of a group that was computed anew, one after the other."""
    low, second, third, high = values
    return (
        act(
            *(who.comes(value, n) for value in (second, third) for n in (0, 1)),
            who.comes(low),
            who.comes(high),
        ),
        act(who.goes(low), who.goes(high)),
        act(who.goes(second, 0), who.goes(third, 0)),
        act(who.goes(second, 1), who.goes(third, 1), who.comes(None)),
    )


def emptied_twice(who: Story, values: Values) -> Sequence[Act]:
    """Empties the group, refills it with another value, and empties it again."""
    low, _, _, high = values
    return (
        act(who.comes(low), who.comes(high)),
        act(who.leaves()),
        act(who.comes(high)),
        act(who.leaves()) + act(who.comes(low)) + act(who.leaves()),
    )


def count_comes_back(who: Story, values: Values) -> Sequence[Act]:
    """Keeps the number of rows: one comes as another goes, at once, and over two refreshes."""
    low, second, third, high = values
    return (
        act(who.comes(second), who.comes(third)),
        act(who.goes(second), who.comes(high)),
        act(who.comes(low), who.comes(None)),
        act(who.goes(low), who.goes(None), who.goes(high), who.comes(second)),
    )


def touched_three_times(who: Story, values: Values) -> Sequence[Act]:
    """Changes the key before three refreshes in a row: a row comes, all change, one goes."""
    low, second, third, high = values
    return (
        act(who.comes(second, 0), who.comes(third, 1)),
        act(who.becomes(low)),
        act(who.comes(high)) + act(who.goes(high), who.comes(None)),
        act(who.becomes(high)) + act(who.goes(high, 1)),
    )


STORIES = (
    computed_anew_then_better,
    best_of_two_goes,
    emptied_twice,
    count_comes_back,
    touched_three_times,
)
"""The stories: each returns the acts for a key and four values of its column."""


EXTREME_STORIES = (computed_anew_then_better, best_of_two_goes)
"""The stories about what a table knows of its best values; other aggregates are hardly tested by them."""


def story_of_a_key(b: ScenarioBuilder) -> Script:
    """Leads one key through several refreshes of a table that keeps state of it; see the stories."""
    story = b.choices.pick(STORIES)
    table = b.add_table((b.choices.pick(shapes.ORDERED), INT))
    who = Story(b, table, b.choices.pick((0, 1, 2, 3, None)))
    kinds: Mapping[str, Callable[[], str]] = {
        "extremes": lambda: _aggregated(b, table, extremes=True),
        "sums": lambda: _aggregated(b, table, extremes=False),
        "different": lambda: _different(b, table),
        "members": lambda: _members(b, table),
        "running": lambda: _running(b, table),
        "beside": lambda: _beside(b, table),
    }
    shape = b.choices.weighted(
        (
            (20 if story in EXTREME_STORIES else 3, "extremes"),
            *((3, "sums"), (2, "different"), (3, "members"), (2, "running"), (2, "beside")),
        )
    )
    return script(kinds[shape](), *story(who, four_values(table, 1)))


def _aggregated(b: ScenarioBuilder, table: TableSketch, *, extremes: bool) -> str:
    """Defines MIN and MAX, or SUM, COUNT and AVG, of the value by key, or over all rows."""
    source = shapes.reading(b, table.name)
    k, value = source.scope[:2]
    counted = Term(Aggregate(AggregateFunction.COUNT, value.expr, False, BIGINT), 5)
    if extremes or summed_type(value, 5) is None:
        functions = (AggregateFunction.MIN, AggregateFunction.MAX)
        terms = [group_shapes.extremum(function, value) for function in functions]
        terms += b.choices.subset([counted], 0, 1)
    else:
        # An average of decimals is not kept, and nothing beside it.
        averaged = value.type in (INT, SMALLINT) or b.choices.chance(20)
        kept = (AggregateFunction.SUM, *([AggregateFunction.AVG] if averaged else []))
        terms = [b.queries.sum_or_average(source, function, value, 5, False) for function in kept]
        terms.append(b.choices.pick((counted, group_shapes.COUNT)))
    keys = [k] if b.choices.chance(75) else []
    having = None
    if keys and not extremes and b.choices.chance(20):
        having = call("gt", BOOLEAN, Term(COUNT_STAR), constant(1, BIGINT)).expr
    return shapes.define(b, select(source, [*keys, *terms], group_by=keys, having=having))


def _different(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines the different keys, or keys with their values; on top, or counted."""
    source = shapes.reading(b, table.name)
    inner = select(source, source.scope[: b.choices.integer(1, 2)], distinct=True)
    if b.choices.chance(50):
        return shapes.define(b, inner)
    rows = shapes.read_under(b, inner)
    return shapes.define(b, select(rows, [rows.scope[0], group_shapes.COUNT], group_by=rows.scope[:1]))


def _members(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines the rows of another table with the key, or without; or its keys EXCEPT ALL this table's."""
    other = shapes.partner(b, table)
    rows, others = shapes.reading(b, other.name), shapes.reading(b, table.name)
    if b.choices.chance(25):
        sides = [select(side, side.scope[:1]) for side in (rows, others)]
        query = ExceptAll((sides[0].query, sides[1].query))
        return shapes.define(b, replace(sides[0], query=query))
    kind, on = b.choices.pick((JoinKind.SEMI, JoinKind.ANTI)), shapes.on_keys(rows, others)
    if kind is JoinKind.ANTI and b.choices.chance(40):
        on = never_false(on)
    return shapes.define(b, select(joined(kind, rows, others, on), rows.scope))


def _running(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines the rows with the best value, or the sum, up to each one of their key."""
    source = shapes.reading(b, table.name)
    k, value, number = source.scope[:3]
    windows = Windows(b.queries, source, [k, value, number], None)
    order = (OrderKey(number.expr, b.choices.chance(50)),)
    functions = [AggregateFunction.MIN, AggregateFunction.MAX]
    terms = [group_shapes.extremum(b.choices.pick(functions), value)]
    if summed_type(value, windows.growth) is not None:
        terms.append(b.queries.sum_or_average(source, AggregateFunction.SUM, value, windows.growth, False))
    over = [windows.over(term, (k.expr,), order, None) for term in terms]
    return shapes.define(b, select(source, [k, value, number, *over]))


def _beside(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines the rows of another table beside those of the key, or beside the best of them."""
    other = shapes.partner(b, table)
    rows = shapes.reading(b, other.name)
    others: FromClause = shapes.reading(b, table.name)
    if b.choices.chance(60):
        k, value = others.scope[:2]
        best = group_shapes.extremum(b.choices.pick((AggregateFunction.MIN, AggregateFunction.MAX)), value)
        others = shapes.read_under(b, select(others, [k, best], group_by=[k]))
    kind = b.choices.pick((JoinKind.LEFT, JoinKind.FULL, JoinKind.INNER))
    source = joined(kind, rows, others, shapes.on_keys(rows, others))
    return shapes.define(b, select(source, [*rows.scope[:2], *others.scope[:3]]))
