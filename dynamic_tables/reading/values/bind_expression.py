"""From the expressions of a syntax tree to typed expressions over columns.

The registry (`plan.functions`) has the functions that are written in both dialects, for Spark and for DuckDB.
An expression that it does not know, or knows only for other types, is passed to Spark as text (`passed`), if
there is a Spark. A part of a syntax node that no case reads is refused, not dropped: a query must not
silently mean something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.expressions import Agg, Expr, Fn, Lit, boolean, joined, text
from dynamic_tables.plan.functions import CASE, GROUPING, IN, PASSED, STRUCT, WINDOW_END, case_type
from dynamic_tables.plan.nested_types import array_type, element_of, struct_type
from dynamic_tables.plan.types import BIGINT, BOOLEAN, DATE, INT, TEMPORAL, TINYINT, Type, common, common_of
from dynamic_tables.reading.text.parse import function_name, parts
from dynamic_tables.reading.text.time_windows import WindowEnd
from dynamic_tables.reading.values.aggregate_forms import bound_form, is_form
from dynamic_tables.reading.values.aggregates import aggregate_of
from dynamic_tables.reading.values.bind_time import bound_time, is_time, shifted
from dynamic_tables.reading.values.bind_window import bind_window
from dynamic_tables.reading.values.literals import beside_dates, binary, integer, literal, suffixed
from dynamic_tables.reading.values.passed import TypeOf, passed
from dynamic_tables.reading.values.refusals import not_admitted
from dynamic_tables.reading.values.struct_fields import field_of
from dynamic_tables.reading.values.typed import aggregate, call, cast, to_type

ResolveColumn = Callable[[exp.Column], Expr]
"""From a name to the column that it stands for. Raises DefinitionError: there is no such column."""

BINARY: Mapping[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "is not distinct from",
    exp.NullSafeNEQ: "is distinct from",
    exp.And: "and",
    exp.Or: "or",
    exp.DPipe: "concat",
    exp.Nullif: "nullif",
}
"""The functions of the registry with two arguments, by their syntax; UNARY and NARY have the others."""

UNARY: Mapping[type[exp.Expr], str] = {
    exp.Not: "not",
    exp.Abs: "abs",
    exp.Upper: "upper",
    exp.Lower: "lower",
    exp.Trim: "trim",
    exp.Length: "length",
    exp.Year: "year",
    exp.Month: "month",
    exp.Day: "day",
}

NARY: Mapping[type[exp.Expr], str] = {exp.Coalesce: "coalesce", exp.Greatest: "greatest", exp.Least: "least"}

SYNTAX_ONLY = frozenset(
    {"safe", "typed", "big_int", "ignore_nulls", "coalesce", "unit", "to", "is_string", "default_on_null"}
)
"""Arguments that sqlglot sets by itself and that do not change the value of an admitted expression."""


@dataclass(frozen=True, slots=True)
class ExpressionBinder:
    """Binds the expressions of one scope; `aggregates` and `windows` say whether these are allowed in them.

    `resolve`: returns the column of a name. `nested`: whether an aggregate may stand inside another one, as
    in `SUM(SUM(x)) OVER ()`, where the outer one is a window function over groups. `type_of`: asks Spark for
    the type of an expression that the registry does not know; None where there is no Spark to ask.
    """

    resolve: ResolveColumn
    aggregates: bool = False
    type_of: TypeOf | None = None
    windows: bool = False
    nested: bool = False

    def bind(self, node: exp.Expr) -> Expr:
        """Returns the typed expression; one that only Spark knows is passed to it as it is written.

        Raises DefinitionError: for an expression that Spark would refuse.
        Raises UnsupportedError: for an expression that is right but that no rule covers.
        """
        try:
            return self._known(node)
        except (DefinitionError, UnsupportedError) as error:
            if self.type_of is None:
                raise
            # If Spark does not take it either, the first error is the better message.
            try:
                unknown = passed(node, self._known, self.type_of)
            except (DefinitionError, UnsupportedError):
                unknown = None
            if unknown is None:
                raise error from None
            return unknown

    def _known(self, node: exp.Expr) -> Expr:
        """Returns an expression of the registry. Raises UnsupportedError for all others."""
        kind = type(node)
        if is_time(node):
            return bound_time(node)
        if kind in (exp.Add, exp.Sub) and isinstance(node.expression, exp.Interval):
            moved = shifted(self._known(node.this), "+" if kind is exp.Add else "-", node.expression)
            if moved is not None:
                return moved
        if kind in (exp.And, exp.Or):
            # A chain may have hundreds of parts.
            parts = [self.bind(part) for part in node.flatten(unnest=False)]
            return joined(parts, lambda left, right: call(BINARY[kind], left, right))
        if kind in BINARY:
            _only(node, "this", "expression")
            left, right = self.bind(node.this), self.bind(node.expression)
            if kind in (exp.Add, exp.Sub) and (left.type, right.type) == (DATE, INT):
                return call("date_add", left, right if kind is exp.Add else call("negate", right))
            return call(BINARY[kind], left, right)
        if kind in UNARY:
            _only(node, "this")
            return self.apply(UNARY[kind], _without_date_wrapper(node.this))
        if kind in NARY:
            _only(node, "this", "expressions")
            return self.apply(NARY[kind], node.this, *node.expressions)
        if is_form(node):
            self._ensure_aggregates(function_name(node).upper())
            inner = ExpressionBinder(self.resolve, aggregates=self.nested, type_of=self.type_of)
            return bound_form(node, inner.bind)
        aggregate = aggregate_of(node)
        if aggregate is not None:
            return self._aggregate(*aggregate)
        special = SPECIAL.get(kind)
        if special is not None:
            return special(self, node)
        raise not_admitted(node)

    def apply(self, name: str, *nodes: exp.Expr) -> Expr:
        """Binds the arguments of a function of the registry and returns its call. Raises as `bind` does."""
        return call(name, *(self.bind(node) for node in nodes))

    def _ensure_aggregates(self, name: str) -> None:
        """Raises DefinitionError: an aggregate stands where none may."""
        if not self.aggregates:
            raise DefinitionError(
                f"{name} stands where no aggregate may: in WHERE, ON, GROUP BY or in another aggregate"
            )

    def _aggregate(self, name: str, node: exp.Expr) -> Expr:
        """Returns a plain aggregate of one argument."""
        self._ensure_aggregates(name)
        if node.expressions:
            raise UnsupportedError(f"{name} of several columns")
        _only(node, "this")
        inner = node.this
        if inner is None:
            raise DefinitionError(f"{name}() has no argument; write COUNT(*) to count rows")
        if isinstance(inner, exp.Star) and name == "COUNT" and not any(parts(inner)):
            return Agg("COUNT", None, False, BIGINT)
        if inner.is_star:
            # Any other star stands for columns: MAX(*) over one column, COUNT(* EXCEPT (a)), COUNT(r.*).
            raise UnsupportedError(f"{name} of several columns")
        distinct = isinstance(inner, exp.Distinct)
        if distinct:
            if len(inner.expressions) != 1 or inner.args.get("on"):
                raise UnsupportedError(f"{name} of several columns")
            inner = inner.expressions[0]
        argument = ExpressionBinder(self.resolve, aggregates=self.nested, type_of=self.type_of)
        return aggregate(name, argument.bind(inner), distinct)


def _only(node: exp.Expr, *names: str) -> None:
    """Raises UnsupportedError for a construct with parts that the caller would silently drop."""
    for name in parts(node):
        if name not in names and name not in SYNTAX_ONLY:
            raise UnsupportedError(
                f"{function_name(node)} with {name.replace('_', ' ')}", "no rule for this form"
            )


def _without_date_wrapper(node: exp.Expr) -> exp.Expr:
    """Returns the argument of a function of dates as the user wrote it."""
    # sqlglot wraps the argument of year(), datediff() ... in a marker of its own.
    return node.this if isinstance(node, exp.TsOrDsToDate) else node


def _negate(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Returns a negated value; the least integer of a type is a literal."""
    _only(node, "this")
    # The sign belongs to a literal: -2147483648 is an INT, though 2147483648 is not.
    if isinstance(node.this, exp.Literal) and not node.this.is_string and str(node.this.this).isdigit():
        return integer(-int(str(node.this.this)))
    least = _least(node.this)
    return binder.apply("negate", node.this) if least is None else least


