"""The registry of scalar functions: the type of the result, and the text in each dialect.

A function that is not here is refused by name. In a text, `{0}`, `{1}` ... are the arguments, `{args}` all
of them, `{type}` is the type of the result and `{wide0}` the first argument cast by `wide_left`. The DuckDB
text exists for tests of the rules; it has a cast where DuckDB gives another type or value without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dynamic_tables.plan.nested_types import array_type
from dynamic_tables.plan.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOATING,
    INT,
    INTEGRAL,
    NUMERIC,
    STRING,
    TEMPORAL,
    TIMESTAMP,
    Kind,
    Type,
    adjusted,
    as_decimal,
    common,
    common_of,
    decimal,
)

TypeRule = Callable[[tuple[Type, ...]], Type | None]
"""From the types of the arguments to the type of the result; None: not defined for these arguments."""


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function: its type rule (None: not defined for these arguments), and its text per dialect."""

    result: TypeRule
    spark: str
    duckdb: str | None = None


def _arithmetic(widen: Callable[[Type, Type], Type | None]) -> TypeRule:
    """Returns the rule of an operation on two numbers. `widen`: from two DECIMALs to that of the result."""

    def rule(types: tuple[Type, ...]) -> Type | None:
        if len(types) != 2 or not {t.kind for t in types} <= NUMERIC:
            return None
        shared = common(*types)
        if shared is None or shared.kind is not Kind.DECIMAL:
            return shared
        left, right = as_decimal(types[0]), as_decimal(types[1])
        return None if left is None or right is None else widen(left, right)

    return rule


def _sum_width(left: Type, right: Type) -> Type | None:
    """Returns the DECIMAL type of a sum or difference; None: it has none."""
    scale = max(left.scale, right.scale)
    return adjusted(max(left.precision - left.scale, right.precision - right.scale) + scale + 1, scale)


def _product_width(left: Type, right: Type) -> Type | None:
    """Returns the DECIMAL type of a product; None: it has none."""
    return adjusted(left.precision + right.precision + 1, left.scale + right.scale)


def _remainder_width(left: Type, right: Type) -> Type | None:
    """Returns the DECIMAL type of a remainder; None: it has none."""
    scale = max(left.scale, right.scale)
    return decimal(min(left.precision - left.scale, right.precision - right.scale) + scale, scale)


def _quotient(types: tuple[Type, ...]) -> Type | None:
    """Returns DOUBLE for a quotient of integers or floats; None for other types."""
    kinds = {t.kind for t in types}
    return DOUBLE if kinds <= FLOATING.union(INTEGRAL) else None


def _comparison(types: tuple[Type, ...]) -> Type | None:
    """Returns BOOLEAN for types that can be compared; None for others."""
    return BOOLEAN if common_of(types) is not None else None


def _same_as(*kinds: Kind) -> TypeRule:
    """Returns the rule of a function whose result has the type of its one argument, of one of some kinds."""
    return lambda types: types[0] if len(types) == 1 and types[0].kind in kinds else None


def _fixed(result: Type, *arguments: Type) -> TypeRule:
    """Returns the rule of a function with exactly these types of arguments."""
    return lambda types: result if types == arguments else None


def _logic(types: tuple[Type, ...]) -> Type | None:
    """Returns BOOLEAN if all arguments are; else None."""
    return BOOLEAN if set(types) == {BOOLEAN} else None


def _any(result: Type) -> TypeRule:
    """Returns the rule of a function of one argument of any type."""
    return lambda types: result if len(types) == 1 else None


def _first_of_common(types: tuple[Type, ...]) -> Type | None:
    """Returns the type of the first argument; None if the arguments have no common type."""
    return types[0] if common(*types) is not None else None


def _array(types: tuple[Type, ...]) -> Type | None:
    """Returns the type of an array of the arguments; None if they have no common type."""
    element = common_of(types) if types else None
    return None if element is None else array_type(element)


def _split(types: tuple[Type, ...]) -> Type | None:
    return array_type(STRING) if types == (STRING, STRING) else None


def _window_end(types: tuple[Type, ...]) -> Type | None:
    """Returns the type of the ends of a window: that of the timestamp, and TIMESTAMP for a date."""
    if types[1:] != (BIGINT, BIGINT, BIGINT) or types[0].kind not in TEMPORAL:
        return None
    return TIMESTAMP if types[0] == DATE else types[0]


WINDOW_END = "end of a window"
"""The function of the ends of windows of time; a text has no name for it."""

