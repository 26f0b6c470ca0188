"""A small shop: one scenario with every class of the vocabulary and with the values that are easy to lose."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from decimal import Decimal

from tests.ir import (
    Operand,
    agg,
    all_of,
    call,
    col,
    columns,
    count_star,
    derived,
    except_,
    except_all,
    intersect,
    intersect_all,
    join,
    lit,
    named,
    null,
    rollup,
    select,
    table,
    union,
    union_all,
    window,
    with_,
)
from workload.dml import (
    Assignment,
    Delete,
    Insert,
    Merge,
    Optimize,
    Overwrite,
    Replace,
    Restore,
    Truncate,
    Update,
)
from workload.query import (
    Exploded,
    Expr,
    Frame,
    FrameUnit,
    Grouping,
    JoinKind,
    Limited,
    Query,
    SortKey,
    Verbatim,
)
from workload.scenario import (
    Commit,
    Create,
    Drop,
    DynamicTable,
    Meanwhile,
    Read,
    Redefine,
    Refresh,
    RefreshMode,
    Scenario,
    View,
)
from workload.schema import Clock, ForeignKey, Promises, RowCheck
from workload.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP_NTZ, TINYINT, decimal

PRICE = decimal(10, 2)
MOMENT = dt.datetime.fromisoformat("2024-02-29T23:59:59.999999")

CUSTOMER = table("customer", k=INT, name=STRING, vip=BOOLEAN, since=DATE)
ORDER = table("purchase", k=INT, amount=PRICE, units=BIGINT, weight=DOUBLE, placed=TIMESTAMP_NTZ)

c = columns(CUSTOMER, "c")
o = columns(ORDER, "o")

VIPS = select({"k": c["k"], "name": c["name"]}, named("customer", "c"), where=call("is_true", c["vip"]))
v = columns((CUSTOMER.columns[0], CUSTOMER.columns[1]), "v")


def spending() -> Query:
    """What each VIP spent: joins, a CTE, a derived table, grouping."""
    nan, moment = call("eq", o["weight"], math.nan), call("lt", o["placed"], MOMENT)
    heavy = select({"k": o["k"]}, named("purchase", "o"), where=nan, distinct=True)
    h = columns((ORDER.columns[0],), "h")
    paid = join(JoinKind.LEFT, named("vips", "v"), named("purchase", "o"), call("same", v["k"], o["k"]))
    totals: dict[str, Operand] = {
        "k": v["k"],
        "spent": agg("SUM", o["amount"]),
        "kinds": agg("COUNT", h["k"], distinct=True),
    }
    body = select(
        totals,
        join(JoinKind.CROSS, paid, derived(heavy, "h")),
        where=all_of(call("ne", o["weight"], -0.0), moment),
        group_by=[v["k"]],
        having=call("gt", count_star(), lit(0, BIGINT)),
    )
    return with_({"vips": VIPS}, body)


def everyone() -> Query:
    """Branches of one type, under every set operation."""
    nameless = select({"k": o["k"], "name": null(STRING)}, named("purchase", "o"))
    nobody = except_(intersect_all(intersect(VIPS, nameless), VIPS), VIPS)
    return union_all(VIPS, except_all(nameless, VIPS), union(VIPS, nameless), nobody)


def ranking() -> Query:
    """Subtotals, and the rank of each among those of its set."""
    grouped = select(
        {
            "k": o["k"],
            "n": count_star(),
            "set": Grouping(o["k"], TINYINT),
            "units": window("SUM", agg("SUM", o["units"]), order=[o["k"]], frame=NEAR),
        },
        named("purchase", "o"),
        group_by=[o["k"], o["placed"]],
    )
    return replace(rollup(grouped), qualify=call("le", window("rank", order=[count_star()]), 2))


NEAR = Frame(FrameUnit.RANGE, -1, 0)


def weight_over(limit: float) -> Expr:
    """A condition as DML reads it: under the table's own name."""
    return call("gt", columns(ORDER)["weight"], limit)