def _least(node: exp.Expr) -> Expr | None:
    """Returns the least value of a type, written with a suffix: sqlglot reads -128Y as -(128Y)."""
    if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Literal):
        return None
    digits = str(node.this.this)
    if node.this.is_string or not digits.isdigit():
        return None
    type_ = to_type(node.to)
    positive = Lit(int(digits), BIGINT)
    return None if suffixed(positive, type_) is not None else suffixed(Lit(-int(digits), BIGINT), type_)


def _is(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Binds IS [NOT] NULL, TRUE or FALSE."""
    operand = binder.bind(node.this)
    match node.expression:
        case exp.Null():
            return call("is null", operand)
        case exp.Boolean(this=value):
            return call("is true" if value else "is false", operand)
        case _:
            raise not_admitted(node)


def _in(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Returns `x IN (1, 2)`. IN with a query is refused: where it has a rule, it was made a mark before."""
    if node.args.get("query") is not None:
        raise UnsupportedError("IN (subquery)")
    _only(node, "this", "expressions")
    if not node.expressions:
        raise DefinitionError("IN () compares with nothing; list at least one value")
    args = beside_dates(tuple(binder.bind(part) for part in (node.this, *node.expressions)))
    if common_of(tuple(arg.type for arg in args)) is None:
        raise DefinitionError(
            f"IN compares {', '.join(str(arg.type) for arg in args)}; cast them to types that meet"
        )
    return boolean(IN, *args)


def _case(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Binds CASE; `CASE x WHEN y` becomes CASE WHEN x = y."""
    args: list[Expr] = []
    for branch in node.args["ifs"]:
        condition = binder.bind(branch.this)
        args.append(condition if node.this is None else call("=", binder.bind(node.this), condition))
        args.append(binder.bind(branch.args["true"]))
    return _finish_case(binder, args, node.args.get("default"))


def _if(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    args = [binder.bind(node.this), binder.bind(node.args["true"])]
    return _finish_case(binder, args, node.args.get("false"))


def _finish_case(binder: ExpressionBinder, args: list[Expr], otherwise: exp.Expr | None) -> Expr:
    """Returns a CASE whose values have one common type; `args`: condition, value, condition, value, ..."""
    # `CASE WHEN p THEN 1 END` has ELSE NULL, and NULL takes the type of the other branches.
    untyped = otherwise is None or isinstance(otherwise, exp.Null)
    default = Lit(None, args[1].type) if otherwise is None or untyped else binder.bind(otherwise)
    type_ = common_of(tuple(value.type for value in (*args[1::2], default)))
    if type_ is None:
        raise DefinitionError("the branches of a CASE have types that do not meet; cast them")
    args = [_retype(arg, type_) if i % 2 else arg for i, arg in enumerate(args)]
    result = (*args, _retype(default, type_))
    if case_type(tuple(arg.type for arg in result)) is None:
        raise DefinitionError("a condition of a CASE is no BOOLEAN; write a comparison")
    return Fn(CASE, result, type_)


def _retype(expr: Expr, type_: Type) -> Expr:
    """Returns an expression of a wider type; a NULL takes any type."""
    if isinstance(expr, Lit) and expr.value is None:
        return Lit(None, type_)
    # Only to a wider type: a cast that could lose something must be written by the user.
    return cast(expr, type_) if expr.type != type_ and common(expr.type, type_) == type_ else expr


def _cast(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Binds CAST. Raises UnsupportedError: TRY_CAST."""
    if node.args.get("safe"):
        raise UnsupportedError("try_cast")
    _only(node, "this", "to")
    to = to_type(node.args["to"])
    if isinstance(node.this, exp.Null):
        return Lit(None, to)
    return cast(binder.bind(node.this), to)


def _like(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Returns LIKE with its escape character, which is a backslash if none is written."""
    like, escape = (
        (node.this, node.expression) if isinstance(node, exp.Escape) else (node, exp.Literal.string("\\"))
    )
    if not isinstance(like, exp.Like):
        raise not_admitted(like)
    _only(like, "this", "expression", "negate")
    matches = binder.apply("like", like.this, like.expression, escape)
    return call("not", matches) if like.args.get("negate") else matches


def _rlike(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Returns RLIKE with a constant pattern that is PORTABLE; Spark evaluates any other."""
    _only(node, "this", "expression")
    pattern = node.expression
    if not (isinstance(pattern, exp.Literal) and pattern.is_string and PORTABLE.fullmatch(pattern.this)):
        raise not_admitted(node)
    return binder.apply("rlike", node.this, pattern)


def _decode(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Returns DECODE(x, a, r, b, s, d) as a CASE; to DECODE, NULL equals NULL, as with `<=>`."""
    _only(node, "expressions")
    tested, *rest = node.expressions
    if len(rest) % 2 == 0:
        # Without a default Spark gives another type than CASE has, BIGINT for INT.
        raise not_admitted(node)
    otherwise = rest.pop()
    args: list[Expr] = []
    for searched, value in zip(rest[::2], rest[1::2], strict=True):
        if isinstance(searched, exp.Null):
            args.append(call("is null", binder.bind(tested)))
        else:
            args.append(binder.apply("is not distinct from", tested, searched))
        args.append(binder.bind(value))
    return _finish_case(binder, args, otherwise)


def _date_add(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Binds DATE_ADD of days. Raises UnsupportedError: another unit."""
    _only(node, "this", "expression")
    if str(node.args.get("unit")).upper() != "DAY":
        raise not_admitted(node)
    return binder.apply("date_add", _without_date_wrapper(node.this), node.expression)


def _datediff(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Binds DATEDIFF in days. Raises UnsupportedError: another unit."""
    _only(node, "this", "expression")
    if node.args.get("unit") is not None and str(node.args["unit"]).upper() != "DAY":
        raise not_admitted(node)
    return binder.apply("datediff", _without_date_wrapper(node.this), _without_date_wrapper(node.expression))


def _concat(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Binds CONCAT as calls with two arguments, from the left."""
    _only(node, "expressions")
    return reduce(partial(call, "concat"), [binder.bind(part) for part in node.expressions])


def _substring(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    if node.args.get("start") is None or node.args.get("length") is None:
        raise UnsupportedError("substring without a length", "no rule for this form")
    return binder.apply("substring", node.this, node.args["start"], node.args["length"])


def _replace(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    replacement = node.args.get("replacement") or exp.Literal.string("")
    return binder.apply("replace", node.this, node.expression, replacement)


def _window(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Returns a function before OVER. Raises DefinitionError: it stands where none may."""
    assert isinstance(node, exp.Window)
    if not binder.windows:
        raise DefinitionError("a window function may stand in the select list and in QUALIFY only")
    inner = replace(binder, windows=False)
    return bind_window(node, inner.bind, replace(inner, aggregates=True, nested=binder.aggregates).bind)


def _grouping(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Returns a mark for GROUPING, whose value depends on the grouping set alone."""
    if not binder.aggregates:
        raise DefinitionError("GROUPING may stand in the select list, HAVING and QUALIFY only")
    _only(node, "expressions")
    if isinstance(node, exp.Grouping) and len(node.expressions) != 1:
        raise DefinitionError(f"GROUPING takes one key, not {len(node.expressions)}; write GROUPING_ID")
    type_ = TINYINT if isinstance(node, exp.Grouping) else BIGINT
    plain = ExpressionBinder(binder.resolve, type_of=binder.type_of)
    return Fn(GROUPING, tuple(map(plain.bind, node.expressions)), type_)


def _array(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Binds ARRAY, with all elements in their common type."""
    _only(node, "expressions")
    args = tuple(binder.bind(part) for part in node.expressions)
    element = common_of(tuple(arg.type for arg in args)) if args else None
    return call("array", *(args if element is None else (_retype(arg, element) for arg in args)))


def _column(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Returns a column, or a field of one: `r.s.a` is the field a of the column s."""
    assert isinstance(node, exp.Column), "it is called for columns"
    try:
        return binder.resolve(node)
    except DefinitionError as error:
        # `r.s.a`: first as field a of the column r.s, then as field s.a of the column r.
        for count in (2, 1):
            found = field_of(binder.resolve, node.parts[:count], node.parts[count:])
            if found is not None:
                return found
        raise error from None


def _struct(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Returns struct or named_struct; sqlglot knows the name that Spark gives to each field."""
    _only(node, "expressions")
    if not all(isinstance(part, exp.PropertyEQ) and part.this.name for part in node.expressions):
        raise not_admitted(node)
    fields = [(part.this.name, binder.bind(part.expression)) for part in node.expressions]
    args = tuple(each for name, value in fields for each in (text(name), value))
    return Fn(STRUCT, args, struct_type(tuple((name, value.type) for name, value in fields)))


def _zipped(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Returns arrays_zip of columns, whose names Spark gives to the fields: in the plan they have others."""
    names = [part.name for part in node.expressions if isinstance(part, exp.Column)]
    if function_name(node) != "arrays_zip" or binder.type_of is None or len(names) < len(node.expressions):
        raise not_admitted(node)
    args = [binder.bind(part) for part in node.expressions]
    elements = [element for arg in args if (element := element_of(arg.type)) is not None]
    if len(elements) < len(args):
        raise not_admitted(node)
    type_ = array_type(struct_type(tuple(zip(names, elements, strict=True))))
    places = ", ".join(f"{{{number}}}" for number in range(1, len(args) + 1))
    shown = str(type_).replace("{", "{{").replace("}", "}}")
    return Fn(PASSED, (text(f"CAST(ARRAYS_ZIP({places}) AS {shown})"), *args), type_)


def _split(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Returns `split` at one of SEPARATORS; Spark evaluates any other."""
    _only(node, "this", "expression")
    separator = node.expression
    if not (isinstance(separator, exp.Literal) and separator.is_string and separator.this in SEPARATORS):
        raise not_admitted(node)
    return binder.apply("split", node.this, separator)


def _window_end(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Returns an end of a window of time."""
    numbers = (Lit(int(str(each.name)), BIGINT) for each in node.expressions)
    time = binder.bind(node.this)
    if time.type.kind not in TEMPORAL:
        raise DefinitionError(f"window takes a TIMESTAMP, TIMESTAMP_NTZ or DATE, not {time.type}")
    return call(WINDOW_END, time, *numbers)


def _null(_: ExpressionBinder, node: exp.Expr) -> Expr:
    raise UnsupportedError("untyped NULL", "write CAST(NULL AS type)")


_PIECE = r"(?:[A-Za-z0-9-]|\[\^?(?:a-z|A-Z|0-9|[A-Za-z0-9])+\])[+*]?"
_PIECES = rf"(?:{_PIECE}|\({_PIECE}+(?:\|{_PIECE}+)*\)[+*]?)+"
PORTABLE = re.compile(rf"\^?{_PIECES}(?:\|{_PIECES})*")
"""Regular expressions of the few forms that Java and DuckDB read alike; Spark gets all others as written."""

SEPARATORS = frozenset(",;:/_#@!%&=~ -")
"""Separators of `split` that mean themselves in a regular expression of Java, which Spark reads there."""

SPECIAL: Mapping[type[exp.Expr], Callable[[ExpressionBinder, exp.Expr], Expr]] = {
    exp.Column: _column,
    exp.Paren: lambda binder, node: binder.bind(node.this),
    exp.Literal: lambda _, node: literal(node),
    exp.HexString: lambda _, node: binary(node),
    exp.Boolean: lambda _, node: Lit(bool(node.this), BOOLEAN),
    exp.Null: _null,
    exp.Neg: _negate,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: lambda binder, node: binder.apply("between", node.this, node.args["low"], node.args["high"]),
    exp.Case: _case,
    exp.If: _if,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.DecodeCase: _decode,
    exp.Like: _like,
    exp.RegexpLike: _rlike,
    exp.Escape: _like,
    exp.Window: _window,
    exp.Grouping: _grouping,
    exp.GroupingId: _grouping,
    exp.Concat: _concat,
    exp.Array: _array,
    exp.Struct: _struct,
    exp.Anonymous: _zipped,
    exp.RegexpSplit: _split,
    WindowEnd: _window_end,
    exp.Substring: _substring,
    exp.Replace: _replace,
    exp.TsOrDsAdd: _date_add,
    exp.DateAdd: _date_add,
    exp.DateDiff: _datediff,
}
"""What binds a syntax node that is neither a function of the registry nor an aggregate."""
