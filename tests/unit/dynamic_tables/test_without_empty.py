"""Plans without the parts that an empty leaf leaves without rows."""

from __future__ import annotations

from dynamic_tables.plan.expressions import Agg, Col, boolean
from dynamic_tables.plan.nodes import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Leaf,
    Plan,
    Project,
    SemiJoin,
    UnionAll,
    columns,
    walk,
)
from dynamic_tables.plan.rewrites.empty import without_empty
from dynamic_tables.plan.types import BIGINT, INT

A, B = Col("a", INT), Col("b", INT)
FULL, EMPTY = Leaf("full", (("a", A),)), Leaf("empty", (("b", B),))
SAME = boolean("=", A, B)
COUNT = (("n", Agg("COUNT", None, False, BIGINT)),)


def leaves(plan: Plan | None) -> list[str]:
    return [] if plan is None else sorted({node.name for node in walk(plan) if isinstance(node, Leaf)})


def pruned(plan: Plan) -> Plan | None:
    return without_empty(plan, {"empty"})


def test_a_join_needs_its_preserved_side() -> None:
    for kind, left, right in (
        (JoinKind.INNER, [], []),
        (JoinKind.LEFT, ["empty", "full"], []),
        (JoinKind.RIGHT, [], ["empty", "full"]),
        (JoinKind.FULL, ["empty", "full"], ["empty", "full"]),
    ):
        assert leaves(pruned(Join(kind, FULL, EMPTY, SAME))) == left, kind
        assert leaves(pruned(Join(kind, EMPTY, FULL, SAME))) == right, kind
    assert pruned(Join(JoinKind.FULL, EMPTY, Leaf("empty", (("a", A),)), SAME)) is None


def test_a_semi_join_with_nothing_is_nothing_and_an_anti_join_is_its_left_side() -> None:
    assert pruned(SemiJoin(FULL, EMPTY, SAME)) is None
    assert pruned(SemiJoin(FULL, EMPTY, SAME, anti=True)) is FULL
    assert pruned(SemiJoin(EMPTY, FULL, SAME, anti=True)) is None


def test_an_aggregation_of_nothing_is_one_row_without_keys() -> None:
    assert pruned(Aggregate(EMPTY, (("b", B),), COUNT)) is None
    assert leaves(pruned(Aggregate(EMPTY, (), COUNT))) == ["empty"]


def test_a_union_keeps_its_columns_and_their_order() -> None:
    two = Leaf("two", (("a", A), ("b", B)))
    other = Project(EMPTY, (("b", B), ("a", B)))
    alone = pruned(UnionAll((other, two)))
    assert alone is not None
    assert [column.name for column in columns(alone)] == ["b", "a"]
    assert leaves(alone) == ["two"]
    assert pruned(UnionAll((other, other))) is None


def test_a_shared_node_stays_shared() -> None:
    shared = Filter(FULL, boolean(">", A, A))
    plan = pruned(
        UnionAll((Project(shared, (("a", A),)), Project(shared, (("a", A),)), Project(EMPTY, (("a", B),))))
    )
    assert isinstance(plan, UnionAll)
    first, second = plan.branches
    assert isinstance(first, Project)
    assert isinstance(second, Project)
    assert first.child is second.child
