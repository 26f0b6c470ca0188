"""Every scalar function over every pair of rows of `specimen` (aliases a and b), in its usual type mixes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from generators.queries.exploded import SEPARATORS
from generators.queries.expressions import PATTERNS
from tests.ir import Operand, call, case, cast, columns, join, lit, named, null, select
from tests.truth.matrix_tables import NAN, PRICE, SPECIMEN
from workload.query import Call, JoinKind, Literal, Select
from workload.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Kind,
    SqlType,
    Value,
    decimal,
)

a = columns(SPECIMEN, "a")
b = columns(SPECIMEN, "b")

# A FLOAT beside an integer or a DECIMAL is cast by the IR: DuckDB would make it a FLOAT, Spark a DOUBLE.
NUMBERS = "ii il li ll yy yh hy hh yi lh ff fx xf dd de ed xx xi ix"
ADDED = f"{NUMBERS} di id dl dy hd dx xd"
COMPARED = f"{ADDED} lx ss bb uu tt nn zz tn nt tz zn"
WIDENED = "ii il li ix xl yy yh hi yl ff fx yd dd de ed xx ss uu tt nn zz tn tz nz"


def pairs(function: str, kinds: str) -> list[Call]:
    """The function over columns of the two rows: `ix` is a.i and b.x."""
    return [call(function, a[kind[0]], b[kind[1]]) for kind in kinds.split()]


def each(function: str, kinds: str) -> list[Call]:
    """The function over single columns."""
    return [call(function, a[kind]) for kind in kinds]


def zero(type_: SqlType) -> Literal:
    """The zero of a numeric type."""
    zeros: Mapping[Kind, Value] = {Kind.DECIMAL: Decimal(0), Kind.FLOAT: 0.0, Kind.DOUBLE: 0.0}
    return lit(zeros.get(type_.kind, 0), type_)


def remainders() -> Iterable[Call]:
    """The divisor is guarded, as the IR asks."""
    for left, right in map(tuple, "ii il li ll yy yh hi ff dd de ed xx xi".split()):
        yield call("mod", a[left], call("nullif", b[right], zero(b[right].type)))
    yield from beside_literals("mod")


def beside_literals(function: str) -> list[Call]:
    """A decimal beside an INT literal (which counts its own digits only), and beside a BIGINT."""
    return [call(function, a["d"], 2), call(function, a["d"], -12), call(function, a["d"], lit(7, BIGINT))]


def choices(function: str) -> Iterable[Call]:
    """coalesce, greatest or least: two arguments, three, and one that is always NULL."""
    yield from pairs(function, WIDENED)
    yield call(function, a["i"], b["i"], 1)
    yield call(function, a["l"], b["d"])
    yield call(function, null(DOUBLE), a["x"], b["x"], NAN)
    yield call(function, a["s"], null(STRING), b["s"])


def casts() -> Iterable[Call]:
    """Every cast that the IR may use: none from DOUBLE or DECIMAL to integers, none from DOUBLE to text."""
    targets: Mapping[str, Sequence[SqlType]] = {
        "y": (SMALLINT, INT, BIGINT, decimal(5, 2), DOUBLE, STRING),
        "h": (TINYINT, INT, BIGINT, decimal(5, 0), DOUBLE, STRING),
        "f": (DOUBLE,),
        "u": (BINARY,),
        "z": (TIMESTAMP, TIMESTAMP_NTZ, DATE, STRING),
        "i": (INT, BIGINT, decimal(12, 2), DOUBLE, STRING, BOOLEAN),
        "l": (BIGINT, decimal(20, 0), DOUBLE, STRING, BOOLEAN),
        "d": (PRICE, decimal(11, 1), decimal(20, 6), DOUBLE, STRING),
        "e": (decimal(11, 2), decimal(18, 0), DOUBLE, STRING),
        "x": (DOUBLE,),
        "b": (BOOLEAN, INT, BIGINT, STRING),
        "t": (DATE, TIMESTAMP_NTZ, TIMESTAMP, STRING),
        "n": (TIMESTAMP_NTZ, TIMESTAMP, DATE, STRING),
        "s": (STRING,),
    }
    for name, types in targets.items():
        yield from (cast(a[name], type_) for type_ in types)
    for name in "yhildebtn":
        yield cast(cast(a[name], STRING), a[name].type)


def cases() -> Iterable[Call]:
    """CASE with mixed types, an unknown condition, two branches."""
    for left, right in map(tuple, WIDENED.split()):
        yield case((call("lt", a["i"], b["i"]), a[left]), otherwise=b[right])
    yield case((a["b"], a["l"]), otherwise=b["d"])
    yield case((a["b"], 1), (b["b"], 2), otherwise=null(INT))
    yield case((call("eq", b["i"], 0), null(INT)), otherwise=call("mod", a["i"], b["i"]))


def memberships() -> Iterable[Call]:
    """IN with and without NULL in the list, with NaN and both zeros, and with mixed types."""
    yield call("in", a["i"], b["i"], 7)
    yield call("in", a["i"], 1, 2)
    yield call("in", a["i"], 1, null(INT))
    yield call("in", a["i"], b["l"], 2)
    yield call("in", a["x"], 0.0, NAN)
    yield call("in", a["x"], b["x"], -0.0)
    yield call("in", a["s"], b["s"], "", "it's")
    yield call("in", a["d"], b["e"], b["d"])
    yield call("in", a["t"], b["t"])
    yield call("in", a["z"], b["z"], b["n"])
    yield call("in", a["u"], b["u"], lit(b"", BINARY), lit(b"it's \\", BINARY))
    yield call("in", a["f"], b["f"], lit(0.5, FLOAT))
    yield call("in", a["y"], b["h"], lit(127, TINYINT), lit(-128, TINYINT))


def ranges() -> Iterable[Call]:
    """BETWEEN with unknown and with crossed bounds."""
    yield call("between", a["i"], b["i"], 2)
    yield call("between", a["i"], 0, b["l"])
    yield call("between", a["i"], null(INT), b["i"])
    yield call("between", a["x"], b["x"], NAN)
    yield call("between", a["d"], b["e"], b["d"])
    yield call("between", a["s"], "a", b["s"])
    yield call("between", a["t"], b["t"], b["n"])
    yield call("between", 2, b["i"], a["l"])


def substrings() -> Iterable[Call]:
    """Starts before, in and behind the text (0 left out: the engines differ); lengths 0 and more."""
    for start in (1, 2, 3, 9, -1, -2, -4):
        for length in (0, 1, 2, 9):
            yield call("substring", a["s"], start, length)
    yield call("substring", a["s"], null(INT), 1)
    yield call("substring", a["s"], call("coalesce", call("nullif", call("abs", b["i"]), 0), 1), 2)


HOSTILE = (
    null(STRING),
    "it's",
    "\\",
    "back\\slash",
    "${spark.app.name}",
    "{0}",
    '"',
    "\0",
    "\r\n",
    "; -- /*",
)
"""What a literal must survive: quotes, escapes, Spark's variables, comments."""

