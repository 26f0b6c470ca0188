"""Aggregates of several arguments, sorted lists, statistics: from their syntax to `Agg`.

They are maintained by affected groups, which needs one thing: the value must follow from the bag of rows of
the group, and not from their order. Where it does not surely do so (ties in MAX_BY, lists of floats), the
aggregate is refused.

What `Agg.extra` holds, by name:

- COUNT, COVAR_SAMP, COVAR_POP, CORR: the further arguments; a row with a NULL among them is left out;
- MAX_BY, MIN_BY: what the rows are ordered by; a row where it is NULL is left out;
- MAX_BY_STRUCT, MIN_BY_STRUCT: a condition, then the fields of a struct; other rows are left out;
- COLLECT_LIST, COLLECT_SET: whether the list is ascending;
- LISTAGG: the text between two values, and whether the order is descending;
- PERCENTILE: the fraction, and whether the order is descending.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit
from dynamic_tables.plan.functions import CASE
from dynamic_tables.plan.types import BIGINT, DOUBLE, FLOATING, INTEGRAL
from dynamic_tables.reading.values import aggregate_orders
from dynamic_tables.reading.values.aggregate_parts import Bind, Form, listed, number, only, value_of

AGGREGATE_SYNTAX = (exp.AggFunc, exp.WithinGroup)
"""The syntax of aggregates: names inside it are columns of the rows, not outputs."""

AreAlike = Callable[[frozenset[str]], bool]

NO_TIES = "ties in y: order by struct(y, x), or by the declared primary_key of the table"


def is_form(node: exp.Expr) -> bool:
    """Tells whether a syntax node is one of these aggregates, its FILTER included."""
    while isinstance(node, exp.Filter):
        node = node.this
    if isinstance(node, exp.Count):
        return bool(node.expressions) or (isinstance(node.this, exp.Distinct) and len(listed(node.this)) > 1)
    if isinstance(node, exp.ArraySort):
        return isinstance(aggregate_orders.unfiltered(node.this), aggregate_orders.LISTS)
    return type(node) in FORMS


def bound_form(node: exp.Expr, bind: Bind) -> Agg:
    """Returns one of these aggregates. `bind`: binds its arguments and its FILTER.

    Raises DefinitionError: Spark does not define it for the types of its arguments.
    Raises UnsupportedError: its value may depend on the order of rows, or no rule is known.
    """
    match node:
        case exp.Filter():
            return aggregate_orders.only_where(bound_form(node.this, bind), bind(node.expression.this))
        case exp.ArraySort():
            return aggregate_orders.sorted_list(node, bind)
        case exp.Count():
            return _count(node, bind)
        case _:
            return FORMS[type(node)](node, bind)


def ensure_determined_by(
    aggregate: Agg, keys: Sequence[Expr], are_alike: AreAlike, is_float_aggregate: Callable[[Expr], bool]
) -> None:
    """Raises UnsupportedError where the value of an aggregate may depend on the order of rows in its group.

    The greatest y of MAX_BY(x, y) may stand in several rows: these give one x only if y and the keys do, as
    where they hold a key of the rows. `keys`: those of the groups. `are_alike`: tells of the names of columns
    whether rows that are equal in these are equal in all.
    """
    if not aggregate.name.startswith(("MAX_BY", "MIN_BY", "PERCENTILE")):
        return
    shown = aggregate.name.removesuffix(aggregate_orders.STRUCT_ORDER)
    if any(map(is_float_aggregate, aggregate.args)):
        raise UnsupportedError(
            f"{shown} over a float aggregate", "its last bits depend on the order of summation"
        )
    if shown == "PERCENTILE":
        return
    assert aggregate.arg is not None
    values = aggregate.extra
    match aggregate.extra:
        case (Fn(name, (_, value, Lit(None, _)), _),) if name == CASE:
            # What FILTER makes of y: CASE WHEN condition THEN y END. Rows with NULL are left out, and in the
            # others it is y itself.
            values = (*values, value)
    values = (*values, *keys)
    # 0.0 and -0.0 are equal in an order, and two keys.
    exact = [value for value in values if isinstance(value, Col) and value.type.kind not in FLOATING]
    equal = frozenset(value.name for value in exact)
    if not _determined(aggregate.arg, values) and not are_alike(equal):
        raise UnsupportedError(shown, NO_TIES)


def ensure_spark_runs(aggregates: Iterable[Agg]) -> None:
    """Raises UnsupportedError for LISTAGG beside aggregates of several DISTINCT values.

    Spark 4.2 fails on these with a ClassCastException (RewriteDistinctAggregates).
    """
    listed = list(aggregates)
    of_different = {(agg.args, agg.name == "LISTAGG") for agg in listed if agg.distinct}
    if len(of_different) > 1 and any(agg.name == "LISTAGG" for agg in listed):
        reason = "Spark fails on them; compute them in two sub-selects"
        raise UnsupportedError("LISTAGG beside aggregates of several DISTINCT values", reason)


def _determined(value: Expr, values: Sequence[Expr]) -> bool:
    """Tells whether rows with equal `values` values have one and the same value."""
    if value in values:
        return True
    match value:
        case Lit():
            return True
        case Fn(_, args, _):
            # -0.0 and 0.0 are equal, and 1 / x of them is not.
            exact = all(arg.type.kind not in FLOATING or isinstance(arg, Lit) for arg in args)
            return exact and all(_determined(arg, values) for arg in args)
        case _:
            return False


def _statistic(name: str) -> Form:
    """Returns the form of a statistic of one number, such as VAR_POP."""

    def form(node: exp.Expr, bind: Bind) -> Agg:
        only(node, "this")
        value, distinct = value_of(node, bind)
        return Agg(name, number(name, value), distinct, DOUBLE)

    return form


def _of_pairs(name: str) -> Form:
    """Returns the form of a statistic of two numbers, such as CORR."""

    def form(node: exp.Expr, bind: Bind) -> Agg:
        if isinstance(node.this, exp.Distinct):
            raise UnsupportedError(f"{name} of DISTINCT pairs")
        only(node, "this", "expression")
        first, _ = value_of(node, bind)
        pair = (number(name, value) for value in (first, bind(node.expression)))
        return Agg(name, next(pair), False, DOUBLE, (next(pair),))

    return form


def _bitwise(name: str) -> Form:
    """Returns the form of an aggregate of the bits of integers, such as BIT_AND."""

    def form(node: exp.Expr, bind: Bind) -> Agg:
        only(node, "this")
        value, distinct = value_of(node, bind)
        if value.type.kind not in INTEGRAL:
            raise DefinitionError(f"{name} is not defined for {value.type}")
        return Agg(name, value, distinct, value.type)

    return form


def _count(node: exp.Count, bind: Bind) -> Agg:
    """Returns COUNT of several values: of the rows where none of them is NULL."""
    distinct = isinstance(node.this, exp.Distinct)
    only(node, "this", "expressions")
    values = [*listed(node.this), *node.expressions]
    if any(value.is_star for value in values):
        raise UnsupportedError("COUNT of several columns", "list them without a star")
    first, *others = (bind(value) for value in values)
    for each in (first, *others):
        if not each.type.identifies:
            raise UnsupportedError(f"COUNT of several values, one of type {each.type}")
    return Agg("COUNT", first, distinct, BIGINT, tuple(others))


FORMS: Mapping[type[exp.Expr], Form] = {
    exp.Stddev: _statistic("STDDEV_SAMP"),
    exp.StddevSamp: _statistic("STDDEV_SAMP"),
    exp.StddevPop: _statistic("STDDEV_POP"),
    exp.Variance: _statistic("VAR_SAMP"),
    exp.VariancePop: _statistic("VAR_POP"),
    exp.CovarSamp: _of_pairs("COVAR_SAMP"),
    exp.CovarPop: _of_pairs("COVAR_POP"),
    exp.Corr: _of_pairs("CORR"),
    exp.ArgMax: aggregate_orders.extreme_by("MAX_BY"),
    exp.ArgMin: aggregate_orders.extreme_by("MIN_BY"),
    exp.BitwiseAndAgg: _bitwise("BIT_AND"),
    exp.BitwiseOrAgg: _bitwise("BIT_OR"),
    exp.BitwiseXorAgg: _bitwise("BIT_XOR"),
    exp.GroupConcat: aggregate_orders.listagg,
    exp.Quantile: aggregate_orders.percentile,
    exp.Median: aggregate_orders.median,
    exp.WithinGroup: aggregate_orders.within_group,
}
"""The aggregates by their syntax; COUNT of several values and sorted lists stand beside it."""

NAMES = (
    *"STDDEV_SAMP STDDEV_POP VAR_SAMP VAR_POP COVAR_SAMP COVAR_POP CORR MAX_BY MIN_BY BIT_AND BIT_OR".split(),
    *"BIT_XOR LISTAGG PERCENTILE MEDIAN PERCENTILE_CONT sort_array(COLLECT_LIST)".split(),
    "sort_array(COLLECT_SET)",
)
"""The aggregates by the names that users know."""


def has_group_aggregate(node: exp.Expr) -> bool:
    """Tells whether an expression has an aggregate of a group, those inside other queries not counted."""
    return any(is_over_a_group(part) for part in node.walk(prune=lambda part: isinstance(part, exp.Query)))


def is_over_a_group(node: exp.Expr) -> bool:
    """Tells whether an expression is an aggregate of a group, not one before OVER."""
    above = node.parent
    while isinstance(above, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        above = above.parent
    # A window of the WINDOW clause has nothing before OVER.
    before = above.this if isinstance(above, exp.Window) and above.this is not None else exp.Null()
    before_over = any(node is part for part in before.walk())
    return isinstance(node, AGGREGATE_SYNTAX) and not before_over


def is_aggregated(node: exp.Expr) -> bool:
    """Tells whether an expression stands in an aggregate of a group, its FILTER included.

    What is before OVER does not.
    """
    above = node.parent
    while above is not None and not is_over_a_group(above):
        if isinstance(above, exp.Filter) and is_over_a_group(aggregate_orders.unfiltered(above)):
            return True
        above = above.parent
    return above is not None
