"""A query as text: the relations and columns that it names, and the checks for a text that runs without a
plan.

A FULL table over an operator without a rule runs its text as it is, after these checks. What a text names
also decides what happens when a source gets another column: `SELECT *` shows it, a NATURAL join may join on
it, and a name may come to mean it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp

from dynamic_tables.errors import DefinitionError
from dynamic_tables.reading.text import parse
from dynamic_tables.reading.text.relations import Relations, StoredRelation, View

TABLE_FORM = re.compile(r"\bTABLE\s+$", re.IGNORECASE)
"""The text before the name in `TABLE t`, which takes no alias."""


@dataclass(frozen=True, slots=True)
class TextQuery:
    """The relations that a query reads, and the texts that say so.

    `names`: the relations that the text itself names. `sources`: the stored relations below it, views
    expanded. `texts`: the text and those of the views below it.
    """

    names: tuple[str, ...]
    sources: tuple[str, ...]
    texts: tuple[str, ...]

    def ensure_admitted(self) -> None:
        """Raises DefinitionError for what may not even run in a FULL refresh.

        Whether a function exists is for Spark to say, whose session here knows only Spark's own.
        """
        for text in self.texts:
            tree = parse.parse_query(text)
            parse.ensure_inside(tree)
            parse.ensure_no_bare_function(tree)
            parse.ensure_determined(tree)
            called = parse.called_names(text)
            for name in sorted(called & parse.OUTSIDE):
                raise DefinitionError(f"function {name} is refused: it may run or read anything")
            for name in sorted(called & parse.NON_DETERMINISTIC):
                reason = "its value does not depend on the data alone"
                raise DefinitionError(f"function {name} is refused: {reason}")


def read_text(text: str, relations: Relations) -> TextQuery:
    """Returns what a query reads, at any depth of views.

    Raises DefinitionError: for a syntax error, an unknown relation, one that is not a plain name of this
    account, or a view defined by itself.
    """
    sources: dict[str, None] = {}
    texts: dict[str, None] = {}

    def visit(current: str, path: tuple[str, ...]) -> tuple[str, ...]:
        """Collects a text and the views below it; `path`: the views on the way here, to find a circle."""
        texts[current] = None
        names = names_in(current)
        for name in names:
            if name in path:
                circle = " -> ".join((*path, name))
                raise DefinitionError(
                    f"{name} is defined by itself: {circle}; remove one of these references"
                )
            match relations.get(name):
                case None:
                    raise DefinitionError(f"unknown table {name}; create the table or correct the name")
                case View(_, view):
                    visit(view, (*path, name))
                case StoredRelation():
                    sources[name] = None
        return names

    try:
        names = visit(text, ())
    except RecursionError as error:
        raise DefinitionError(parse.TOO_DEEP) from error
    return TextQuery(names, tuple(sources), tuple(texts))


@lru_cache(maxsize=4096)
def names_in(text: str) -> tuple[str, ...]:
    """Returns the relations that a text itself names, each once, in order; cached for refreshes.

    Raises DefinitionError: for a syntax error, a function that is not deterministic, or a relation that
    is not a plain name.
    """
    tree = parse.parse_query(text)
    parse.ensure_deterministic(tree)
    return tuple(dict.fromkeys(_relations(tree)))


@lru_cache(maxsize=4096)
def movable_names(text: str) -> frozenset[str]:
    """Returns the names in a text that a new column of a source may take over, in lower case.

    These are aliases of outputs that other clauses and items name, because a column of FROM comes before
    them; and names without a table in inner queries, because a column of the inner FROM comes before an outer
    one.
    """
    tree = parse.parse_query(text)
    aliases = (alias.alias.lower() for alias in tree.find_all(exp.Alias))
    plain = (column for column in tree.find_all(exp.Column) if not column.table)
    inner = (column.name.lower() for column in plain if _is_inside(column))
    return frozenset((*aliases, *inner))


def names_column(text: str, name: str) -> bool:
    """Tells whether a text names a column, in lower case, or shows all columns."""
    names = _all_names(text)
    return names is None or name in names


@lru_cache(maxsize=4096)
def _all_names(text: str) -> frozenset[str] | None:
    """Returns every name in a text, in lower case; None: it also reads columns that it does not name."""
    tree = parse.parse_query(text)
    return None if _compares_all(tree) or _shows_all(tree) else identifiers(text)


@lru_cache(maxsize=4096)
def reads_unnamed(text: str) -> bool:
    """Tells whether a text computes with columns that it does not name: `hash(*)`, or `r AS q(x, y)`."""
    tree = parse.parse_query(text)
    calls = (star.parent for star in tree.find_all(exp.Star))
    computed = any(isinstance(call, exp.Func) and not isinstance(call, exp.Count) for call in calls)
    aliases = (alias for alias in tree.find_all(exp.TableAlias) if alias.args.get("columns"))
    return computed or any(not isinstance(alias.parent, exp.Lateral | exp.Values) for alias in aliases)


@lru_cache(maxsize=4096)
def identifiers(text: str) -> frozenset[str]:
    """Returns every name that is written in a text, in lower case."""
    return frozenset(
        identifier.name.lower() for identifier in parse.parse_query(text).find_all(exp.Identifier)
    )


@lru_cache(maxsize=4096)
def depends_on_all_columns(text: str) -> bool:
    """Tells whether columns that a text does not name decide which rows it gives, or what a name means.

    They do in a NATURAL join; in PIVOT, which groups by them; and for `*` where whole rows are compared
    (DISTINCT, GROUP BY ALL) or columns are matched by position (a set operation).
    """
    tree = parse.parse_query(text)
    if _compares_all(tree):
        return True
    by_rows = tree.find(exp.SetOperation, exp.Distinct) is not None
    by_all = any(group.args.get("all") for group in tree.find_all(exp.Group))
    return _shows_all(tree) and (by_rows or by_all)


def _compares_all(tree: exp.Expr) -> bool:
    """Tells whether rows are matched or grouped by columns that are not named."""
    pivots = (not pivot.args.get("unpivot") for pivot in tree.find_all(exp.Pivot))
    return any(pivots) or any(join.args.get("method") for join in tree.find_all(exp.Join))


def _shows_all(tree: exp.Expr) -> bool:
    """Tells whether a query has a star that stands for columns, as that of COUNT(*) does not."""
    return any(not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star))


def _is_inside(column: exp.Column) -> bool:
    """Tells whether a column stands in a query inside another one."""
    query = column.find_ancestor(exp.Query)
    return query is not None and query.find_ancestor(exp.Select) is not None


def renamed_text(text: str, names: Mapping[str, str]) -> str:
    """Returns a query that reads other relations in place of some; all else stays as it is written.

    Example: `renamed_text("SELECT r.a FROM r", {"r": "s"})` is `SELECT r.a FROM s AS r`.
    """
    places: list[tuple[int, int, str]] = []
    for table in parse.parse_query(text).find_all(exp.Table):
        other = names.get(table.name.lower())
        if other is None or _is_cte(table):
            continue
        start, end = table.this.meta["start"], table.this.meta["end"] + 1
        # Without an alias, columns may be named by the table (`r.a`). The old name becomes the alias, so that
        # they still are.
        of_table = TABLE_FORM.search(text[:start]) is not None
        alias = "" if table.args.get("alias") or of_table else f" AS {text[start:end]}"
        places.append((start, end, f"{other}{alias}"))
    for start, end, new in sorted(places, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _relations(tree: exp.Expr) -> Iterable[str]:
    """Yields the relations that a query names, CTEs left out. Raises DefinitionError: no plain name."""
    for table in tree.find_all(exp.Table):
        parse.ensure_plain_table(table)
        if not _is_cte(table):
            yield table.name.lower()


def _is_cte(table: exp.Table) -> bool:
    """Tells whether a name stands for a CTE; within a WITH, only the CTEs before it are visible.

    For example, `WITH r AS (SELECT * FROM r) SELECT * FROM r` reads the relation r.
    """
    below: exp.Expr = table
    above = table.parent
    while above is not None:
        with_ = above.args.get("with_")
        if isinstance(above, exp.With):
            ctes = above.expressions[: below.index or 0]
            ctes += [below] if above.args.get("recursive") else []
        else:
            ctes = with_.expressions if with_ is not None and with_ is not below else []
        if any(cte.alias.lower() == table.name.lower() for cte in ctes):
            return True
        below, above = above, above.parent
    return False
