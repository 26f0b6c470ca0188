"""Faults in how the text of a query is read."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from campaign.faults.fault import in_rules, part_fault
from dynamic_tables.plan.bind import bind_query
from dynamic_tables.plan.nodes import BoundQuery
from dynamic_tables.plan.parse import parse_query
from dynamic_tables.plan.passed import TypeOf
from dynamic_tables.plan.relations import Relations
from dynamic_tables.plan.spark_text import SparkText
from workload.results import Check


def alias_before_column(query: str, relations: Relations, type_of: TypeOf | None = None) -> BoundQuery:
    """A name in GROUP BY stands for an output of the query rather than for a column of its relations."""
    tree = parse_query(query).copy()
    found = False
    for group in tree.find_all(exp.Group):
        select = group.parent
        assert isinstance(select, exp.Select)
        outputs = {
            item.alias.lower(): item.this for item in select.expressions if isinstance(item, exp.Alias)
        }
        for key in list(group.expressions):
            output = outputs.get(key.name.lower()) if isinstance(key, exp.Column) and not key.table else None
            if output is not None and output.find(exp.AggFunc) is None:
                key.replace(output.copy())
                found = True
    return bind_query(tree.sql(SparkText) if found else query, relations, type_of)


_fault = partial(part_fault, area="reading", replacing=in_rules)

FAULTS = (
    _fault(
        "alias-before-column", "bind", alias_before_column, Check.EQUALITY, Check.REFRESH_ERROR, core=False
    ),
)
