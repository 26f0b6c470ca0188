"""Every walker knows every node: an unknown one is refused, none is skipped."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest

from reports.describe import statement_sql
from shrink.reductions.clauses import without_outputs
from shrink.reductions.tables import without_column
from shrink.rewrite import first_block
from shrink.weight import node_weight, weight
from tests.unit.workload.shop import CUSTOMER, GIVEN_SHOP, SHOP
from workload.dml import Dml, statement_expressions, with_expressions
from workload.lift import lift, lifted_query
from workload.operators import operator_tree, own_operators, written_operators
from workload.query import (
    Cte,
    Derived,
    Expr,
    Item,
    Literal,
    Named,
    Node,
    OrderKey,
    Query,
    Relation,
    RowSource,
    Select,
    UnionAll,
    blocks,
    changed,
    children,
    expressions_of,
    names_read,
    rebuilt,
    relations_of,
    subexpressions,
    walk,
)
from workload.scenario import Commit, Scenario
from workload.scope import check_expression, output_columns, relation_scope
from workload.sql import Dialect, dml_texts, render_expr, render_query, render_relation
from workload.types import INT
from workload.wellformed import check_scenario

DEFINITIONS = (*SHOP.definitions, *GIVEN_SHOP.definitions)
NODES = [node for definition in DEFINITIONS for node in walk(definition.query)]
STATEMENTS = [s for step in SHOP.steps if isinstance(step, Commit) for s in step.statements]


@dataclasses.dataclass(frozen=True, slots=True)
class Unknown:
    """A node and statement that no walker knows."""

    type: Any = INT
    table: str = CUSTOMER.name


def over(query: Any) -> Select:
    """A block that reads a query, so that the unknown node stands inside known ones."""
    return Select((Item(Literal(1, INT), "x"),), Derived(query, "d"))


WALKERS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "children": (Node, children),
    "rebuilt": (Node, lambda node: rebuilt(node, children(node))),
    "rebuilt without parts": (
        Node,
        lambda node: rebuilt(node, known(children, node)),
    ),
    "walk": (Node, lambda node: list(walk(node))),
    "changed": (Node, lambda node: changed(node, lambda _: None)),
    "weight": (Node, node_weight),
    "operators": (RowSource, own_operators),
    "operator tree": (Query, lambda query: operator_tree(over(query))),
    "written operators": (Query, lambda query: list(written_operators(over(query)))),
    "blocks": (Query, lambda query: list(blocks(over(query)))),
    "names": (Query, lambda query: names_read(over(query))),
    "relations": (Relation, lambda relation: list(relations_of(relation))),
    "expressions of a block": (Select | Relation, lambda node: list(expressions_of(node))),
    "subexpressions": (Expr, lambda expr: list(subexpressions(expr))),
    "scope of an expression": (Expr, lambda expr: refused_or_not(check_expression, expr, {})),
    "scope of a relation": (Relation, lambda relation: refused_or_not(relation_scope, relation, {})),
    "scope of a query": (Query, lambda query: refused_or_not(output_columns, query, {})),
    "text of an expression": (Expr, lambda expr: render_expr(expr, Dialect.SPARK)),
    "text of a relation": (Relation, lambda relation: render_relation(relation, Dialect.SPARK)),
    "text of a query": (Query, lambda query: render_query(query, Dialect.SPARK)),
    "lifting": (Query, lambda query: refused_or_not(lifted_query, query)),
    "lifting in FROM": (Query, lambda query: refused_or_not(lifted_query, over(query))),
    "first block": (Query, lambda query: refused_or_not(first_block, UnionAll((query,)))),
    "fewer outputs": (Query, lambda query: without_outputs(UnionAll((query,)), frozenset())),
    "expressions of a statement": (Dml, statement_expressions),
    "other expressions": (
        Dml,
        lambda dml: with_expressions(dml, known(statement_expressions, dml)),
    ),
    "statement in SQL": (Dml, lambda dml: refused_or_not(dml_texts, dml, table_of(dml), Dialect.SPARK)),
    "statement for people": (Dml, statement_sql),
    "weight of a statement": (Dml, lambda dml: weight(holding(dml))),
    "lifting of a statement": (Dml, lambda dml: lift([holding(dml)] * 2)),
    "well-formed statement": (Dml, lambda dml: refused_or_not(check_scenario, holding(dml))),
    "statement without a column": (Dml, lambda dml: without_column(holding(dml), table_of(dml), "k")),
}


def refused_or_not(function: Callable[..., Any], *args: Any) -> None:
    """Calls a function that may find the sample wrong, as long as it knows the node."""
    with contextlib.suppress(ValueError):
        function(*args)


def known(function: Callable[[Any], Any], node: Any) -> Any:
    """What a function returns for a known node, nothing for the unknown one."""
    return () if type(node) is Unknown else function(node)


def table_of(dml: Any) -> Any:
    """The table of the shop that a statement is about."""
    return next(table for table in SHOP.tables if table.name == dml.table)


def holding(dml: Any) -> Scenario:
    """The tables of the shop and one statement."""
    return Scenario("one", SHOP.tables, (), (Commit(1, (dml,)),))


@pytest.mark.parametrize("name", WALKERS)
def test_a_walker_knows_every_node_and_refuses_an_unknown_one(name: str) -> None:
    kinds, walker = WALKERS[name]
    for kind in get_args(kinds):
        samples = [node for node in (*NODES, *STATEMENTS) if type(node) is kind]
        assert samples, f"the shop has no {kind.__name__}"
        for sample in samples:
            walker(sample)
    with pytest.raises((TypeError, AssertionError), match="Unknown"):
        walker(Unknown())


def test_the_unions_are_all_of_the_vocabulary() -> None:
    assert set(get_args(Node)) == {*get_args(Query), *get_args(Relation), *get_args(Expr), Item, Cte}
    assert {type(node) for node in NODES} == set(get_args(Node))


def fields_that_are_nodes(node: Any) -> Iterator[Any]:
    """The nodes in the fields of a node, read off the dataclass."""
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        listed = value if isinstance(value, tuple) else (value,)
        parts = (part.expr if isinstance(part, OrderKey) else part for part in listed)
        yield from (part for part in parts if isinstance(part, Node))


@pytest.mark.parametrize("kind", get_args(Node))
def test_children_are_all_nodes_of_the_fields_and_rebuilt_takes_them_back(kind: type) -> None:
    for node in (node for node in NODES if type(node) is kind):
        assert sorted(map(id, children(node))) == sorted(map(id, fields_that_are_nodes(node)))
        again = rebuilt(node, children(node))
        assert repr(again) == repr(node)  # not ==: NaN
        others = [Named("other", "other") if isinstance(p, Named) else p for p in children(node)]
        assert list(children(rebuilt(node, others))) == others


@pytest.mark.parametrize("kind", get_args(Dml))
def test_the_expressions_of_a_statement_are_taken_back(kind: type) -> None:
    for statement in (s for s in STATEMENTS if type(s) is kind):
        exprs = statement_expressions(statement)
        assert all(isinstance(expr, Expr) for expr in exprs)
        assert repr(with_expressions(statement, exprs)) == repr(statement)
        assert repr(statement).count("ColumnRef(") == sum(repr(expr).count("ColumnRef(") for expr in exprs)
