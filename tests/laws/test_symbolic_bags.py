"""Symbolic bags mean what SQL means: for any numbers of rows they are what the literal evaluator gives.

Planted faults are refuted, so the proofs of `dvs verify rules --unbounded` can fail.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Mapping, Sequence

import duckdb
import pytest

from campaign.verify.definitions import Definition, singles
from campaign.verify.engine import bound_query
from campaign.verify.unbounded import clock
from campaign.verify.unbounded.bags import Bag
from campaign.verify.unbounded.cells import Cell, NotExpressibleError, Text
from campaign.verify.unbounded.prove import Outcome, Symbolic
from campaign.verify.unbounded.running import PAIR_DOMAIN, SMALLER_DOMAINS, provable, prove_one
from campaign.verify.unbounded.terms import forget
from campaign.verify.unbounded.values import value_of
from dynamic_tables.differentiate.registry import RULES
from dynamic_tables.plan.nodes import Project
from tests.depth import examples
from tests.truth.bag_evaluator import Relation, evaluate
from workload.sql import Dialect, render_query
from workload.sql.passing_time import at_time
from workload.types import DOUBLE, Row, Value

pytestmark = pytest.mark.slow

DOMAIN = {"k": (None, 0, 1), "v": (None, 0, 1)}

OF_PLACES = {"window (ROW_NUMBER)", "window (QUALIFY)", "window (LAG)", "window (ROWS)"}
"""What depends on the order of equal rows: a query without ids does not say what it gives."""

FORMS = [*singles(quick=True)]


def rows_of(bag: Bag, values: Mapping[str, int], shown: Sequence[int]) -> Counter[Row]:
    """The rows that a symbolic bag is where its symbols have values."""
    found: Counter[Row] = Counter()
    for entry in bag.entries:
        count = value_of(entry.all_rows.value, values)
        found[tuple(plain(entry.cells[at], values) for at in shown)] += count
    return +found


def plain(cell: Cell, values: Mapping[str, int]) -> Value:
    if value_of(cell.null, values):
        return None
    assert not isinstance(cell.value, Text)
    value: Value = value_of(cell.value, values)
    return value


@pytest.mark.parametrize("definition", FORMS, ids=lambda definition: definition.name)
def test_the_meaning_is_that_of_the_literal_evaluator(definition: Definition) -> None:
    forget()
    world = Symbolic.of(definition, DOMAIN, RULES, [table.name for table in definition.tables])
    bound = bound_query(definition.query, definition.tables, RULES)
    sources = {table.table.name: world.leaves[f"{table.table.name}@t1"] for table in world.tables}
    try:
        bag = world.rows(Project(bound.plan, bound.outputs), sources)
    except NotExpressibleError:
        assert definition.name in OF_PLACES
        return
    # Averages are floats to the evaluator; here they are only compared.
    shown = [at for at, (_, column) in enumerate(bound.outputs) if str(column.type) != str(DOUBLE)]
    draw = random.Random(definition.name)
    for _ in range(examples(4)):
        values, relations = {}, {}
        for table in world.tables:
            rows: list[Row] = []
            for place, of_place in table.places.items():
                number = draw.choice((0, 0, 0, 1, 2, 5)) if draw.random() < 0.1 else 0
                values[of_place.name] = number
                rows += [] if place.after is None else [place.after] * number
            relations[table.table.name] = Relation(table.table.columns, tuple(rows))
        truth = evaluate(definition.query, relations).rows
        expected = Counter(tuple(row[at] for at in shown) for row in truth)
        assert rows_of(bag, values, shown) == expected, values


def form(name: str, *, quick: bool = True) -> Definition:
    return next(definition for definition in provable(quick=quick) if definition.name == name)


TIMED = [definition for definition in provable(quick=True) if "current time" in definition.name]


@pytest.mark.parametrize("definition", TIMED, ids=lambda definition: definition.name)
def test_a_condition_on_the_time_means_what_it_means_to_duckdb(definition: Definition) -> None:
    forget()
    world = Symbolic.of(definition, DOMAIN, RULES, [table.name for table in definition.tables])
    bound = bound_query(definition.query, definition.tables, RULES)
    sources = {table.table.name: world.leaves[f"{table.table.name}@t1"] for table in world.tables}
    bag = world.rows(Project(bound.plan, bound.outputs), sources)
    with duckdb.connect() as connection:
        values = {}
        for table in world.tables:
            columns = ", ".join(f"{column.name} INTEGER" for column in table.table.columns)
            connection.execute(f"CREATE TABLE {table.table.name} ({columns})")
            for number, (place, of_place) in enumerate(table.places.items()):
                values[of_place.name] = number % 3
                if place.after is not None:
                    marks = ", ".join("?" * len(place.after))
                    for _ in range(number % 3):
                        connection.execute(f"INSERT INTO {table.table.name} VALUES ({marks})", place.after)
        for time in (0, clock.DAY - 1, clock.DAY, clock.DAY + clock.DAY // 2, 3 * clock.DAY):
            days, rest = divmod(time, clock.DAY)
            values |= {"days before t1": days, "microseconds of the day of t1": rest}
            truth = connection.execute(render_query(at_time(definition.query, time), Dialect.DUCKDB))
            shown = range(len(bound.outputs))
            assert rows_of(bag, values, shown) == Counter(map(tuple, truth.fetchall())), time


def test_the_day_of_a_time_that_was_moved() -> None:
    forget()
    for hours in (-30, 0, 30):
        moved = clock.day_of(clock.time_at("t1") + hours * clock.UNITS["HOUR"])
        for hour in range(24):
            values = {"days before t1": 5, "microseconds of the day of t1": hour * clock.UNITS["HOUR"]}
            known = dt.datetime(1970, 1, 6, hour, tzinfo=dt.UTC) + dt.timedelta(hours=hours)
            assert value_of(moved, values) == clock.of_value(known.date())
            assert clock.day_of(clock.of_value(known)) == clock.of_value(known.date())
    with pytest.raises(NotExpressibleError, match="not the current one"):
        clock.day_of(clock.time_at("t0") + clock.time_at("t1"))


REFUTED = {
    "filter-drops-old-half": "filter",
    "null-group-by-equality": "grouped aggregation (COUNT)",
    "empty-group-kept": "grouped aggregation (COUNT)",
    "set-operation-all-as-set": "except all (k x k)",
    "set-operation-ignores-the-right": "intersect all (k x k)",
    "distinct-value-lingers": "distinct",
    "id-differs-from-stored": "grouped aggregation (COUNT)",
    "update-becomes-insert": "union all (k x k)",
    "consolidation-skipped": "inner join (=, k x k)",
    **dict.fromkeys(
        (
            *("boundary-row-kept", "boundary-row-deleted-twice", "boundary-left-out"),
            "time-of-the-old-contents",
        ),
        "text (current time, of the last day and a half)",
    ),
    "key-compared-in-part": "projection (primary key k, v)",
    **dict.fromkeys(
        (
            *("key-null-is-zero", "key-with-null-overlooked", "key-at-the-end-only"),
            # A table that is written anew with the same rows has no change.
            "key-not-used",
        ),
        "projection (primary key k)",
    ),
}
"""Planted faults, each with a form that refutes it."""


@pytest.mark.parametrize("fault", REFUTED)
def test_a_planted_fault_is_refuted_by_a_world_that_duckdb_confirms(fault: str) -> None:
    proof = prove_one(form(REFUTED[fault]), True, (fault,))
    assert proof.outcome is Outcome.REFUTED
    assert proof.failure is not None
    assert "by the oracle:" in proof.failure.world or "before:" in proof.failure.world


def test_a_row_exactly_on_the_limit_is_found_to_the_microsecond() -> None:
    """The limit lies a day and a half ago, and rows have whole days: z3 finds noon."""
    proof = prove_one(form("text (current time, of the last day and a half)"), True, ("boundary-left-out",))
    assert proof.failure is not None
    assert "12:00:00 after" in proof.failure.world


@pytest.mark.parametrize(
    "name",
    [
        *(
            "inner join (=, k x k)",
            "left join (=, k x k)",
            "full join (<=, k x k)",
            "anti join (NOT IN, k x k)",
        ),
        *("distinct", "except all (k x k)", "grouped aggregation (sums)", "scalar aggregation (COUNT)"),
        *("window (RANK)", "limit (2)", "explode (OUTER)", "text (mark join)", "text (self join)"),
        *("filter (current time)", "text (current time, ON of a left join)", "projection (primary key k, v)"),
    ],
)
def test_a_rule_is_proved(name: str) -> None:
    proof = prove_one(form(name), True)
    assert proof.outcome is Outcome.PROVED, proof.reason
    assert proof.cases > proof.formulas


@pytest.mark.nightly
def test_pairs_of_operators_are_proved_too_over_fewer_values_where_z3_gives_up() -> None:
    wide = prove_one(form("limit over union", quick=False), False)
    assert (wide.outcome, wide.domain) == (Outcome.PROVED, PAIR_DOMAIN)
    narrow = prove_one(form("distinct over window", quick=False), False)
    # How soon z3 gives up depends on its version; with fewer values it does not.
    assert narrow.outcome is Outcome.PROVED
    assert narrow.domain in (PAIR_DOMAIN, *SMALLER_DOMAINS)


def test_a_fault_of_a_nested_operator_is_refuted() -> None:
    proof = prove_one(form("filter over distinct", quick=False), False, ("distinct-value-lingers",))
    assert proof.outcome is Outcome.REFUTED
    assert proof.failure is not None
