"""The queries that intents maintain: a fixed skeleton with random flesh."""

from __future__ import annotations

from generators.builder import ScenarioBuilder
from generators.domains import TableSketch
from generators.expressions import Term, literal
from generators.queries import Generated, scope_of, summed_type
from workload.query import (
    Aggregate,
    AggregateFunction,
    Call,
    ColumnRef,
    Cte,
    Derived,
    Expr,
    Item,
    Join,
    JoinKind,
    Literal,
    Named,
    Select,
    UnionAll,
    With,
)
from workload.types import BIGINT, BOOLEAN, INT


def two_tables(b: ScenarioBuilder) -> tuple[TableSketch, TableSketch]:
    """Two different base tables; a second one is added where there is only one."""
    while len(b.tables) < 2:
        b.add_table()
    first = b.choices.pick(b.tables)
    return first, partner(b, first)


def partner(b: ScenarioBuilder, table: TableSketch) -> TableSketch:
    """Another base table."""
    others = [other for other in b.tables if other.name != table.name]
    return b.choices.pick(others) if others else b.add_table()


def scope(b: ScenarioBuilder, name: str, alias: str) -> list[Term]:
    """A relation's columns under an alias."""
    return scope_of(alias, b.source(name).columns)


def on_keys(left: str, right: str) -> Expr:
    """Equality of the key columns."""
    return Call("eq", (ColumnRef(left, "k", INT), ColumnRef(right, "k", INT)), BOOLEAN)


def joined(b: ScenarioBuilder, left: str, right: str, kind: JoinKind, shape: str) -> Generated:
    """A join of two relations on their keys, then projected or grouped; sometimes with a second conjunct."""
    first, second = b.queries.alias(), b.queries.alias()
    left_scope, right_scope = scope(b, left, first), scope(b, right, second)
    condition = on_keys(first, second)
    if b.choices.chance(25):
        extra = b.queries.condition(left_scope, right_scope)
        condition = Call("and", (condition, extra), BOOLEAN)
    relation = Join(kind, Named(left, first), Named(right, second), condition)
    return b.queries.over(relation, left_scope + right_scope, 64, shape)


