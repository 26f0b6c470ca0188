"""Functions that make rows of the elements of an array: explode, posexplode and inline, each also `_outer`.

They stand in LATERAL VIEW, in LATERAL joins and in the select list. An array has one row for each element; a
map is read as the array of its pairs, and inline shows the fields of the elements instead of the elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Col, Expr, Fn, text, walk
from dynamic_tables.plan.functions import FIELD, MAP_ENTRIES, PASSED, VARIANT_ELEMENTS
from dynamic_tables.plan.nested_types import (
    array_type,
    element_of,
    fields_of,
    pair_of,
    pairs_type,
    struct_type,
)
from dynamic_tables.plan.nodes import Explode, Plan, Project, columns
from dynamic_tables.plan.types import INT, STRING, VARIANT, Columns, Type
from dynamic_tables.reading.text.parse import function_name, parts
from dynamic_tables.reading.text.spark_text import SparkText
from dynamic_tables.reading.values.aggregates import aggregate_of
from dynamic_tables.reading.values.bind_expression import ExpressionBinder
from dynamic_tables.reading.values.scope import Names, Outputs, Scope, listed

NAMES = ("explode", "posexplode", "inline")
VARIANT_FUNCTION = "variant_explode"
"""The function that makes a row of each element of a VARIANT; it stands in FROM only."""

VARIANT_COLUMNS: Columns = (("key", STRING), ("value", VARIANT))
"""The columns that `variant_explode` has for an element, beside its position."""

OUTER = "_outer"
"""The end of the name of a function that pads a row whose array has no elements."""

GENERATED = "$generated"
"""The prefix of the aliases of the relations that `explode` in the select list makes."""


@dataclass(frozen=True, slots=True)
class Exploding:
    """A call of such a function: its name without `_outer`, and its one argument."""

    name: str
    outer: bool
    array: exp.Expr


def exploding(node: exp.Expr) -> Exploding | None:
    """Returns the call that a syntax node is; None for any other node.

    Raises UnsupportedError: for another function that makes rows. Raises DefinitionError: several arguments.
    """
    if not isinstance(node, exp.Func):
        return None
    written = function_name(node)
    name = written.removesuffix(OUTER)
    if name not in (*NAMES, VARIANT_FUNCTION):
        if isinstance(node, exp.UDTF):
            raise UnsupportedError(f"function {written}", "of those that make rows, explode and inline do")
        return None
    args = node.expressions if isinstance(node, exp.Anonymous) else [node.this, *node.expressions]
    if len(args) != 1:
        raise DefinitionError(f"{written} of {len(args)} arguments; it takes one array")
    return Exploding(name, written.endswith(OUTER), args[0])


def ensure_in_from(call: Exploding) -> None:
    """Raises DefinitionError: to Spark, the function is one of FROM only, and stands elsewhere."""
    if call.name == VARIANT_FUNCTION:
        raise DefinitionError(f"{call.name} stands in FROM: write FROM r, LATERAL {call.name}(r.v) AS e")


def exploded(names: Names, plan: Plan, scope: Scope, call: Exploding, *, outer: bool) -> tuple[Plan, Outputs]:
    """Returns a plan with one row for each element, and the outputs that the call adds, by Spark's names.

    `outer`: a row without elements stays, as if the function were an `_outer` one.
    Raises DefinitionError: what is to be exploded is no array. Raises UnsupportedError: it cannot be bound.
    """
    array = ExpressionBinder(scope.resolve, type_of=names.type_of).bind(call.array)
    array, element, shown = _elements(call, array)
    floats = names.is_float_aggregate(array)
    if floats and any(isinstance(part, Fn) and part.name == PASSED for part in walk(array)):
        raise UnsupportedError(f"{call.name} of a computed float aggregate", "it may have other elements")
    result, position, outputs = _with_elements(names, plan, array, element, shown, outer or call.outer)
    if floats:
        names.float_aggregates.update(column.name for _, column in outputs)
    shows_position = call.name in ("posexplode", VARIANT_FUNCTION)
    return result, ((("pos", position), *outputs) if shows_position else outputs)


def inlined(names: Names, plan: Plan, array: Expr, fields: Columns) -> tuple[Plan, Outputs]:
    """Returns a plan with one row for each struct of an array, and the fields of these structs as outputs."""
    result, _, outputs = _with_elements(names, plan, array, struct_type(fields), fields, False)
    return result, outputs


def _with_elements(
    names: Names, plan: Plan, array: Expr, element: Type, shown: Columns | None, outer: bool
) -> tuple[Plan, Col, Outputs]:
    """Returns a plan with a row for each element, its position, and the element or its fields."""
    position, value = Col(names.fresh("pos"), INT), Col(names.fresh("col"), element)
    result: Plan = Explode(plan, array, outer, position, value)
    if shown is None:
        return result, position, (("col", value),)
    outputs = tuple((name, Col(names.fresh(name), type_)) for name, type_ in shown)
    fields: Sequence[tuple[str, Expr]] = [
        (column.name, Fn(FIELD, (value, text(name)), column.type)) for name, column in outputs
    ]
    kept = (*columns(plan), position)
    return Project(result, (*((each.name, each) for each in kept), *fields)), position, outputs


def _elements(call: Exploding, array: Expr) -> tuple[Expr, Type, Columns | None]:
    """Returns an array, the type of its elements, and the fields that are shown instead of them, if any."""
    element, pair = element_of(array.type), pair_of(array.type)
    if call.name == VARIANT_FUNCTION:
        if array.type == VARIANT:
            type_ = struct_type(VARIANT_COLUMNS)
            return Fn(VARIANT_ELEMENTS, (array,), array_type(type_)), type_, VARIANT_COLUMNS
        wanted = "a VARIANT"
    elif call.name == "inline":
        fields = None if element is None else fields_of(element)
        if element is not None and fields is not None:
            return array, element, fields
        wanted = "an ARRAY of STRUCTs"
    elif element is not None:
        return array, element, None
    elif pair is not None:
        fields = (("key", pair[0]), ("value", pair[1]))
        return Fn(MAP_ENTRIES, (array,), pairs_type(pair)), struct_type(fields), fields
    else:
        wanted = "an ARRAY or a MAP"
    written = call.array.sql(SparkText)
    raise DefinitionError(f"{call.name}({written}): {written} is of type {array.type}; it must be {wanted}")


def with_lateral_views(names: Names, plan: Plan, scope: Scope, node: exp.Select) -> tuple[Plan, Scope]:
    """Returns the plan and the scope of a FROM clause with the LATERAL VIEWs after it; each sees the others.

    Raises DefinitionError or UnsupportedError for one that cannot be bound.
    """
    order = list(node.args)
    views = node.args.get("laterals") or ()
    # sqlglot keeps the clauses in the order in which they are written.
    if views and node.args.get("joins") and order.index("laterals") < order.index("joins"):
        raise DefinitionError("a JOIN after LATERAL VIEW is no Spark SQL; write the views after all joins")
    for view in views:
        for part in parts(view):
            if part not in ("this", "view", "outer", "alias"):
                raise UnsupportedError(f"LATERAL VIEW with {part.replace('_', ' ')}")
        call = exploding(view.this)
        if call is None:
            raise UnsupportedError(
                f"LATERAL VIEW of {function_name(view.this)}", "it makes no rows of arrays"
            )
        ensure_in_from(call)
        plan, outputs = exploded(names, plan, scope, call, outer=bool(view.args.get("outer")))
        scope = beside(scope, view.alias, listed(outputs, view.args.get("alias")))
    return plan, scope


def beside(scope: Scope, alias: str, outputs: Outputs) -> Scope:
    """Returns a scope with one more relation, which may have the alias of another one."""
    return replace(scope, relations=(*scope.relations, (alias.lower(), outputs)))


def with_exploded_items(
    names: Names, plan: Plan, scope: Scope, node: exp.Select
) -> tuple[Plan, Scope, exp.Select]:
    """Returns plan, scope and syntax of a block whose select list names the elements instead of the arrays.

    Several calls give all combinations of their elements, as in Spark.
    Raises UnsupportedError: the block has groups. Raises DefinitionError or UnsupportedError as `exploded`.
    """
    calls = [exploding(_called(item)) for item in node.expressions]
    if not any(calls):
        return plan, scope, node
    for found in filter(None, calls):
        ensure_in_from(found)
    if any(node.args.get(name) for name in ("group", "having", "qualify")) or any(
        _over_rows(node.expressions)
    ):
        raise UnsupportedError("explode beside groups or windows", "put one of them into a sub-select")
    node, items, inputs = node.copy(), [], scope
    for number, (item, call) in enumerate(zip(node.expressions, calls, strict=True)):
        if call is None:
            items.append(item)
            continue
        # Bound over the columns of FROM: no call may read the elements that another one makes.
        plan, outputs = exploded(names, plan, inputs, call, outer=False)
        outputs = _renamed(outputs, _aliases(item), call)
        scope = beside(scope, f"{GENERATED}{number}", outputs)
        scope = replace(scope, hidden=scope.hidden | {column.name for _, column in outputs})
        for name, _ in outputs:
            column = exp.column(name, table=f"{GENERATED}{number}", quoted=True)
            items.append(exp.alias_(column, name, quoted=True))
    node.set("expressions", items)
    return plan, scope, node


def _called(item: exp.Expr) -> exp.Expr:
    """Returns the expression of an item of a select list, without its aliases."""
    called: exp.Expr = item.this if isinstance(item, exp.Alias | exp.Aliases) else item
    return called


def _aliases(item: exp.Expr) -> Sequence[str]:
    """Returns the aliases of an item of a select list; a call of several columns may have several."""
    match item:
        case exp.Alias():
            return [item.alias]
        case exp.Aliases():
            return [name.name for name in item.expressions]
        case _:
            return []


def _renamed(outputs: Outputs, aliases: Sequence[str], call: Exploding) -> Outputs:
    """Returns the outputs of a call under the aliases of its item, if it has any.

    Raises DefinitionError: there are more aliases than outputs, or fewer.
    """
    if aliases and len(aliases) != len(outputs):
        raise DefinitionError(f"{call.name} gives {len(outputs)} columns; {len(aliases)} are named")
    named = aliases or [name for name, _ in outputs]
    return tuple((name, column) for name, (_, column) in zip(named, outputs, strict=True))


def _over_rows(items: Sequence[exp.Expr]) -> Iterator[bool]:
    """Yields for each part of items whether it is an aggregate or a window function."""
    for item in items:
        for part in item.walk(prune=lambda node: isinstance(node, exp.Query)):
            yield isinstance(part, exp.AggFunc | exp.Window) or aggregate_of(part) is not None
