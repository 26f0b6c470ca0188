"""The goals of random data: what must come about so that each part of a definition's text made a difference.

As code coverage counts branches, these goals count what conditions gave (TRUE, FALSE and NULL), the rows of
joins with and without a match, the branches of CASE, and what happened to rows, groups and columns. What can
never come about is no goal: see `given.facts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from generators.given.model import Goal, Happening
from given.facts import Resolved, Resolver, always_matched
from given.near import around
from given.script import BaseTable
from given.translation import conjuncts, duckdb_text
from given.values import Values
from workload.sql import Dialect, literal

STATEMENTS = ("insert", "update", "delete", "merge")
"""The kinds of statements that each base table behind a definition should get."""

GROWING = frozenset({"insert"})
"""The statements that take no row away. Where tables get no others, rows and groups that go are no goal."""

TRUE_AT: Mapping[type[exp.Expr], int] = {exp.EQ: 0, exp.GTE: 0, exp.LTE: 0, exp.GT: 1, exp.NEQ: 1, exp.LT: 2}
"""The value for which a comparison with a constant is TRUE: 0 is the constant, 1 the one above, 2 below."""

FALSE_AT: Mapping[type[exp.Expr], int] = {exp.NEQ: 0, exp.GT: 0, exp.LT: 0, exp.EQ: 1, exp.LTE: 1, exp.GTE: 2}
"""The same for FALSE."""

MOST_BRANCHES = 20
"""The most branches of one CASE that are goals: the probe of each holds the conditions of all before it."""

LONGEST_CONDITION = 60
"""The most characters of a condition that a label shows."""


@dataclass(frozen=True, slots=True)
class GoalFinder:
    """The search for the goals of one definition.

    `tables`: the base tables of the script, by name. `bases`: the base tables behind the definition, at any
    depth, with the statements that each gets.
    """

    resolver: Resolver
    values: Values
    definition: Resolved
    tables: Mapping[str, BaseTable]
    bases: Mapping[str, frozenset[str]]

    def goals(self) -> tuple[Goal, ...]:
        """Returns all goals, those of the text first; of goals with the same label only the first."""
        found: dict[str, Goal] = {}
        for goal in (*self._of_text(), *self._of_rows(), *self._of_statements()):
            found.setdefault(goal.label, goal)
        return tuple(found.values())

    def _of_text(self) -> Iterator[Goal]:
        """Yields the goals of all blocks of the definition."""
        if self.definition.scope is None:
            return
        for scope in self.definition.scope.traverse():
            # The conditions of a correlated subquery have no meaning without a row of the query outside.
            if isinstance(scope.expression, exp.Select) and not scope.external_columns:
                yield from self._of_block(scope.expression, scope)

    def _of_block(self, select: exp.Select, scope: Scope) -> Iterator[Goal]:
        """Yields the goals of the joins, the conditions and the CASE expressions of a block."""
        yield from self._joins(select, scope)
        if where := select.args.get("where"):
            for condition in conjuncts(where.this):
                yield from self._truths("WHERE", condition, select, scope, rows_of(select))
        if having := select.args.get("having"):
            for condition in conjuncts(having.this):
                yield from self._truths("HAVING", condition, select, scope, groups_of(select))
        if qualify := select.args.get("qualify"):
            for condition in conjuncts(qualify.this):
                yield from self._truths("QUALIFY", condition, select, scope, outputs_of(select))
        for item in select.expressions:
            for case in item.find_all(exp.Case):
                if case.find_ancestor(exp.Select) is select:
                    yield from self._branches(case, select, scope)

    def _truths(
        self, clause: str, condition: exp.Expr, select: exp.Select, scope: Scope, context: exp.Select
    ) -> Iterator[Goal]:
        """Yields the goals that a condition over rows of `context` is TRUE, FALSE, and NULL if it may be."""
        label = f"{clause} {shown(condition)} is"
        needs = self._needs(condition, scope, TRUE_AT)
        never = self._never(condition, scope)
        if never is not True:
            yield self._goal(f"{label} TRUE", condition, probe(condition, context), needs)
        no = exp.not_(exp.paren(condition.copy()))
        needs = self._needs(condition, scope, FALSE_AT)
        if never is not False:
            yield self._goal(f"{label} FALSE", condition, probe(no, context), needs)
        if self.resolver.nullable(condition, scope):
            unknown = exp.Is(this=exp.paren(condition.copy()), expression=exp.null())
            yield self._goal(f"{label} NULL", condition, probe(unknown, context))

    def _never(self, condition: exp.Expr, scope: Scope) -> bool | None:
        """Returns the answer that a condition cannot have, because a value is never NULL; else None."""
        match condition:
            case exp.Paren():
                return self._never(condition.this, scope)
            case exp.Not():
                inner = self._never(condition.this, scope)
                return None if inner is None else not inner
            case exp.Is() if isinstance(condition.expression, exp.Null):
                return None if self.resolver.nullable(condition.this, scope) else True
            case _:
                return None

    def _needs(self, condition: exp.Expr, scope: Scope, at: Mapping[type[exp.Expr], int]) -> str:
        """Returns the value of a column with which a comparison with a constant has an answer; else empty.

        `at`: TRUE_AT or FALSE_AT. For `price < 5` and TRUE_AT the value is `t.price = 4`.
        """
        if isinstance(condition, exp.Paren):
            return self._needs(condition.this, scope, at)
        left, right = condition.args.get("this"), condition.args.get("expression")
        if type(condition) not in at or left is None or right is None:
            return ""
        if right.find(exp.Column, exp.Query) is not None:
            return ""
        origin = self.resolver.fact(left, scope).origin
        if origin is None:
            return ""
        type_ = self.values.types[origin]
        near = around(self.values.evaluated(right), type_)[at[type(condition)] :]
        return f"{'.'.join(origin)} = {literal(near[0], type_, Dialect.SPARK)}" if near else ""

    def _branches(self, case: exp.Case, select: exp.Select, scope: Scope) -> Iterator[Goal]:
        """Yields the goals that each branch of a CASE is taken, ELSE included; the first of a long one."""
        inside = case.find_ancestor(exp.AggFunc) is not None
        context = rows_of(select, filtered=True) if inside or not over_groups(case) else outputs_of(select)
        if not inside and select.args.get("group") and not over_groups(case):
            # Its columns are keys of groups, so that each group has one answer, as each of its rows has.
            context = rows_of(select, filtered=True)
        conditions = [
            exp.EQ(this=case.this.copy(), expression=branch.this.copy()) if case.this else branch.this.copy()
            for branch in case.args["ifs"]
        ]
        before: list[exp.Expr] = []
        for branch, condition in zip(case.args["ifs"][:MOST_BRANCHES], conditions, strict=False):
            reached = exp.and_(*before, exp.paren(condition)) if before else condition
            if self._never(condition, scope) is not True:
                yield self._goal(f"CASE takes WHEN {shown(branch.this)}", branch, probe(reached, context))
            holds = exp.Is(this=exp.paren(condition.copy()), expression=exp.true())
            before.append(exp.Not(this=exp.paren(holds)))
        if len(conditions) <= MOST_BRANCHES:
            yield self._goal("CASE takes ELSE", case, probe(exp.and_(*before), context))

    def _joins(self, select: exp.Select, scope: Scope) -> Iterator[Goal]:
        """Yields the goals that rows of each join match, and that each side has a row without a match."""
        joins: list[exp.Join] = list(select.args.get("joins") or ())
        for number, join in enumerate(joins):
            on = join.args.get("on")
            if on is None or isinstance(join.this, exp.Lateral | exp.Unnest):
                continue
            left = exp.Select()
            left.set("from_", select.args["from_"].copy())
            left.set("joins", [each.copy() for each in joins[:number]])
            right = exp.Select()
            right.set("from_", exp.From(this=join.this.copy()))
            matched = left.copy()
            matched.append("joins", exp.Join(this=join.this.copy(), on=on.copy()))
            name = join.alias_or_name
            yield self._goal(f"join with {name}: rows match", on, some_row(matched))
            to_right, to_left = self._always(on, join, scope, number)
            if not to_right:
                yield self._goal(f"join with {name}: a left row without match", on, lonely(left, right, on))
            if not to_left:
                label = f"join with {name}: a row of {name} without match"
                yield self._goal(label, on, lonely(right, left, on))

    def _always(self, on: exp.Expr, join: exp.Join, scope: Scope, number: int) -> tuple[bool, bool]:
        """Returns whether each left row has a match, and each right one; only one equality can tell so."""
        if not (
            isinstance(on, exp.EQ) and isinstance(on.left, exp.Column) and isinstance(on.right, exp.Column)
        ):
            return False, False
        sides = sorted((on.left, on.right), key=lambda side: side.table == join.alias_or_name)
        # This join fills its right side only where there is no match; joins before it fill the left one.
        left = self.resolver.fact(sides[0], scope) if number else self.resolver.stored(sides[0], scope)
        facts = [left, self.resolver.stored(sides[1], scope)]
        complete = [self._is_base_table(side, scope) for side in sides]
        return (
            complete[1] and always_matched(facts[0], facts[1], self.tables),
            complete[0] and number == 0 and always_matched(facts[1], facts[0], self.tables),
        )

    def _is_base_table(self, side: exp.Column, scope: Scope) -> bool:
        """Tells whether a column's relation is a base table, which has all its rows."""
        source = scope.sources.get(side.table)
        return isinstance(source, exp.Table) and source.name.lower() in self.tables

    def _of_rows(self) -> Iterator[Goal]:
        """Yields the goals for the rows, the groups and the columns of the dynamic table."""
        tree = self.definition.tree
        grows = all(got <= GROWING for got in self.bases.values())
        items = tree.selects if isinstance(tree, exp.Query) else []
        keys = key_outputs(tree)
        for number, item in enumerate(items):
            if number not in keys and item.find(exp.Column, exp.AggFunc, exp.Window, exp.Query):
                label = f"{Happening.COLUMN_CHANGED.value} {item.alias_or_name}"
                yield Goal(label=label, happening=Happening.COLUMN_CHANGED, columns=(number,))
        if keys:
            kinds = [Happening.GROUP_ADDED]
            if not grows:
                kinds += [Happening.GROUP_EMPTIED, Happening.GROUP_REFILLED]
            if len(keys) < len(items):
                kinds.append(Happening.GROUP_CHANGED)
            for kind in kinds:
                yield Goal(label=kind.value, happening=kind, columns=keys)
        elif not one_row(tree):
            for kind in (Happening.ROW_ADDED, *(() if grows else (Happening.ROW_REMOVED,))):
                yield Goal(label=kind.value, happening=kind)

    def _of_statements(self) -> Iterator[Goal]:
        """Yields the goals that each base table is changed by each kind of statement that it gets."""
        for table, got in self.bases.items():
            for statement in STATEMENTS:
                if statement not in got:
                    continue
                label = f"{Happening.STATEMENT.value} {statement.upper()} of {table}"
                yield Goal(label=label, happening=Happening.STATEMENT, table=table, statement=statement)

    def _text(self, query: exp.Select) -> str:
        """Returns the text of a probe for DuckDB, with the CTEs of the definition."""
        if (with_ := self.definition.tree.args.get("with_")) is not None:
            query.set("with_", with_.copy())
        return duckdb_text(query)

    def _goal(self, label: str, node: exp.Expr, query: exp.Select, needs: str = "") -> Goal:
        """Returns the goal that a query probes. `node`: the part of the text that it is about."""
        lines = (each.meta.get("line") for each in node.walk())
        line = next((each for each in lines if each), None)
        if line is None:
            return Goal(label=label, probe=self._text(query), needs=needs)
        line += self.definition.written.place.line - 1
        return Goal(label=f"line {line}: {label}", line=line, probe=self._text(query), needs=needs)


