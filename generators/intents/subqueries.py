"""Triggers of subqueries, which the IR has as joins: the group of a row comes and goes."""

from __future__ import annotations

from dataclasses import replace

from generators.builder import ScenarioBuilder
from generators.domains import TableSketch
from generators.intents import shapes
from generators.intents.script import Script, act, delete, insert, key, move_key, script
from generators.queries.expressions import Term, call, constant, matchable, predicate
from generators.queries.queries import never_false
from generators.queries.relations import COUNT_STAR, FromClause, Generated, joined, scope_of, select
from generators.queries.windows import UNORDERED
from workload import query as ir
from workload.dml import Insert
from workload.types import BOOLEAN, INT


def group_comes_and_goes(b: ScenarioBuilder) -> Script:
    """Adds the group of a row in another table, gives it a second row, removes it; also for a NULL key."""
    left, right = shapes.two_tables(b)
    k = key(b)
    match b.choices.weighted(((8, "beside"), (2, "first"), (3, "members"), (3, "total"), (1, "extreme"))):
        case "first":
            target = _with_first_rows(b, left, right)
        case "extreme":
            target = _beside_extreme(b, left, right)
        case "members":
            target = _groups_with_members(b, left, right)
        case "total":
            target = _groups_beside_a_total(b, left, right)
        case _:
            target = _beside_groups(b, left, right, exists=b.choices.chance(50))
    return script(
        target,
        act(insert(b, left, k=k), insert(b, left, k=k + 1), insert(b, right, k=k)),
        act(insert(b, right, k=k + 1)),
        act(insert(b, right, k=k), delete(right, "k", k + 1)),
        act(move_key(right, k, None)) + act(insert(b, left, k=None)),
        act(move_key(left, k + 1, k), insert(b, right, k=k)),
        act(delete(right, "k", k)),
    )


def member_with_several_matches(b: ScenarioBuilder) -> Script:
    """Gives equal rows two matches in another table at once, takes these away, and gives them one of NULL."""
    left, right = shapes.two_tables(b)
    k = key(b)
    rows, others = shapes.reading(b, left.name), shapes.reading(b, right.name)
    on, kind = (
        shapes.on_keys(rows, others),
        b.choices.pick((ir.JoinKind.SEMI, ir.JoinKind.ANTI, ir.JoinKind.ANTI)),
    )
    also = _second_comparison(b, rows, others) if b.choices.chance(30) else None
    if kind is ir.JoinKind.ANTI and b.choices.chance(50):
        on, also = never_false(on), None if also is None else never_false(also)
    if also is not None:
        on = call("and", BOOLEAN, Term(on), Term(also)).expr
    members = select(joined(kind, rows, others, on), rows.scope)
    if b.choices.chance(25):
        members = _beside_members(b, left, members)
    equal = b.row(left, k=k)
    matches = insert(b, right, k=k), insert(b, right, k=k)
    return script(
        shapes.define(b, members),
        act(Insert(left.name, (equal, equal))) + act(delete(right, "k", k), delete(right, "k", None)),
        act(*matches),
        act(delete(right, "k", k)),
        act(insert(b, right, k=None)),
        act(insert(b, left, k=k), delete(right, "k", None)),
    )


def _beside_members(b: ScenarioBuilder, left: TableSketch, members: Generated) -> Generated:
    """Returns the rows of a table with the members of their key: EXISTS and IN in ON of an outer join."""
    return _beside(b, shapes.reading(b, left.name), members)


