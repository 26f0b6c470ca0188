"""Functions of Spark in DuckDB's SQL, where sqlglot's translation means something else."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.generators.duckdb import DuckDBGenerator

Writer = Callable[[Generator, exp.Expr], str]

UNKNOWN = "without_translation_"
"""How the name begins that is written for a function whose meaning DuckDB's SQL cannot give."""

NUMBER = r"\s*[+-]?[0-9]+\s*"
"""A text that Spark casts to a whole number; DuckDB would also take '1.5', '1e3' and '0x1F'."""

INTEGERS = (exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT)

UNITS = {"MM": "MONTH", "MON": "MONTH", "YY": "YEAR", "YYYY": "YEAR", "DD": "DAY"}
"""Spark's short names of units of time, which DuckDB lacks."""

CASTS = ("BIGINT", "TINYINT", "SMALLINT", "BINARY", "DECIMAL")
"""Types whose name is a function in Spark that casts, and that sqlglot does not read as a cast."""

WITHOUT = ("HASH", "FORALL", "TO_NUMBER", "UNIFORM", "PRINTF", "TIME_BUCKET")
"""Functions that DuckDB has with another meaning, or lacks in a way that would not fail."""


def template(text: str, *names: str) -> Writer:
    """Returns a writer that puts the arguments of a node, called by their names, into a text."""

    def write(generator: Generator, node: exp.Expr) -> str:
        return text.format(*(generator.sql(node, name) for name in names))

    return write


def as_usual(generator: Generator, node: exp.Expr) -> str:
    """Returns what sqlglot writes for a node."""
    fallback: Writer = DuckDBGenerator.function_fallback_sql  # type: ignore[assignment]
    usual: Writer = getattr(DuckDBGenerator, f"{node.key}_sql", fallback)
    return (DuckDBGenerator.TRANSFORMS.get(type(node)) or usual)(generator, node)


IN_ORDER = (
    "CASE WHEN CASE WHEN (TYPEOF({0}) LIKE 'STRUCT%' OR TYPEOF({0}) LIKE '%]') "
    "AND CAST({0} AS TEXT) LIKE '%NULL%' THEN CAST('NULL is inside of a value that is ordered, which Spark "
    "does in another way than DuckDB: ' || CAST({0} AS TEXT) AS BOOLEAN) END THEN NULL ELSE {0} END"
)
"""A value to be ordered: inside of another one NULL is the smallest value in Spark, the largest in DuckDB."""


def in_order(generator: Generator, value: exp.Expr) -> str:
    """Writes a value by which rows are ordered. Of a column, say, the type is known only to DuckDB."""
    text, types = generator.sql(value), (exp.Column, exp.Dot, exp.Bracket, exp.Struct, exp.Array)
    return IN_ORDER.format(text) if isinstance(value.unnest(), types) else text


def sort_key(generator: Generator, node: exp.Expr) -> str:
    """Writes a key of an order, where the order decides on the rows: of a window, or before a LIMIT."""
    block, value = node.find_ancestor(exp.Window, exp.Query), node.this
    cut = block if block is not None and block.args.get("limit") and not block.args.get("distinct") else None
    if isinstance(cut, exp.Select) and isinstance(value, exp.Column) and not value.table:
        # Inside an expression a name would be that of a column, not of an item.
        items = {item.alias.lower(): item.this for item in cut.selects if isinstance(item, exp.Alias)}
        value = items.get(value.name.lower(), value)
    if isinstance(cut, exp.Select) or isinstance(block, exp.Window):
        text = in_order(generator, value)
        node.this.replace(exp.var(text if text != generator.sql(value) else generator.sql(node.this)))
    return as_usual(generator, node)


