"""Name resolution over the IR: the output columns of a query, or the reason why it makes no sense."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

from workload import query as ir
from workload.aggregates import ensure_form
from workload.errors import WorkloadError
from workload.orders import leaves_ties, tied_order
from workload.query import subexpressions
from workload.schema import Column
from workload.sql import functions
from workload.types import BIGINT, BOOLEAN, DATE, TIMESTAMP, TIMESTAMP_NTZ, Kind, SqlType, fits
from workload.windows import check_sets, check_windows

Catalog = Mapping[str, tuple[Column, ...]]
"""Table, view, dynamic table or CTE -> its columns."""
Scope = Mapping[str, Mapping[str, SqlType]]
"""Alias -> column -> its type: what the expressions of a block may read."""


def output_columns(query: ir.Query, catalog: Catalog) -> tuple[Column, ...]:
    """Returns the columns a query yields. Raises WorkloadError naming the first thing that is wrong."""
    match query:
        case ir.Select():
            return _select_columns(query, catalog)
        case ir.SetOperation(branches):
            if not branches:
                raise WorkloadError(f"a {query.sql} without branches")
            outputs = [output_columns(branch, catalog) for branch in branches]
            for output in outputs[1:]:
                if [c.type for c in output] != [c.type for c in outputs[0]]:
                    raise WorkloadError(f"the branches of a {query.sql} have different types")
            return outputs[0]
        case ir.Limited():
            return _limited_columns(query, catalog)
        case ir.With(ctes, body):
            if not ctes:
                raise WorkloadError("a WITH without CTEs: SQL has no text for that")
            for cte in ctes:
                if cte.name in catalog:
                    raise WorkloadError(f"CTE {cte.name} hides another relation")
                catalog = {**catalog, cte.name: output_columns(cte.query, catalog)}
            return output_columns(body, catalog)
        case ir.Verbatim(sources=sources, columns=columns):
            _check_unique((name for source in sources for name in relation_scope(source, catalog)), "source")
            _check_unique((name for name, _ in columns), "output column")
            return tuple(Column(name, type_) for name, type_ in columns)
        case _:
            assert_never(query)


def definition_columns(query: ir.Query, catalog: Catalog) -> tuple[Column, ...]:
    """Returns the columns of a whole definition.

    Its own LIMIT may leave ties, as no other may: the judge knows all right results. Raises WorkloadError as
    `output_columns` does.
    """
    tied = tied_order(query)
    return output_columns(query, catalog) if tied is None else _ordered_columns(tied, catalog)


def _limited_columns(limited: ir.Limited, catalog: Catalog) -> tuple[Column, ...]:
    if leaves_ties(limited):
        # What reads one of several right results has several right results, too.
        raise WorkloadError("ORDER BY with LIMIT inside a query leaves rows equal; name all output columns")
    return _ordered_columns(limited, catalog)


def _ordered_columns(limited: ir.Limited, catalog: Catalog) -> tuple[Column, ...]:
    outputs = output_columns(limited.query, catalog)
    if not limited.order or not {key.column for key in limited.order} <= {each.name for each in outputs}:
        raise WorkloadError("ORDER BY with LIMIT names no output column, or one that there is not")
    if limited.count < 0 or limited.offset < 0:
        raise WorkloadError(f"LIMIT {limited.count} OFFSET {limited.offset}: a number of rows is negative")
    return outputs


def _select_columns(select: ir.Select, catalog: Catalog) -> tuple[Column, ...]:
    scope = relation_scope(select.source, catalog)
    if select.where is not None:
        _check_predicate(select.where, scope, "WHERE")
    _check_unique((item.name for item in select.items), "output column")
    if not select.items:
        raise WorkloadError("a SELECT without columns")
    if select.group_by is None:
        if select.having is not None:
            raise WorkloadError("HAVING without GROUP BY")
        if select.sets is not None:
            raise WorkloadError("grouping sets without GROUP BY")
        for item in select.items:
            check_expression(item.expr, scope, windows=True)
        if select.qualify is not None:
            check_expression(select.qualify, scope, windows=True)
    else:
        if not select.group_by and not any(_aggregates(item.expr) for item in select.items):
            raise WorkloadError("one group of all rows, but no aggregate over it: SQL has no text for that")
        check_sets(select)
        _check_grouped(select, select.group_by, scope)
    check_windows(select)
    return tuple(Column(item.name, item.expr.type) for item in select.items)


def _check_grouped(select: ir.Select, keys: tuple[ir.Expr, ...], scope: Scope) -> None:
    for key in keys:
        check_expression(key, scope)
        if not any(isinstance(part, ir.ColumnRef) for part in subexpressions(key)):
            raise WorkloadError("a GROUP BY key without a column: a literal would be read as a position")
    for item in select.items:
        _check_over_groups(item.expr, keys, scope)
    if select.having is not None:
        if select.having.type != BOOLEAN:
            raise WorkloadError("HAVING is not a BOOLEAN")
        _check_over_groups(select.having, keys, scope)
    if select.qualify is not None:
        _check_over_groups(select.qualify, keys, scope)


def _check_over_groups(expr: ir.Expr, keys: tuple[ir.Expr, ...], scope: Scope) -> None:
    # By text: two NaN literals are the same key, though they are not equal.
    if repr(expr) in {repr(key) for key in keys}:
        return
    match expr:
        case ir.Aggregate(function, arg, distinct, _):
            if (arg is None) != (function is ir.AggregateFunction.COUNT_STAR) or (arg is None and distinct):
                raise WorkloadError(f"{function.value}: COUNT(*) takes no argument, the others need one")
            for part in (*(() if arg is None else (arg,)), *expr.extra):
                check_expression(part, scope)
            ensure_form(expr, keys)
        case ir.Call(_, args, _):
            check_call(expr)
            for arg in args:
                _check_over_groups(arg, keys, scope)
        case ir.Window() | ir.Grouping():
            for part in ir.children(expr):
                assert isinstance(part, ir.Expr)
                _check_over_groups(part, keys, scope)
        case ir.Literal():
            check_expression(expr, scope)
        case ir.ColumnRef(relation, name, _):
            raise WorkloadError(f"{relation}.{name} is neither grouped by nor aggregated")
        case _:
            assert_never(expr)


def _aggregates(expr: ir.Expr) -> bool:
    return any(isinstance(part, ir.Aggregate) for part in subexpressions(expr))


def relation_scope(relation: ir.Relation, catalog: Catalog) -> Scope:
    """Returns all that a FROM clause brings into scope. Raises WorkloadError, as `output_columns` does."""
    match relation:
        case ir.Named(name, alias):
            if name not in catalog:
                raise WorkloadError(
                    f"no relation named {name}; known: {', '.join(sorted(catalog)) or 'none'}"
                )
            return {alias: {column.name: column.type for column in catalog[name]}}
        case ir.Derived(query, alias):
            return {alias: {column.name: column.type for column in output_columns(query, catalog)}}
        case ir.Exploded(inner, array, alias, _, _):
            scope = relation_scope(inner, catalog)
            check_expression(array, scope)
            if array.type.kind is not Kind.ARRAY:
                raise WorkloadError(f"{alias} explodes a {array.type}, which is no ARRAY")
            _check_unique((*scope, alias), "alias")
            return {**scope, alias: relation.columns}
        case ir.Join(kind, left, right, on):
            scopes = relation_scope(left, catalog), relation_scope(right, catalog)
            _check_unique((*scopes[0], *scopes[1]), "alias")
            merged = {**scopes[0], **scopes[1]}
            if (on is None) != (kind is ir.JoinKind.CROSS):
                raise WorkloadError(f"{kind.value} {'without' if on is None else 'with'} a condition")
            if on is not None:
                _check_predicate(on, merged, "ON")
            return scopes[0] if kind in ir.MEMBERSHIP else merged
        case _:
            assert_never(relation)


def check_expression(expr: ir.Expr, scope: Scope, *, windows: bool = False) -> None:
    """Raises WorkloadError unless every column of a non-aggregated expression is in scope with its type.

    `windows`: whether window functions may stand in it.
    """
    for part in subexpressions(expr):
        match part:
            case ir.ColumnRef(relation, name, type_):
                if scope.get(relation, {}).get(name) != type_:
                    raise WorkloadError(f"no column {relation}.{name} of type {type_} in scope")
            case ir.Literal(value, type_):
                if not fits(value, type_):
                    raise WorkloadError(f"{value!r} is no {type_}")
            case ir.Aggregate():
                raise WorkloadError("an aggregate where none may stand")
            case ir.Grouping():
                raise WorkloadError("GROUPING without grouping sets")
            case ir.Window():
                if not windows:
                    raise WorkloadError("a window function where none may stand")
            case ir.Call():
                check_call(part)
            case _:
                assert_never(part)


def check_call(call: ir.Call) -> None:
    """Raises WorkloadError unless the function exists and takes that many arguments."""
    count = len(call.args)
    match call.function:
        case functions.CASE:
            fits_shape = count >= 3 and count % 2 == 1
        case functions.IN:
            fits_shape = count >= 2
        case functions.NOW:
            fits_shape = [(type(arg), arg.type) for arg in call.args] == [(ir.Literal, BIGINT)]
            fits_shape = fits_shape and call.type in (DATE, TIMESTAMP, TIMESTAMP_NTZ)
        case name:
            function = functions.FUNCTIONS.get(name)
            fits_shape = function is not None and (
                count == function.arity or (function.arity == -1 and count > 0)
            )
    if not fits_shape:
        raise WorkloadError(f"no function {call.function!r} of {count} arguments; see workload.sql.functions")


def _check_predicate(expr: ir.Expr, scope: Scope, where: str) -> None:
    if expr.type != BOOLEAN:
        raise WorkloadError(f"{where} is not a BOOLEAN")
    check_expression(expr, scope)


def _check_unique(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise WorkloadError(f"duplicate {what} {name}")
        seen.add(name)
