"""A run with two failures, by hand."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

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
from workload.outcomes.results import (
    Check,
    Coverage,
    Difference,
    DifferenceKind,
    Failure,
    Finding,
    Outcome,
    OutcomeClass,
    RunSummary,
    UnmetFloor,
)
from workload.query import (
    Aggregate,
    AggregateFunction,
    Call,
    ColumnRef,
    Item,
    Join,
    JoinKind,
    Literal,
    Named,
    Select,
)
from workload.scenario import Commit, Create, DynamicTable, Refresh, RefreshMode, Scenario, View
from workload.schema import Column, Table
from workload.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP_NTZ, decimal

SCRIPT = "<script>alert('x')</script>"
CDATA_END = "]]>"
NUL = "a\0b"

ORDERS = Table(
    "orders",
    (
        Column("id", INT),
        Column("customer", STRING),
        Column("price", decimal(10, 2)),
        Column("weight", DOUBLE),
        Column("day", DATE),
        Column("at", TIMESTAMP_NTZ),
    ),
)
CUSTOMERS = Table("customers", (Column("name", STRING), Column("active", BOOLEAN)))

customer = ColumnRef("o", "customer", STRING)
active = ColumnRef("c", "active", BOOLEAN)

OPEN_ORDERS = View(
    "open_orders",
    Select(
        (
            Item(ColumnRef("orders", "id", INT), "id"),
            Item(ColumnRef("orders", "customer", STRING), "customer"),
        ),
        Named("orders", "orders"),
        where=Call(
            "ne", (ColumnRef("orders", "customer", STRING), Literal("closed (by UNION ALL)", STRING)), BOOLEAN
        ),
    ),
)
PER_CUSTOMER = DynamicTable(
    "per_customer",
    Select(
        (Item(customer, "customer"), Item(Aggregate(AggregateFunction.COUNT_STAR, None, False, BIGINT), "n")),
        Join(
            JoinKind.LEFT,
            Named("open_orders", "o"),
            Named("customers", "c"),
            Call("eq", (customer, ColumnRef("c", "name", STRING)), BOOLEAN),
        ),
        where=Call("is_true", (active,), BOOLEAN),
        group_by=(customer,),
    ),
    RefreshMode.INCREMENTAL,
)
BUSY = DynamicTable(
    "busy",
    Select(
        (Item(ColumnRef("p", "customer", STRING), "customer"),),
        Named("per_customer", "p"),
        where=Call("gt", (ColumnRef("p", "n", BIGINT), Literal(1, BIGINT)), BOOLEAN),
    ),
    target_lag=96_000_000,
)

BASE_ROWS = (
    (
        1,
        "ann",
        Decimal("1.50"),
        0.5,
        dt.date(2024, 2, 29),
        dt.datetime.fromisoformat("2024-02-29 23:59:59.000001"),
    ),
    (2, SCRIPT, Decimal("-3.00"), float("nan"), None, None),
    (3, None, None, -0.0, dt.date(1970, 1, 1), None),
)

SCENARIO = Scenario(
    name="seed 7, smoke, 41",
    tables=(ORDERS, CUSTOMERS),
    definitions=(OPEN_ORDERS, PER_CUSTOMER, BUSY),
    steps=(
        Commit(1_000_000, (Insert("orders", BASE_ROWS), Insert("customers", (("ann", True),)))),
        Create(2_000_000, "open_orders"),
        Create(3_000_000, "per_customer"),
        Commit(
            4_000_000,
            (
                Update(
                    "orders",
                    (Assignment("customer", Literal("bob", STRING)),),
                    Call("eq", (ColumnRef("orders", "id", INT), Literal(1, INT)), BOOLEAN),
                ),
            ),
        ),
        Refresh(5_000_000, "per_customer", 4_500_000),
    ),
    intents=("update crosses the join key",),
)

LONG = Scenario(
    name="seed 7, smoke, 41",
    tables=SCENARIO.tables,
    definitions=SCENARIO.definitions,
    steps=(
        *SCENARIO.steps,
        Commit(6_000_000, (Delete("orders", None), Truncate("customers"), Optimize("orders"))),
        Commit(7_000_000, (Merge("customers", ("name",), (("eve", False),), None, True),)),
        Commit(8_000_000, (Overwrite("customers", ()), Restore("orders", 4_000_000))),
        Commit(9_000_000, (Replace("customers", (("zoe", True), ("kim", None))),)),
        Refresh(10_000_000, "per_customer", 9_500_000),
    ),
)

EQUALITY = Finding(
    check=Check.EQUALITY,
    table="per_customer",
    step=4,
    timestamp=4_500_000,
    message="3 rows differ from the defining query as of 4500000",
    difference=Difference(
        DifferenceKind.WRONG_VALUE,
        (Column("customer", STRING), Column("n", BIGINT)),
        missing=((("bob", 1), 1), ((None, 2), 1)),
        extra=((("ann", 1), 1), (("bob", 2), 3)),
        expected_rows=6,
        actual_rows=8,
    ),
    votes={"incremental": "differs", "Spark in full": "as the oracle", "DuckDB": "oracle"},
)
DUPLICATE_ACTION = Finding(
    check=Check.INVARIANT_1,
    table="per_customer",
    step=4,
    timestamp=4_500_000,
    message=f"row id 17 has two DELETEs; its row holds {SCRIPT} and {NUL} and {CDATA_END}",
)
PRODUCT = Outcome(
    scenario=SCENARIO.name,
    outcome=OutcomeClass.PRODUCT_FAILURE,
    findings=(EQUALITY, DUPLICATE_ACTION),
    definitions=2,
    refreshes=2,
    checks=14,
)

HOSTILE_FINDING = Finding(
    check=Check.EQUALITY,
    table="busy",
    step=3,
    timestamp=3_000_000,
    message="ends the fence:\n```\n# and starts a title",
    difference=Difference(
        DifferenceKind.EXTRA,
        (Column("customer", STRING),),
        missing=(),
        extra=(
            ((SCRIPT,), 1),
            ((CDATA_END,), 2),
            ((NUL,), 1),
            (("line\nbreak `tick`",), 1),
            (("\u202egnp.exe",), 1),
        ),
        expected_rows=0,
        actual_rows=6,
    ),
    votes={"Spark": "|pipe|", SCRIPT: "no"},
)
DIVERGED = Outcome(
    scenario="seed 7, smoke, 99", outcome=OutcomeClass.DIVERGENCE, findings=(HOSTILE_FINDING,), definitions=1
)
DIVERGED_SCENARIO = Scenario(
    name="seed 7, smoke, 99",
    tables=(CUSTOMERS,),
    definitions=(
        DynamicTable(
            "busy",
            Select(
                (Item(ColumnRef("c", "name", STRING), "customer"),),
                Named("customers", "c"),
                where=Call(
                    "ne", (ColumnRef("c", "name", STRING), Literal(f"```{SCRIPT}\\", STRING)), BOOLEAN
                ),
            ),
        ),
    ),
    steps=(
        Commit(1_000_000, (Insert("customers", ((SCRIPT, True), (CDATA_END, None), (NUL, False))),)),
        Create(2_000_000, "busy"),
        Commit(2_500_000, (Delete("customers", ColumnRef("customers", "active", BOOLEAN)),)),
        Refresh(3_000_000, "busy", 3_000_000),
    ),
)

OPERATORS = ("filter", "project", "inner join", "left join", "full join", "grouping", "distinct", "union all")

COVERAGE = Coverage(
    operators={name: 4000 // (i * i + 1) for i, name in enumerate(OPERATORS)},
    pairs={
        f"{a} > {b}": max(0, 900 // ((i + 1) * (j + 1) * (1 + (i * j) % 5)) - 8)
        for i, a in enumerate(OPERATORS)
        for j, b in enumerate(OPERATORS)
        if (i, j) not in ((6, 6), (7, 6))
    },
    intents={"update crosses the join key": 210, "A to B to A": 34},
    states={"two upstreams": 120, "skipped refresh": 61},
    actions={"INITIALIZE": 1400, "NO_DATA": 300, "FULL": 200, "INCREMENTAL": 5100, "REINITIALIZE": 12},
    unmet={
        "pair: union all > left join": UnmetFloor(6, 20),
        "pair: union all > distinct": UnmetFloor(0, 20),
        "intent: empty group reappears": UnmetFloor(0, 5),
        "operator: union all": UnmetFloor(80, 100),
        "dml: left join / restore": UnmetFloor(0, 2),
    },
    statements={"inner join / update": 610, "inner join / merge": 80, "left join / update": 55},
    crossings={"inner join / there and back": 34, "left join / there and back": 2, "filter / null keys": 9},
)

SUMMARY = RunSummary(
    seed=7,
    tier="delta",
    profile="smoke",
    scenarios=1000,
    definitions=1402,
    refreshes=7012,
    checks=49084,
    outcomes={"passed": 980, "product_failure": 1, "divergence": 1, "unsupported": 18},
    coverage=COVERAGE,
    seconds=3725.4,
    time_split={"engine": 2900.0, "oracle": 410.5, "generate": 61.25, "judge": 122.0, "report": 0.4},
    failures=(
        Failure(index=41, scenario=LONG, shrunk=SCENARIO, outcome=PRODUCT, folder="failures/000041 a"),
        Failure(
            index=99,
            scenario=DIVERGED_SCENARIO,
            shrunk=DIVERGED_SCENARIO,
            outcome=DIVERGED,
            folder="failures/000099",
        ),
    ),
)
