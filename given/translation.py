"""The translation of queries from Spark's SQL to DuckDB's, so that a second engine can say what they mean.

sqlglot translates the words. Known differences in meaning are handled here. Where another difference remains,
the campaign says that two engines differ, and blames neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify

from given.dialect import SparkInDuckDb
from given.documents import for_duckdb


def qualified(tree: exp.Expr, columns: Mapping[str, Iterable[str]]) -> tuple[exp.Expr, exp.Expr]:
    """Returns the query with a relation's name before each column, and its form for DuckDB.

    Where comma joins became JOIN .. ON, both are that one tree; else DuckDB gets `tree` as it was. Where
    sqlglot cannot resolve the columns, both are `tree`. `columns`: the columns of the relations, by name.
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
    """Returns the text of a query or an expression for DuckDB."""
    translated = tree.transform(for_duckdb)
    for select in list(translated.find_all(exp.Select)):
        write_time_windows(select)
        write_sessions(select)
    for select in translated.find_all(exp.Select):
        group = select.args.get("group")
        if group is None:
            continue
        for each in group.find_all(exp.Rollup, exp.Cube):
            if not each.expressions:
                # GROUP BY a, b WITH ROLLUP.
                each.set("expressions", group.expressions)
                group.set("expressions", [])
        if group.find(exp.Rollup, exp.Cube, exp.GroupingSets):
            # Without input rows Spark gives no row for the empty grouping set, and DuckDB gives one. Every
            # other group has input rows, so that the condition keeps it.
            some = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
            select.having(some, copy=False)
    for counted in list(translated.find_all(exp.CountIf)):
        # Over NULLs alone, COUNT_IF is NULL in DuckDB and 0 in Spark.
        counted.replace(exp.Count(this=exp.Case().when(counted.this.copy(), exp.Literal.number(1))))
    return translated.sql(SparkInDuckDb, comments=False)


def write_time_windows(select: exp.Select) -> None:
    """Writes `window(ts, '10 minutes')` as the beginning of the window that a row is in, in place.

    Where windows slide, as in window(ts, '10 minutes', '5 minutes'), one begins every 5 minutes, and a row is
    in all that have not ended: it is joined to the last ones that began, as many as a length has slides.
    Other forms stay as they are; DuckDB has no such function.
    """
    # Not below a query inside this one, which may have windows of its own.
    walk = select.walk(prune=lambda node: isinstance(node, exp.Query) and node is not select)
    own = [node for node in walk if isinstance(node, exp.Anonymous | exp.Column | exp.Dot)]
    calls = [node for node in own if isinstance(node, exp.Anonymous) and node.name.lower() == "window"]
    written = calls[0].expressions if len(set(calls)) == 1 else []
    if not 2 <= len(written) <= 4 or not all(each.is_string for each in written[1:]):
        return
    time, length, *others = (each.sql(SparkInDuckDb) for each in written)
    slide = others[0] if others else length
    # Spark's windows begin at 1970, or so much later.
    first = f"TIMESTAMP '1970-01-01'{''.join(f' + INTERVAL {each}' for each in others[1:])}"
    begin = f"TIME_BUCKET(INTERVAL {slide}, CAST({time} AS TIMESTAMP), {first})"
    if slide != length:
        # A star would show the beginning that is joined.
        if select.args.get("laterals") or any(isinstance(item, exp.Star) for item in select.expressions):
            return
        number = f"CEIL(EPOCH(INTERVAL {length}) / EPOCH(INTERVAL {slide}))"
        begun = f'{begin} - s."window slide" * INTERVAL {slide}'
        slides = f'(SELECT UNNEST(RANGE(CAST({number} AS BIGINT))) AS "window slide") AS s'
        begin = '"the window"."window start"'
        beside = f'LATERAL (SELECT {begun} AS "window start" FROM {slides}) AS "the window"'
        select.append("joins", exp.Join(this=exp.var(beside), kind="CROSS"))
        select.where(exp.var(f"CAST({time} AS TIMESTAMP) < {begin} + INTERVAL {length}"), copy=False)
    end = f"({begin} + INTERVAL {length})"
    texts = {"start": begin, "end": end, "window": f"{{'start': {begin}, 'end': {end}}}"}
    for node in own:
        if name := _of_window(node, calls):
            moment: exp.Expr = exp.var(begin if isinstance(node.parent, exp.Group) else texts[name])
            node.replace(exp.alias_(moment, name) if node.parent is select else moment)
    # A row without a time is in no window.
    select.where(exp.var(f"({time}) IS NOT NULL"), copy=False)


