"""A scenario that makes no sense is refused with the step or name that is wrong."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import duckdb
import pytest

from tests.ir import call, columns, derived, lit, named, select, table, with_
from tests.unit.workload.shop import CUSTOMER, ORDER, ORDERS, SHOP, spending, weight_over
from workload.dml import Assignment, Delete, Dml, Insert, Merge, Overwrite, Replace, Restore, Truncate, Update
from workload.errors import WorkloadError
from workload.query import Query
from workload.scenario import (
    Commit,
    Create,
    Definition,
    Drop,
    DynamicTable,
    Redefine,
    Refresh,
    Scenario,
    Step,
    View,
)
from workload.schema import Column, Promises, Table
from workload.sql import Dialect, create_table_text
from workload.types import BIGINT, INT
from workload.wellformed import check_scenario

c = columns(CUSTOMER, "c")
own = columns(ORDER)
KEYS = select({"k": c["k"]}, named("customer", "c"))
HOSTILE_NAMES = ["", "K", "9k", "k k", "k;drop", 'k"', "k`", "k\n", "k--", "ключ", "_k", "k" * 64]
KEYWORDS = [
    "select",
    "from",
    "where",
    "group",
    "order",
    "union",
    "with",
    "case",
    "end",
    "on",
    "left",
    "null",
    "table",
]


def refusal(scenario: Scenario) -> str:
    """The reason that the check gives."""
    with pytest.raises(WorkloadError) as refused:
        check_scenario(scenario)
    return str(refused.value)


def with_steps(*steps: Step) -> Scenario:
    return replace(SHOP, steps=steps)


def with_definitions(*definitions: Definition) -> Scenario:
    return replace(SHOP, definitions=definitions, steps=())


def with_tables(*tables: Table) -> Scenario:
    return Scenario("tables", tables, (), ())


def test_a_well_formed_scenario_gives_the_columns_of_everything() -> None:
    catalog = check_scenario(SHOP)
    assert catalog.keys() == {each.name for each in (*SHOP.tables, *SHOP.definitions)}
    assert catalog["names"] == (Column("k", INT),)


# Names


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_name_that_could_smuggle_sql_is_refused_wherever_it_stands(name: str) -> None:
    key = {name: c["k"]}
    queries: list[Query] = [
        select(key, named("customer", "c")),
        select({"k": lit(1)}, named("customer", name)),
        select({"k": lit(1)}, derived(KEYS, name)),
        select({"k": lit(1)}, derived(select(key, named("customer", "c")), "d")),
        with_({name: KEYS}, KEYS),
        with_({"ones": with_({name: KEYS}, KEYS)}, KEYS),
        select({"k": lit(1)}, derived(with_({name: KEYS}, KEYS), "d")),
        select({"k": lit(1)}, derived(with_({"ones": select(key, named("customer", "c"))}, KEYS), "d")),
    ]
    for query in queries:
        assert "is no name" in refusal(with_definitions(View("v", query)))
    assert "is no name" in refusal(with_definitions(View(name, KEYS)))
    assert "is no name" in refusal(with_tables(table(name, k=INT)))


@pytest.mark.parametrize("name", ["k k", 'k"', "k`", "k'", "k;", "k\\", "K", "", "k" * 256, "k\n"])
def test_a_column_of_a_table_has_a_name_that_a_delta_table_may_have(name: str) -> None:
    assert "is no name of a column" in refusal(with_tables(Table("t", (Column(name, INT),))))


@pytest.mark.parametrize("name", ["_k", "9k", "ключ", "k--", "order", "k" * 255])
def test_a_column_that_is_no_plain_word_is_written_in_quotes(name: str) -> None:
    check_scenario(with_tables(Table("t", (Column(name, INT),))))
    with duckdb.connect() as connection:
        connection.execute(create_table_text(Table("t", (Column(name, INT),)), Dialect.DUCKDB))
        (found,) = connection.execute("SELECT * FROM t").description
    assert found[0] == name


@pytest.mark.parametrize("name", KEYWORDS)
def test_a_keyword_is_no_name(name: str) -> None:
    """Names are rendered without quotes, so a keyword would be a syntax error in one engine or both."""
    assert name in refusal(with_tables(table(name, k=INT)))
    assert name in refusal(with_definitions(View("v", select({name: c["k"]}, named("customer", "c")))))


def test_the_longest_name_is_a_name() -> None:
    check_scenario(with_tables(table("k" * 63, k=INT)))


def test_deeply_derived_tables_are_checked_in_a_moment() -> None:
    query: Query = KEYS
    k = columns(CUSTOMER.columns[:1], "d")
    for _ in range(30):
        query = select(k, derived(query, "d"))
    start = time.process_time()
    check_scenario(with_definitions(View("deep", query)))
    assert time.process_time() - start < 5


def test_relations_have_different_names() -> None:
    assert refusal(with_tables(CUSTOMER, CUSTOMER)) == "two relations are named customer"
    assert refusal(with_definitions(View("customer", KEYS))) == "two relations are named customer"
    assert refusal(with_definitions(View("v", KEYS), DynamicTable("v", KEYS))) == "two relations are named v"


def test_tables_have_columns_of_different_names() -> None:
    assert refusal(with_tables(Table("t", ()))) == "table t has no columns"
    twice = (Column("k", INT), Column("k", BIGINT))
    assert refusal(with_tables(Table("t", twice))) == "table t has two columns named k"


# Definitions


def test_definitions_read_what_stands_before_them() -> None:
    forward = View("early", select({"k": c["k"]}, named("late", "c"))), View("late", KEYS)
    itself = View("loop", select({"k": c["k"]}, named("loop", "c")))
    assert "early reads late, which is not defined before it" in refusal(with_definitions(*forward))
    assert "loop reads loop" in refusal(with_definitions(itself))


def test_a_definition_that_makes_no_sense_is_named() -> None:
    wrong = View("wrong", select({"k": c["k"]}, named("purchase", "o")))
    assert refusal(with_definitions(wrong)).startswith("definition wrong: no column c.k")


# Steps


FIRST = (Create(1, "vips_only"), Create(2, "spending"))

STEPS: list[tuple[tuple[Step, ...], str]] = [
    ((Commit(-1, ()),), "step 0: time -1 is not after"),
    ((Commit(5, ()), Commit(5, ())), "step 1: time 5 is not after 5"),
    ((Commit(5, ()), Create(4, "spending")), "step 1: time 4 is not after 5"),
    ((Commit(0, (Truncate("spending"),)),), "step 0: no base table named spending"),
    ((Create(0, "customer"),), "step 0: creates customer, which is not defined"),
    ((Create(0, "nothing"),), "step 0: creates nothing, which is not defined"),
    ((Create(0, "spending"), Create(1, "spending")), "step 1: spending is created twice"),
    ((Create(0, "names"),), "step 0: names is created while vips_only, which it reads, does not exist"),
    ((Refresh(0, "spending", 0),), "step 0: refresh of spending, which is no dynamic table created before"),
    ((*FIRST, Refresh(3, "vips_only", 3)), "step 2: refresh of vips_only, which is no dynamic table"),
    ((*FIRST, Refresh(3, "customer", 3)), "step 2: refresh of customer, which is no dynamic table"),
    (
        (*FIRST, Refresh(3, "spending", 4)),
        "step 2: data timestamp 4 does not lie between 0 and the refresh, at 3",
    ),
    ((*FIRST, Refresh(3, "spending", -1)), "step 2: "),
]


@pytest.mark.parametrize(("steps", "reason"), STEPS)
def test_steps_that_make_no_sense(steps: tuple[Step, ...], reason: str) -> None:
    assert refusal(with_steps(*steps)).startswith(reason)


@pytest.mark.parametrize("lag", [0, -1])
def test_a_target_lag_is_positive(lag: int) -> None:
    lagging = DynamicTable("spending", spending(), target_lag=lag)
    scenario = replace(SHOP, definitions=(lagging,), steps=(Create(0, "spending"),))
    assert refusal(scenario) == f"spending: a target lag of {lag}; it must be positive"


# Statements

STATEMENTS: list[tuple[Dml, str]] = [
    (Insert("purchase", ((1, None),)), "a row of 2 values for 5 columns"),
    (Insert("purchase", (("1", None, None, None, None),)), "'1' in column k is no INT"),
    (Overwrite("purchase", ((1, None, None, 1, None),)), "1 in column weight is no DOUBLE"),
    (Replace("purchase", ((1.5, None, None, None, None),)), "1.5 in column k is no INT"),
    (Delete("purchase", own["k"]), "condition is not a BOOLEAN"),
    (Delete("purchase", call("is_null", columns(ORDER, "o")["k"])), "no column o.k"),
    (Update("purchase", (Assignment("k", lit("x")),), None), "cannot set k to a STRING"),
    (Update("purchase", (Assignment("age", lit(1)),), None), "cannot set age to a INT"),
    (Update("purchase", (Assignment("k", columns(CUSTOMER)["k"]),), None), "no column customer.k"),
    (Update("purchase", (), own["k"]), "condition is not a BOOLEAN"),
    (Update("purchase", (Assignment("k", lit(1)), Assignment("k", lit(2))), None), "k"),
    (Merge("purchase", (), ORDERS, None, True), "keys () are not columns"),
    (Merge("purchase", ("k", "age"), ORDERS, None, True), "keys ('k', 'age') are not columns"),
    (Merge("purchase", ("k",), ((1,),), None, True), "a row of 1 values"),
    (Merge("purchase", ("k",), ORDERS[:1], own["k"], True), "condition is not a BOOLEAN"),
    (Merge("purchase", ("k",), ORDERS, None, True), "key"),
    (Restore("purchase", 7), "no earlier commit at 7"),
    (Restore("purchase", 1), "no earlier commit at 1"),
]


@pytest.mark.parametrize(("statement", "reason"), STATEMENTS)
def test_statements_that_make_no_sense(statement: Dml, reason: str) -> None:
    message = refusal(with_steps(Commit(0, ()), Commit(1, (statement,))))
    assert re.match(rf"step 1, {type(statement).__name__} purchase: |no column|step 1: ", message)
    assert reason in message


def test_merge_keys_differ_when_zeros_do_not() -> None:
    """Keys match null-safely, and -0.0 is 0.0: two source rows would match one target row."""
    rows = ((1, None, None, 0.0, None), (1, None, None, -0.0, None))
    assert "key" in refusal(with_steps(Commit(0, (Merge("purchase", ("weight",), rows, None, True),))))


def test_a_restore_goes_to_an_earlier_commit() -> None:
    check_scenario(
        with_steps(Commit(3, ()), Commit(4, (Restore("purchase", 3), Delete("purchase", weight_over(1.0)))))
    )


def recreated(*steps: Step) -> Scenario:
    """Two dynamic tables, of which the second reads the first, and another one known as the second."""
    first, query = DynamicTable("d", KEYS), select({"k": columns(CUSTOMER, "d")["k"]}, named("d"))
    again = DynamicTable("e_2", query, known_as="e")
    return replace(SHOP, definitions=(first, DynamicTable("e", query), again), steps=steps)


def test_a_name_is_given_again_after_the_drop() -> None:
    check_scenario(recreated(Create(1, "d"), Create(2, "e"), Drop(3, "e"), Create(4, "e_2")))


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ((Create(1, "d"), Create(2, "e"), Create(3, "e_2")), "step 2: e_2 is known as e, as e is then"),
        ((Create(1, "d"), Create(2, "e"), Drop(3, "d")), "step 2: drops d, which e reads"),
        ((Create(1, "d"), Drop(2, "e")), "step 1: drops e, which does not exist then"),
        ((Create(1, "d"), Drop(2, "d"), Create(3, "e")), "step 2: e is created while d, which it reads"),
        ((Create(1, "d"), Drop(2, "d"), Create(3, "d")), "step 2: d is created twice"),
        ((Create(1, "d"), Drop(2, "d"), Refresh(3, "d", 3)), "step 2: refresh of d, which is no dynamic"),
    ],
)
def test_drops_that_make_no_sense(steps: tuple[Step, ...], reason: str) -> None:
    assert reason in refusal(recreated(*steps))


def redefined(*steps: Step, above: DynamicTable | None = None) -> Scenario:
    """A view, a dynamic table over it, and what both are after the view was replaced."""
    over = {name: select({"k": c["k"]}, named(name, "c")) for name in ("v", "v_2")}
    known = (View("v", KEYS), DynamicTable("d", over["v"]), View("v_2", KEYS, known_as="v"))
    again = above or DynamicTable("d_2", over["v_2"], known_as="d")
    return replace(SHOP, definitions=(*known, again), steps=steps)


BOTH = (Create(1, "v"), Create(2, "d"))


def test_a_view_is_replaced_while_a_table_reads_it() -> None:
    check_scenario(redefined(*BOTH, Redefine(3, ("v_2", "d_2")), Refresh(4, "d_2", 4), Drop(5, "d_2")))


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ((*BOTH, Redefine(3, ("v_2",))), "step 2: replaces v, which d, v read or are"),
        ((Create(1, "v"), Redefine(3, ("v_2", "d_2"))), "step 1: replaces d, which does not exist then"),
        ((*BOTH, Redefine(3, ("v_2", "v_2"))), "step 2: replaces by v_2, v_2"),
        ((*BOTH, Redefine(3, ("v", "d"))), "step 2: replaces by v, d"),
        ((*BOTH, Redefine(3, ())), "step 2: replaces by nothing"),
        (
            (*BOTH, Redefine(3, ("v_2", "d_2")), Refresh(4, "d", 4)),
            "step 3: refresh of d, which is no dynamic",
        ),
    ],
)
def test_replacements_that_make_no_sense(steps: tuple[Step, ...], reason: str) -> None:
    assert reason in refusal(redefined(*steps))


def test_what_reads_a_replaced_view_stays_as_it_is() -> None:
    other = DynamicTable("d_2", KEYS, known_as="d")
    assert "d_2 is not d over what was replaced" in refusal(
        redefined(*BOTH, Redefine(3, ("v_2", "d_2")), above=other)
    )
    table = DynamicTable("d_2", KEYS, known_as="v")
    assert "v is replaced by a definition of another kind" in refusal(
        redefined(*BOTH, Redefine(3, ("d_2",)), above=table)
    )


def test_no_cte_has_the_name_by_which_a_source_is_known() -> None:
    over = select({"k": columns(CUSTOMER, "d_2")["k"]}, named("d_2"))
    reader = DynamicTable("e", with_({"w": KEYS}, over))
    scenario = replace(SHOP, definitions=(DynamicTable("d_2", KEYS, known_as="w"), reader), steps=())
    assert "e reads d_2, which is known as a CTE beside it" in refusal(scenario)


def test_a_base_table_keeps_its_name() -> None:
    taken = DynamicTable("d", KEYS, known_as="customer")
    scenario = replace(SHOP, definitions=(taken,), steps=(Create(1, "d"),))
    assert "d is known as customer, as customer is then" in refusal(scenario)


def test_a_statement_that_a_table_does_not_get_by_its_promises_is_refused() -> None:
    def promising(promises: Promises, statement: Dml) -> Scenario:
        tables = tuple(replace(t, promises=promises) if t.name == "customer" else t for t in SHOP.tables)
        return replace(SHOP, tables=tables, steps=(Commit(1, (statement,)),))

    delete = Delete("customer", None)
    update = Update("customer", (Assignment("name", lit("x")),), None)
    assert "gets no such statement" in refusal(promising(Promises(statements=("insert",)), delete))
    assert "name is never updated" in refusal(promising(Promises(updated=("k",)), update))
    check_scenario(promising(Promises(statements=("delete",), updated=()), delete))
