"""A terse hand for writing the query IR in tests: types are inferred as Spark infers them.

>>> r = columns(table("r", a=INT, s=STRING))
>>> big = select({"a": r["a"], "n": count_star()}, named("r"), where=call("gt", r["a"], 1), group_by=[r["a"]])
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tests.truth.spark_types import aggregate_type, call_type
from workload.query import (
    Aggregate,
    AggregateFunction,
    Call,
    ColumnRef,
    Cte,
    Derived,
    Except,
    ExceptAll,
    Expr,
    Frame,
    Intersect,
    IntersectAll,
    Item,
    Join,
    JoinKind,
    Literal,
    Named,
    OrderKey,
    Query,
    Relation,
    Select,
    Union,
    UnionAll,
    Window,
    WindowFunction,
    With,
)
from workload.schema import Column, Table
from workload.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP_NTZ, SqlType, Value, fits

Operand = Expr | Value
"""An expression, or a Python value that stands for a literal of its natural type."""


def table(name: str, /, **types: SqlType) -> Table:
    """A base table: `table("r", a=INT, s=STRING)`."""
    return Table(name, tuple(Column(column, type_) for column, type_ in types.items()))


def columns(of: Table | Sequence[Column], alias: str | None = None) -> Mapping[str, ColumnRef]:
    """The columns of a table (or of any column list) as references under an alias."""
    names = of.columns if isinstance(of, Table) else of
    relation = alias or (of.name if isinstance(of, Table) else "")
    return {column.name: ColumnRef(relation, column.name, column.type) for column in names}


def col(relation: str, name: str, type_: SqlType) -> ColumnRef:
    """One column reference."""
    return ColumnRef(relation, name, type_)


def lit(value: Value, type_: SqlType | None = None) -> Literal:
    """A literal; NULL and decimals need their type, an integer is an INT if it fits."""
    return Literal(value, type_ or _natural_type(value))


def null(type_: SqlType) -> Literal:
    """A typed NULL."""
    return Literal(None, type_)


def expr(operand: Operand) -> Expr:
    """The operand itself, or the literal it stands for."""
    return operand if isinstance(operand, Expr) else lit(operand)


def call(function: str, *args: Operand, type_: SqlType | None = None) -> Call:
    """A function call; the type is Spark's for these arguments unless given."""
    exprs = tuple(expr(arg) for arg in args)
    return Call(function, exprs, type_ or call_type(function, exprs))


def cast(operand: Operand, type_: SqlType) -> Call:
    """CAST(operand AS type)."""
    return Call("cast", (expr(operand),), type_)


def case(*branches: tuple[Operand, Operand], otherwise: Operand) -> Call:
    """CASE WHEN condition THEN value ... ELSE otherwise END."""
    return call("case", *(part for branch in branches for part in branch), otherwise)


def all_of(first: Operand, *rest: Operand) -> Expr:
    """The conjunction of all conditions."""
    result = expr(first)
    for condition in rest:
        result = call("and", result, condition)
    return result


def count_star() -> Aggregate:
    """COUNT(*)."""
    return Aggregate(AggregateFunction.COUNT_STAR, None, False, BIGINT)


def agg(function: str, operand: Operand, *extra: Operand, distinct: bool = False) -> Aggregate:
    """An aggregate by its SQL name, with its further arguments: `agg("SUM", r["a"])`."""
    arg = expr(operand)
    kind = AggregateFunction(function)
    return Aggregate(kind, arg, distinct, aggregate_type(kind, arg.type), tuple(map(expr, extra)))


def window(
    function: str,
    *args: Operand,
    partition: Sequence[Expr] = (),
    order: Sequence[Expr] = (),
    frame: Frame | None = None,
) -> Window:
    """A window function by its name, ascending: `window("rank", order=[r["a"]])`, `window("SUM", r["a"])`."""
    exprs, keys = tuple(map(expr, args)), tuple(map(OrderKey, order))
    known: WindowFunction | AggregateFunction
    if function.upper() == function:
        known = AggregateFunction(function)
        type_ = aggregate_type(known, exprs[0].type) if exprs else BIGINT
    else:
        known = WindowFunction(function)
        share = known in (WindowFunction.PERCENT_RANK, WindowFunction.CUME_DIST)
        numbers = known is WindowFunction.NTILE or not exprs
        type_ = DOUBLE if share else INT if numbers else exprs[0].type
    return Window(known, exprs, tuple(partition), keys, frame, type_)


def rollup(grouped: Select) -> Select:
    """A grouped block with the sets of ROLLUP over its keys."""
    count = len(grouped.group_by or ())
    return replace(grouped, sets=tuple(tuple(range(length)) for length in range(count, -1, -1)))


def named(name: str, alias: str | None = None) -> Named:
    """A table, view, dynamic table or CTE in FROM."""
    return Named(name, name if alias is None else alias)


def derived(query: Query, alias: str) -> Derived:
    """A sub-select in FROM."""
    return Derived(query, alias)


def join(kind: JoinKind, left: Relation, right: Relation, on: Operand = None) -> Join:
    """A join; no condition for CROSS."""
    return Join(kind, left, right, None if on is None else expr(on))


def select(
    items: Mapping[str, Operand],
    source: Relation,
    *,
    where: Expr | None = None,
    group_by: Sequence[Expr] | None = None,
    having: Expr | None = None,
    distinct: bool = False,
) -> Select:
    """A SELECT block: output name -> expression."""
    outputs = tuple(Item(expr(operand), name) for name, operand in items.items())
    keys = None if group_by is None else tuple(group_by)
    return Select(outputs, source, where, keys, having, distinct)


def union_all(*branches: Query) -> UnionAll:
    """UNION ALL by position."""
    return UnionAll(branches)


def union(*branches: Query) -> Union:
    """UNION by position."""
    return Union(branches)


def except_all(left: Query, right: Query) -> ExceptAll:
    """EXCEPT ALL by position."""
    return ExceptAll((left, right))


def except_(left: Query, right: Query) -> Except:
    """EXCEPT by position."""
    return Except((left, right))


def intersect_all(left: Query, right: Query) -> IntersectAll:
    """INTERSECT ALL by position."""
    return IntersectAll((left, right))


def intersect(left: Query, right: Query) -> Intersect:
    """INTERSECT by position."""
    return Intersect((left, right))


def with_(ctes: Mapping[str, Query], body: Query) -> With:
    """WITH name AS (query), ... body."""
    return With(tuple(Cte(name, query) for name, query in ctes.items()), body)


def _natural_type(value: Value) -> SqlType:
    match value:
        case bool():
            return BOOLEAN
        case int():
            return INT if fits(value, INT) else BIGINT
        case float():
            return DOUBLE
        case str():
            return STRING
        case dt.datetime():
            return TIMESTAMP_NTZ
        case dt.date():
            return DATE
        case _:
            raise TypeError(f"{value!r} needs its type")