def write_sessions(select: exp.Select) -> None:
    """Writes `GROUP BY session_window(ts, '10 minutes'), k` as a grouping by numbers of sessions, in place.

    Of the rows of a key, in the order of their times, one begins a session if it is later than the one before
    it by more than the gap; the number of a session counts the beginnings so far. Only over one relation: a
    sub-select has one alias.
    """
    walk = select.walk(prune=lambda node: isinstance(node, exp.Query) and node is not select)
    own = [node for node in walk if isinstance(node, exp.Anonymous | exp.Column | exp.Dot)]
    calls = [n for n in own if isinstance(n, exp.Anonymous) and n.name.lower() == "session_window"]
    written = calls[0].expressions if len(set(calls)) == 1 else []
    group, first = select.args.get("group"), select.args.get("from_")
    if len(written) != 2 or not written[1].is_string or group is None or first is None:
        return
    if select.args.get("joins") or select.args.get("laterals"):
        return
    keys = [_item(select, key) for key in group.expressions]
    others = [key for key in keys if key not in calls]
    if len(others) == len(keys):
        return
    time, gap = (each.sql(SparkInDuckDb) for each in written)
    by = ", ".join(key.sql(SparkInDuckDb) for key in others)
    over = f'({f"PARTITION BY {by} " if by else ""}ORDER BY "session time"'
    where = select.args.get("where")
    some = f"({time}) IS NOT NULL" + (f" AND ({where.this.sql(SparkInDuckDb)})" if where else "")
    alias = first.this.alias_or_name
    named = f' AS "{alias}"' if alias else ""
    timed = f'SELECT *, CAST({time} AS TIMESTAMP) AS "session time" FROM {first.this.sql(SparkInDuckDb)}'
    begun = f'"session time" - LAG("session time") OVER {over}) <= INTERVAL {gap}'
    marked = (
        f'SELECT *, CASE WHEN {begun} THEN 0 ELSE 1 END AS "session begins" '
        f"FROM ({timed} WHERE {some}){named}"
    )
    number = f'SUM("session begins") OVER {over} ROWS UNBOUNDED PRECEDING)'
    inner = f'(SELECT *, {number} AS "session number" FROM ({marked}){named}){named}'
    begin, end = 'MIN("session time")', f'(MAX("session time") + INTERVAL {gap})'
    texts = {"start": begin, "end": end, "session_window": f"{{'start': {begin}, 'end': {end}}}"}
    for node in own:
        if (name := _of_window(node, calls)) and node.find_ancestor(exp.Group) is None:
            node.replace(
                exp.alias_(exp.var(texts[name]), name) if node.parent is select else exp.var(texts[name])
            )
    group.set("expressions", [exp.var('"session number"'), *others])
    select.set("where", None)
    first.set("this", exp.var(inner))


def _item(select: exp.Select, key: exp.Expr) -> exp.Expr:
    """Returns the item that a key of GROUP BY names by its place; the key itself for another one."""
    if isinstance(key, exp.Literal) and not key.is_string and 0 < int(key.this) <= len(select.expressions):
        item: exp.Expr = select.expressions[int(key.this) - 1]
        return item.unalias().copy()
    return key


def _of_window(node: exp.Expr, calls: Sequence[exp.Expr]) -> str:
    """Returns what a node says of the window: its `start` or `end`, or all of it by name; else nothing."""
    called = calls[0].name.lower()
    if node in calls:
        # Below a Dot it is replaced together with that.
        return "" if isinstance(node.parent, exp.Dot) else called
    whole = node.table.lower() == called if isinstance(node, exp.Column) else node.this in calls
    if whole and node.name.lower() in ("start", "end"):
        return node.name.lower()
    return called if isinstance(node, exp.Column) and node.sql().lower() == called else ""


def join_listed_relations(tree: exp.Expr) -> bool:
    """Rewrites `FROM a, b WHERE a.k = b.k` as `FROM a JOIN b ON a.k = b.k`, in place; returns whether it did.

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
    """Tells whether a relation is joined by a comma or a CROSS JOIN."""
    return not (join.args.get("on") or join.args.get("using") or join.side or join.method)


def _keeps_left(join: exp.Join) -> bool:
    """Tells whether filtering the left rows before a join gives the same result as filtering after it."""
    source = join.this
    if isinstance(source, exp.Lateral | exp.Unnest) or (
        isinstance(source, exp.Subquery) and join.find(exp.Lateral)
    ):
        return False
    return join.side in ("", "LEFT") and join.kind in ("", "INNER", "CROSS", "OUTER") and not join.method


def _join(select: exp.Select, joins: Sequence[exp.Join]) -> bool:
    """Moves conditions on two relations to where the second is joined; returns whether it moved any."""
    where, first = select.args.get("where"), select.args["from_"].this.alias_or_name
    names = {first, *(join.alias_or_name for join in joins)}
    remaining = list(conjuncts(where.this)) if where is not None else []
    conditions = [(each, _compared_relations(each)) for each in remaining]
    unused = [(each, read) for each, read in conditions if len(read) > 1 and read <= names]
    ordered: list[exp.Join] = []
    placed, waiting = {first}, list(joins)
    # Only a pure list of commas may be reordered: the ON of another join sees what stands before it, and an
    # unresolved * gives the columns in the order of the list.
    may_reorder = all(_is_listed(join) for join in joins) and not select.is_star
    while waiting:
        reachable = [
            join
            for join in waiting
            if any(join.alias_or_name in read and read <= {*placed, join.alias_or_name} for _, read in unused)
        ]
        join = reachable[0] if may_reorder and reachable else waiting[0]
        waiting.remove(join)
        placed.add(join.alias_or_name)
        ordered.append(join)
        ready = [(each, read) for each, read in unused if read <= placed] if _is_listed(join) else []
        if ready:
            join.set("on", exp.and_(*(each for each, _ in ready), copy=False))
            join.set("kind", "INNER")
            unused = [pair for pair in unused if pair not in ready]
            remaining = [each for each in remaining if all(each is not condition for condition, _ in ready)]
    changed = where is not None and len(remaining) < len(conditions)
    if changed:
        select.set("joins", ordered)
        select.set("where", exp.Where(this=exp.and_(*remaining, copy=False)) if remaining else None)
    return changed


def _compared_relations(condition: exp.Expr) -> set[str]:
    """Returns the relations that an equality of two columns compares; empty for other conditions."""
    if not isinstance(condition, exp.EQ):
        return set()
    sides = (condition.left, condition.right)
    columns = [side for side in sides if isinstance(side, exp.Column)]
    return {column.table for column in columns} if len(columns) == len(sides) else set()


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yields the conditions that AND connects."""
    match condition:
        case exp.And():
            yield from conjuncts(condition.left)
            yield from conjuncts(condition.right)
        case exp.Paren() if isinstance(condition.this, exp.And):
            yield from conjuncts(condition.this)
        case _:
            yield condition