def probe(condition: exp.Expr, context: exp.Select) -> exp.Select:
    """Returns the query that tells whether a condition holds for some row of a block, the `context`."""
    inner = context.copy()
    inner.set("expressions", [exp.alias_(exp.paren(condition.copy()), "met")])
    return exp.select(exp.func("bool_or", exp.column("met"))).from_(inner.subquery("probed"))


def shown(condition: exp.Expr) -> str:
    """Returns a condition as a label shows it: on one line, and cut off where it is long."""
    text = " ".join(condition.sql("databricks", comments=False).split())
    return text if len(text) <= LONGEST_CONDITION else f"{text[: LONGEST_CONDITION - 3]}..."


def _without(select: exp.Select, *clauses: str) -> exp.Select:
    """Returns a copy of a block without some clauses, and without those that no probe has."""
    block = select.copy()
    for clause in (*clauses, "with_", "distinct", "order", "limit", "offset"):
        block.set(clause, None)
    return block


def rows_of(select: exp.Select, *, filtered: bool = False) -> exp.Select:
    """Returns a block over the rows of FROM; `filtered`: only over those that WHERE keeps."""
    return _without(select, "group", "having", "qualify", "windows", *(() if filtered else ("where",)))


def groups_of(select: exp.Select) -> exp.Select:
    """Returns a block over the groups of another one, those that HAVING drops included."""
    return _without(select, "having", "qualify")


