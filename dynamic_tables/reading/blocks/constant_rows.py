"""Rows that a query writes out: SELECT without FROM, and VALUES in FROM."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Col, Expr, Lit
from dynamic_tables.plan.nodes import Plan, Project, UnionAll, Values
from dynamic_tables.plan.types import INT, common_of
from dynamic_tables.reading.values.bind_expression import ExpressionBinder
from dynamic_tables.reading.values.scope import Names, Outputs, Scope
from dynamic_tables.reading.values.typed import cast

MOST_ROWS = 200
"""Most rows of VALUES. Each becomes a SELECT of its own in every change query."""


def one_row(names: Names) -> Plan:
    """Returns a plan with one row and a column that nobody reads."""
    return Values((Col(names.fresh("$one"), INT),), ((1,),))


def without_from(names: Names, node: exp.Select) -> tuple[Plan, Scope]:
    """Returns the plan and the scope of a SELECT without FROM. Raises DefinitionError: it selects a star."""
    if any(item.is_star for item in node.expressions):
        raise DefinitionError("a star in a SELECT without FROM; list the columns")
    return one_row(names), Scope(())


def listed_rows(names: Names, node: exp.Values) -> tuple[Plan, Outputs]:
    """Returns the plan and the outputs of VALUES; as in Spark, its columns are `col1`, `col2` and so on.

    Raises DefinitionError: rows of different widths, or types that do not meet. Raises UnsupportedError: too
    many rows.
    """
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        raise DefinitionError(f"the rows of VALUES have {sorted(widths)} columns; give each the same number")
    if len(rows) > MOST_ROWS:
        raise UnsupportedError(f"VALUES of more than {MOST_ROWS} rows", "write them into a table")
    binder = ExpressionBinder(Scope(()).resolve, type_of=names.type_of)
    # A NULL has the type of the other values of its column.
    bound = [[None if isinstance(value, exp.Null) else binder.bind(value) for value in row] for row in rows]
    outputs = tuple(_output(names, n, column) for n, column in enumerate(zip(*bound, strict=True), start=1))
    branches = tuple(Project(one_row(names), tuple(map(_item, outputs, row))) for row in bound)
    return branches[0] if len(branches) == 1 else UnionAll(branches), outputs


def _output(names: Names, number: int, values: Sequence[Expr | None]) -> tuple[str, Col]:
    """Returns the output of a column of VALUES, with the common type of its values (None: a NULL)."""
    types = tuple(value.type for value in values if value is not None)
    if not types:
        raise UnsupportedError("untyped NULL", "write CAST(NULL AS type)")
    type_ = common_of(types)
    if type_ is None:
        raise DefinitionError(f"column {number} of VALUES has types that do not meet; cast them")
    return f"col{number}", Col(names.fresh(f"col{number}"), type_)


def _item(output: tuple[str, Col], value: Expr | None) -> tuple[str, Expr]:
    """Returns a value of VALUES under the name of its column, cast to the type of the column."""
    _, target = output
    return target.name, Lit(None, target.type) if value is None else cast(value, target.type)
