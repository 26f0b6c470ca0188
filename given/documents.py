"""Parts of documents: where a query takes a value out of a column of type VARIANT, and of which type it is.

`payload:train::int`, `CAST(payload:train AS INT)` and `variant_get(payload, '$.train', 'int')` take the same
part. To random data each part is a column of its own: it gets the constants that it is compared with, and
shares its values with what it is joined with. `generators.given.documents` puts documents together from the
values of their parts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp, jsonpath
from sqlglot.errors import SqlglotError

from generators.given.documents import Path
from given.dialect import SparkInDuckDb
from workload.errors import WorkloadError
from workload.types import STRING, SqlType, parse_type

READERS = ("VARIANT_GET", "TRY_VARIANT_GET")

EXPLODED = ("VARIANT_EXPLODE", "VARIANT_EXPLODE_OUTER")
"""The functions that make rows of the elements of an array, or of the keys and values of an object."""

ELEMENTS = """
SELECT CAST(n AS INT) AS pos, "$keys"[n + 1] AS key,
  CASE WHEN "$keys" IS NULL THEN json_extract({0}, '$[' || n || ']')
  ELSE json_extract({0}, '$."' || "$keys"[n + 1] || '"') END AS value
FROM (
  SELECT "$keys", unnest(range(CAST(coalesce(len("$keys"), json_array_length({0})) AS BIGINT))) AS n
  FROM (SELECT CASE json_type({0}) WHEN 'OBJECT' THEN list_sort(json_keys({0})) END AS "$keys")
)
"""
"""The rows of these functions in DuckDB's SQL; {0}: the document. Objects show their keys in order."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A part of a document that an expression takes.

    `document`: the expression that it is taken from. `type`: the type that it is cast to; None: a VARIANT.
    """

    document: exp.Expr
    path: Path
    type: exp.DataType | None


def taken(expr: exp.Expr) -> Taken | None:
    """Returns the part of a document that an expression takes; None for another expression."""
    match expr:
        case exp.Paren():
            return taken(expr.this)
        case exp.Cast():
            inner = taken(expr.this)
            return None if inner is None or inner.type else Taken(inner.document, inner.path, expr.to)
        case exp.JSONExtract() if expr.args.get("variant_extract"):
            path = _path(expr.expression)
            return None if path is None else Taken(expr.this, path, None)
        case exp.Anonymous() if expr.name.upper() in READERS and len(expr.expressions) in (2, 3):
            document, path_text, *type_text = expr.expressions
            path = _parsed(path_text.name)
            try:
                type_ = exp.DataType.build(type_text[0].name, dialect="databricks") if type_text else None
            except (SqlglotError, ValueError):
                return None
            return None if path is None else Taken(document, path, type_)
        case _:
            return None


def type_of(type_: exp.DataType) -> SqlType:
    """Returns the harness's type for one of sqlglot. Raises WorkloadError if the harness lacks it."""
    # Lengths are promises of no use here: VARCHAR(10) holds strings.
    text = re.sub(r"VARCHAR\(\d+\)", "STRING", type_.sql("spark"))
    text = re.sub(r"\bDECIMAL\((\d+)\)", r"DECIMAL(\1,0)", text)
    text = re.sub(r"\bDECIMAL\b(?!\()", "DECIMAL(10,0)", text)
    return parse_type(text.replace(": ", ":"))


def drawn_type(part: Taken) -> SqlType:
    """Returns the type of the values drawn for a part: STRING if the harness lacks the part's type."""
    assert part.type is not None
    try:
        return type_of(part.type)
    except WorkloadError:
        return STRING


def for_duckdb(expr: exp.Expr) -> exp.Expr:
    """Returns a node as DuckDB reads it: parts of documents are taken from JSON. Other nodes stay."""
    match expr:
        case exp.Join() if _explodes(expr.this) == EXPLODED[1]:
            # A row without elements stays.
            return exp.Join(this=for_duckdb(expr.this), side="LEFT", on=exp.true())
        case exp.Lateral() if _explodes(expr):
            # In parentheses: the arrow of a path would begin a lambda.
            array = exp.paren(expr.this.expressions[0].transform(for_duckdb)).sql(SparkInDuckDb)
            elements = exp.var(ELEMENTS.format(array))
            return exp.Lateral(this=exp.Subquery(this=elements), alias=expr.args["alias"].copy())
        case _:
            pass
    part = taken(expr) if isinstance(expr, exp.Cast | exp.Anonymous) else None
    if part is None or part.type is None:
        return expr
    path = exp.JSONPath(expressions=[exp.JSONPathRoot(), *_steps(part.path)])
    # As a text without quotes: JSON's own cast keeps the quotes of "12", and takes no date.
    text = exp.JSONExtractScalar(this=part.document.copy(), expression=path)
    tries = isinstance(expr, exp.TryCast) or expr.name.upper() == READERS[1]
    return (exp.TryCast if tries else exp.Cast)(this=text, to=part.type.copy())


def _explodes(expr: exp.Expr) -> str:
    """Returns the name of the function that makes the rows of a LATERAL; empty for another relation."""
    function = expr.this if isinstance(expr, exp.Lateral) else None
    name = function.name.upper() if isinstance(function, exp.Anonymous) else ""
    return name if name in EXPLODED else ""


def _steps(path: Path) -> list[exp.Expr]:
    return [
        exp.JSONPathKey(this=each) if isinstance(each, str) else exp.JSONPathSubscript(this=each)
        for each in path
    ]


def _parsed(text: str) -> Path | None:
    """Returns the path that a text such as `$.stops[0]` names; None if it cannot be read."""
    try:
        return _path(jsonpath.parse(text))
    except SqlglotError:
        return None


def _path(path: exp.Expr) -> Path | None:
    """Returns the keys and the places in arrays that lead to a part; None for a wildcard, or for no step."""
    steps: list[str | int] = []
    for each in path.expressions[1:] if isinstance(path, exp.JSONPath) else ():
        match each:
            case exp.JSONPathKey(args={"this": str(key)}):
                steps.append(key)
            case exp.JSONPathSubscript(args={"this": int(place)}) if place >= 0:
                steps.append(place)
            case _:
                return None
    return tuple(steps) or None
