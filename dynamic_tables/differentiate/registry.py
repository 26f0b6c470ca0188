"""The registry: every operator with its rule, its row id and where the rule comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dynamic_tables.differentiate import apply, changes, grouping, inner_join, linear, outer_join
from dynamic_tables.differentiate.changes import Columns
from dynamic_tables.differentiate.differentiation import ACT, ID, At, Differentiation, OperatorRule
from dynamic_tables.differentiate.row_id import ROW_IDS, RowIds
from dynamic_tables.plan.expressions import Expr
from dynamic_tables.plan.nodes import ACTION, ROW_ID, BoundQuery, Plan, Project, walk

OPERATORS: Mapping[str, OperatorRule] = {
    rule.operator: rule
    for rule in (
        OperatorRule(
            operator="scan",
            state=linear.state_scan,
            delta=linear.delta_scan,
            row_id="base table: row-tracking id; dynamic table: stored id, or content and occurrence",
            algebra="old and new images between two versions",
            source="DVS paper, section 5.5",
        ),
        OperatorRule(
            operator="projection",
            state=linear.state_project,
            delta=linear.delta_project,
            row_id="the child's",
            algebra="pi(dQ)",
            source="DVS paper, section 5.5",
        ),
        OperatorRule(
            operator="filter",
            state=linear.state_filter,
            delta=linear.delta_filter,
            row_id="the child's",
            algebra="sigma(dQ); also HAVING",
            source="DVS paper, section 5.5",
        ),
        OperatorRule(
            operator="union all",
            state=linear.state_union_all,
            delta=linear.delta_union_all,
            row_id="branch and id",
            algebra="dQ1 + dQ2",
            source="DVS paper, section 5.5",
        ),
        OperatorRule(
            operator="inner join",
            state=inner_join.state_inner_join,
            delta=inner_join.delta_inner_join,
            row_id="pair of ids",
            algebra="dL x R@t1 + L@t0 x dR",
            source="DVS paper, section 5.5",
        ),
        OperatorRule(
            operator="cross join",
            state=inner_join.state_inner_join,
            delta=inner_join.delta_inner_join,
            row_id="pair of ids",
            algebra="dL x R@t1 + L@t0 x dR",
            source="DVS paper, section 5.5",
        ),
        OperatorRule(
            operator="left join",
            state=outer_join.state_outer_join,
            delta=outer_join.delta_left_join,
            row_id="pair of ids, a padded side as its own tag",
            algebra="affected left rows: join@t1 - join@t0",
            source="DVS paper, section 5.5.1 (direct derivative)",
        ),
        OperatorRule(
            operator="right join",
            state=outer_join.state_outer_join,
            delta=outer_join.delta_right_join,
            row_id="pair of ids, a padded side as its own tag",
            algebra="affected right rows: join@t1 - join@t0",
            source="DVS paper, section 5.5.1 (direct derivative)",
        ),
        OperatorRule(
            operator="full join",
            state=outer_join.state_outer_join,
            delta=outer_join.delta_full_join,
            row_id="pair of ids, a padded side as its own tag",
            algebra="affected rows of both sides: join@t1 - join@t0",
            source="DVS paper, section 5.5.1 (direct derivative)",
        ),
        OperatorRule(
            operator="distinct",
            state=grouping.state_distinct,
            delta=grouping.delta_distinct,
            row_id="all values",
            algebra="affected values: distinct@t1 - distinct@t0",
            source="DVS paper, section 5.5.1 (as for window partitions)",
        ),
        OperatorRule(
            operator="grouped aggregation",
            state=grouping.state_aggregate,
            delta=grouping.delta_aggregate,
            row_id="the group's key",
            algebra="affected groups: gamma@t1 - gamma@t0",
            source="DVS paper, section 5.5.1 (as for window partitions)",
        ),
        OperatorRule(
            operator="scalar aggregation",
            state=grouping.state_aggregate,
            delta=grouping.delta_scalar_aggregate,
            row_id="one constant",
            algebra="gamma@t1 - gamma@t0",
            source="ours: the paper's engine refuses it (section 3.3.2)",
        ),
    )
}

NOT_YET: Mapping[str, str] = {
    "window function": "no differentiation rule yet",
    "semi join, anti join, EXISTS, IN (subquery)": "no differentiation rule yet",
    "scalar subquery": "no differentiation rule yet",
    "EXCEPT, INTERSECT": "no differentiation rule yet",
    "ROLLUP, CUBE, GROUPING SETS": "no differentiation rule yet",
    "LATERAL, explode": "no differentiation rule yet",
    "ORDER BY, LIMIT": "no differentiation rule yet",
    "recursive CTE": "no differentiation rule yet",
    "float aggregate as join or group key": "its last bits depend on the order of summation",
    "AVG of DECIMAL": "its digits depend on the engine",
}
"""Constructs that resolve to FULL under AUTO, with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Everything the algebra consists of, as one argument: a test replaces an entry, never a module."""

    operators: Mapping[str, OperatorRule] = field(default_factory=lambda: OPERATORS)
    row_ids: RowIds = ROW_IDS
    capture: Callable[[str, Columns], Plan] = changes.capture
    consolidate: Callable[[Plan], Plan] = changes.consolidate
    validate: Callable[[Columns], Plan] = apply.validate
    fold: Callable[[Columns], Plan] = apply.fold
    apply: Callable[[Columns], Plan] = apply.apply


RULES = Rules()


def ensure_supported(query: BoundQuery, rules: Rules) -> None:
    """Raises UnsupportedError naming the first operator without a rule."""
    differentiation = Differentiation(rules.operators, rules.row_ids)
    for node in walk(query.plan):
        differentiation.rule(node)


def initial_plan(query: BoundQuery, rules: Rules, *, ids: bool) -> Plan:
    """The defining query at t1, with row ids if the table keeps them."""
    plan = Differentiation(rules.operators, rules.row_ids).state(query.plan, At.T1, ids)
    return Project(plan, _outputs(query) + linear.id_item(ids))


def change_plan(query: BoundQuery, rules: Rules) -> Plan:
    """The consolidated changes of the defining query between t0 and t1."""
    plan = Differentiation(rules.operators, rules.row_ids).delta(query.plan, True)
    return rules.consolidate(Project(plan, (*_outputs(query), (ACTION, ACT), (ROW_ID, ID))))


def _outputs(query: BoundQuery) -> tuple[tuple[str, Expr], ...]:
    return tuple((name, column) for name, column in query.outputs)
