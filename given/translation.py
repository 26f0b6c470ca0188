"""Texts of Spark's SQL, as sqlglot reads them, in DuckDB's SQL: a second opinion on what they mean.

sqlglot translates the words. What differs in meaning, and is known, is added here; where a difference
remains, the campaign says that two engines differ, and blames neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify

from given.documents import for_duckdb


def qualified(tree: exp.Expr, columns: Mapping[str, Iterable[str]]) -> tuple[exp.Expr, exp.Expr]:
    """The query with a relation's name before each column, and the form of it that DuckDB can evaluate.

    `columns`: those of the relations, by name. Both are `tree` itself where sqlglot cannot resolve it.
    """
    schema: dict[str, object] = {name: dict.fromkeys(of, "STRING") for name, of in columns.items()}
    try:
        resolved = qualify(
            tree.copy(),
            schema=schema,
            dialect="databricks",
            validate_qualify_columns=False,
            quote_identifiers=False,
            identify=False,
        )
    except SqlglotError:
        return tree, tree
    return resolved, resolved if join_listed_relations(resolved) else tree


def duckdb_text(tree: exp.Expr) -> str:
    """The text of a query or an expression for DuckDB."""
    translated = tree.transform(for_duckdb)
    for select in translated.find_all(exp.Select):
        group = select.args.get("group")
        if group is not None and group.find(exp.Rollup, exp.Cube, exp.GroupingSets):
            # In Spark the set of no keys has no row over no rows.
            some = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
            select.having(some, copy=False)
    for counted in list(translated.find_all(exp.CountIf)):
        # DuckDB's COUNT_IF of nothing but NULL is NULL, and Spark's is 0.
        counted.replace(exp.Count(this=exp.Case().when(counted.this.copy(), exp.Literal.number(1))))
    return translated.sql("duckdb", comments=False)


def join_listed_relations(tree: exp.Expr) -> bool:
    """Writes `FROM a, b WHERE a.k = b.k` as `FROM a JOIN b ON a.k = b.k`, in place; says whether it did.

    The oracle's DuckDB has no optimizer: it would make all pairs of rows first, and of eight relations with
    twenty rows each that is 25 billion. `tree` has a relation's name before each column.
    """
    changed = False
    for select in list(tree.find_all(exp.Select)):
        joins: list[exp.Join] = list(select.args.get("joins") or ())
        if any(_is_listed(join) for join in joins) and all(_keeps_left(join) for join in joins):
            changed = _join(select, joins) or changed
    return changed


def _is_listed(join: exp.Join) -> bool:
    """Whether a relation stands behind a comma or a CROSS JOIN."""
    return not (join.args.get("on") or join.args.get("using") or join.side or join.method)


def _keeps_left(join: exp.Join) -> bool:
    """Whether a join does the same with fewer rows at its left, so that a condition may move below it."""
    source = join.this
    if isinstance(source, exp.Lateral | exp.Unnest) or (
        isinstance(source, exp.Subquery) and join.find(exp.Lateral)
    ):
        return False
    return join.side in ("", "LEFT") and join.kind in ("", "INNER", "CROSS", "OUTER") and not join.method


def _join(select: exp.Select, joins: Sequence[exp.Join]) -> bool:
    """Moves conditions that compare two relations to where the second of them is joined."""
    where, first = select.args.get("where"), select.args["from_"].this.alias_or_name
    names = {first, *(join.alias_or_name for join in joins)}
    remaining = list(conjuncts(where.this)) if where is not None else []
    linking = [(each, _linked(each)) for each in remaining]
    links = [(each, used) for each, used in linking if len(used) > 1 and used <= names]
    ordered: list[exp.Join] = []
    placed, waiting = {first}, list(joins)
    # Only a list of commas may be read in another order: what other joins see stands before them, and a *
    # that could not be resolved gives the columns in the order of the list.
    free = all(_is_listed(join) for join in joins) and not select.is_star
    while waiting:
        met = [
            join
            for join in waiting
            if any(join.alias_or_name in used and used <= {*placed, join.alias_or_name} for _, used in links)
        ]
        join = met[0] if free and met else waiting[0]
        waiting.remove(join)
        placed.add(join.alias_or_name)
        ordered.append(join)
        here = [(each, used) for each, used in links if used <= placed] if _is_listed(join) else []
        if here:
            join.set("on", exp.and_(*(each for each, _ in here), copy=False))
            join.set("kind", "INNER")
            links = [pair for pair in links if pair not in here]
            remaining = [each for each in remaining if all(each is not moved for moved, _ in here)]
    moved = where is not None and len(remaining) < len(linking)
    if moved:
        select.set("joins", ordered)
        select.set("where", exp.Where(this=exp.and_(*remaining, copy=False)) if remaining else None)
    return moved


def _linked(condition: exp.Expr) -> set[str]:
    """The relations of an equality of two columns; none for another condition."""
    if not isinstance(condition, exp.EQ):
        return set()
    sides = (condition.left, condition.right)
    columns = [side for side in sides if isinstance(side, exp.Column)]
    return {column.table for column in columns} if len(columns) == len(sides) else set()


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that AND connects."""
    match condition:
        case exp.And():
            yield from conjuncts(condition.left)
            yield from conjuncts(condition.right)
        case exp.Paren() if isinstance(condition.this, exp.And):
            yield from conjuncts(condition.this)
        case _:
            yield condition
