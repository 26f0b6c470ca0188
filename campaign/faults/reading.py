"""Faults in how the text of a query is read."""

from __future__ import annotations

from functools import partial

from sqlglot import exp, parse_one
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from campaign.faults.fault import in_rules, part_fault
from dynamic_tables.plan.nodes import BoundQuery
from dynamic_tables.reading.bind import bind_query
from dynamic_tables.reading.text.parse import parse_query
from dynamic_tables.reading.text.relations import Relations
from dynamic_tables.reading.text.spark_text import SparkText
from dynamic_tables.reading.values.passed import TypeOf
from workload.outcomes.results import Check


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


def precedence_of_the_parser(query: str, relations: Relations, type_of: TypeOf | None = None) -> BoundQuery:
    """A text is read with sqlglot's own precedence, by which comparisons bind looser than Spark says.

    So `f = g < h` is `f = (g < h)`, `f = a IN (1)` is `f = (a IN (1))`, and LIKE, BETWEEN and IS likewise.
    """
    try:
        tree = parse_one(query, dialect=Spark)
    except SqlglotError:
        return bind_query(query, relations, type_of)
    if tree == parse_query(query):
        return bind_query(query, relations, type_of)
    for inner in list(tree.find_all(exp.Predicate)):
        if isinstance(inner.parent, exp.Predicate):
            inner.replace(exp.paren(inner.copy(), copy=False))
    return bind_query(tree.sql(SparkText), relations, type_of)


_fault = partial(part_fault, area="reading", replacing=in_rules)

FAULTS = (
    _fault(
        "alias-before-column", "bind", alias_before_column, Check.EQUALITY, Check.REFRESH_ERROR, core=False
    ),
    _fault(
        "precedence-of-the-parser",
        "bind",
        precedence_of_the_parser,
        Check.EQUALITY,
        Check.REFRESH_ERROR,
        Check.REFRESH_MODE,
        core=False,
    ),
)
