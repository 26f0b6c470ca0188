"""Binds the select list of a query block, with GROUP BY, HAVING and QUALIFY where it has them.

Every expression is bound over the rows of FROM first. In a grouped block it is then rewritten over the
groups: an expression that is a key becomes the column of that key, an aggregate a column of the grouping, and
any other column is an error. `SELECT k + 1, SUM(x) * 2 ... GROUP BY k` is a projection over the columns k and
sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Agg, Col, Expr, Fn, Lit, Win, mapped, walk
from dynamic_tables.plan.functions import GROUPING, PASSED
from dynamic_tables.plan.nodes import Aggregate, Filter, Plan, Project
from dynamic_tables.plan.rewrites.grouping_sets import keys_as_written, places_in, sets_of, union_of_sets
from dynamic_tables.plan.rewrites.total_order import are_alike
from dynamic_tables.plan.types import BIGINT, BOOLEAN
from dynamic_tables.reading.blocks.output_names import own_name
from dynamic_tables.reading.blocks.subquery_columns import (
    Beside,
    names_beside,
    over_groups,
    refuse_keys_of_sets,
)
from dynamic_tables.reading.blocks.windowed import has_window, with_windows
from dynamic_tables.reading.text.parse import parts
from dynamic_tables.reading.values.aggregate_forms import (
    ensure_determined_by,
    ensure_spark_runs,
    is_aggregated,
)
from dynamic_tables.reading.values.bind_expression import ExpressionBinder
from dynamic_tables.reading.values.scope import Bound, Names, Outputs, Scope
from dynamic_tables.reading.values.struct_fields import fields_shown
from dynamic_tables.reading.values.typed import predicate

NamedItems = list[tuple[str, Expr]]

UNNAMED = "_c"
"""The prefix of the name of an output without an alias (`_c0`), where Spark takes the text as its name."""


def bind_items(
    names: Names, node: exp.Select, plan: Plan, scope: Scope, beside: Sequence[Beside] = ()
) -> Bound:
    """Returns a query block, given the plan and the scope of its FROM and WHERE.

    `beside`: the values and marks of subqueries that are joined with its groups, once these are formed.

    Raises DefinitionError or UnsupportedError for select items, keys and HAVING that cannot be bound.
    """
    items = _items(names, node, scope)
    having = node.args.get("having")
    condition = None if having is None else _over_outputs(names, having.this, node, items, scope, "HAVING")
    qualify = node.args.get("qualify")
    kept = None if qualify is None else _over_outputs(names, qualify.this, node, items, scope, "QUALIFY")
    group = node.args.get("group")
    exprs = [*(expr for _, expr in items), *_listed(condition), *_listed(kept)]
    sets = None if group is None else sets_of(group)
    if sets is None and any(isinstance(p, Fn) and p.name == GROUPING for expr in exprs for p in walk(expr)):
        raise DefinitionError("GROUPING without GROUPING SETS, ROLLUP or CUBE")
    # A HAVING alone makes one group of all rows, as an aggregate does.
    if group is None and not any(map(_has_aggregate, exprs)) and condition is None and not beside:
        return _windowed(names, plan, items, kept)
    joined = names_beside(beside)
    # An item that reads a value which is joined with the groups cannot be a key of them: GROUP BY ALL, which
    # takes every item without an aggregate as a key, leaves it out.
    of_rows = [
        item for item in items if not any(isinstance(p, Col) and p.name in joined for p in walk(item[1]))
    ]
    keyed = of_rows if group is not None and group.args.get("all") else items
    grouped = _grouping(names, group, sets, node, keyed, scope)
    grouped.beside = joined
    projected = [(name, grouped.over_groups(expr)) for name, expr in items]
    filtered = None if condition is None else grouped.over_groups(condition)
    kept = None if kept is None else grouped.over_groups(kept)
    beside = over_groups(names, beside, grouped.over_groups)
    if sets is not None:
        refuse_keys_of_sets(beside, (name for name, _ in grouped.keys))
    ensure_spark_runs(aggregate for _, aggregate in grouped.aggregates)
    result = grouped.plan(plan)
    for each in beside:
        result = each.onto(result)
    if filtered is not None:
        if filtered.type != BOOLEAN:
            raise DefinitionError(f"HAVING is of type {filtered.type}; it must be BOOLEAN")
        names.refuse_float_comparison(filtered, "HAVING")
        result = Filter(result, filtered)
    return _windowed(names, result, projected, kept)


def _grouping(
    names: Names,
    group: exp.Expr | None,
    sets: list[list[exp.Expr]] | None,
    node: exp.Select,
    items: NamedItems,
    scope: Scope,
) -> Grouping:
    """Returns the grouping of a block: by the keys of GROUP BY, by sets of keys, or of all rows."""
    if group is None:
        return Grouping(names, [], scope)
    if sets is None:
        keys = _keys(names, group, node, items, scope)
        names.refuse_keys([key for _, key in keys], "GROUP BY")
        return Grouping(names, keys, scope)
    bound = [[_key(names, key, node, items, scope) for key in each] for each in sets]
    # Keys in the order in which they are written first: GROUPING_ID counts them so.
    name_of: dict[Expr, str] = {}
    for written in keys_as_written(group):
        name, key = _key(names, written, node, items, scope)
        name_of.setdefault(key, name)
    for name, key in (pair for each in bound for pair in each):
        name_of.setdefault(key, name)
    names.refuse_keys(name_of, "GROUP BY")
    exprs = list(name_of)
    places = list(places_in(exprs, [[key for _, key in each] for each in bound]))
    return Grouping(names, [(name, key) for key, name in name_of.items()], scope, places)


def _listed(condition: Expr | None) -> list[Expr]:
    """Returns a condition as a list; an empty one if there is no condition."""
    return [] if condition is None else [condition]


def _windowed(names: Names, plan: Plan, items: NamedItems, qualify: Expr | None) -> Bound:
    """Returns a block over the rows or groups of a plan: window functions, then QUALIFY, then the outputs."""
    exprs = [*(expr for _, expr in items), *_listed(qualify)]
    if qualify is not None and not any(map(has_window, exprs)):
        raise DefinitionError("QUALIFY without a window function; write WHERE or HAVING")
    plan, exprs = with_windows(names, plan, exprs)
    if qualify is not None:
        condition = predicate(exprs.pop(), "QUALIFY")
        names.refuse_float_comparison(condition, "QUALIFY")
        plan = Filter(plan, condition)
    return _project(names, plan, [(name, expr) for (name, _), expr in zip(items, exprs, strict=True)])


def _project(names: Names, plan: Plan, items: NamedItems) -> Bound:
    """Returns a block with a fresh column for each item, and notes which of them are float aggregates."""
    outputs = []
    projections = []
    for name, expr in items:
        column = Col(names.fresh(name), expr.type)
        if names.is_float_aggregate(expr):
            names.float_aggregates.add(column.name)
        outputs.append((name, column))
        projections.append((column.name, expr))
    return Bound(Project(plan, tuple(projections)), tuple(outputs))


def _items(names: Names, node: exp.Select, scope: Scope) -> NamedItems:
    """Returns the items of the select list over the rows of FROM, each with its name, stars expanded."""
    binder = ExpressionBinder(scope.resolve, aggregates=True, windows=True, type_of=names.type_of)
    items: NamedItems = []
    for position, item in enumerate(node.expressions):
        match item:
            case exp.Star():
                items.extend(without_excepted(item, scope.star(None)))
            case exp.Column(this=exp.Star()):
                shown = fields_shown(scope, item)
                if shown and any(node.args.get(name) for name in ("having", "qualify")):
                    # The names in these clauses are looked up among outputs without them.
                    raise UnsupportedError(
                        "fields of a struct as s.* beside HAVING or QUALIFY", "list the fields"
                    )
                items.extend(shown or without_excepted(item.this, scope.star(item.table)))
            case exp.Alias():
                items.append((item.alias, binder.bind(item.this)))
            case _:
                name = own_name(item, node) or f"{UNNAMED}{position}"
                items.append((name, binder.bind(item)))
    return items


def _has_aggregate(expr: Expr) -> bool:
    """Tells whether an expression has an aggregate, one before OVER not counted."""
    return any(isinstance(part, Agg) for part in walk(expr))


def without_excepted(star: exp.Expr, outputs: Outputs) -> Outputs:
    """Returns the columns of a star without those that EXCEPT lists."""
    if any(name != "except_" for name in parts(star)):
        raise UnsupportedError("* REPLACE or RENAME", "list the columns")
    listed = [each.name.lower() for each in star.args.get("except_") or ()]
    columns = [name.lower() for name, _ in outputs]
    for name in listed:
        if columns.count(name) != 1 or listed.count(name) != 1:
            raise UnsupportedError(f"* EXCEPT ({name})", "it is not the name of one column of the star")
    return tuple(output for output in outputs if output[0].lower() not in listed)


def _keys(names: Names, group: exp.Expr, node: exp.Select, items: NamedItems, scope: Scope) -> NamedItems:
    """Returns the keys of a GROUP BY without grouping sets; ALL stands for each item without an aggregate."""
    for name in parts(group):
        if name not in ("expressions", "all"):
            raise UnsupportedError(name.replace("_", " ").upper())
    if group.args.get("all"):
        if group.expressions:
            raise UnsupportedError("GROUP BY ALL with keys", "write either ALL or the keys")
        keys = [(name, expr) for name, expr in items if not _has_aggregate(expr)]
        if any(has_window(expr) for _, expr in keys):
            raise DefinitionError("GROUP BY ALL beside a window function without an aggregate; list the keys")
        return keys
    return [_key(names, key, node, items, scope) for key in group.expressions]


def _key(names: Names, key: exp.Expr, node: exp.Select, items: NamedItems, scope: Scope) -> tuple[str, Expr]:
    """Returns one key of GROUP BY and a name for its column."""
    key = key.unnest() if isinstance(key.unnest(), exp.Column) else key
    # A whole number is a position in the select list; then comes an output of that name, unless FROM has a
    # column of the name; else it is an expression over FROM.
    if isinstance(key, exp.Literal) and key.is_int:
        position = int(str(key.this))
        if not 1 <= position <= len(items):
            raise DefinitionError(f"GROUP BY {position}: there are {len(items)} columns")
        name, expr = items[position - 1]
    elif names_output(key, node, scope):
        name, expr = next((name, expr) for name, expr in items if name.lower() == key.name.lower())
    else:
        name = key.name if isinstance(key, exp.Column) else "key"
        expr = ExpressionBinder(scope.resolve, type_of=names.type_of).bind(key)
    if _has_aggregate(expr) or has_window(expr):
        raise DefinitionError(f"GROUP BY {name}: an aggregate or window function cannot be a key")
    return name, expr


def _plain_keys(node: exp.Select, items: NamedItems, scope: Scope) -> Sequence[Expr] | None:
    """Returns the keys of GROUP BY if each is a column of FROM or a position; None otherwise."""
    group = node.args.get("group")
    if group is None or {*parts(group)} != {"expressions"}:
        return None
    keys = []
    for key in group.expressions:
        if isinstance(key, exp.Literal) and key.is_int and 1 <= int(str(key.this)) <= len(items):
            keys.append(items[int(str(key.this)) - 1][1])
        elif isinstance(key, exp.Column) and _names_input(key, scope):
            keys.append(scope.resolve(key))
        else:
            return None
    return keys


def _over_outputs(
    names: Names, condition: exp.Expr, node: exp.Select, items: NamedItems, scope: Scope, clause: str
) -> Expr:
    """Binds HAVING or QUALIFY, in which a plain name outside of aggregates may stand for an output.

    In `SELECT k, SUM(x) AS k2 ... HAVING k2 > 1` it does. Where the name is also that of a column of FROM,
    the meaning depends on Spark's order of look-up: a key of GROUP BY first, then the outputs.
    """

    def resolve(column: exp.Column) -> Expr:
        name = column.name.lower()
        of_window_clause = isinstance(column.root(), exp.Window)
        if column.table or name not in _aliases(node) or is_aggregated(column) or of_window_clause:
            return scope.resolve(column)
        output_expr = next(expr for output, expr in items if output.lower() == name)
        if _names_input(column, scope) and scope.resolve(column) != output_expr:
            keys = _plain_keys(node, items, scope) if clause == "HAVING" else None
            if keys is None:
                reason = "it names a column and an output; qualify it, or rename the output"
                raise UnsupportedError(f"{clause} over {column.name}", reason)
            # In Spark a key comes first, then the outputs.
            return scope.resolve(column) if scope.resolve(column) in keys else output_expr
        return output_expr

    windows = clause == "QUALIFY"
    return ExpressionBinder(resolve, aggregates=True, windows=windows, type_of=names.type_of).bind(condition)


def names_output(key: exp.Expr, node: exp.Select, scope: Scope) -> bool:
    """Tells whether a key of GROUP BY is the name of an output of the block.

    As in Spark, an input column comes before an output column of the same name.
    """
    plain = isinstance(key, exp.Column) and not key.table and not _names_input(key, scope)
    return plain and key.name.lower() in _aliases(node)


def _names_input(key: exp.Column, scope: Scope) -> bool:
    """Tells whether FROM has a column of this name. Relations of the engine, `$...`, do not count."""
    written = (outputs for alias, outputs in scope.relations if not alias.startswith("$"))
    return any(output.lower() == key.name.lower() for outputs in written for output, _ in outputs)


def _aliases(node: exp.Select) -> Sequence[str]:
    """Returns the aliases in a select list, in lower case."""
    return [item.alias.lower() for item in node.expressions if isinstance(item, exp.Alias)]


class Grouping:
    """Rewrites expressions over input rows into expressions over groups, and collects the aggregates.

    Call `over_groups` for every expression of the block first; `plan` then makes the grouping with the
    aggregates that were met. `sets`: grouping sets, as positions in the keys. `beside`: the names of columns
    that are joined with the groups, and so stay as they are.
    """

    def __init__(
        self, names: Names, keys: NamedItems, scope: Scope, sets: Sequence[Sequence[int]] | None = None
    ) -> None:
        self.names = names
        self.scope = scope
        self.sets = sets
        self.beside: frozenset[str] = frozenset()
        self.groupings: list[tuple[str, Fn]] = []
        self.keys: NamedItems = [(names.fresh(name), expr) for name, expr in keys]
        self.aggregates: list[tuple[str, Agg]] = []

    def plan(self, child: Plan) -> Plan:
        """Returns the groups of the rows of a plan, with the keys and aggregates collected so far.

        Raises UnsupportedError: the value of an aggregate may depend on the order of the rows.
        """
        for _, aggregate in self.aggregates:
            ensure_determined_by(
                aggregate, self._sure_keys(), partial(are_alike, child), self.names.is_float_aggregate
            )
        if self.sets is None:
            if not (self.keys or self.aggregates):
                # `SELECT 1 FROM r HAVING TRUE` is one group without any column, but a SELECT needs one.
                self.aggregates.append((self.names.fresh("count"), Agg("COUNT", None, False, BIGINT)))
            return Aggregate(child, tuple(self.keys), tuple(self.aggregates))
        fresh = self.names.fresh
        return union_of_sets(child, self.keys, self.aggregates, self.groupings, self.sets, fresh)

    def over_groups(self, expr: Expr) -> Expr:
        """Returns the expression over keys and aggregates. Raises DefinitionError for any other column."""
        # From the outside in: `GROUP BY a + 1` makes `a + 1` a column, although `a` alone is none.
        for name, key in self.keys:
            if expr == key:
                return Col(name, key.type)
        match expr:
            case Agg():
                return self._aggregate(expr)
            case Fn(name, _, _) if name == GROUPING:
                return self._left_out(expr)
            case Fn(name, (template, *args), type_) if name == PASSED:
                return Fn(name, (template, *map(self.over_groups, args)), type_)
            case Fn(name, args, type_):
                return Fn(name, tuple(self.over_groups(arg) for arg in args), type_)
            case Win():
                # An aggregate before OVER is computed over the groups; those in its argument over the rows.
                return mapped(expr, self.over_groups)
            case Lit():
                return expr
            case Col(name, _) if name in self.beside:
                return expr
            case Col():
                raise DefinitionError(
                    f"column {self.scope.shown(expr)} is neither in GROUP BY nor in an aggregate"
                )

    def _sure_keys(self) -> list[Expr]:
        """Returns the keys in which the rows of every group are equal: those that all grouping sets have."""
        places = set(range(len(self.keys))).intersection(*map(set, self.sets or ()))
        return [key for place, (_, key) in enumerate(self.keys) if place in places]

    def _left_out(self, expr: Fn) -> Col:
        """Returns the column of a call of GROUPING or GROUPING_ID; equal calls share one."""
        for name, other in self.groupings:
            if other == expr:
                return Col(name, expr.type)
        name = self.names.fresh(GROUPING)
        self.groupings.append((name, expr))
        return Col(name, expr.type)

    def _aggregate(self, expr: Agg) -> Col:
        """Returns the column of an aggregate; equal aggregates share one."""
        for name, other in self.aggregates:
            if other == expr:
                return Col(name, expr.type)
        name = self.names.fresh(expr.name.lower())
        if expr.adds_floats or any(map(self.names.is_float_aggregate, expr.args)):
            self.names.float_aggregates.add(name)
        self.aggregates.append((name, expr))
        return Col(name, expr.type)
