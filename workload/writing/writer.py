"""Queries in Spark's SQL as people write them: the same query in many texts, drawn by a number.

`render` writes each operator in parentheses; here only those are written that Spark's grammar needs, and a
few that it does not. What a text means is what Spark's grammar (SqlBaseParser.g4) says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from workload import query as ir
from workload.scenario import Definition, Scenario
from workload.sql.dialect import Dialect
from workload.sql.memberships import with_groups
from workload.sql.qualify import qualified_outside, reads_only
from workload.sql.render import render_query
from workload.sql.scalars import first_rows, row_join, scalar_join, scalars_over_groups
from workload.types import TINYINT
from workload.writing.exploded import lateral, listed, place_in_list, view
from workload.writing.expression import Clause, Level, Written
from workload.writing.items import all_columns, named_later
from workload.writing.lateral import joined_rows, tied_rows, tied_values
from workload.writing.lists import lists_of_rows
from workload.writing.on import membership_in_on, value_in_on
from workload.writing.order import idle_order, own_expressions, sorted_by
from workload.writing.pivot import pivot_of, written_pivot
from workload.writing.sets import grouping_id, written_sets
from workload.writing.style import Style
from workload.writing.subqueries import mark, membership, row_value, scalar
from workload.writing.unpivot import unpivot_of, written_unpivot
from workload.writing.window import names_of_windows, window_clause

Names = Mapping[str, Collection[str]]
"""Relation -> the names of its columns."""


def definition_text(scenario: Scenario, definition: Definition, dialect: Dialect) -> str:
    """Returns the text of a definition's query as an engine is given it; only Spark's SQL has styles."""
    query, names = definition.query, names_of(scenario)
    read = [each for each in scenario.definitions if each.known_as and each.name in ir.names_read(query)]
    if read:
        public = {each.name: each.known_as for each in read}
        query = ir.with_sources(query, public)
        names = {**names, **{each.known_as: names[each.name] for each in read}}
    if definition.style and dialect is Dialect.SPARK:
        return written_query(query, definition.style, names)
    return render_query(query, dialect)


def written_query(query: ir.Query, style: int, names: Names) -> str:
    """Returns a query in Spark's SQL, in the style of that number: the same number gives the same text.

    `names`: the columns of every relation that the query reads.
    """
    return Writer(Style.of(style), names).whole(query)


def names_of(scenario: Scenario) -> Names:
    """Returns the column names of every table, view and dynamic table of a scenario."""
    tables = {table.name: [column.name for column in table.columns] for table in scenario.tables}
    return {**tables, **{each.name: ir.output_names(each.query) for each in scenario.definitions}}


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes one query in a style. `names`: the columns of the relations that it may read.

    `merges`: whether a join may be written with USING or NATURAL. Spark 4.2 loses the key of the right side
    where there are grouping sets above.
    """

    style: Style
    names: Names
    merges: bool = True

    # Queries.

    def whole(self, query: ir.Query) -> str:
        """Returns a whole query, sometimes inside another one that reads all its columns."""
        text = self.alone(query)
        if isinstance(query, ir.With) or not self.style.chance(15):
            return text
        select, from_ = self.style.words("SELECT"), self.style.words("FROM")
        star = all_columns(self.style, query, "w")
        if self.style.chance(50):
            return f"{self.style.words('WITH')} w {self.style.words('AS')} ({text}) {select} {star} {from_} w"
        return f"{select} {star} {from_} ({text}) {self.style.choices.choice(('AS w', 'w'))}"

    def alone(self, query: ir.Query) -> str:
        """Returns a query that is no branch of another one, so that it may have an order of its own."""
        text = self.query(query)
        return (
            text
            if isinstance(query, ir.Limited)
            else text + idle_order(self.style, query, ir.output_names(query))
        )

    def query(self, query: ir.Query) -> str:
        """Returns the text of a query, also of one that is a branch of another query."""
        match query:
            case ir.Select():
                return self.select(query)
            case ir.SetOperation(branches):
                unpivot = unpivot_of(query) if isinstance(query, ir.UnionAll) else None
                if unpivot is not None and self.style.chance(70):
                    return written_unpivot(self, unpivot)
                words = query.sql
                if words.startswith("EXCEPT") and self.style.chance(30):
                    words = words.replace("EXCEPT", "MINUS")
                texts = [self.branch(branch, query, number == 0) for number, branch in enumerate(branches)]
                return f"{self.style.gap()}{self.style.words(words)} ".join(texts)
            case ir.Limited():
                return self.limited(query)
            case ir.With(ctes, body):
                while isinstance(body, ir.With):
                    ctes, body = ctes + body.ctes, body.body
                writer, as_, written = self, self.style.words("AS"), []
                for cte in ctes:
                    names = self.listed(cte.query)
                    written.append(f"{self.style.name(cte.name)}{names} {as_} ({writer.alone(cte.query)})")
                    writer = Writer(self.style, {**writer.names, cte.name: ir.output_names(cte.query)})
                with_ = f"{self.style.words('WITH')} {', '.join(written)}"
                return f"{with_}{self.style.gap()}{writer.query(body)}"
            case ir.Verbatim():
                return render_query(query, Dialect.SPARK)
            case _:
                assert_never(query)

    def branch(self, branch: ir.Query, whole: ir.SetOperation, first: bool) -> str:
        """Returns the text of a branch, in parentheses where it would be read in another way without."""
        text = self.query(branch)
        match branch:
            case ir.Select():
                may_stand_bare = True
            case ir.Intersect() | ir.IntersectAll():
                # INTERSECT binds tighter than the others, which are read from left to right.
                may_stand_bare = first or not isinstance(whole, ir.Intersect | ir.IntersectAll)
            case ir.SetOperation():
                may_stand_bare = first and not isinstance(whole, ir.Intersect | ir.IntersectAll)
            case _:
                may_stand_bare = False
        return text if may_stand_bare and self.style.chance(70) else f"({text})"

    def limited(self, limited: ir.Limited) -> str:
        """Returns a query with its order and LIMIT; outputs are named or given by position."""
        text, words, outputs = self.query(limited.query), self.style.words, ir.output_names(limited.query)
        # ORDER BY after a set operation belongs to all of it; WITH and LIMIT need a query of their own.
        own: Mapping[str, str] = {}
        whole = isinstance(limited.query, ir.Select | ir.SetOperation)
        if not whole or self.style.chance(20):
            text = f"{words('SELECT')} * {words('FROM')} ({text}) {self.style.choices.choice(('AS q', 'q'))}"
        else:
            own = own_expressions(self.style, limited.query)
        keys = sorted_by(self.style, limited.order, outputs, own)
        text += f"{self.style.gap()}{words('ORDER BY')} {keys}"
        text += f"{self.style.gap()}{words('LIMIT')} {limited.count}"
        return text + (f" {words('OFFSET')} {limited.offset}" if limited.offset else "")

    def without_memberships(self, select: ir.Select) -> tuple[ir.Select, list[ir.Join], bool]:
        """Returns a block without the joins that conditions replace, these, and whether HAVING has them."""
        joins: list[ir.Join] = []
        while isinstance(select.source, ir.Join) and select.source.kind in ir.MEMBERSHIP:
            if isinstance(select.source.right, ir.Join | ir.Exploded) or not self.style.chance(75):
                break
            joins.append(select.source)
            select = replace(select, source=select.source.left)
        merged = with_groups(select, joins) if joins and self.style.chance(60) else None
        return (select, joins, False) if merged is None else (*merged, True)

    def select(self, select: ir.Select) -> str:
        """Returns a block. What is drawn for one part decides what may be drawn for the parts after it."""
        pivot = pivot_of(select)
        if pivot is not None and self.style.chance(70):
            return written_pivot(self, select, pivot)
        outputs: Mapping[ir.Expr, Written] = {}
        if select.qualify is not None and select.group_by is not None:
            outputs = self.outputs(select)
            if not reads_only(select.qualify, outputs) or self.style.chance(20):
                return self.select(qualified_outside(select))
        select, joins, merged = self.without_memberships(select)
        conditions = [membership(self, join) for join in joins]
        lateral_from = None if joins else self.beside(select)
        select, values = (select, {}) if joins or lateral_from else self.values(select)
        # Without a qualifier a name of two relations would be ambiguous.
        # A condition that was a join may read the elements, too.
        place = place_in_list(select) if self.style.chance(60) and not joins else None
        writer = replace(self, merges=select.sets is None)
        source, views = writer.with_views(select.source, in_list=place is not None)
        source = lateral_from or source
        single = self.is_single(select.source)
        # Spark finds a key in the select list only if it is written alike there.
        once = Clause(self.style, False)
        texts: Mapping[ir.Expr, Written] = {
            **values,
            **{key: once.written(key) for key in select.group_by or () if isinstance(key, ir.Call)},
        }
        bare = single and self.style.chance(60)
        sets, groupings = self.sets(select, Clause(self.style, bare, texts))
        texts = {**texts, **groupings}
        windows = names_of_windows(self.style, ir.windows_of(select))
        clause = Clause(self.style, bare, texts, windows)
        distinct = "DISTINCT " if select.distinct else ""
        items = ", ".join(self.items(select, clause, place))
        parts = [
            f"{self.style.words('SELECT ' + distinct)}{items}",
            f"{self.style.words('FROM')} {source}",
            *views,
        ]
        rows = lists_of_rows(clause, select.where)
        filters = replace(clause, known={**texts, **rows})
        where = self.conditions(filters, select.where, [] if merged else conditions)
        if where:
            parts.append(f"{self.style.words('WHERE')} {where}")
        if sets:
            parts.append(f"{self.style.words('GROUP BY')} {sets}")
        elif select.group_by:
            parts.append(f"{self.style.words('GROUP BY')} {self.keys(select, select.group_by, clause)}")
        parts += self.after_groups(select, clause, outputs, conditions if merged else [])
        text = parts[0]
        for part in parts[1:]:
            text += self.style.gap() + part
        return text

    def after_groups(
        self, select: ir.Select, clause: Clause, outputs: Mapping[ir.Expr, Written], conditions: list[str]
    ) -> Iterator[str]:
        """Yields HAVING, which has the conditions that are written already, WINDOW and QUALIFY, if there.

        `outputs`: the names that QUALIFY over groups reads.
        """
        # In HAVING a name without a qualifier may stand for an output.
        having = Clause(self.style, False, {**clause.known, **self.aliased(select)})
        kept = self.conditions(having, select.having, conditions)
        if kept:
            yield f"{self.style.words('HAVING')} {kept}"
        if clause.windows:
            # Spark reads a name of WINDOW in QUALIFY as an output, too.
            bare = clause.bare and select.qualify is None
            named = Clause(self.style, bare, clause.known)
            yield window_clause(named, clause.windows, ir.windows_of(select))
        if select.qualify is not None:
            if select.group_by is not None:
                computed: Mapping[ir.Expr, Written] = {
                    each: name for each, name in outputs.items() if not isinstance(each, ir.Window)
                }
                whole = reads_only(select.qualify, computed) and self.style.chance(50)
                qualify = Clause(self.style, False, computed if whole else outputs)
            else:
                known = {**clause.known, **self.aliased(select)}
                qualify = replace(having, known=known, windows=clause.windows)
            yield f"{self.style.words('QUALIFY')} {qualify.text(select.qualify)}"

    def conditions(self, clause: Clause, own: ir.Expr | None, others: list[str]) -> str:
        """Returns a condition and others that are written already, joined by AND; nothing for none."""
        if own is None:
            return self.style.words(" AND ").join(others)
        if not others:
            return clause.text(own)
        text = clause.operand(own, Level.AND)
        return self.style.words(" AND ").join([*others, text] if self.style.chance(50) else [text, *others])

    def beside(self, select: ir.Select) -> str | None:
        """Returns FROM with LATERAL in place of a join with aggregates; None: there is none, or it stays."""
        found = scalar_join(select) if self.style.chance(15) else None
        if found is None or found.marks or found.inner.having is not None:
            return None
        assert isinstance(select.source, ir.Join)
        assert isinstance(select.source.right, ir.Derived), "what scalar_join finds"
        return self.relation(found.left) + tied_values(self, found, select.source.right.alias)

    def values(self, select: ir.Select) -> tuple[ir.Select, Mapping[ir.Expr, Written]]:
        """Returns a block without the join that subqueries stand for, and what they say of its columns."""
        row = row_join(select) if self.style.chance(25) else None
        if row is not None:
            read: dict[ir.Expr, Written] = {each: row_value(self, row, each) for each in row.columns}
            return replace(select, source=row.left), read
        found = scalar_join(select)
        if found is None or not self.style.chance(75):
            return select, {}
        if self.style.chance(85):
            select, found = scalars_over_groups(select, found)
        values = {column: scalar(self, found, value) for column, value in found.values.items()}
        marks: dict[ir.Expr, Written] = {test: mark(self, found, test) for test in found.marks}
        return replace(select, source=found.left), {**values, **marks}

    def sets(self, select: ir.Select, clause: Clause) -> tuple[str, Mapping[ir.Expr, Written]]:
        """Returns the grouping sets of a block, if any, and what stands for GROUPING of a key."""
        if not select.group_by or select.sets is None:
            return "", {}
        text, order = written_sets(clause, select.group_by, select.sets)
        if not self.style.chance(40):
            return text, {}
        texts = [clause.text(select.group_by[place]) for place in order]
        return text, {
            ir.Grouping(select.group_by[key], TINYINT): (
                grouping_id(self.style, place, texts),
                Level.PRIMARY,
            )
            for place, key in enumerate(order)
        }

    def keys(self, select: ir.Select, keys: tuple[ir.Expr, ...], clause: Clause) -> str:
        """Returns the keys of GROUP BY: ALL, or each by its expression, name, alias or position."""
        items = [item.expr for item in select.items]
        if _all_are_keys(items, keys) and self.style.chance(20):
            return self.style.words("ALL")
        inputs = self.inputs(select.source)
        outputs = {item.name for item in select.items}
        single, listed = self.is_single(select.source), []
        for key in keys:
            text = clause.text(key)
            if single and isinstance(key, ir.ColumnRef) and key.name in outputs and self.style.chance(70):
                # The column of the relation comes first, whatever the output of that name is.
                text = self.style.name(key.name)
            elif key in items:
                position = items.index(key)
                alias = select.items[position].name
                if self.style.chance(25):
                    text = str(position + 1)
                elif alias not in inputs and self.style.chance(30):
                    text = self.style.name(alias)
            listed.append(text)
        return ", ".join(listed)

    def aliased(self, select: ir.Select) -> Mapping[ir.Expr, Written]:
        """Returns the aliases of aggregates that HAVING names by them, as a column would come first."""
        inputs = self.inputs(select.source)
        return {
            item.expr: (self.style.name(item.name), Level.PRIMARY)
            for item in select.items
            if isinstance(item.expr, ir.Aggregate | ir.Window)
            and item.name not in inputs
            and self.style.chance(40)
        }

    def outputs(self, select: ir.Select) -> Mapping[ir.Expr, Written]:
        """Returns the aliases of all outputs that have a name of their own: no column of FROM has it."""
        inputs = {*map(str.lower, self.inputs(select.source))}
        return {
            item.expr: (self.style.name(item.name), Level.PRIMARY)
            for item in select.items
            if item.name.lower() not in inputs
        }

    def inputs(self, relation: ir.Relation) -> Collection[str]:
        """Returns the names of all columns that a FROM clause brings into scope."""
        match relation:
            case ir.Named(name, _):
                return self.names[name]
            case ir.Derived(query, _):
                return ir.output_names(query)
            case ir.Exploded(inner):
                return {*self.inputs(inner), *relation.columns}
            case ir.Join(kind, left, _, _) if kind in ir.MEMBERSHIP:
                return self.inputs(left)
            case ir.Join(_, left, right, _):
                return {*self.inputs(left), *self.inputs(right)}
            case _:
                assert_never(relation)

    # Relations.

    def is_single(self, relation: ir.Relation) -> bool:
        """Tells whether no two columns in scope have one name, as in a single relation."""
        if isinstance(relation, ir.Exploded):
            known = {*self.inputs(relation.relation)}
            return self.is_single(relation.relation) and not known & {*relation.columns}
        return not isinstance(relation, ir.Join)

    def with_views(self, relation: ir.Relation, *, in_list: bool) -> tuple[str, list[str]]:
        """Returns the text of a FROM clause and the LATERAL VIEWs after it.

        `in_list`: the select list has the elements of the outermost array, which FROM then leaves out.
        """
        views: list[str] = []
        if in_list and isinstance(relation, ir.Exploded):
            relation = relation.relation
        while isinstance(relation, ir.Exploded) and self.style.chance(60):
            views.insert(0, view(Clause(self.style, False), relation))
            relation = relation.relation
        return self.source(relation), views

    def items(self, select: ir.Select, clause: Clause, place: int | None) -> list[str]:
        """Returns the select list; at `place` a call stands for the outputs that are elements."""
        texts, node = named_later(clause, select, self.inputs(select.source)), select.source
        if place is not None and isinstance(node, ir.Exploded):
            names = [item.name for item in select.items[place : place + len(node.columns)]]
            texts[place : place + len(names)] = [listed(self.style, node, names, clause.text(node.array))]
        return texts

    def source(self, relation: ir.Relation) -> str:
        """Returns a FROM clause, in which a comma may stand for a cross join or before elements."""
        if isinstance(relation, ir.Exploded):
            inner = self.source(relation.relation)
            return lateral(Clause(self.style, False), relation, inner, comma=True)
        if isinstance(relation, ir.Join) and relation.kind is ir.JoinKind.CROSS and self.style.chance(50):
            right = self.relation(relation.right)
            if isinstance(relation.right, ir.Join | ir.Exploded):
                right = f"({right})"
            return f"{self.relation(relation.left)}, {right}"
        return self.relation(relation)

    def relation(self, relation: ir.Relation) -> str:
        """Returns one relation of a FROM clause with its alias."""
        as_ = self.style.words("AS ") if self.style.chance(60) else ""
        match relation:
            case ir.Named(name, alias):
                shown = self.style.alias(alias)
                return self.style.name(name) if name == shown else f"{self.style.name(name)} {as_}{shown}"
            case ir.Derived(query, alias):
                return f"({self.alone(query)}) {as_}{self.style.alias(alias)}{self.listed(query)}"
            case ir.Join():
                return self.join(relation)
            case ir.Exploded(inner):
                text = self.relation(inner)
                return lateral(Clause(self.style, False), relation, text, comma=False)
            case _:
                assert_never(relation)

    def listed(self, query: ir.Query) -> str:
        """Returns a list of the columns after the name of a query, mostly none."""
        return f" ({', '.join(ir.output_names(query))})" if self.style.chance(8) else ""

    def join(self, join: ir.Join) -> str:
        """Returns a join: LATERAL, USING, NATURAL or ON, with the words that may be left out or added."""
        first = first_rows(join)
        if first is not None and self.style.chance(75):
            return f"{self.relation(join.left)} {tied_rows(self, first)}"
        tied = self.lateral(join) if self.style.chance(12) else None
        if tied is not None:
            return tied
        join, conditions = self.with_queries_in_on(join)
        left, right = self.relation(join.left), self.relation(join.right)
        if isinstance(join.right, ir.Join | ir.Exploded):
            right = f"({right})"
        if isinstance(join.left, ir.Join) and self.style.chance(20):
            left = f"({left})"
        words = join.kind.value
        if join.kind is ir.JoinKind.INNER and self.style.chance(60):
            words = "JOIN"
        elif join.kind in ir.MEMBERSHIP:
            words = self.style.choices.choice(("LEFT ", "")) + words
        elif join.kind not in (ir.JoinKind.INNER, ir.JoinKind.CROSS) and self.style.chance(40):
            words = words.replace(" JOIN", " OUTER JOIN")
        names = [] if conditions or not self.merges else _equated_names(join)
        natural = join.kind not in ir.MEMBERSHIP and self.shared(join) == set(names)
        if names and natural and self.style.chance(50):
            return f"{left}{self.style.gap()}{self.style.words('NATURAL ' + words)} {right}"
        text = f"{left}{self.style.gap()}{self.style.words(words)} {right}"
        if join.on is None:
            return text
        if names and self.style.chance(50):
            return f"{text} {self.style.words('USING')} ({', '.join(map(self.style.name, names))})"
        on = self.conditions(Clause(self.style, False), join.on, conditions)
        return f"{text} {self.style.words('ON')} {on}"

    def lateral(self, join: ir.Join) -> str | None:
        """Returns an inner or left join with its right side under LATERAL; None for another join."""
        if join.kind not in (ir.JoinKind.INNER, ir.JoinKind.LEFT) or join.on is None:
            return None
        if not isinstance(join.right, ir.Named | ir.Derived):
            return None
        columns, padded = self.inputs(join.right), join.kind is ir.JoinKind.LEFT
        return f"{self.relation(join.left)} {joined_rows(self, join.right, join.on, columns, padded=padded)}"

    def with_queries_in_on(self, join: ir.Join) -> tuple[ir.Join, list[str]]:
        """Returns a join, in some cases with what makes one of its sides smaller as a condition of ON."""
        valued = value_in_on(join) if self.style.chance(70) else None
        if valued is not None:
            join, on, found = valued
            known = {column: scalar(self, found, value) for column, value in found.values.items()}
            return join, [Clause(self.style, False, known).operand(on, Level.AND)]
        moved = membership_in_on(join) if self.style.chance(70) else None
        condition = "" if moved is None else membership(self, moved[1])
        # NOT IN is FULL there: Spark's IN is FALSE where SQL's is NULL.
        if moved is None or " NOT IN (" in condition.upper():
            return join, []
        return moved[0], [condition]

    def shared(self, join: ir.Join) -> set[str]:
        """Returns the names that columns of both sides of a join have: NATURAL equates all of them."""
        return {*self.inputs(join.left)} & {*self.inputs(join.right)}


