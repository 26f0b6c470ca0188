"""The dynamic tables that intents maintain: each query has a fixed shape and random details.

Each function whose docstring says that it defines a query adds a dynamic table with that query to the
builder, and returns its name. Rows are upper estimates, from which the generator decides what may be summed.
"""

from __future__ import annotations

from dataclasses import replace

from generators.builder import ScenarioBuilder
from generators.domains import DECIMAL, WIDE_DECIMAL, TableSketch
from generators.queries.expressions import Term, call, constant, met
from generators.queries.queries import never_false
from generators.queries.relations import (
    COUNT_STAR,
    FromClause,
    Generated,
    Source,
    joined,
    read,
    scope_of,
    select,
)
from workload.query import ColumnRef, Cte, Derived, Expr, Item, JoinKind, Select, Union, UnionAll, With
from workload.types import BIGINT, BOOLEAN, DATE, INT, SMALLINT, STRING

ORDERED = (INT, SMALLINT, BIGINT, WIDE_DECIMAL, DECIMAL, STRING, DATE)
"""Types of columns that have an order, and of which a running MIN or MAX is continued."""


def two_tables(b: ScenarioBuilder) -> tuple[TableSketch, TableSketch]:
    """Returns two different base tables; a second one is added if there is only one."""
    while len(b.tables) < 2:
        b.add_table()
    first = b.choices.pick(b.tables)
    return first, partner(b, first)


def partner(b: ScenarioBuilder, table: TableSketch) -> TableSketch:
    """Returns a base table other than the given one; a new one if there is no other."""
    others = [other for other in b.tables if other.name != table.name]
    return b.choices.pick(others) if others else b.add_table()


def int_column(table: TableSketch) -> str:
    """Returns the name of the last INT column of the table, which is the key if there is no other."""
    return [column.name for column in table.columns if column.type == INT][-1]


def reading(b: ScenarioBuilder, name: str, rows: int = 8) -> FromClause:
    """Returns the FROM clause that reads one relation under a new alias."""
    return replace(read(b.source(name), b.queries.alias()), rows=rows)


def read_under(b: ScenarioBuilder, block: Generated) -> FromClause:
    """Returns the FROM clause that reads a query under a new alias."""
    alias = b.queries.alias()
    return FromClause(Derived(block.query, alias), scope_of(alias, block.columns), block.rows)


def on_keys(left: FromClause, right: FromClause) -> Expr:
    """Returns the condition that the first columns are equal: the key, `k`, in all that intents join."""
    return call("eq", BOOLEAN, left.scope[0], right.scope[0]).expr


def column_of(source: FromClause, name: str) -> Term:
    """Returns the term of a FROM clause that is the column of the name."""
    return next(t for t in source.scope if isinstance(t.expr, ColumnRef) and t.expr.name == name)


def define(b: ScenarioBuilder, generated: Generated, written: str = "") -> str:
    """Defines a query and returns the table's name; `written` as in `add_dynamic_table`."""
    return b.add_dynamic_table(generated, written=written).name


def define_over(b: ScenarioBuilder, source: FromClause, rows: int, shape: str) -> str:
    """Defines a random block of a shape over a FROM clause."""
    return define(b, b.queries.over(replace(source, rows=rows), shape))


def key_join(b: ScenarioBuilder, left: str, right: str, kind: JoinKind, shape: str) -> str:
    """Defines a join of two relations on their keys, of a `shape`; sometimes with a second conjunct."""
    first, second = reading(b, left), reading(b, right)
    condition = on_keys(first, second)
    if kind is JoinKind.ANTI and b.choices.chance(40):
        condition = never_false(condition)
    if b.choices.chance(25):
        extra = b.queries.condition(first.scope, second.scope)
        condition = call("and", BOOLEAN, Term(condition), Term(extra)).expr
    return define_over(b, joined(kind, first, second, condition), 64, shape)