def whole_number(generator: Generator, node: exp.Expr) -> str:
    """Writes a cast to a whole number: Spark cuts the fraction off, and DuckDB rounds.

    The type of the value is known only to DuckDB, which takes the branch for it when it plans.
    """
    assert isinstance(node, exp.Cast)
    value, to = node.this, node.to
    whole = isinstance(value, exp.Literal) and not value.is_string and value.name.isdigit()
    if to.this is exp.DType.FLOAT:
        return too_large(generator, node)
    # A part of a document is a text of JSON, where 1.5 is a number.
    if to.this not in INTEGERS or whole or isinstance(value, exp.JSONExtractScalar):
        return as_usual(generator, node)
    cast, type_ = "TRY_CAST" if isinstance(node, exp.TryCast) else "CAST", generator.sql(to)
    return (
        f"LIST_TRANSFORM([{generator.sql(value)}], LAMBDA _v : CASE "
        f"WHEN TYPEOF(_v) IN ('DOUBLE', 'FLOAT') "
        f"THEN {cast}(TRUNC(TRY_CAST(CAST(_v AS TEXT) AS DOUBLE)) AS {type_}) "
        f"WHEN TYPEOF(_v) LIKE 'DECIMAL%' THEN {cast}(SPLIT_PART(CAST(_v AS TEXT), '.', 1) AS {type_}) "
        f"WHEN TYPEOF(_v) = 'VARCHAR' AND NOT REGEXP_FULL_MATCH(CAST(_v AS TEXT), '{NUMBER}') "
        f"THEN {cast}(CAST(_v AS TEXT) || '?' AS {type_}) ELSE {cast}(_v AS {type_}) END)[1]"
    )


def too_large(generator: Generator, node: exp.Expr) -> str:
    """Writes a cast to FLOAT, which of too large a number is infinite in Spark, and an error in DuckDB."""
    value = generator.sql(node, "this")
    double = f"{'TRY_' if isinstance(node, exp.TryCast) else ''}CAST({value} AS DOUBLE)"
    infinite = f"CASE WHEN {double} > 0 THEN 'Infinity' WHEN {double} < 0 THEN '-Infinity' END"
    return f"COALESCE(TRY_CAST({value} AS FLOAT), CAST({infinite} AS FLOAT))"


def like(generator: Generator, node: exp.Expr) -> str:
    """Writes LIKE with Spark's escape character, the backslash; DuckDB has none unless one is named."""
    pattern = node.expression
    if isinstance(pattern, exp.Any | exp.All) or isinstance(node.parent, exp.Escape):
        plain = True
    else:
        plain = isinstance(pattern, exp.Literal) and "\\" not in pattern.name
    text = as_usual(generator, node)
    return text if plain else f"{text} ESCAPE '\\'"


def extract(generator: Generator, node: exp.Expr) -> str:
    return part_of_time(node.name, generator.sql(node, "expression")) or as_usual(generator, node)


def part_of_time(name: str, value: str) -> str:
    """Returns the text for a part of a date or time that DuckDB counts otherwise; empty for others."""
    match name.upper():
        case "DOW" | "DAYOFWEEK":
            return f"(DAYOFWEEK({value}) + 1)"
        case "DOW_ISO" | "DAYOFWEEK_ISO":
            return f"ISODOW({value})"
        case "S" | "SEC" | "SECS" | "SECOND" | "SECONDS":
            return f"CAST(EXTRACT(MICROSECONDS FROM {value}) / 1000000 AS DECIMAL(8, 6))"
        case _:
            return ""


def substring(generator: Generator, node: exp.Expr) -> str:
    """Writes SUBSTRING: in Spark place 0 is the first character, and less than no length is none."""
    text, start, length = (generator.sql(node, name) for name in ("this", "start", "length"))
    first = start if start.isdigit() and start != "0" else f"CASE WHEN {start} = 0 THEN 1 ELSE {start} END"
    if not length:
        return f"SUBSTRING({text}, {first})"
    return f"SUBSTRING({text}, {first}, CASE WHEN {length} < 0 THEN 0 ELSE {length} END)"


MONTHS = """CASE WHEN DAY({0}) = DAY({1})
OR CAST({0} AS DATE) = LAST_DAY({0}) AND CAST({1} AS DATE) = LAST_DAY({1})
THEN CAST(DATE_DIFF('MONTH', {1}, {0}) AS DOUBLE)
ELSE DATE_DIFF('MONTH', {1}, {0}) + ((DAY({0}) - DAY({1})) * 86400
+ (HOUR({0}) * 3600 + MINUTE({0}) * 60 + SECOND({0}))
- (HOUR({1}) * 3600 + MINUTE({1}) * 60 + SECOND({1}))) / 2678400.0::DOUBLE END"""
"""The months between two timestamps, of which one with a part has 31 days; no part between two last days."""