ORDERS = (
    (1, Decimal("9.90"), 2**62, 0.1, MOMENT),
    (None, Decimal("-0.01"), None, math.nan, None),
    (2, None, -1, -0.0, dt.datetime.fromisoformat("0001-01-01T00:00")),
    (2, Decimal("1000.00"), 0, math.inf, None),
)
CUSTOMERS = (
    (1, "it's \\ ${x} \n é😀", True, dt.date(2024, 2, 29)),
    (2, "", False, None),
    (None, None, None, None),
)

BOTH_KEYS = call("array", c["k"], 7, null(INT))
ELEMENTS = select(
    {"k": c["k"], "place": col("e", "pos", INT), "value": col("e", "col", INT)},
    Exploded(named("customer", "c"), BOTH_KEYS, "e", outer=True, position=True),
)
NAMES = select({"k": v["k"]}, named("vips_only", "v"))

SHOP = Scenario(
    name="seed 7, profile tiny, scenario 3",
    tables=(CUSTOMER, ORDER),
    definitions=(
        View("vips_only", VIPS),
        DynamicTable("spending", spending(), RefreshMode.INCREMENTAL, 60_000_000),
        DynamicTable("everyone", everyone(), RefreshMode.FULL),
        DynamicTable("names", NAMES),
        DynamicTable("first_names", Limited(NAMES, (SortKey("k", descending=True),), 2, 1)),
        DynamicTable("names_2", NAMES, known_as="names"),
        DynamicTable("ranking", ranking()),
        DynamicTable("elements", ELEMENTS),
        DynamicTable("elements_2", NAMES, known_as="elements"),
    ),
    steps=(
        Commit(0, (Insert("customer", CUSTOMERS), Insert("purchase", ORDERS))),
        Create(1, "vips_only"),
        Create(2, "spending"),
        Create(3, "names"),
        Commit(
            10,
            (
                Update("purchase", (Assignment("units", lit(5, BIGINT)),), weight_over(0.5)),
                Delete("purchase", weight_over(2.0)),
                Delete("customer", None),
                Merge("purchase", ("k", "placed"), ORDERS[:1], weight_over(1.0), insert_unmatched=True),
            ),
        ),
        Refresh(12, "spending", 10),
        Commit(20, (Truncate("purchase"), Optimize("customer")), Meanwhile(0, 2, clock=-15)),
        Commit(30, (Overwrite("purchase", ORDERS[1:2]), Restore("customer", 0)), Meanwhile(foreign=True)),
        Commit(31, (Replace("customer", ()),)),
        Create(40, "everyone"),
        Refresh(41, "names", 35, killed=3),
        Read(42, 1, ("names", "purchase")),
        Drop(43, "names"),
        Create(44, "names_2"),
        Create(45, "elements"),
        Redefine(46, ("elements_2",)),
    ),
    intents=("empty source", "no-op"),
)
"""Every class but those of given definitions, every refresh mode, a lag and none, NaN, zeros, escapes."""

PROMISES = Promises(
    keys=(("k",),),
    required=("k",),
    checks=(RowCheck(("k",), "k > 0"),),
    foreign=(ForeignKey(("k",), "p", ("k",)),),
    clock=Clock("k", late=1),
)

GIVEN_SHOP = Scenario(
    name="a definition that somebody else wrote",
    tables=(
        replace(table("p", k=INT), promises=Promises(keys=(("k",),))),
        replace(table("c", k=INT), promises=PROMISES),
    ),
    definitions=(
        DynamicTable(
            "negative",
            Verbatim("SELECT -k AS k FROM c", "SELECT -k AS k FROM c", (named("c", "c"),), (("k", INT),)),
        ),
    ),
    steps=(Commit(0, (Insert("p", ((1,),)), Insert("c", ((1,),)))), Create(1, "negative")),
)
"""A definition that is given as text, over tables of which something is promised."""