def join(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> str:
    """Defines a join on the keys, mostly inner; plain or grouped."""
    others = (JoinKind.LEFT, JoinKind.FULL, JoinKind.SEMI, JoinKind.ANTI)
    kind = b.choices.weighted(((5, JoinKind.INNER), *((1, other) for other in others)))
    return key_join(b, left.name, right.name, kind, b.choices.weighted(((4, "plain"), (1, "grouped"))))


def outer_join(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> str:
    """Defines a join on the keys in which a row of `left` may lack a match: outer, semi or anti."""
    others = (JoinKind.RIGHT, JoinKind.SEMI, JoinKind.ANTI)
    kind = b.choices.weighted(((4, JoinKind.LEFT), (3, JoinKind.FULL), *((2, other) for other in others)))
    pair = (right.name, left.name) if kind is JoinKind.RIGHT else (left.name, right.name)
    return key_join(b, *pair, kind, b.choices.weighted(((5, "plain"), (3, "grouped"))))


def left_join(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> str:
    """Defines l LEFT JOIN r ON l.k = r.k, projected."""
    first, second = reading(b, left.name), reading(b, right.name)
    return define_over(b, joined(JoinKind.LEFT, first, second, on_keys(first, second)), 64, "plain")


def anything(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines a random query over one table."""
    return define(b, b.queries.query([b.source(table.name)], 1))


def twice(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines a self join, written plainly or over a CTE used twice."""
    first, second = b.queries.alias(), b.queries.alias()
    kind = b.choices.weighted(((3, JoinKind.INNER), (1, JoinKind.LEFT), (1, JoinKind.FULL)))
    if b.choices.chance(50):
        return key_join(b, table.name, table.name, kind, "plain")
    inner = same_columns(reading(b, table.name), table)
    cte = replace(b.source(table.name), name=f"c{b.queries.aliases}", rows=8)
    left, right = read(cte, first), read(cte, second)
    body = b.queries.over(joined(kind, left, right, on_keys(left, right)), "plain")
    return define(b, replace(body, query=With((Cte(cte.name, inner),), body.query)))


def union_with_itself(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines UNION ALL of a table with itself: the two copies of a row differ by their branch alone."""
    source = reading(b, table.name, 16)
    branch = select(source, source.scope)
    return define(b, replace(branch, query=UnionAll((branch.query, branch.query))))


def union_by_tag(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> str:
    """Defines a CTE over two tables that tags each row with its table, read twice and joined on its key.

    Each reader wants the rows of one table, by a condition in WHERE or in ON.
    """
    branches = tuple(_tagged(b, table, tag) for tag, table in enumerate((left, right)))
    cte = Source(f"c{b.queries.aliases}", branches[0].columns, 16)
    first, second = (read(cte, b.queries.alias()) for _ in branches)
    tags = [
        call("eq", BOOLEAN, side.scope[1], constant(tag, INT))
        for side, tag in ((first, 0), (second, b.choices.pick((1, 1, 0, 2))))
    ]
    keys = call("eq", BOOLEAN, first.scope[0], second.scope[0])
    terms = [first.scope[0], *first.scope[2:], *second.scope[2:]]
    both = call("and", BOOLEAN, *tags)
    if b.choices.chance(60):
        source = joined(JoinKind.INNER, first, second, keys.expr)
        block = select(source, terms, both.expr)
    else:
        kind = b.choices.pick((JoinKind.LEFT, JoinKind.FULL, JoinKind.INNER))
        source = joined(kind, first, second, call("and", BOOLEAN, keys, tags[1]).expr)
        block = select(source, terms, tags[0].expr if b.choices.chance(50) else None)
    union = UnionAll(tuple(branch.query for branch in branches))
    return define(b, replace(block, query=With((Cte(cte.name, union),), block.query)))


def _tagged(b: ScenarioBuilder, table: TableSketch, tag: int) -> Generated:
    """Returns the rows of a table by their keys, or how many each key has, beside the tag."""
    source = reading(b, table.name)
    tagged = [source.scope[0], constant(tag, INT)]
    if b.choices.chance(50):
        return select(source, [*tagged, Term(COUNT_STAR)], group_by=source.scope[:1])
    return select(source, [*tagged, call("cast", BIGINT, source.scope[0])])


def unpivoted(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines a row for each of two columns, perhaps beside a third one, as people write it by UNPIVOT."""
    source = reading(b, table.name)
    columns = [source.scope[0], column_of(source, int_column(table))]
    columns.sort(key=lambda term: -term.digits)
    kept = b.choices.subset([term for term in source.scope if term not in columns], 0, 1)
    nulls = b.choices.chance(40)
    branches = [
        select(
            source,
            [*kept, constant(name, STRING), column],
            None if nulls else call("is_not_null", BOOLEAN, column).expr,
        )
        for name, column in zip(("first", "second"), columns, strict=True)
    ]
    union = UnionAll(tuple(branch.query for branch in branches))
    return define(b, replace(branches[0], query=union, rows=16))


def union_of_keys(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> str:
    """Defines UNION of the keys of two tables: a key of both, or of several rows of one, is one row."""
    first, second = reading(b, left.name), reading(b, right.name)
    branches = (select(first, first.scope[:1]), select(second, second.scope[:1]))
    return define(b, replace(branches[0], query=Union(tuple(branch.query for branch in branches)), rows=16))


def of_two_types(b: ScenarioBuilder, table: TableSketch, other: str) -> str:
    """Defines a comparison of the key with a column of another type, in WHERE or in ON."""
    source = reading(b, table.name)
    if b.choices.chance(60):
        where = b.choices.pick(("eq", "le", "lt", "gt"))
        pair = met(source.scope[0], column_of(source, other))
        assert pair is not None, "the intent's tables have columns of types that meet"
        return define(b, select(source, source.scope, call(where, BOOLEAN, *pair).expr))
    second = reading(b, table.name)
    pair = met(source.scope[0], column_of(second, other))
    assert pair is not None, "as above"
    kind = b.choices.pick((JoinKind.INNER, JoinKind.LEFT))
    return define_over(b, joined(kind, source, second, call("eq", BOOLEAN, *pair).expr), 64, "plain")


def other_name(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines a self join on columns of different names, written right side first: `ON r.k = l.x`."""
    first, second = reading(b, table.name), reading(b, table.name)
    condition = call("eq", BOOLEAN, second.scope[0], column_of(first, int_column(table))).expr
    return define_over(b, joined(JoinKind.INNER, first, second, condition), 64, "plain")


def same_columns(source: FromClause, table: TableSketch, where: Expr | None = None) -> Select:
    """Returns a SELECT of all columns of a base table, under their names."""
    items = tuple(Item(term.expr, c.name) for term, c in zip(source.scope, table.columns, strict=True))
    return Select(items, source.relation, where)


def plain_copy(b: ScenarioBuilder, source: FromClause, table: TableSketch, where: Expr | None = None) -> str:
    """Defines a SELECT of all columns of a base table."""
    return define(b, Generated(same_columns(source, table, where), b.source(table.name).columns, 8))


def stacked(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines a filter over a dynamic table over a base table."""
    upper = reading(b, plain_copy(b, reading(b, table.name), table))
    where = call("gt", BOOLEAN, upper.scope[0], constant(2, INT)).expr
    return define(b, select(upper, upper.scope, where))


def diamond(b: ScenarioBuilder, table: TableSketch) -> str:
    """Defines two dynamic tables over one base table, and a third that joins them."""
    first, second = reading(b, table.name), reading(b, table.name)
    left = plain_copy(b, first, table)
    keys = second.scope[:1]
    where = b.queries.condition(keys, keys) if b.choices.chance(30) else None
    right = plain_copy(b, second, table, where)
    kind = b.choices.weighted(((3, JoinKind.INNER), (1, JoinKind.FULL), (1, JoinKind.LEFT)))
    return key_join(b, left, right, kind, b.choices.pick(("plain", "grouped")))


def three_way(b: ScenarioBuilder, first: TableSketch, second: TableSketch) -> str:
    """Defines a join of three inputs on their keys."""
    third = b.choices.pick((first, second, b.choices.pick(b.tables)))
    left, middle, right = (reading(b, table.name) for table in (first, second, third))
    inner = joined(JoinKind.INNER, left, middle, on_keys(left, middle))
    kind = b.choices.weighted(((3, JoinKind.INNER), (1, JoinKind.LEFT)))
    source = joined(kind, inner, right, on_keys(b.choices.pick((left, middle)), right))
    return define_over(b, source, 128, b.choices.pick(("plain", "plain", "grouped")))


def four_way(b: ScenarioBuilder, table: TableSketch, other: TableSketch) -> str:
    """Defines inner joins of four inputs by keys and other columns: a table two or three times, and another.

    Sometimes the first two are joined in a sub-query.
    """
    last = b.choices.pick((table, other))
    first, *rest = b.choices.pick(((table, table, other, last), (table, other, last, table)))
    source = reading(b, first.name, 4)
    keys = [source.scope[0], column_of(source, int_column(first))]
    in_a_query = b.choices.chance(35)
    for place, each in enumerate(rest):
        right = reading(b, each.name, 4)
        found = b.choices.pick((right.scope[0], column_of(right, int_column(each))))
        source = joined(JoinKind.INNER, source, right, call("eq", BOOLEAN, b.choices.pick(keys), found).expr)
        keys += [right.scope[0], found]
        if in_a_query and place == 0:
            source = read_under(b, select(source, keys))
            keys = list(source.scope)
    return define_over(b, source, 128, "plain")


def outer_chain(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> str:
    """Defines l OUTER JOIN r LEFT JOIN s, s often being l: rows that one pads have matches in the other."""
    third = b.choices.pick((left, left, right, b.choices.pick(b.tables)))
    kind = b.choices.pick((JoinKind.LEFT, JoinKind.FULL))
    name = int_column(left) if b.choices.chance(50) else "k"
    shape = b.choices.pick(("plain", "plain", "grouped"))
    return two_outer_joins(b, kind, (left, right, third), name, shape)


def inner_over_outer(b: ScenarioBuilder, left: TableSketch, right: TableSketch, third: TableSketch) -> str:
    """Defines (l OUTER JOIN r ON l.k = r.k) JOIN s ON l.k = s.k: rows of `left` stay in, padded or not."""
    kept, padded, other = (reading(b, table.name) for table in (left, right, third))
    kind = b.choices.pick((JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL))
    pair = (padded, kept) if kind is JoinKind.RIGHT else (kept, padded)
    inner = joined(kind, *pair, on_keys(*pair))
    sides = b.choices.pick(((inner, other), (other, inner)))
    source = joined(JoinKind.INNER, *sides, on_keys(kept, other))
    return define_over(b, source, 128, b.choices.pick(("plain", "plain", "grouped")))


def two_outer_joins(
    b: ScenarioBuilder,
    kind: JoinKind,
    tables: tuple[TableSketch, TableSketch, TableSketch],
    name: str,
    shape: str,
) -> str:
    """Defines l (kind) JOIN r ON l.k = r.k LEFT JOIN s ON l.name = s.k."""
    left, right, third = (reading(b, table.name) for table in tables)
    inner = joined(kind, left, right, on_keys(left, right))
    condition = call("eq", BOOLEAN, column_of(left, name), third.scope[0]).expr
    return define_over(b, joined(JoinKind.LEFT, inner, third, condition), 128, shape)


def over_cross(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> str:
    """Defines l LEFT JOIN (l' CROSS JOIN r) ON l.k = l'.k."""
    outer, first, second = (reading(b, name) for name in (left.name, left.name, right.name))
    cross = joined(JoinKind.CROSS, first, second, None)
    items = (Item(first.scope[0].expr, "k"), Item(second.scope[0].expr, "l"))
    alias = b.queries.alias()
    terms = [Term(ColumnRef(alias, name, INT), 3) for name in ("k", "l")]
    derived = FromClause(Derived(Select(items, cross.relation), alias), terms, 64)
    return define_over(b, joined(JoinKind.LEFT, outer, derived, on_keys(outer, derived)), 128, "plain")