def months(generator: Generator, node: exp.Expr) -> str:
    sides = [f"CAST({generator.sql(node, name)} AS TIMESTAMP)" for name in ("this", "expression")]
    text = MONTHS.format(*sides)
    return text if node.args.get("roundoff") else f"ROUND({text}, 8)"


def ignore_nulls(generator: Generator, node: exp.Expr) -> str:
    """Writes LAST(x) IGNORE NULLS over a group, where DuckDB drops the last words."""
    if isinstance(node.this, exp.Last) and not isinstance(node.parent, exp.Window):
        value = generator.sql(node.this, "this")
        return f"LAST({value}) FILTER(WHERE NOT {value} IS NULL)"
    if isinstance(node.this, exp.First | exp.Last | exp.AnyValue) and isinstance(node.parent, exp.Window):
        name = "LAST_VALUE" if isinstance(node.this, exp.Last) else "FIRST_VALUE"
        return f"{name}({generator.sql(node.this, 'this')} IGNORE NULLS)"
    if isinstance(node.this, exp.First | exp.AnyValue):
        return f"ANY_VALUE({generator.sql(node.this, 'this')})"
    return as_usual(generator, node)


def first_or_last(generator: Generator, node: exp.Expr) -> str:
    """Writes the first or last value: of a window by the functions of windows, of a group by the others."""
    over = isinstance(node.parent, exp.Window) or (
        isinstance(node.parent, exp.IgnoreNulls) and isinstance(node.parent.parent, exp.Window)
    )
    name = "LAST" if isinstance(node, exp.Last | exp.LastValue) else "FIRST"
    return f"{name}{'_VALUE' if over else ''}({generator.sql(node, 'this')})"


def group_concat(generator: Generator, node: exp.Expr) -> str:
    """Writes LISTAGG, which puts nothing between the texts if nothing is said; DuckDB puts a comma."""
    if node.args.get("separator") is None:
        node.set("separator", exp.Literal.string(""))
    return as_usual(generator, node)


def array_sort(generator: Generator, node: exp.Expr) -> str:
    if node.expression:
        return without(generator, node)
    asc, first = node.args.get("asc"), node.args.get("nulls_first")
    descends = asc is not None and not asc.this
    nulls = "FIRST" if first is not None and first.this else "LAST"
    values = f"LIST_TRANSFORM({generator.sql(node, 'this')}, LAMBDA _v : {IN_ORDER.format('_v')})"
    return f"LIST_SORT({values}, '{'DESC' if descends else 'ASC'}', 'NULLS {nulls}')"


def of_elements(name: str) -> Writer:
    """Returns the writer for a function with a lambda, whose places of elements Spark counts from 0."""

    def write(generator: Generator, node: exp.Expr) -> str:
        function = node.expression.copy()
        if isinstance(function, exp.Lambda) and len(function.expressions) > 1:
            place = function.expressions[1].name
            for each in list(function.this.find_all(exp.Identifier)):
                used = each.parent if isinstance(each.parent, exp.Column) else each
                if each.name.lower() == place.lower() and not used.args.get("table"):
                    used.replace(exp.paren(exp.Sub(this=used.copy(), expression=exp.Literal.number(1))))
        return f"{name}({generator.sql(node, 'this')}, {generator.sql(function)})"

    return write


def reduce(generator: Generator, node: exp.Expr) -> str:
    parts = [generator.sql(node, name) for name in ("this", "merge", "initial")]
    text, finish = f"LIST_REDUCE({', '.join(parts)})", generator.sql(node, "finish")
    return f"LIST_TRANSFORM([{text}], {finish})[1]" if finish else text


def levenshtein(generator: Generator, node: exp.Expr) -> str:
    left, right, most = (generator.sql(node, name) for name in ("this", "expression", "ins_cost"))
    text = f"LEVENSHTEIN({left}, {right})"
    return f"CASE WHEN {text} > {most} THEN -1 ELSE {text} END" if most else text


