"""`dvs verify rules`: every small world is enumerated once, evaluated as if alone, and faults are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import pytest

from campaign.verify.definitions import QUICK_PAIRS, Definition, operators, pair, pairs, singles
from campaign.verify.engine import MARK, Engine, Way, bound_query, capture, lifted_tables
from campaign.verify.running import verify_one
from campaign.verify.shapes import SHAPES
from campaign.verify.universe import Universe
from dynamic_tables.differentiate import stored_parts
from dynamic_tables.differentiate.differentiation import CONTENTS
from dynamic_tables.differentiate.registry import OPERATORS as RULES_OF_ENGINE, RULES
from dynamic_tables.differentiate.window_first import firsts_of
from dynamic_tables.differentiate.window_tail import looks_back
from dynamic_tables.plan.affected import only_groups
from dynamic_tables.plan.dialects import DUCKDB
from dynamic_tables.plan.expressions import Expr
from dynamic_tables.plan.nodes import Leaf, Plan, Window
from dynamic_tables.plan.written.render import render
from generators.small_worlds import Bound, Place, TableHistory, all_rows, table_histories
from oracle.worlds import quoted
from tests.depth import examples
from workload.errors import WorkloadError
from workload.lift import lifted_query
from workload.operators import OPERATORS, Operator, operator_tree

pytestmark = pytest.mark.nightly

SMALL = Bound(rows=1, of_table=1, in_all=2)


def small(definition: Definition) -> Definition:
    """The definition with a smaller bound, in which all tables may still change at once."""
    return replace(definition, bound=SMALL)


def test_every_operator_has_a_shape() -> None:
    assert SHAPES.keys() == OPERATORS
    assert set(operators()) == OPERATORS
    nested = {(definition.outer, definition.inner) for definition in pairs(QUICK_PAIRS)}
    assert nested == set(product(OPERATORS, repeat=2))


def test_a_shape_has_its_operator() -> None:
    for definition in singles():
        names = {node.operator for node in operator_tree(definition.query).walk()}
        assert definition.outer in names, definition.name


# ----------------------------------------------------------------------------------------------------
# The enumeration


def by_definition(width: int, bound: Bound) -> set[tuple[tuple[Place, int], ...]]:
    """Histories as bags of places, found by trying all lists of places."""
    states = (None, *all_rows(width))
    places = [
        Place(before, after) for before, after in product(states, repeat=2) if (before, after) != (None, None)
    ]
    found = set()
    for length in range(bound.rows + bound.of_table + 1):
        for history in product(places, repeat=length):
            stored = sum(place.before is not None for place in history)
            if stored <= bound.rows and sum(place.changed for place in history) <= bound.of_table:
                found.add(as_bag(history))
    return found


def as_bag(history: TableHistory) -> tuple[tuple[Place, int], ...]:
    return tuple(sorted(Counter(history).items(), key=repr))


@pytest.mark.parametrize(
    ("width", "bound"),
    [(1, Bound()), (1, SMALL), (2, SMALL), (1, Bound(rows=1, of_table=2)), (1, Bound(rows=2, of_table=1))],
)
def test_every_history_is_enumerated_once(width: int, bound: Bound) -> None:
    enumerated = [as_bag(history) for history in table_histories(width, bound)]
    assert len(enumerated) == len(set(enumerated))
    assert set(enumerated) == by_definition(width, bound)


def test_a_row_that_is_replaced_by_an_equal_one_is_a_change() -> None:
    assert (Place((0,), None), Place(None, (0,))) in set(table_histories(1, Bound()))


def test_the_worlds_are_all_combinations_within_the_bound() -> None:
    definition = next(d for d in singles() if len(d.tables) == 2)
    universe = Universe.of(definition.tables, Bound())
    per_table = [sum(place.changed for place in history) for history in table_histories(1, Bound())]
    assert universe.worlds == sum(a + b <= 2 for a, b in product(per_table, repeat=2)) == 10_036
    assert universe.unchanged == sum(a + b == 0 for a, b in product(per_table, repeat=2))


# ----------------------------------------------------------------------------------------------------
# All worlds at once are the worlds one by one


def alone(engine: Engine, number: int) -> list[tuple[object, ...]]:
    """The changes of one world by the plan of the query as it is, over the rows of this world alone."""
    bound = bound_query(engine.definition.query, engine.definition.tables, RULES)
    plain = Engine(engine.definition, engine.universe, Way.APART, engine.definition.query, bound, RULES)
    marked = {leaf: f"{MARK}{relation}{MARK}" for leaf, relation in plain.leaves().items()}
    text = render(plain.plans.changes(bound, contents=False), DUCKDB, marked).text()
    pieces = text.replace(f'"{MARK}', MARK).replace(f'{MARK}"', MARK).split(MARK)
    for index in range(1, len(pieces), 2):
        pieces[index] = f"(SELECT * EXCLUDE (world) FROM {quoted(pieces[index])} WHERE world = {number})"
    rows = engine.universe.relations.rows("".join(pieces))
    return sorted(rows, key=repr)


def together(engine: Engine, number: int) -> list[tuple[object, ...]]:
    """The changes of one world among those of all worlds."""
    engine.compute("together", engine.plans.changes(engine.bound, contents=False), engine.leaves())
    rows = engine.universe.relations.rows(f"SELECT * EXCLUDE (world) FROM together WHERE world = {number}")
    return sorted(rows, key=repr)


COMPARED = [
    *(small(d) for d in singles(quick=True) if d.outer is not Operator.LIMIT),
    *(
        pair(outer, inner, 0, SMALL)
        for outer, inner in (
            (Operator.FULL_JOIN, Operator.LEFT_JOIN),
            (Operator.SCALAR_AGGREGATION, Operator.FULL_JOIN),
            (Operator.EXCEPT_ALL, Operator.GROUPED_AGGREGATION),
            (Operator.LEFT_JOIN, Operator.LIMIT),
        )
    ),
]


@pytest.mark.parametrize("definition", COMPARED[::10], ids=lambda definition: definition.name)
def test_the_worlds_do_not_meet(definition: Definition) -> None:
    universe = Universe.of(definition.tables, QUICK_PAIRS)
    capture(universe, RULES)
    for engine in engines(definition, universe):
        for number in range(0, universe.worlds, max(1, universe.worlds // examples(6))):
            assert together(engine, number) == alone(engine, number), (engine.way, number)


def engines(definition: Definition, universe: Universe) -> Iterator[Engine]:
    """The definition evaluated in both ways, where it can be lifted."""
    plain = bound_query(definition.query, definition.tables, RULES)
    yield Engine(definition, universe, Way.APART, definition.query, plain, RULES)
    try:
        query = lifted_query(definition.query)
    except WorkloadError:
        return
    lifted = bound_query(query, lifted_tables(definition.tables), RULES)
    yield Engine(definition, universe, Way.LIFTED, query, lifted, RULES)


# ----------------------------------------------------------------------------------------------------
# The rules hold, and planted faults are found


def of_operator(operator: str) -> Sequence[Definition]:
    """The operator alone, as `--quick` verifies it, the small universes first; the last universe is kept."""
    found = (definition for definition in singles(quick=True) if definition.outer.value == operator)
    return sorted(found, key=lambda definition: [len(table.columns) for table in definition.tables])


@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_every_operator_holds_in_small_worlds(operator: Operator) -> None:
    for definition in of_operator(operator):
        result = verify_one(small(definition))
        assert result.failures == ()
        assert result.changes > 0


@pytest.mark.parametrize("operator", ["filter", "left join", "intersect all", "distinct"])
def test_some_operators_hold_in_every_world(operator: str) -> None:
    result = verify_one(of_operator(operator)[0])
    assert result.failures == ()
    assert result.worlds > 10_000


SOME_PAIRS = list(pairs(QUICK_PAIRS))[:: max(1, 80 // examples(1))]


@pytest.mark.parametrize("definition", SOME_PAIRS, ids=lambda definition: definition.name)
def test_a_sample_of_the_pairs_holds(definition: Definition) -> None:
    assert verify_one(definition).failures == ()


@pytest.mark.parametrize(
    ("operator", "fault"),
    [
        ("inner join", "join-both-at-t1"),
        ("inner join", "join-both-at-t0"),
        ("left join", "outer-second-order-padded"),
        ("semi join", "semi-join-last-match-goes"),
        ("grouped aggregation", "null-group-by-equality"),
        ("grouped aggregation", "stored-extremum-outlives-its-row"),
        ("scalar aggregation", "scalar-aggregate-row-lost"),
        ("distinct", "distinct-value-lingers"),
        ("except all", "set-operation-ignores-the-right"),
        ("union all", "union-branch-not-in-id"),
        ("filter", "filter-drops-old-half"),
        ("projection", "unchanged-rows-listed"),
        ("limit", "topn-evicted-row-kept"),
    ],
)
def test_a_planted_fault_is_found(operator: str, fault: str) -> None:
    found = (verify_one(small(definition), (fault,)) for definition in of_operator(operator))
    failures = next((result.failures for result in found if result.failures), ())
    assert failures
    assert "changes computed" in failures[0].world or "by the engine" in failures[0].world


def test_an_operator_without_a_rule_is_refused() -> None:
    assert {operator.value for operator in OPERATORS} - RULES_OF_ENGINE.keys() == {
        "union",
        "except",
        "intersect",
        "grouping sets",
    }


def test_a_window_that_takes_other_stored_rows_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stored rows of partitions that are not affected are deleted, too."""
    windows = (each for each in singles(quick=True) if each.outer is Operator.WINDOW)
    tops = ((each, stored_parts.on_top(bound_query(each.query, each.tables, RULES))) for each in windows)
    # First rows are found among the stored ones, and more of these do no harm. Tails are found by other keys.
    definition = next(
        each
        for each, top in tops
        if top is not None
        and firsts_of(top) is None
        and isinstance(top.node, Window)
        and not looks_back(top.node)
    )
    assert verify_one(definition).roads == ("by the rules", "from the contents")

    def of_contents_all(rows: Plan, keys: list[Expr], affected: Plan) -> Plan:
        stored = isinstance(rows, Leaf) and rows.name == CONTENTS
        return rows if stored else only_groups(rows, keys, affected)

    monkeypatch.setattr(stored_parts, "only_groups", of_contents_all)
    assert {failure.road for failure in verify_one(definition).failures} == {"from the contents"}
