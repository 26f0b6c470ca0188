"""Expressions that the registry does not know, passed to Spark as they are written.

Spark's analysis gives the type, and says whether the value depends on the row alone. The columns, aggregates
and window functions in such an expression are bound as everywhere else, and become arguments of a text
template: `date_trunc('month', d)` is `date_trunc('month', {1})` with the column d. So the expression can
stand in an incremental definition, and Spark evaluates it in every refresh.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from dynamic_tables.errors import DefinitionError
from dynamic_tables.plan.expressions import Expr, Fn, text
from dynamic_tables.plan.functions import PASSED
from dynamic_tables.plan.types import Columns, Type
from dynamic_tables.reading.text.parse import OUTSIDE, function_name
from dynamic_tables.reading.text.spark_text import SparkText
from dynamic_tables.reading.values.aggregate_forms import is_form
from dynamic_tables.reading.values.bind_time import is_time

TypeOf = Callable[[str, Columns], Type | None]
"""(expression, the columns in it) -> its type in Spark; None for what is no expression over one row, or whose
value does not depend on the row alone, or that Spark refuses."""

MARK = "\ue000"
"""Part of the names that stand for columns: a character that no query has."""

LEAVES = (exp.Column, exp.AggFunc, exp.Filter, exp.Window)
"""The parts that are bound in an expression that is passed: columns, aggregates, windows; also times."""

NO_EXPRESSION = (exp.Query, exp.Window, exp.Star, exp.UDTF)
"""Syntax that no expression over one row has."""


def passed(node: exp.Expr, bind: Callable[[exp.Expr], Expr], type_of: TypeOf) -> Expr | None:
    """Returns an expression for Spark to evaluate; None where it cannot be one.

    `bind` binds a column or an aggregate. Raises as `bind` does.
    """
    if any(function_name(call) in OUTSIDE for call in node.find_all(exp.Func)):
        return None
    own = _with_own_variables(node.copy())
    if own is None:
        return None
    args: list[Expr] = []

    def marked(part: exp.Expr) -> exp.Expr:
        if not isinstance(part, LEAVES) and not is_form(part) and not is_time(part):
            return part
        bound, fields = _with_fields(part, bind) if isinstance(part, exp.Column) else (bind(part), ())
        args.append(bound)
        column: exp.Expr = exp.column(f"{MARK}{len(args)}{MARK}", quoted=True)
        for name in fields:
            column = exp.Dot(this=column, expression=name.copy())
        return column

    tree = own.transform(marked)
    if tree.find(*NO_EXPRESSION) is not None:
        return None
    try:
        written = tree.sql(SparkText, unsupported_level=ErrorLevel.RAISE)
    except SqlglotError:
        # With RAISE, sqlglot raises for what it cannot write in Spark's dialect; by default it leaves it out.
        return None
    names = [f"{MARK}{number}{MARK}" for number in range(1, len(args) + 1)]
    type_ = type_of(written, tuple(zip(names, (arg.type for arg in args), strict=True)))
    if type_ is None:
        return None
    # Braces of the text itself, such as those in a pattern, are doubled: the template is filled by `format`.
    template = written.replace("{", "{{").replace("}", "}}")
    for number, name in enumerate(names, 1):
        template = template.replace(f"`{name}`", f"{{{number}}}")
    if MARK in template:
        raise DefinitionError(f"the character {MARK!r} is refused in a query; write it as an escape")
    return Fn(PASSED, (text(template), *args), type_)


def _with_own_variables(tree: exp.Expr) -> exp.Expr | None:
    """Returns an expression in which no variable of a lambda has the name that a column has in the plan.

    None: a variable is written in other capitals than where it is declared, of which sqlglot makes a column.
    """
    lambdas = [*tree.find_all(exp.Lambda)]
    if not any(each.this.find(exp.Column) for each in lambdas):
        return tree
    # The inner lambdas first, because a name in them may be their own variable and hide that of an outer one.
    for number, each in enumerate(reversed(lambdas)):
        names = {variable.name.lower() for variable in each.expressions}
        if any(column.parts[0].name.lower() in names for column in each.this.find_all(exp.Column)):
            return None
        for place, variable in enumerate(list(each.expressions)):
            own = exp.to_identifier(f"$variable{number}_{place}", quoted=True)
            for found in list(each.this.find_all(exp.Identifier)):
                if found.name == variable.name and _is_variable(found):
                    found.replace(own.copy())
            variable.replace(own)
    return tree


def _is_variable(name: exp.Identifier) -> bool:
    """Tells whether a name in the body of a lambda is a value: no column, no field, and no new name."""
    field = isinstance(name.parent, exp.Dot) and name.arg_key == "expression"
    named = isinstance(name.parent, exp.PropertyEQ) and name.arg_key == "this"
    return not (field or named or isinstance(name.parent, exp.Column | exp.Alias | exp.ColumnDef))


def _with_fields(column: exp.Column, bind: Callable[[exp.Expr], Expr]) -> tuple[Expr, Sequence[exp.Expr]]:
    """Returns the column that a name stands for, and the fields of a struct after it: `r.s.a` is the field a.

    As in Spark, a column of a relation comes before a field of a column. Raises as `bind` does: no split of
    the name gives a column.
    """
    parts = column.parts
    for count in (2, 1):
        if count <= len(parts):
            try:
                *qualifier, name = (part.copy() for part in parts[:count])
                named = exp.Column(this=name, table=qualifier[0] if qualifier else None)
                return bind(named), parts[count:]
            except DefinitionError:
                continue
    return bind(column), ()