def series(generator: Generator, node: exp.Expr) -> str:
    """Writes SEQUENCE, which counts down by itself in Spark."""
    start, end, step = (generator.sql(node, name) for name in ("start", "end", "step"))
    if step:
        return f"GENERATE_SERIES({start}, {end}, {step})"
    return f"GENERATE_SERIES({start}, {end}, IF({start} <= {end}, 1, -1))"


DAYS = "((YEAR({0}) * 12 + MONTH({0})) * 32 + DAY({0}))"
"""The number of a day if each month had 32 days: whole months then differ by a fixed number."""

WHOLE = (
    "(CAST({1} AS DATE) + CASE WHEN CAST({1} AS DATE) > CAST({0} AS DATE) "
    "AND CAST({1} AS TIME) < CAST({0} AS TIME) THEN -1 WHEN CAST({1} AS DATE) < CAST({0} AS DATE) "
    "AND CAST({1} AS TIME) > CAST({0} AS TIME) THEN 1 ELSE 0 END)"
)
"""The last day, {1}, up to which whole days have passed since {0}."""


def elapsed(generator: Generator, node: exp.Expr) -> str:
    """Writes the whole units of time between two moments; DuckDB's DATE_DIFF counts the borders."""
    end, start = generator.sql(node, "this"), generator.sql(node, "expression")
    unit = node.text("unit").upper()
    if isinstance(node, exp.DateDiff):
        return f"DATE_DIFF('DAY', CAST({start} AS DATE), CAST({end} AS DATE))"
    start, end = (f"CAST({each} AS TIMESTAMP)" for each in (start, end))
    months = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}.get(UNITS.get(unit, unit))
    if months is None:
        return f"DATE_SUB('{unit}', {start}, {end})"
    last = WHOLE.format(start, end)
    return f"(({DAYS.format(last)} - {DAYS.format(start)}) // {months * 32})"


def truncated(generator: Generator, node: exp.Expr) -> str:
    unit = node.args.get("unit")
    name = unit.name.upper() if isinstance(unit, exp.Literal | exp.Var) else ""
    if not name:
        return without(generator, node)
    text = f"DATE_TRUNC('{UNITS.get(name, name)}', {generator.sql(node, 'this')})"
    return f"CAST({text} AS DATE)" if isinstance(node, exp.DateTrunc) else text


def count_of_rows(generator: Generator, node: exp.Expr) -> str:
    """Writes COUNT(a, b), the rows in which none is NULL; of PIVOT, where no row has NULL instead of 0.

    Beside an aggregate of another type than a number, Spark's PIVOT gives 0, too.
    """
    values = [node.this, *node.expressions]
    if isinstance(pivot := node.find_ancestor(exp.Pivot, exp.Query), exp.Pivot):
        numbers = all(isinstance(each.unalias(), exp.Sum | exp.Avg | exp.Count) for each in pivot.expressions)
        if not numbers or len(values) > 1 or isinstance(node.this, exp.Distinct):
            return without(generator, node)
        missing = "FALSE" if isinstance(node.this, exp.Star) else f"{generator.sql(node, 'this')} IS NULL"
        return f"CAST(SUM(CASE WHEN {missing} THEN 0 ELSE 1 END) AS BIGINT)"
    if len(values) == 1:
        return as_usual(generator, node)
    present = " AND ".join(f"NOT {generator.sql(value)} IS NULL" for value in values)
    return f"COUNT(CASE WHEN {present} THEN 1 END)"


def any_true(generator: Generator, node: exp.Expr) -> str:
    """Writes ANY(x), an aggregate; also the list of LIKE ANY, which is none."""
    if isinstance(node.parent, exp.Binary):
        return as_usual(generator, node)
    return f"BOOL_OR({generator.sql(node.this.unnest())})"


def median(generator: Generator, node: exp.Expr) -> str:
    """Writes MEDIAN, a DOUBLE in Spark also where the values are DECIMAL."""
    different = node.this.expressions if isinstance(node.this, exp.Distinct) else []
    value = generator.sql(different[0] if different else node.this)
    return f"MEDIAN({'DISTINCT ' if different else ''}CAST({value} AS DOUBLE))"


