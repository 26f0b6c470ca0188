"""Witnesses: rows of base tables that together make a row of a definition, as far as its conditions say.

Random rows seldom meet a dozen conditions at once. A witness has one row for each relation that a definition
reads, at any depth, with values that satisfy its conditions one by one: those that compare a column with a
constant, and those that join two columns. What it cannot solve is left to chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from generators.given.model import Witness, WitnessRow
from given.facts import Fact, Resolved, Resolver
from given.near import around, matching, parts
from given.translation import conjuncts
from given.values import Values
from workload.types import Kind, Value

Path = tuple[str, ...]
"""The aliases from a definition down to a relation that it reads."""

Place = tuple[Path, str]
"""A column of such a relation: the relation's path, and the column's name."""

CHOICES: Mapping[type[exp.Expr], tuple[int, ...]] = {
    exp.EQ: (0,),
    exp.NullSafeEQ: (0,),
    exp.GTE: (0, 1),
    exp.LTE: (0, 2),
    exp.GT: (1,),
    exp.LT: (2,),
    exp.NEQ: (1, 2),
}
"""The values that satisfy a comparison with a constant: 0 is the constant, 1 the one above, 2 the one
below."""

MIRRORED: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
}
"""The comparison with its sides exchanged."""

MOST_WITNESSES = 8
"""The most witnesses of one definition: one for each branch of its set operations."""


@dataclass(slots=True)
class Sketch:
    """A witness under construction.

    `tables`: the base table of each relation. `fixed`: the values that conditions ask for. `equal`: pairs of
    columns with one value. `less`: pairs of columns of which the first has the smaller value.
    """

    tables: dict[Path, str] = field(default_factory=dict)
    fixed: dict[Place, Value] = field(default_factory=dict)
    equal: list[tuple[Place, Place]] = field(default_factory=list)
    less: list[tuple[Place, Place]] = field(default_factory=list)

    def add(self, other: Sketch, below: str) -> None:
        """Adds the sketch of a relation that is read under the alias `below`."""
        self.tables.update({(below, *path): table for path, table in other.tables.items()})
        self.fixed.update({((below, *path), column): value for (path, column), value in other.fixed.items()})
        for pairs, others in ((self.equal, other.equal), (self.less, other.less)):
            pairs.extend((((below, *left), a), ((below, *right), b)) for (left, a), (right, b) in others)


@dataclass(slots=True)
class Witnesses:
    """The search for witnesses of definitions, upstreams first. `known`: the sketches of those so far."""

    resolver: Resolver
    values: Values
    known: dict[str, list[Sketch]] = field(default_factory=dict)

    def of(self, definition: Resolved) -> tuple[Witness, ...]:
        """Returns the witnesses of a definition; none where sqlglot could not resolve its columns."""
        sketches = [] if definition.scope is None else list(self._query(definition.scope))[:MOST_WITNESSES]
        self.known[definition.written.name] = sketches
        return tuple(witness for sketch in sketches if (witness := self._finished(sketch)) is not None)

    def _query(self, scope: Scope) -> Iterator[Sketch]:
        """Yields the sketch of a SELECT block, or those of the branches of a set operation."""
        if scope.set_operation_scopes:
            for branch in scope.set_operation_scopes:
                yield from self._query(branch)
        elif isinstance(scope.expression, exp.Select):
            yield self._block(scope, scope.expression)

    def _block(self, scope: Scope, select: exp.Select) -> Sketch:
        """Returns a row for each relation of a block, at any depth, with what ON and WHERE ask for."""
        sketch = Sketch()
        for alias, source in scope.sources.items():
            if isinstance(source, Scope):
                inner = next(self._query(source), None) if source is not scope else None
            else:
                name = source.name.lower()
                if name in self.resolver.bases:
                    sketch.tables[(alias,)] = name
                inner = next(iter(self.known.get(name, ())), None)
            if inner is not None:
                sketch.add(inner, alias)
        conditions = [join.args.get("on") for join in select.args.get("joins") or ()]
        conditions += [where.this for clause in ("where",) if (where := select.args.get(clause))]
        for condition in conditions:
            for each in conjuncts(condition) if condition is not None else ():
                self._condition(each, scope, sketch)
        return sketch

    def _condition(self, condition: exp.Expr, scope: Scope, sketch: Sketch) -> None:
        """Adds what a condition asks of columns."""
        # One side of OR is enough. There may be hundreds.
        while isinstance(condition, exp.Or | exp.Paren):
            condition = condition.this
        match condition:
            case exp.And():
                for each in conjuncts(condition):
                    self._condition(each, scope, sketch)
            case exp.Like() if isinstance(condition.expression, exp.Literal):
                self._fix(condition.this, scope, sketch, matching(condition.expression.name)[0])
            case exp.Between():
                self._solve(condition.this, condition.args["low"], (0,), scope, sketch)
            case exp.In() if condition.expressions:
                self._solve(condition.this, condition.expressions[0], (0,), scope, sketch)
            case exp.In() if (query := condition.args.get("query")) is not None:
                self._member(condition.this, query, scope, sketch)
            case exp.Exists():
                self._subquery(condition.this, scope, sketch)
            case exp.Is() if isinstance(condition.expression, exp.Null):
                self._fix(condition.this, scope, sketch, None)
            case _ if type(condition) in CHOICES:
                self._comparison(condition, scope, sketch)

    def _comparison(self, condition: exp.Expr, scope: Scope, sketch: Sketch) -> None:
        """Adds what a comparison asks of the columns on its sides."""
        left, right = condition.args["this"], condition.args["expression"]
        kind = type(condition)
        for side in (left, right):
            if isinstance(side, exp.Subquery):
                # With a row of the subquery its value is not NULL; which one it is, is left to chance.
                self._subquery(side, scope, sketch)
        if right.find(exp.Column) is None and right.find(exp.Query) is None:
            self._solve(left, right, CHOICES[kind], scope, sketch)
        elif left.find(exp.Column) is None and left.find(exp.Query) is None:
            self._solve(right, left, CHOICES[MIRRORED.get(kind, kind)], scope, sketch)
        else:
            self._pair(kind, self._place(left, scope), self._place(right, scope), sketch)

    def _pair(self, kind: type[exp.Expr], left: Place | None, right: Place | None, sketch: Sketch) -> None:
        """Adds that two columns are equal, or in order; `<>` holds where the first is less, too."""
        if left is None or right is None:
            return
        if kind in (exp.EQ, exp.NullSafeEQ):
            sketch.equal.append((left, right))
        elif kind in (exp.LT, exp.LTE, exp.NEQ):
            sketch.less.append((left, right))
        else:
            sketch.less.append((right, left))

    def _member(self, value: exp.Expr, query: exp.Expr, scope: Scope, sketch: Sketch) -> None:
        """Adds rows of a subquery with the value that IN looks for."""
        inner = self._subquery(query, scope, sketch)
        if inner is None:
            return
        alias, found = inner
        block = found.expression
        place = self._place(block.selects[0].unalias(), found) if isinstance(block, exp.Select) else None
        outside = self._place(value, scope)
        if place is not None and outside is not None:
            sketch.equal.append((((alias, *place[0]), place[1]), outside))

    def _subquery(self, query: exp.Expr, scope: Scope, sketch: Sketch) -> tuple[str, Scope] | None:
        """Adds the rows of a subquery, with what it compares with the query outside; returns their alias."""
        tree = query.this if isinstance(query, exp.Subquery) else query
        for found in scope.subquery_scopes:
            if found.expression is tree:
                alias = f"${len(sketch.tables)}"
                inner = next(self._query(found), None)
                if inner is None:
                    return None
                sketch.add(inner, alias)
                where = tree.args.get("where")
                for each in conjuncts(where.this) if where is not None else ():
                    self._correlated(each, alias, found, scope, sketch)
                return alias, found
        return None

    def _correlated(self, each: exp.Expr, alias: str, inner: Scope, outer: Scope, sketch: Sketch) -> None:
        """Adds a comparison of a column of a subquery with one of the query outside."""
        if type(each) not in CHOICES:
            return
        sides = [each.args["this"], each.args["expression"]]
        within = [self._place(side, inner) for side in sides]
        outside = [self._place(side, outer) for side in sides]
        places = [
            ((alias, *found[0]), found[1]) if found is not None else other
            for found, other in zip(within, outside, strict=True)
        ]
        if within.count(None) == 1:
            self._pair(type(each), places[0], places[1], sketch)

    def _place(self, expr: exp.Expr, scope: Scope) -> Place | None:
        """Returns the column of a base table that an expression shows; None for another expression."""
        fact = self._fact(expr, scope)
        return None if fact.origin is None else (fact.path, fact.origin[1])

    def _fact(self, expr: exp.Expr, scope: Scope) -> Fact:
        """Returns the fact about an expression; about a column, as it is before outer joins pad rows."""
        while isinstance(expr, exp.Paren):
            expr = expr.this
        if isinstance(expr, exp.Column):
            return self.resolver.stored(expr, scope)
        return self.resolver.fact(expr, scope)

    def _solve(
        self, expr: exp.Expr, constant: exp.Expr, choices: tuple[int, ...], scope: Scope, sketch: Sketch
    ) -> None:
        """Fixes the column that is compared with a constant, so that the comparison holds."""
        if constant.find(exp.Query) is not None:
            return
        value: Any = self.values.evaluated(constant)
        fact = self._fact(expr, scope)
        if fact.origin is not None:
            near = around(value, self.values.types[fact.origin])
            fitting = [near[n] for n in choices if n < len(near)]
            if fitting:
                self._fix(expr, scope, sketch, fitting[0])
            return
        columns = list(expr.find_all(exp.Column))
        if len(columns) != 1:
            return
        # Such as YEAR(day) = 1995: a time of that year; or SUBSTRING(phone, 1, 2) = '11': that text itself.
        inside = self.resolver.stored(columns[0], scope)
        if inside.origin is not None:
            type_ = self.values.types[inside.origin]
            near = parts(value, type_) or around(value, type_)
            fitting = [near[n] for n in choices if n < len(near)]
            if fitting:
                sketch.fixed.setdefault((inside.path, inside.origin[1]), fitting[0])

    def _fix(self, expr: exp.Expr, scope: Scope, sketch: Sketch, value: Value) -> None:
        """Fixes the column that an expression shows to a value, unless a condition before has fixed it."""
        place, fact = self._place(expr, scope), self._fact(expr, scope)
        if place is None or fact.origin is None:
            return
        if isinstance(value, str) and self.values.types[fact.origin].kind is not Kind.STRING:
            return
        # Of several conditions the first is satisfied; the others are, or they are left to chance.
        sketch.fixed.setdefault(place, value)

    def _finished(self, sketch: Sketch) -> Witness | None:
        """Returns the witness with its rows in order, and its equal columns in groups; None without rows."""
        paths = list(sketch.tables)
        if not paths:
            return None
        groups: list[set[Place]] = []
        for pair in sketch.equal:
            members = {place for place in pair if place[0] in sketch.tables}
            meeting = [group for group in groups if group & members]
            groups = [group for group in groups if not group & members]
            groups.append(members.union(*meeting))
        rows = tuple(
            WitnessRow(
                sketch.tables[path],
                tuple((column, value) for (of, column), value in sketch.fixed.items() if of == path),
            )
            for path in paths
        )
        equal = tuple(
            tuple(sorted((paths.index(path), column) for path, column in group))
            for group in groups
            if len(group) > 1
        )
        ascending = tuple(
            tuple((paths.index(path), column) for path, column in chain)
            for chain in chains(sketch.less)
            if all(path in sketch.tables for path, _ in chain)
        )
        return Witness(rows, equal, ascending)


def chains(pairs: Sequence[tuple[Place, Place]]) -> list[list[Place]]:
    """Returns the pairs put together as chains: (a, b) and (b, c) give a, b, c. A circle gives none."""
    remaining = list(dict.fromkeys(pairs))
    found: list[list[Place]] = []
    while remaining:
        chain = list(remaining.pop(0))
        grown = True
        while grown:
            grown = False
            for pair in list(remaining):
                if pair[0] == chain[-1]:
                    chain.append(pair[1])
                elif pair[1] == chain[0]:
                    chain.insert(0, pair[0])
                else:
                    continue
                remaining.remove(pair)
                grown = True
        if len(set(chain)) == len(chain):
            found.append(chain)
    return found