def _equated_names(join: ir.Join) -> list[str]:
    """Returns the names for USING where a join of two relations equates columns of the same names; else none.

    The columns may still be named by their relations: USING merges them for `*` and for bare names alone.
    """
    if any(isinstance(side, ir.Join | ir.Exploded) for side in (join.left, join.right)) or join.on is None:
        return []
    names: list[str] = []
    conditions = [join.on]
    while conditions:
        match conditions.pop(0):
            case ir.Call("and", (first, second), _):
                conditions = [first, second, *conditions]
            case ir.Call("eq", (ir.ColumnRef(one, name, _), ir.ColumnRef(other, same, _)), _) if (
                name == same and one != other and name not in names
            ):
                names.append(name)
            case _:
                return []
    return names


def _all_are_keys(items: list[ir.Expr], keys: tuple[ir.Expr, ...]) -> bool:
    """Tells whether GROUP BY ALL means these keys: each item is a key, or has columns in aggregates only."""

    def bare(expr: ir.Expr) -> bool:
        if isinstance(expr, ir.Aggregate):
            return False
        return isinstance(expr, ir.ColumnRef) or any(bare(part) for part in ir.children(expr))  # type: ignore[arg-type]

    aggregated = [any(isinstance(part, ir.Aggregate) for part in ir.subexpressions(item)) for item in items]
    listed = [item for item, has in zip(items, aggregated, strict=True) if not has]
    mixed = any(bare(item) for item, has in zip(items, aggregated, strict=True) if has)
    return not mixed and all(key in listed for key in keys) and all(item in keys for item in listed)