def join(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> str:
    """Mostly inner; plain or grouped."""
    kind = b.choices.weighted(((5, JoinKind.INNER), (1, JoinKind.LEFT), (1, JoinKind.FULL)))
    shape = b.choices.weighted(((4, "plain"), (1, "grouped")))
    return b.add_dynamic_table(joined(b, left.name, right.name, kind, shape)).name


def outer_join(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> str:
    """An outer join that preserves `left` (and perhaps `right`)."""
    kind = b.choices.weighted(((4, JoinKind.LEFT), (3, JoinKind.FULL), (2, JoinKind.RIGHT)))
    pair = (right.name, left.name) if kind is JoinKind.RIGHT else (left.name, right.name)
    shape = b.choices.weighted(((5, "plain"), (3, "grouped")))
    return b.add_dynamic_table(joined(b, *pair, kind, shape)).name


def anything(b: ScenarioBuilder, table: TableSketch) -> str:
    """Any query over one table."""
    return b.add_dynamic_table(b.queries.query([b.source(table.name)], 1)).name


def grouped(b: ScenarioBuilder, table: TableSketch) -> str:
    """GROUP BY the key, or DISTINCT."""
    alias = b.queries.alias()
    terms = scope(b, table.name, alias)
    if b.choices.chance(25):
        return b.add_dynamic_table(
            b.queries.plain(Named(table.name, alias), terms[:2], None, 8, distinct=True)
        ).name
    generated = b.queries.aggregated(
        Named(table.name, alias), terms, None, (terms[0],), b.choices.integer(1, 3), 16
    )
    return b.add_dynamic_table(generated).name


def scalar(b: ScenarioBuilder, table: TableSketch) -> str:
    """Aggregates over all rows."""
    alias = b.queries.alias()
    return b.add_dynamic_table(
        b.queries.over(Named(table.name, alias), scope(b, table.name, alias), 16, "scalar")
    ).name


def by_second_column(b: ScenarioBuilder, table: TableSketch) -> str:
    """GROUP BY the column after the key, or DISTINCT over it."""
    alias = b.queries.alias()
    terms = scope(b, table.name, alias)
    if b.choices.chance(30):
        items, columns = b.queries.items(terms[1:2])
        select = Select(items, Named(table.name, alias), distinct=True)
        return b.add_dynamic_table(Generated(select, columns, 16)).name
    generated = b.queries.aggregated(Named(table.name, alias), terms, None, (terms[1],), 1, 16)
    return b.add_dynamic_table(generated).name


def extremes(b: ScenarioBuilder, table: TableSketch) -> str:
    """MIN and MAX of every column by key."""
    alias = b.queries.alias()
    terms = scope(b, table.name, alias)
    aggregates = [
        Term(Aggregate(function, term.expr, False, term.type), term.digits, term.key)
        for term in terms[1:]
        for function in (AggregateFunction.MIN, AggregateFunction.MAX)
    ]
    items, columns = b.queries.items([terms[0], *aggregates])
    return b.add_dynamic_table(
        Generated(Select(items, Named(table.name, alias), None, (terms[0].expr,)), columns, 16)
    ).name


def mixed(b: ScenarioBuilder, table: TableSketch) -> str:
    """MIN or MAX, COUNT(*), COUNT and, where there is something to add, SUM and AVG."""
    alias = b.queries.alias()
    terms = scope(b, table.name, alias)
    value = b.choices.pick(terms[1:])
    count = Term(Aggregate(AggregateFunction.COUNT_STAR, None, False, BIGINT), 5)
    aggregates = [
        Term(Aggregate(AggregateFunction.MAX, value.expr, False, value.type), value.digits, value.key),
        count,
        Term(Aggregate(AggregateFunction.COUNT, value.expr, b.choices.chance(50), BIGINT), 5),
    ]
    summable = [term for term in terms if summed_type(term, 5) is not None]
    aggregates.extend(
        b.queries.sum_or_average(function, b.choices.pick(summable), 5, b.choices.chance(20))
        for function in (AggregateFunction.SUM, AggregateFunction.AVG)
    )
    items, columns = b.queries.items([terms[0], *aggregates])
    return b.add_dynamic_table(
        Generated(Select(items, Named(table.name, alias), None, (terms[0].expr,)), columns, 16)
    ).name


def boundary(b: ScenarioBuilder, table: TableSketch) -> str:
    """WHERE k < 2, or HAVING COUNT(*) > 1."""
    alias = b.queries.alias()
    terms = scope(b, table.name, alias)
    relation = Named(table.name, alias)
    if b.choices.chance(50):
        items, columns = b.queries.items(terms)
        return b.add_dynamic_table(Generated(Select(items, relation, below_two(terms[0])), columns, 8)).name
    count = Aggregate(AggregateFunction.COUNT_STAR, None, False, BIGINT)
    having = Call("gt", (count, literal_one()), BOOLEAN)
    items, columns = b.queries.items([terms[0], Term(count, 5)])
    select = Select(items, relation, None, (terms[0].expr,), having)
    return b.add_dynamic_table(Generated(select, columns, 8)).name


def sum_of_case(b: ScenarioBuilder, table: TableSketch) -> str:
    """SUM(CASE WHEN k < 2 THEN k ELSE ..), by another column than k."""
    alias = b.queries.alias()
    terms = scope(b, table.name, alias)
    case_ = Call("case", (below_two(terms[0]), terms[0].expr, literal(b.choices, INT).expr), INT)
    sum_ = Term(Aggregate(AggregateFunction.SUM, case_, False, BIGINT), 10)
    group = b.choices.pick([term for term in terms[1:] if term.key] or terms[:1])
    items, columns = b.queries.items([group, sum_])
    select = Select(items, Named(table.name, alias), None, (group.expr,))
    return b.add_dynamic_table(Generated(select, columns, 8)).name


def below_two(term: Term) -> Expr:
    """`k < 2`."""
    return Call("lt", (term.expr, literal_two()), BOOLEAN)


def literal_two() -> Expr:
    """The INT 2."""
    return Literal(2, INT)


def literal_one() -> Expr:
    """The BIGINT 1."""
    return Literal(1, BIGINT)


def twice(b: ScenarioBuilder, table: TableSketch) -> str:
    """A self join, written plainly or over a CTE used twice."""
    first, second = b.queries.alias(), b.queries.alias()
    kind = b.choices.weighted(((3, JoinKind.INNER), (1, JoinKind.LEFT), (1, JoinKind.FULL)))
    if b.choices.chance(50):
        return b.add_dynamic_table(joined(b, table.name, table.name, kind, "plain")).name
    inner_alias = b.queries.alias()
    items = tuple(
        Item(t.expr, c.name) for t, c in zip(scope(b, table.name, inner_alias), table.columns, strict=True)
    )
    inner = Select(items, Named(table.name, inner_alias))
    scopes = scope(b, table.name, first), scope(b, table.name, second)
    name = f"c{b.queries.aliases}"
    relation = Join(kind, Named(name, first), Named(name, second), on_keys(first, second))
    body = b.queries.over(relation, scopes[0] + scopes[1], 64, "plain")
    return b.add_dynamic_table(Generated(With((Cte(name, inner),), body.query), body.columns, body.rows)).name


def union_with_itself(b: ScenarioBuilder, table: TableSketch) -> str:
    """UNION ALL of a table with itself: every row twice, told apart by the branch alone."""
    alias = b.queries.alias()
    items, columns = b.queries.items(scope(b, table.name, alias))
    branch = Select(items, Named(table.name, alias))
    return b.add_dynamic_table(Generated(UnionAll((branch, branch)), columns, 16)).name


def other_name(b: ScenarioBuilder, table: TableSketch) -> str:
    """A self join on two columns of different names, written right side first: `ON r.k = l.x`."""
    first, second = b.queries.alias(), b.queries.alias()
    condition = Call("eq", (ColumnRef(second, "k", INT), ColumnRef(first, int_column(table), INT)), BOOLEAN)
    relation = Join(JoinKind.INNER, Named(table.name, first), Named(table.name, second), condition)
    terms = scope(b, table.name, first) + scope(b, table.name, second)
    return b.add_dynamic_table(b.queries.over(relation, terms, 64, "plain")).name


def int_column(table: TableSketch) -> str:
    """The last INT column that is not the key; the key where there is none."""
    return [column.name for column in table.columns if column.type == INT][-1]


def plain_copy(b: ScenarioBuilder, table: TableSketch, where: Expr | None, alias: str) -> str:
    """A dynamic table with the columns of a base table."""
    terms = scope(b, table.name, alias)
    items = tuple(Item(term.expr, column.name) for term, column in zip(terms, table.columns, strict=True))
    return b.add_dynamic_table(
        Generated(Select(items, Named(table.name, alias), where), b.source(table.name).columns, 8)
    ).name


def stacked(b: ScenarioBuilder, table: TableSketch) -> str:
    """A filter over a dynamic table over a base table."""
    alias = b.queries.alias()
    lower = plain_copy(b, table, None, alias)
    upper = b.queries.alias()
    terms = scope(b, lower, upper)
    items, columns = b.queries.items(terms)
    where = Call("gt", (terms[0].expr, literal_two()), BOOLEAN)
    return b.add_dynamic_table(Generated(Select(items, Named(lower, upper), where), columns, 8)).name


def diamond(b: ScenarioBuilder, table: TableSketch) -> str:
    """Two dynamic tables over one base table, and a third that joins them."""
    first, second = b.queries.alias(), b.queries.alias()
    left = plain_copy(b, table, None, first)
    terms = scope(b, table.name, second)
    where = b.queries.condition(terms[:1], terms[:1]) if b.choices.chance(30) else None
    right = plain_copy(b, table, where, second)
    kind = b.choices.weighted(((3, JoinKind.INNER), (1, JoinKind.FULL), (1, JoinKind.LEFT)))
    return b.add_dynamic_table(joined(b, left, right, kind, b.choices.pick(("plain", "grouped")))).name


def three_way(b: ScenarioBuilder, first: TableSketch, second: TableSketch) -> str:
    """Three inputs joined on their keys."""
    third = b.choices.pick((first, second, b.choices.pick(b.tables)))
    a, c, d = b.queries.alias(), b.queries.alias(), b.queries.alias()
    inner = Join(JoinKind.INNER, Named(first.name, a), Named(second.name, c), on_keys(a, c))
    kind = b.choices.weighted(((3, JoinKind.INNER), (1, JoinKind.LEFT)))
    relation = Join(kind, inner, Named(third.name, d), on_keys(b.choices.pick((a, c)), d))
    terms = scope(b, first.name, a) + scope(b, second.name, c) + scope(b, third.name, d)
    return b.add_dynamic_table(
        b.queries.over(relation, terms, 128, b.choices.pick(("plain", "plain", "grouped")))
    ).name


def outer_chain(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> str:
    """l LEFT JOIN r LEFT JOIN s on keys of l, where s is often l: pads of one join match in the other."""
    third = b.choices.pick((left, left, right, b.choices.pick(b.tables)))
    kind = b.choices.pick((JoinKind.LEFT, JoinKind.FULL))
    name = int_column(left) if b.choices.chance(50) else "k"
    return two_outer_joins(b, kind, (left, right, third), name, b.choices.pick(("plain", "plain", "grouped")))


def two_outer_joins(
    b: ScenarioBuilder,
    kind: JoinKind,
    tables: tuple[TableSketch, TableSketch, TableSketch],
    name: str,
    shape: str,
) -> str:
    """l (kind) JOIN r ON l.k = r.k LEFT JOIN s ON l.name = s.k."""
    a, c, d = b.queries.alias(), b.queries.alias(), b.queries.alias()
    left, right, third = tables
    inner = Join(kind, Named(left.name, a), Named(right.name, c), on_keys(a, c))
    condition = Call("eq", (ColumnRef(a, name, INT), ColumnRef(d, "k", INT)), BOOLEAN)
    relation = Join(JoinKind.LEFT, inner, Named(third.name, d), condition)
    terms = scope(b, left.name, a) + scope(b, right.name, c) + scope(b, third.name, d)
    return b.add_dynamic_table(b.queries.over(relation, terms, 128, shape)).name


def left_join(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> str:
    """l LEFT JOIN r ON l.k = r.k, projected."""
    first, second = b.queries.alias(), b.queries.alias()
    condition = on_keys(first, second)
    relation = Join(JoinKind.LEFT, Named(left.name, first), Named(right.name, second), condition)
    terms = scope(b, left.name, first) + scope(b, right.name, second)
    return b.add_dynamic_table(b.queries.over(relation, terms, 64, "plain")).name


def counted_over_groups(b: ScenarioBuilder, table: TableSketch) -> str:
    """Groups of groups: COUNT(*) and sums over a grouped sub-select."""
    inner_alias, alias = b.queries.alias(), b.queries.alias()
    terms = scope(b, table.name, inner_alias)
    keys = [terms[0], b.choices.pick([term for term in terms[1:] if term.key])]
    count = Term(Aggregate(AggregateFunction.COUNT_STAR, None, False, BIGINT), 5)
    items, columns = b.queries.items([*keys, count])
    inner = Select(items, Named(table.name, inner_alias), None, tuple(key.expr for key in keys))
    outer = scope_of(alias, columns)
    aggregates = [count, Term(Aggregate(AggregateFunction.MAX, outer[2].expr, False, BIGINT), 5)]
    shown, outputs = b.queries.items([outer[0], *aggregates])
    select = Select(shown, Derived(inner, alias), None, (outer[0].expr,))
    return b.add_dynamic_table(Generated(select, outputs, 16)).name


def padded_groups(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> str:
    """COUNT(*) and SUM by a left column over a LEFT JOIN: pads count, and sums over pads alone are NULL."""
    first, second = b.queries.alias(), b.queries.alias()
    relation = Join(JoinKind.LEFT, Named(left.name, first), Named(right.name, second), on_keys(first, second))
    key = Term(ColumnRef(first, "k", INT), 3)
    value = ColumnRef(second, "k", INT)
    aggregates = [
        Term(Aggregate(AggregateFunction.COUNT_STAR, None, False, BIGINT), 6),
        Term(Aggregate(AggregateFunction.SUM, value, False, BIGINT), 10),
    ]
    items, columns = b.queries.items([key, *aggregates])
    return b.add_dynamic_table(Generated(Select(items, relation, None, (key.expr,)), columns, 16)).name


def over_cross(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> str:
    """l LEFT JOIN (l' CROSS JOIN r) ON l.k = l'.k."""
    a, c, d, alias = (b.queries.alias() for _ in range(4))
    inner = Join(JoinKind.CROSS, Named(left.name, c), Named(right.name, d), None)
    items = (Item(ColumnRef(c, "k", INT), "k"), Item(ColumnRef(d, "k", INT), "l"))
    derived = Derived(Select(items, inner), alias)
    relation = Join(JoinKind.LEFT, Named(left.name, a), derived, on_keys(a, alias))
    terms = [
        *scope(b, left.name, a),
        Term(ColumnRef(alias, "k", INT), 3),
        Term(ColumnRef(alias, "l", INT), 3),
    ]
    return b.add_dynamic_table(b.queries.over(relation, terms, 128, "plain")).name