def quantile(generator: Generator, node: exp.Expr) -> str:
    return f"QUANTILE_CONT(CAST({generator.sql(node, 'this')} AS DOUBLE), {generator.sql(node, 'quantile')})"


def initcap(generator: Generator, node: exp.Expr) -> str:
    """Writes INITCAP; of other letters than ASCII it fails, for Spark sees a whole word at once."""
    text = generator.sql(node, "this")
    fails = f"CAST(CAST('INITCAP of other letters than ASCII: ' || {text} AS BOOLEAN) AS TEXT)"
    return f"CASE WHEN STRLEN({text}) <> LENGTH({text}) THEN {fails} ELSE {as_usual(generator, node)} END"


def part_of_list(generator: Generator, node: exp.Expr) -> str:
    """Writes SLICE(list, start, length); DuckDB takes the place of the end."""
    values, start, length = generator.sql(node, "this"), node.args["start"], generator.sql(node, "end")
    if not isinstance(start, exp.Literal):
        return without(generator, node)
    return f"LIST_SLICE({values}, {start.name}, {start.name} + {length} - 1)"


def formatted(generator: Generator, node: exp.Expr) -> str:
    """Writes DATE_FORMAT, if each letter of the format has become a part of DuckDB's."""
    format_ = node.args["format"]
    if not isinstance(format_, exp.Literal) or re.search(
        "[A-Za-z]", re.sub("%-?[A-Za-z](strict)?", "", format_.name)
    ):
        return without(generator, node)
    return as_usual(generator, node)


def replaced(generator: Generator, node: exp.Expr) -> str:
    """Writes REGEXP_REPLACE, where Spark names a group of the pattern $1 and DuckDB \\1."""
    text = node.args.get("replacement")
    if not isinstance(text, exp.Literal) or "\\" in text.name:
        return without(generator, node)
    same = node.copy()
    same.set("replacement", exp.Literal.string(re.sub(r"\$([0-9])", r"\\\1", text.name)))
    return as_usual(generator, same)


def array_agg(generator: Generator, node: exp.Expr) -> str:
    """Writes COLLECT_LIST or COLLECT_SET: without values it is an empty list in Spark, and NULL in DuckDB."""
    if isinstance(node.parent, exp.Filter | exp.Window | exp.WithinGroup):
        return as_usual(generator, node)
    return f"COALESCE({as_usual(generator, node)}, [])"


def filtered(generator: Generator, node: exp.Expr) -> str:
    function = node.this
    if isinstance(function, exp.ArrayUniqueAgg):
        # It is written with a FILTER of its own, which leaves out NULL.
        kept = exp.Case().when(node.expression.this, function.this)
        text = as_usual(generator, exp.ArrayUniqueAgg(this=kept))
    else:
        text = as_usual(generator, node)
    return f"COALESCE({text}, [])" if collects(function) and not isinstance(node.parent, exp.Window) else text


def collects(node: exp.Expr) -> bool:
    return isinstance(node, exp.ArrayAgg | exp.ArrayUniqueAgg)


def window(generator: Generator, node: exp.Expr) -> str:
    function = node.this.this if isinstance(node.this, exp.Filter) else node.this
    text = as_usual(generator, node)
    return f"COALESCE({text}, [])" if collects(function) else text


def greatest_of_group(generator: Generator, node: exp.Expr) -> str:
    if node.expressions:
        return as_usual(generator, node)
    return f"{node.key.upper()}({in_order(generator, node.this)})"


def extreme_by(name: str) -> Writer:
    """Returns the writer of MAX_BY or MIN_BY: the row may have NULL as its value, and its order, too, inside.

    `name`: DuckDB's function, which leaves out rows of which the order itself is NULL, as Spark does. In the
    fields of a STRUCT, NULL is the smallest value in Spark alone.
    """

    def write(generator: Generator, node: exp.Expr) -> str:
        order = node.expression
        if node.args.get("count") is not None or isinstance(node.this, exp.Distinct):
            return without(generator, node)
        text = in_order(generator, order)
        values = [order]
        if isinstance(order, exp.Struct | exp.Tuple):
            named = order.expressions
            values = [
                each.expression if isinstance(each, exp.PropertyEQ) else each.unalias() for each in named
            ]
            fields = [in_order(generator, value) for value in values]
            text = f"ROW({', '.join(f'({field}) IS NOT NULL, {field}' for field in fields)})"
        if any(value.find(exp.Struct, exp.Array) for value in values):
            return without(generator, node)
        return f"{name}({generator.sql(node, 'this')}, {text})"

    return write