MATRIX: Mapping[str, Sequence[Call]] = {
    "add": [*pairs("add", ADDED), *beside_literals("add"), call("add", a["i"], 1)],
    "sub": [*pairs("sub", ADDED), *beside_literals("sub"), call("sub", 1, a["i"])],
    "mul": [*pairs("mul", "ii il li ll yy yh hi hh ff fx xx xi ix xd"), call("mul", a["x"], 0.5)],
    "mul_decimal": [*pairs("mul_decimal", "dd de ed ee di id dl ld dy hd"), *beside_literals("mul_decimal")],
    "neg": each("neg", "yhildefx"),
    "abs": each("abs", "yhildefx"),
    "mod": list(remainders()),
    "div": [call("div", a["i"], 3), call("div", 10, call("coalesce", call("nullif", b["i"], 0), 7))],
    "div_guarded": pairs("div_guarded", "ii il ll yy ff dd de xx xi di id"),
    "eq": pairs("eq", COMPARED),
    "ne": pairs("ne", COMPARED),
    "lt": pairs("lt", COMPARED),
    "le": pairs("le", COMPARED),
    "gt": pairs("gt", COMPARED),
    "ge": pairs("ge", COMPARED),
    "same": pairs("same", COMPARED),
    "differs": pairs("differs", COMPARED),
    "between": list(ranges()),
    "and": pairs("and", "bb"),
    "or": pairs("or", "bb"),
    "not": [*each("not", "b"), call("not", call("eq", a["i"], b["i"]))],
    "is_null": each("is_null", "yhildefxspubtnz"),
    "is_not_null": each("is_not_null", "yhildefxspubtnz"),
    "is_true": [*each("is_true", "b"), call("is_true", call("lt", a["x"], b["x"]))],
    "is_false": [*each("is_false", "b"), call("is_false", call("lt", a["x"], b["x"]))],
    "coalesce": [*choices("coalesce"), call("coalesce", a["b"], b["b"]), call("coalesce", a["i"])],
    "nullif": [*pairs("nullif", WIDENED), call("nullif", a["x"], NAN), call("nullif", a["x"], 0.0)],
    "greatest": list(choices("greatest")),
    "least": list(choices("least")),
    "concat": [
        *pairs("concat", "ss sp"),
        *(call("concat", a["s"], text) for text in (null(STRING), *HOSTILE)),
    ],
    "upper": each("upper", "sp"),
    "lower": each("lower", "sp"),
    "trim": [*each("trim", "sp"), call("trim", call("concat", "\t\n \u00a0", a["s"]))],
    "length": [*each("length", "sp"), call("length", call("concat", a["s"], b["s"]))],
    "substring": list(substrings()),
    "replace": [call("replace", a["s"], b["s"], "-"), call("replace", a["s"], "a", b["s"])],
    "like": [*pairs("like", "sp"), call("like", a["s"], "%$%%"), call("like", "a\nb", "a_b")],
    "rlike": [call("rlike", a["s"], pattern) for pattern in PATTERNS],
    "date_add": [*pairs("date_add", "ti"), call("date_add", a["t"], -1)],
    "datediff": pairs("datediff", "tt"),
    "year": each("year", "tn"),
    "month": each("month", "tn"),
    "day": each("day", "tn"),
    "array": [*pairs("array", "ii il yh ll ss dd bb uu tt nn"), call("array", a["i"], 7, null(INT))],
    "split": [call("split", a[text], separator) for text in "sp" for separator in SEPARATORS],
    "cast": list(casts()),
    "case": list(cases()),
    "in": list(memberships()),
}
"""Function -> calls of it. No call here overflows or divides by zero on any pair of rows."""


def scalar_query(calls: Sequence[Call]) -> Select:
    """All calls over all pairs of rows, with the ids of the pair first."""
    items: dict[str, Operand] = {"a_id": a["id"], "b_id": b["id"]}
    items |= {f"c{i}": expression for i, expression in enumerate(calls)}
    return select(items, join(JoinKind.CROSS, named("specimen", "a"), named("specimen", "b")))
