"""Clauses and expressions that no rule covers, refused under the names that users know."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from dynamic_tables.errors import NO_RULE, DefinitionError, UnsupportedError
from dynamic_tables.plan.nodes import JoinKind
from dynamic_tables.reading.text.parse import NON_DETERMINISTIC, function_name, parts

NOT_REGISTERED = "it is not in the registry of differentiable expressions"

CLAUSES = frozenset(
    "with_ expressions from_ joins laterals where group having windows qualify distinct this expression "
    "alias side kind".split()
)
"""sqlglot's names of the clauses that the binder reads."""

CLAUSE_NAMES: Mapping[str, str] = {
    "by_name": "UNION BY NAME",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "laterals": "LATERAL VIEW",
    "order": "ORDER BY",
    "pivots": "PIVOT or UNPIVOT",
    "sample": "TABLESAMPLE",
    "sort": "SORT BY",
}
"""sqlglot's names of clauses, where they differ from SQL's."""


NAMES: Mapping[type[exp.Expr], str] = {
    exp.All: "ALL",
    exp.Any: "ANY",
    exp.Exists: "EXISTS",
    exp.IntDiv: "DIV",
    exp.QueryTransform: "TRANSFORM",
    exp.Select: "scalar subquery",
    exp.Subquery: "scalar subquery",
}
"""Constructs that cannot be bound, by the name that users know."""


def refuse_clauses(node: exp.Expr) -> None:
    """Raises UnsupportedError for the first clause of a query block that the binder would ignore."""
    for name in parts(node):
        if name == "order" and _means_nothing(node):
            continue
        if name not in CLAUSES:
            raise UnsupportedError(_clause(name))


def _means_nothing(node: exp.Expr) -> bool:
    """Tells whether an ORDER BY does not matter: nothing is cut off, and it makes no group."""
    cut = any(node.args.get(name) is not None for name in ("limit", "offset", "fetch"))
    groups = () if node.args.get("group") is not None else (exp.AggFunc, exp.WithinGroup)
    return not cut and node.args["order"].find(*groups, exp.Window, exp.Query) is None


def refuse_parts(node: exp.Expr, relation: str, *own: str) -> None:
    """Raises UnsupportedError for anything on a FROM item but its alias, its joins and its `own` parts."""
    for name in parts(node):
        if name not in ("this", "alias", "joins", "with_", *own):
            raise UnsupportedError(_clause(name), f"{NO_RULE} (on {relation})")


def not_admitted(node: exp.Expr) -> Exception:
    """Returns the error for an expression that cannot be bound: DefinitionError or UnsupportedError."""
    if type(node) in NAMES:
        return UnsupportedError(NAMES[type(node)])
    if isinstance(node, exp.Func):
        name = function_name(node)
        if name in NON_DETERMINISTIC:
            return DefinitionError(f"function {name} is refused: its value does not depend on the data alone")
        return UnsupportedError(f"function {name}", NOT_REGISTERED)
    return UnsupportedError(type(node).__name__.lower(), "no rule for this expression")


def join_kind(node: exp.Join) -> JoinKind:
    """Returns the kind of a join other than semi and anti joins. Raises UnsupportedError."""
    method = (node.args.get("method") or "").upper()
    if method not in ("", "NATURAL"):
        raise UnsupportedError(f"{method.lower()} join")
    side, kind = (node.side or "").upper(), (node.kind or "").upper()
    match side, kind:
        case "", "" | "INNER":
            return JoinKind.INNER
        case "", "CROSS":
            return JoinKind.CROSS
        case "LEFT" | "RIGHT" | "FULL", "" | "OUTER":
            return JoinKind[side]
        case _:
            raise UnsupportedError(f"{side} {kind} join".lower())


def _clause(name: str) -> str:
    """Returns the name that users know of a clause."""
    return CLAUSE_NAMES.get(name, name.strip("_").replace("_", " ").upper())