EXPLODED = (exp.Explode, exp.ExplodeOuter, exp.Posexplode, exp.PosexplodeOuter)


def lateral(generator: Generator, node: exp.Expr) -> str:
    """Writes the rows of a list; of an outer one without elements one row, of NULL."""
    function = node.this
    if not isinstance(function, EXPLODED):
        return as_usual(generator, node)
    values = generator.sql(function, "this")
    places = f"RANGE(LEN({values}))"
    if node.args.get("outer") or isinstance(function, exp.ExplodeOuter | exp.PosexplodeOuter):
        places, values = (
            f"CASE WHEN LEN({values}) > 0 THEN {each} ELSE [NULL] END" for each in (places, values)
        )
    pos = isinstance(function, exp.Posexplode | exp.PosexplodeOuter)
    items = [f"CAST(UNNEST({places}) AS INT) AS pos"] if pos else []
    items.append(f"UNNEST({values}) AS col")
    body = f"LATERAL (SELECT {', '.join(items)}) AS {generator.sql(node, 'alias')}"
    return body if isinstance(node.parent, exp.Join) else f"{generator.seg('CROSS JOIN')} {body}"


def without(generator: Generator, node: exp.Expr) -> str:
    """Writes a name that DuckDB does not have."""
    name = node.name if isinstance(node, exp.Anonymous) else node.key
    return f"{UNKNOWN}{name.lower()}()"


ARRAY_UNION = (
    "CASE WHEN NOT {0} IS NULL AND NOT {1} IS NULL THEN LIST_FILTER(LIST_CONCAT({0}, {1}), "
    "LAMBDA _v, _i : _i = LIST_POSITION(LIST_CONCAT({0}, {1}), _v)) END"
)

BY_NAME: Mapping[tuple[str, int], str] = {
    ("WEEKDAY", 1): "(ISODOW({0}) - 1)",
    ("PMOD", 2): "CASE WHEN {0} % {1} < 0 THEN ({0} % {1} + {1}) % {1} ELSE {0} % {1} END",
    ("EVERY", 1): "BOOL_AND({0})",
    ("SOME", 1): "BOOL_OR({0})",
    ("BROUND", 1): "ROUND_EVEN({0}, 0)",
    ("BROUND", 2): "ROUND_EVEN({0}, {1})",
    ("BTRIM", 1): "TRIM({0})",
    ("BTRIM", 2): "TRIM({0}, {1})",
    ("ISNULL", 1): "({0} IS NULL)",
    ("ISNOTNULL", 1): "({0} IS NOT NULL)",
    ("OCTET_LENGTH", 1): "STRLEN({0})",
    ("ARRAY_UNION", 2): ARRAY_UNION,
    ("HYPOT", 2): "SQRT({0} * {0} + {1} * {1})",
}
"""Functions that sqlglot has no class for, by name and number of arguments."""


def by_name(generator: Generator, node: exp.Expr) -> str:
    """Writes a function that sqlglot has no class for."""
    name, values = node.name.upper(), [generator.sql(each) for each in node.expressions]
    if name in CASTS:
        type_ = exp.DataType.build("DECIMAL(10, 0)" if name == "DECIMAL" else name, dialect="databricks")
        return generator.sql(exp.Cast(this=node.expressions[0].copy(), to=type_))
    if name in WITHOUT:
        return without(generator, node)
    if name in ("DATE_PART", "DATEPART") and (text := part_of_time(node.expressions[0].name, values[-1])):
        return text
    template = BY_NAME.get((name, len(values)))
    return as_usual(generator, node) if template is None else template.format(*values)