FUNCTIONS: Mapping[str, Function] = {
    "+": Function(_arithmetic(_sum_width), "({0} + {1})", "CAST({0} + {1} AS {type})"),
    "-": Function(_arithmetic(_sum_width), "({0} - {1})", "CAST({0} - {1} AS {type})"),
    "*": Function(_arithmetic(_product_width), "({0} * {1})", "CAST({wide0} * {1} AS {type})"),
    "/": Function(_quotient, "({0} / {1})"),
    "%": Function(_arithmetic(_remainder_width), "({0} % {1})", "CAST({0} % {1} AS {type})"),
    "negate": Function(_same_as(*NUMERIC), "(- {0})"),
    "abs": Function(_same_as(*NUMERIC), "abs({0})"),
    **{
        sign: Function(_comparison, f"({{0}} {sign.upper()} {{1}})")
        for sign in ("=", "<>", "<", "<=", ">", ">=", "is not distinct from", "is distinct from")
    },
    "between": Function(_comparison, "({0} BETWEEN {1} AND {2})"),
    "and": Function(_logic, "({0} AND {1})"),
    "or": Function(_logic, "({0} OR {1})"),
    "not": Function(_logic, "(NOT {0})"),
    "is null": Function(_any(BOOLEAN), "({0} IS NULL)"),
    "is true": Function(_logic, "({0} IS TRUE)"),
    "is false": Function(_logic, "({0} IS FALSE)"),
    "coalesce": Function(common_of, "coalesce({args})", "CAST(coalesce({args}) AS {type})"),
    "nullif": Function(_first_of_common, "nullif({0}, {1})"),
    "greatest": Function(common_of, "greatest({args})", "CAST(greatest({args}) AS {type})"),
    "least": Function(common_of, "least({args})", "CAST(least({args}) AS {type})"),
    "concat": Function(_fixed(STRING, STRING, STRING), "({0} || {1})"),
    "upper": Function(_fixed(STRING, STRING), "upper({0})"),
    "lower": Function(_fixed(STRING, STRING), "lower({0})"),
    "trim": Function(_fixed(STRING, STRING), "trim({0})", "trim({0}, ' ')"),
    "length": Function(_fixed(INT, STRING), "length({0})", "CAST(length({0}) AS INTEGER)"),
    "substring": Function(
        _fixed(STRING, STRING, INT, INT),
        "substring({0}, {1}, {2})",
        # In Spark place 0 is the first character, and less than no length is none.
        "substring({0}, CASE WHEN {1} = 0 THEN 1 ELSE {1} END, CASE WHEN {2} < 0 THEN 0 ELSE {2} END)",
    ),
    "replace": Function(_fixed(STRING, STRING, STRING, STRING), "replace({0}, {1}, {2})"),
    "like": Function(_fixed(BOOLEAN, STRING, STRING, STRING), "({0} LIKE {1} ESCAPE {2})"),
    # Other patterns than those of `bind_expression.PORTABLE` are left to Spark.
    "rlike": Function(_fixed(BOOLEAN, STRING, STRING), "({0} RLIKE {1})", "regexp_matches({0}, {1})"),
    "date_add": Function(_fixed(DATE, DATE, INT), "date_add({0}, {1})", "CAST({0} + {1} AS DATE)"),
    "datediff": Function(_fixed(INT, DATE, DATE), "datediff({0}, {1})", "CAST({0} - {1} AS INTEGER)"),
    # How far a timestamp lies behind the last beginning of a window, of {1} microseconds since 1970 and each
    # {2} after it, and {3} more, is taken off it. The session's time zone is UTC.
    WINDOW_END: Function(
        _window_end,
        "({0} - make_dt_interval(0, 0, 0, "
        "CAST(pmod(unix_micros(CAST({0} AS TIMESTAMP)) - {1}, {2}) + {3} AS DECIMAL(18, 0)) / 1000000))",
        "({0} - to_microseconds(((epoch_us(CAST({0} AS TIMESTAMP)) - {1}) % {2} + {2}) % {2} + {3}))",
    ),
    "array": Function(_array, "array({args})", "CAST([{args}] AS {type})"),
    # Only separators of `bind_expression.SEPARATORS`, which are no signs of a regular expression.
    "split": Function(_split, "split({0}, {1})", "string_split({0}, {1})"),
    **{
        part: Function(_fixed(INT, DATE), f"{part}({{0}})", f"CAST({part}({{0}}) AS INTEGER)")
        for part in ("year", "month", "day")
    },
}
"""Functions with a type rule and a text; CASE, IN and CAST are bound and rendered by code."""

