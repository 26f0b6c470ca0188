"""Whole queries: aggregates, grouping, every kind of join, unions, DISTINCT, CTEs, derived tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tests.ir import (
    Operand,
    agg,
    all_of,
    call,
    case,
    cast,
    col,
    columns,
    count_star,
    derived,
    join,
    lit,
    named,
    null,
    select,
    union,
    union_all,
    window,
    with_,
)
from tests.truth.matrix_tables import CUSTOMER, NAN, NOBODY, ORDER, SPECIMEN
from workload.query import MEMBERSHIP, Aggregate, Exploded, Expr, Join, JoinKind, Query, Relation, Select
from workload.schema import Column, Table
from workload.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING

c = columns(CUSTOMER, "c")
o = columns(ORDER, "o")
v = columns(SPECIMEN, "v")
n = columns(NOBODY, "n")

customers = named("customer", "c")
orders = named("purchase", "o")
specimens = named("specimen", "v")
nobody = named("nobody", "n")


KEYS = select({"k": c["k"]}, customers)
OTHER_KEYS = select({"other": o["k"]}, orders)
g = columns((Column("k", INT),), "g")
"""`g` names whatever yields one column k."""


def aggregates_of(column: Expr) -> dict[str, Aggregate]:
    """Every aggregate that the type of the column allows, with and without DISTINCT."""
    summable = column.type in (INT, BIGINT, DOUBLE)
    functions = ["COUNT", "MIN", "MAX"] + ["SUM", "AVG"] * summable
    functions += ["SUM"] * (column.type.precision > 0)
    return {
        f"{function.lower()}_{'distinct' if distinct else 'all'}": agg(function, column, distinct=distinct)
        for function in functions
        for distinct in (False, True)
    }


def grouped(
    keys: Mapping[str, Expr],
    items: Mapping[str, Operand],
    source: Relation = specimens,
    *,
    where: Expr | None = None,
    having: Expr | None = None,
) -> Select:
    """SELECT keys, items ... GROUP BY keys."""
    return select({**keys, **items}, source, where=where, group_by=list(keys.values()), having=having)


def aggregations() -> Mapping[str, Query]:
    """Each column by a nullable key, in one group, and over no row at all."""
    queries: dict[str, Query] = {}
    for name in "ildexsbtn":
        items = {"rows": count_star(), **aggregates_of(v[name])}
        queries[f"aggregates of {name} by boolean"] = grouped({"key": v["b"]}, items, specimens)
        queries[f"aggregates of {name} in one group"] = select(items, specimens, group_by=[])
        never = call("lt", v["id"], 0)
        queries[f"aggregates of {name} of nothing"] = select(items, specimens, where=never, group_by=[])
        queries[f"groups of {name} of nothing"] = grouped({"key": v[name]}, items, specimens, where=never)
        queries[f"groups by {name}"] = grouped({"key": v[name]}, {"rows": count_star()}, specimens)
        queries[f"distinct {name}"] = select({"value": v[name]}, specimens, distinct=True)
    return queries


def groupings() -> Mapping[str, Query]:
    """Keys that are expressions, several keys, HAVING, arithmetic over aggregates, no aggregates."""
    parity = call("mod", v["i"], 2)
    total, rows = agg("SUM", v["i"]), count_star()
    unknown = null(BIGINT)
    return {
        "key is an expression": grouped({"parity": parity}, {"total": total}, specimens),
        "expression of a key": grouped({"parity": parity}, {"next": call("add", parity, 1)}, specimens),
        "two keys": grouped({"b": v["b"], "parity": parity}, {"rows": rows}, specimens),
        "key not selected": select({"rows": rows}, specimens, group_by=[v["b"]]),
        "no aggregate": select({"b": v["b"]}, specimens, group_by=[v["b"]]),
        "having": grouped({"b": v["b"]}, {"rows": rows}, specimens, having=call("gt", rows, 2)),
        "having unknown": grouped(
            {"b": v["b"]}, {"rows": rows}, specimens, having=call("gt", total, unknown)
        ),
        "having drops the one group": select(
            {"rows": rows}, specimens, group_by=[], having=call("lt", rows, 0)
        ),
        "having over key": grouped({"b": v["b"]}, {"rows": rows}, specimens, having=call("is_null", v["b"])),
        "over aggregates": select(
            {
                "spread": call("sub", agg("MAX", v["i"]), agg("MIN", v["i"])),
                "double": call("add", total, total),
                "ratio": call("div_guarded", total, rows),
                "or_none": call("coalesce", agg("SUM", call("nullif", v["i"], v["i"])), lit(0, BIGINT)),
                "when": case((call("gt", rows, 3), total), otherwise=rows),
            },
            specimens,
            group_by=[],
        ),
        "sum of products": select(
            {"worth": agg("SUM", call("mul_decimal", o["amount"], o["units"]))}, orders, group_by=[]
        ),
        "sum of choices": select(
            {
                "ones": agg("SUM", case((v["b"], 1), otherwise=0)),
                "max": agg("MAX", call("nullif", v["x"], NAN)),
            },
            specimens,
            group_by=[],
        ),
        "distinct pairs": select({"k": c["k"], "name": c["name"], "s": c["score"]}, customers, distinct=True),
        "distinct over groups": select({"rows": rows}, specimens, group_by=[v["s"]], distinct=True),
        "key with NaN literal": grouped(
            {"score": call("coalesce", c["score"], NAN)}, {"rows": rows}, customers
        ),
    }


def qualified_groups() -> Mapping[str, Query]:
    """QUALIFY over groups, whose window is an output, or reads outputs, or what is no output."""
    rows, total = count_star(), agg("SUM", v["i"])
    most = window("MAX", rows, partition=[total])
    second = call("ge", most, 2)
    by_b = grouped({"b": v["b"]}, {"rows": rows, "most": most}, specimens)
    return {
        "qualify by an output": replace(by_b, qualify=second),
        "qualify by no output": replace(grouped({"b": v["b"]}, {"n": total}, specimens), qualify=second),
        "qualify by outputs": replace(
            grouped({"b": v["b"]}, {"rows": rows, "n": total}, specimens), qualify=second
        ),
        "qualify by an output with a column's name": replace(
            select({"i": rows, "n": total}, specimens, group_by=[v["b"]]), qualify=second
        ),
        "qualify distinct groups": replace(
            select({"rows": rows}, specimens, group_by=[v["s"]], distinct=True), qualify=second
        ),
    }


def pair(kind: JoinKind, on: Expr | None, left: Table = CUSTOMER, right: Table = ORDER) -> Query:
    """Both sides of a join, key and one more column of each, under the aliases c and o."""
    items = {"ck": c["k"], "name": c["name"], "ok": o["k"], "units": o["units"]}
    if right is NOBODY:
        items |= {"units": columns(NOBODY, "o")["name"]}
    if left is NOBODY:
        items |= {"name": columns(NOBODY, "c")["name"]}
    if kind in MEMBERSHIP:
        del items["ok"], items["units"]
    return select(items, Join(kind, named(left.name, "c"), named(right.name, "o"), on))


CONDITIONS: Mapping[str, Expr] = {
    "equal keys": call("eq", c["k"], o["k"]),
    "same keys": call("same", c["k"], o["k"]),
    "equal NaN and zeros": call("eq", c["score"], o["score"]),
    "different types": call("eq", c["k"], o["units"]),
    "inequality": call("lt", c["k"], o["k"]),
    "equality and more": all_of(
        call("eq", c["k"], o["k"]), call("gt", o["amount"], cast(1, o["amount"].type))
    ),
    "equality and one side": all_of(call("eq", c["k"], o["k"]), call("is_not_null", c["name"])),
    "either": call("or", call("eq", c["k"], o["k"]), call("is_null", c["name"])),
    "always": lit(True),
    "never": lit(False),
    "unknown": null(BOOLEAN),
    "left side only": call("eq", c["k"], 1),
    "right side only": call("is_null", o["k"]),
}


def joins() -> Mapping[str, Query]:
    """Every kind with every condition, and with an empty table on either side."""
    queries: dict[str, Query] = {}
    for kind in JoinKind:
        for name, on in CONDITIONS.items() if kind is not JoinKind.CROSS else [("no condition", None)]:
            queries[f"{kind.value}: {name}"] = pair(kind, on)
        key = None if kind is JoinKind.CROSS else CONDITIONS["equal keys"]
        queries[f"{kind.value}: nobody on the left"] = pair(kind, key, left=NOBODY)
        queries[f"{kind.value}: nobody on the right"] = pair(kind, key, right=NOBODY)
    return queries


def nested_joins() -> Mapping[str, Query]:
    """Three tables: to the left, to the right, and a padded side that is padded again."""
    d = columns(CUSTOMER, "d")
    others = named("customer", "d")
    items = {"ck": c["k"], "ok": o["k"], "dk": d["k"]}
    on_c_o, on_o_d = call("eq", c["k"], o["k"]), call("eq", o["k"], d["k"])
    queries: dict[str, Query] = {}
    for first in (JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL):
        for second in (JoinKind.INNER, JoinKind.LEFT, JoinKind.FULL):
            to_left = join(second, join(first, customers, orders, on_c_o), others, on_o_d)
            to_right = join(first, customers, join(second, orders, others, on_o_d), on_c_o)
            queries[f"({first.value}) {second.value}"] = select(items, to_left)
            queries[f"{first.value} ({second.value})"] = select(items, to_right)
    padded = join(JoinKind.LEFT, customers, orders, on_c_o)
    queries["where over padding"] = select(items | {"dk": null(INT)}, padded, where=call("is_null", o["k"]))
    queries["group over padding"] = grouped(
        {"k": c["k"]}, {"rows": count_star(), "orders": agg("COUNT", o["k"])}, padded
    )
    return queries


def compositions() -> Mapping[str, Query]:
    """Unions and derived tables, in one another; blocks without anything special."""
    by_key = grouped({"k": o["k"]}, {"units": agg("SUM", o["units"])}, orders)
    sums = columns((Column("k", INT), Column("units", BIGINT)), "g")
    both = derived(union_all(KEYS, OTHER_KEYS), "g")
    with_sums = join(JoinKind.LEFT, customers, derived(by_key, "g"), call("same", c["k"], g["k"]))
    return {
        "union": union_all(KEYS, OTHER_KEYS),
        "union of three": union_all(KEYS, KEYS, OTHER_KEYS),
        "union of one": union_all(KEYS),
        "different rows": union(KEYS, OTHER_KEYS, KEYS),
        "union of unions": union_all(union_all(KEYS, OTHER_KEYS), KEYS),
        "distinct over union": select(g, both, distinct=True),
        "derived": select(sums, derived(by_key, "g"), where=call("gt", sums["units"], 0)),
        "derived join": select({"name": c["name"], "units": sums["units"]}, with_sums),
        "constants": select({"one": 1, "text": "it's", "none": null(STRING)}, customers),
        "nobody": select({"k": n["k"], "name": n["name"]}, nobody),
    }


def ctes() -> Mapping[str, Query]:
    """CTEs: read twice, by one another, and at every place where a query may stand."""

    def reading(name: str) -> Query:
        return select(g, named(name, "g"))

    def keys_through(name: str) -> Query:
        return with_({name: KEYS}, reading(name))

    return {
        "cte": keys_through("ones"),
        "cte read twice": with_({"ones": KEYS}, union_all(reading("ones"), reading("ones"))),
        "cte of cte": with_(
            {"ones": KEYS, "twos": select(g, named("ones", "g"), distinct=True)}, reading("twos")
        ),
        "cte in a derived table": select(g, derived(keys_through("ones"), "g")),
        "cte in a branch": union_all(OTHER_KEYS, keys_through("ones")),
        "cte in a cte": with_({"outers": keys_through("inners")}, reading("outers")),
        "cte in a body": with_({"ones": KEYS}, with_({"twos": reading("ones")}, reading("twos"))),
        "cte with a union body": with_({"ones": KEYS}, union_all(reading("ones"), OTHER_KEYS)),
    }


def exploded() -> Mapping[str, Query]:
    """Elements beside rows: of no array and of several, with equal and missing elements, below joins."""
    parts = call("split", call("nullif", v["s"], "a"), ",")
    pair_of_keys = call("array", c["k"], null(INT), c["k"])
    queries: dict[str, Query] = {}
    for outer in (False, True):
        of_texts = Exploded(specimens, parts, "e", outer, position=True)
        place, part = col("e", "pos", INT), col("e", "col", STRING)
        queries[f"parts of texts, outer {outer}"] = select({"id": v["id"], "p": place, "e": part}, of_texts)
        queries[f"places of parts, outer {outer}"] = grouped({"p": place}, {"n": count_star()}, of_texts)
        elements = Exploded(customers, pair_of_keys, "e", outer)
        key = col("e", "col", INT)
        again = Exploded(elements, call("array", key, c["k"]), "f", outer)
        queries[f"elements of elements, outer {outer}"] = select({"e": key, "f": col("f", "col", INT)}, again)
        for kind in (JoinKind.LEFT, JoinKind.FULL, JoinKind.SEMI):
            beside = join(kind, orders, elements, call("eq", o["k"], key))
            items = {"k": o["k"], **({} if kind is JoinKind.SEMI else {"e": key})}
            queries[f"{kind.value} with elements, outer {outer}"] = select(items, beside)
    return queries


QUERIES: Mapping[str, Query] = {
    **aggregations(),
    **groupings(),
    **qualified_groups(),
    **joins(),
    **nested_joins(),
    **compositions(),
    **ctes(),
    **exploded(),
}