def _beside_extreme(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> str:
    """Defines the rows of one table with those of another with its least or greatest key: a value in ON."""
    rows, others = shapes.reading(b, left.name), shapes.reading(b, right.name)
    again, alias = shapes.reading(b, right.name), b.queries.alias()
    function = b.choices.pick((ir.AggregateFunction.MAX, ir.AggregateFunction.MIN))
    key_ = again.scope[0]
    most = Term(ir.Aggregate(function, key_.expr, False, key_.type), key_.digits, key_.key)
    end = select(again, [most], group_by=[])
    value = FromClause(ir.Derived(end.query, alias), scope_of(alias, end.columns), 1)
    compared = call(b.choices.pick(("eq", "ge", "lt")), BOOLEAN, others.scope[0], value.scope[0]).expr
    chosen = select(joined(ir.JoinKind.CROSS, others, value, None), others.scope, compared)
    return shapes.define(b, _beside(b, rows, chosen))


def _beside(b: ScenarioBuilder, rows: FromClause, others: Generated) -> Generated:
    """Returns rows with those of a query that have their key, in a left or a right join."""
    alias = b.queries.alias()
    beside = FromClause(ir.Derived(others.query, alias), scope_of(alias, others.columns), 8)
    on = shapes.on_keys(rows, beside)
    if b.choices.chance(30):
        source = joined(ir.JoinKind.RIGHT, beside, rows, on)
    else:
        source = joined(ir.JoinKind.LEFT, rows, beside, on)
    return select(source, [*b.choices.subset(rows.scope, 1, 2), *b.choices.subset(beside.scope, 1, 2)])


def _second_comparison(b: ScenarioBuilder, rows: FromClause, others: FromClause) -> ir.Expr | None:
    """Returns an equation of two columns that are no keys, so that IN compares two; None without a pair."""
    inside, outside = (matchable(side.scope[1:]) for side in (rows, others))
    pairs = [(one, other) for one in inside for other in outside if one.type == other.type]
    return call("eq", BOOLEAN, *b.choices.pick(pairs)).expr if pairs else None


def _with_first_rows(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> str:
    """Defines the rows of one table with the first one or two of their key in another: LATERAL with LIMIT."""
    rows, others = shapes.reading(b, left.name), shapes.reading(b, right.name)
    inner = others.scope[0]
    shown = b.choices.subset([t for t in others.scope[1:] if t.key and t.type.kind not in UNORDERED], 0, 2)
    order = tuple(ir.OrderKey(term.expr, b.choices.chance(40)) for term in shown or [inner])
    place = ir.Window(ir.WindowFunction.ROW_NUMBER, (), (inner.expr,), order, None, INT)
    within = call("le", BOOLEAN, Term(place), constant(b.choices.integer(1, 2), INT)).expr
    block, alias = select(others, [inner, *shown], b.queries.sometimes(others, 25)), b.queries.alias()
    assert isinstance(block.query, ir.Select)
    first = ir.Derived(replace(block.query, qualify=within), alias)
    kind = b.choices.pick((ir.JoinKind.INNER, ir.JoinKind.LEFT))
    beside = FromClause(first, scope_of(alias, block.columns), 8)
    source = joined(kind, rows, beside, shapes.on_keys(rows, beside))
    return shapes.define(b, select(source, [*b.choices.subset(rows.scope, 1, 2), *beside.scope[1:]]))


def _groups_with_members(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> str:
    """Defines the groups of one table whose key, or greatest key, another has or lacks: EXISTS in HAVING."""
    rows, others = shapes.reading(b, left.name), shapes.reading(b, right.name)
    inner, shown = rows.scope[0], [b.queries.aggregate(rows)]
    keys, greatest = [inner], b.choices.chance(40)
    if greatest:
        by = [term for term in rows.scope[1:] if term.key and term.type.kind not in UNORDERED]
        keys = b.choices.subset(by, 0, 1)
        shown.insert(0, Term(ir.Aggregate(ir.AggregateFunction.MAX, inner.expr, False, INT), inner.digits))
    groups = select(rows, [*keys, *shown], group_by=keys)
    alias = b.queries.alias()
    beside = FromClause(ir.Derived(groups.query, alias), scope_of(alias, groups.columns), 8)
    compared = beside.scope[len(keys)] if greatest else beside.scope[0]
    kind = b.choices.pick((ir.JoinKind.SEMI, ir.JoinKind.ANTI))
    on = call("eq", BOOLEAN, compared, others.scope[0]).expr
    if kind is ir.JoinKind.ANTI and b.choices.chance(50):
        on = never_false(on)
    return shapes.define(b, select(joined(kind, beside, others, on), beside.scope))


def _groups_beside_a_total(b: ScenarioBuilder, left: TableSketch, right: TableSketch) -> str:
    """Defines the groups of one table with an aggregate of another: in HAVING, or beside an aggregate."""
    rows, others = shapes.reading(b, left.name), shapes.reading(b, right.name)
    keys = [] if b.choices.chance(30) else [rows.scope[0]]
    count, sides = b.choices.chance(50), []
    for side, by in ((rows, keys), (others, [])):
        key_ = side.scope[0]
        value = Term(COUNT_STAR, 4)
        if not count:
            function = b.choices.pick((ir.AggregateFunction.MAX, ir.AggregateFunction.MIN))
            value = Term(ir.Aggregate(function, key_.expr, False, INT), key_.digits)
        block, alias = select(side, [*by, value], group_by=by), b.queries.alias()
        sides.append(FromClause(ir.Derived(block.query, alias), scope_of(alias, block.columns), 4))
    groups, total = sides
    mine, other = groups.scope[-1], total.scope[0]
    shown = [*groups.scope, *b.choices.subset([other], 0, 1)]
    condition = None
    if len(shown) == len(groups.scope) or b.choices.chance(50):
        condition = call(b.choices.pick(("le", "lt", "ge", "eq")), BOOLEAN, mine, other).expr
    return shapes.define(b, select(joined(ir.JoinKind.CROSS, groups, total, None), shown, condition))


def _beside_groups(b: ScenarioBuilder, left: TableSketch, right: TableSketch, *, exists: bool) -> str:
    """Defines the rows of one table with an aggregate of their group in another, or whether there is one."""
    rows, others = shapes.reading(b, left.name), shapes.reading(b, right.name)
    first, inner = rows.scope[0], others.scope[0]
    value = Term(COUNT_STAR, 4) if exists else b.queries.aggregate(others)
    groups = select(others, [inner, value], b.queries.sometimes(others, 15), group_by=[inner])
    alias = b.queries.alias()
    beside = FromClause(ir.Derived(groups.query, alias), scope_of(alias, groups.columns), 8)
    tie = call("eq", BOOLEAN, first, beside.scope[0]).expr
    source = joined(ir.JoinKind.LEFT, rows, beside, tie)
    found, condition = beside.scope[1], None
    if exists:
        found = call(b.choices.pick(("is_not_null", "is_null")), BOOLEAN, found)
        other = predicate(b.choices, rows.matchable, 0)
        if b.choices.chance(75):
            # Both sides of the OR are true of some rows.
            other = call("ge", BOOLEAN, first, constant(0, INT))
        if b.choices.chance(85):
            condition = call("or", BOOLEAN, other, found).expr
    shown = [first, *b.choices.subset(rows.scope[1:], 0, 1)]
    if condition is None or b.choices.chance(50):
        shown.append(found)
    # The plan of a LEFT JOIN with a condition says nothing of EXISTS under OR.
    written = r"EXISTS \(SELECT | IN \(SELECT " if exists else ""
    return shapes.define(b, select(source, shown, condition), written)