# What stands for a VARIANT where rows are compared. Spark neither compares nor groups values of this type.
# Two are one value here if no function of Spark tells them apart: their JSON texts are equal, which have
# the keys of objects in one order, and so are the types of what is in them, as the texts of 1 and 1.0, and
# of a date and a string, are the same. A VARIANT that holds null has the text `null`; a SQL NULL has none.

LEVELS = 6
"""To this depth of values in values the types of single elements are compared. `schema_of_variant` tells of
an array only one type that fits all of its elements; the fields of objects it tells one by one."""

MERGED = "ARRAY<.*(VARIANT|DECIMAL|DOUBLE|TIMESTAMP)"
"""The schemas in which elements of several types may hide behind one type."""


def canonical(value: str) -> str:
    """Returns Spark's SQL for the text that stands for a VARIANT; NULL for NULL."""
    return f"concat(to_json({value}), ' ', {_types(value, LEVELS)})"


def _types(value: str, levels: int) -> str:
    """Returns SQL for the types in a value, of which the elements of arrays are named one by one."""
    schema = f"schema_of_variant({value})"
    if not levels:
        return schema
    variable = f"`$level{levels}`"
    inner = f"array_join(transform({_inner(value)}, {variable} -> {_types(variable, levels - 1)}), ',')"
    return f"concat({schema}, CASE WHEN {schema} RLIKE '{MERGED}' THEN concat('(', {inner}, ')') ELSE '' END)"


def _inner(value: str) -> str:
    """Returns SQL for the values in an array or an object, in order; an empty array for any other value."""
    objects = f"map_values(try_cast({value} AS MAP<STRING, VARIANT>))"
    return f"coalesce(try_cast({value} AS ARRAY<VARIANT>), {objects}, array())"


def elements(value: str) -> str:
    """Returns Spark's SQL for what `variant_explode` makes rows of: structs of key and value.

    The key of an element of an array is NULL. The result is NULL for a value that is no array and no object.
    """
    keyless = "`$element` -> named_struct('key', CAST(NULL AS STRING), 'value', `$element`)"
    keyed = "`$entry` -> named_struct('key', `$entry`.key, 'value', `$entry`.value)"
    return (
        f"coalesce(transform(try_cast({value} AS ARRAY<VARIANT>), {keyless}), "
        f"transform(map_entries(try_cast({value} AS MAP<STRING, VARIANT>)), {keyed}))"
    )


FIELD = "field"
"""A field of a STRUCT, as a query names it, or as `inline` and `explode` of a MAP show it."""

STRUCT = "struct"
"""A STRUCT of fields: the arguments are the name and the value of each, by turns."""

MAP_ENTRIES = "map_entries"
"""The pairs of a MAP as an array of structs: only the engine uses it, for `explode`, and to compare maps."""

MAP_FROM_ENTRIES = "map_from_entries"
"""The MAP of pairs, in their order."""

CANONICAL = "canonical"
"""The text that stands for a VARIANT where rows are compared, and `DIGEST` where it is a part of an id."""

DIGEST = "digest"

VARIANT_ELEMENTS = "variant_elements"
"""The array of keys and values of a VARIANT, for `variant_explode`."""

FAIL = "raise_error"
"""Fails with a message, as a scalar subquery of several rows does."""

NOW, NOW_AT_T0, NOW_AT_T1 = "current_timestamp", "current time at t0", "current time at t1"
"""The current time in a query, and at both ends of a refresh interval: constants when a plan runs."""

SHIFTED = "shifted"
"""A time moved by an interval: the time, `+` or `-`, a number and a unit."""

EXACT_AVERAGE, NARROW_AVERAGE = "average of decimals", "average of narrow decimals"
"""The functions of AVG of DECIMAL from a sum and a count: see `_averages`."""