def outputs_of(select: exp.Select) -> exp.Select:
    """Returns a block over the output rows of another one, those that QUALIFY drops included."""
    return _without(select, "qualify")


def over_groups(expr: exp.Expr) -> bool:
    """Tells whether an expression is computed from groups or windows."""
    return expr.find(exp.AggFunc, exp.Window) is not None


def some_row(block: exp.Select) -> exp.Select:
    """Returns the query that tells whether a block has a row."""
    block = block.copy()
    block.set("expressions", [exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))])
    return block


def lonely(of: exp.Select, others: exp.Select, on: exp.Expr) -> exp.Select:
    """Returns the query that tells whether a row of one relation has no match in another one."""
    inner = others.copy()
    inner.set("expressions", [exp.Literal.number(1)])
    return some_row(of).where(exp.not_(exp.Exists(this=inner.where(on.copy()))))


def key_outputs(tree: exp.Expr) -> tuple[int, ...]:
    """Returns the positions of the outputs that identify a row: the keys of groups, or all of a DISTINCT."""
    if not isinstance(tree, exp.Select):
        return ()
    items = tree.selects
    if tree.args.get("distinct") is not None:
        return tuple(range(len(items)))
    group = tree.args.get("group")
    keys: Sequence[exp.Expr] = () if group is None else group.expressions
    return tuple(n for n, item in enumerate(items) if any(item.unalias() == key for key in keys))


def one_row(tree: exp.Expr) -> bool:
    """Tells whether a query has one row for any contents: an aggregate without GROUP BY."""
    if not isinstance(tree, exp.Select) or tree.args.get("group") is not None:
        return False
    aggregates: Iterable[exp.AggFunc] = (each for item in tree.selects for each in item.find_all(exp.AggFunc))
    return any(each.find_ancestor(exp.Window, exp.Select) is tree for each in aggregates)