def _averages() -> Mapping[str, Function]:
    """Returns how an average of DECIMAL(p, s) follows from sum {0} and count {2}, as Spark rounds it.

    {1} is 10**s as a DECIMAL and {4} as a DOUBLE; {3} is the scale of the average, s + 4. The sum in units of
    its last digit is a whole number, and so is the average in units of its own: the quotient, rounded half
    away from zero. Its text becomes the average by an exponent; DuckDB looks whether the digits fit before it
    reads the exponent, so it gets a point. Of fewer than 12 digits Spark divides doubles.
    """
    whole = "CAST({0} * {1} AS DECIMAL(28, 0))"
    twice = f"(abs({whole}) * 20000 + {{2}})"
    units = f"(({twice} - {twice} % ({{2}} * 2)) / ({{2}} * 2))"
    spark = f"CAST(CAST(CAST(sign({{0}}) AS INT) * {units} AS DECIMAL(28, 0)) || 'E-' || {{3}} AS {{type}})"
    digits = "CAST(replace(CAST({0} AS VARCHAR), '.', '') AS HUGEINT)"
    units = f"((abs({digits}) * 20000 + {{2}}) // ({{2}} * 2))"
    pointed = f"regexp_replace(repeat('0', {{3}}) || {units}, '(.{{{{' || {{3}} || '}}}})$', '.\\1')"
    duckdb = f"CAST(CASE WHEN {{0}} < 0 THEN '-' ELSE '' END || {pointed} AS {{type}})"
    narrow = f"CAST((CAST({whole} AS DOUBLE) / CAST({{2}} AS DOUBLE)) / {{4}} AS {{type}})"
    return {
        EXACT_AVERAGE: Function(lambda types: None, spark, duckdb),
        NARROW_AVERAGE: Function(lambda types: None, narrow, duckdb),
    }


INTERNAL: Mapping[str, Function] = {
    **_averages(),
    FIELD: Function(lambda types: None, "{0}[{1}]"),
    MAP_ENTRIES: Function(lambda types: None, "map_entries({0})"),
    MAP_FROM_ENTRIES: Function(lambda types: None, "map_from_entries({0})"),
    CANONICAL: Function(lambda types: None, canonical("{0}")),
    DIGEST: Function(lambda types: None, f"sha2({canonical('{0}')}, 256)"),
    VARIANT_ELEMENTS: Function(lambda types: None, elements("{0}")),
    FAIL: Function(lambda types: None, "raise_error({0})", "error({0})"),
    NOW: Function(lambda types: None, "current_timestamp()"),
    NOW_AT_T0: Function(lambda types: None, "time_at_t0()"),
    NOW_AT_T1: Function(lambda types: None, "time_at_t1()"),
}
"""Functions of the plan that no query calls by these names; whoever builds a call gives it its type."""

CASE = "case"
IN = "in"
CAST = "cast"
PASSED = "passed"
"""An expression that Spark evaluates as written; its first argument is the text (`reading.values.passed`)."""

GROUPING = "grouping"
"""Stands for GROUPING and GROUPING_ID of its arguments until the sets are known; no argument: all keys."""

FRAME = "frame"
"""One component of a row id: only the engine uses it (see `differentiate.row_id`), no query may."""

CASTS: Mapping[Kind, frozenset[Kind]] = {
    **dict.fromkeys(INTEGRAL, frozenset({*INTEGRAL, Kind.DECIMAL, Kind.DOUBLE, Kind.STRING})),
    Kind.DECIMAL: frozenset({Kind.DECIMAL, Kind.DOUBLE, Kind.STRING}),
    Kind.FLOAT: FLOATING,
    Kind.DOUBLE: frozenset({Kind.DOUBLE}),
    Kind.BOOLEAN: frozenset({Kind.BOOLEAN, Kind.INT, Kind.STRING}),
    Kind.STRING: frozenset(
        {Kind.STRING, *INTEGRAL, Kind.DOUBLE, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP_NTZ}
    ),
    Kind.BINARY: frozenset({Kind.BINARY}),
    **dict.fromkeys(TEMPORAL, frozenset({*TEMPORAL, Kind.STRING})),
}
"""Admitted casts, from -> to. Other casts (DOUBLE to STRING, DECIMAL to INT) differ between engines."""


def case_type(types: tuple[Type, ...]) -> Type | None:
    """Returns the type of CASE over (condition, value, ..., else); None if it has none."""
    conditions, values = types[:-1:2], (*types[1::2], types[-1])
    return common_of(values) if set(conditions) <= {BOOLEAN} else None


def wide_left(left: Type, result: Type) -> Type | None:
    """Returns the type to which the left factor of a product is cast in DuckDB; None for no cast.

    Without the cast, DuckDB caps the product of two narrow decimals at 18 digits.
    """
    return Type(Kind.DECIMAL, result.precision, left.scale) if result.kind is Kind.DECIMAL else None
