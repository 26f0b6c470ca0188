"""A query as text: what it reads, whether it may run at all, and why no plan covers it.

The road of FULL tables over operators without a rule: their text runs as it is, after these checks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from sqlglot import exp

from dynamic_tables.errors import DefinitionError, UnsupportedError
from dynamic_tables.plan.bind import Relations, StoredRelation, ViewRelation
from dynamic_tables.plan.functions import FULL_ONLY
from dynamic_tables.plan.parse import (
    TOO_DEEP,
    ensure_admitted,
    ensure_deterministic,
    ensure_no_bare_function,
    ensure_plain_table,
    parse_query,
)
from dynamic_tables.plan.types import Type

ADMITTED = FULL_ONLY | frozenset(
    "count sum avg min max abs upper lower trim length year month day coalesce nullif greatest least concat "
    "substring substr replace date_add date_sub datediff date_diff ts_or_ds_add ts_or_ds_to_date ifnull nvl "
    "like dpipe".split()
)


class Analyzer(Protocol):
    """Whoever can tell the columns of a text without running it."""

    def columns_of_text(self, text: str, relations: Iterable[str]) -> tuple[tuple[str, Type], ...]:
        """Names and types."""
        ...


@dataclass(frozen=True, slots=True)
class TextQuery:
    """A query's text, the relations it names, the stored relations and texts below it."""

    text: str
    names: tuple[str, ...]
    sources: tuple[str, ...]
    texts: tuple[str, ...]
    operator: str = ""
    unsupported: str = ""
    reason: str = ""

    def without_rule(self, error: UnsupportedError) -> TextQuery:
        """The same, with the reason why it cannot be incremental."""
        return replace(self, operator=error.operator, unsupported=str(error), reason=error.reason)

    def ensure_admitted(self) -> None:
        """Raises DefinitionError for a function or relation that may not even run in a FULL refresh."""
        for text in self.texts:
            tree = parse_query(text)
            ensure_admitted(tree, ADMITTED)
            ensure_no_bare_function(tree)

    def columns(self, analyzer: object) -> tuple[tuple[str, Type], ...]:
        """The output columns. Raises UnsupportedError where the store cannot analyse text."""
        analyse = getattr(analyzer, "columns_of_text", None)
        if analyse is None:
            raise UnsupportedError(self.operator, f"{self.reason}, and this store runs plans only")
        result: tuple[tuple[str, Type], ...] = analyse(self.text, self.names)
        return result


def read_text(text: str, relations: Relations) -> TextQuery:
    """What a query names, at any depth. Raises DefinitionError: syntax, unknown or foreign relations."""
    sources: dict[str, None] = {}
    texts: dict[str, None] = {}

    def visit(current: str, path: tuple[str, ...]) -> tuple[str, ...]:
        texts[current] = None
        names = names_in(current)
        for name in names:
            if name in path:
                raise DefinitionError(f"{name} is defined by itself: {' -> '.join((*path, name))}")
            match relations.relation(name):
                case None:
                    raise DefinitionError(f"unknown table {name}")
                case ViewRelation(view):
                    visit(view, (*path, name))
                case StoredRelation():
                    sources[name] = None
        return names

    try:
        names = visit(text, ())
    except RecursionError as error:
        raise DefinitionError(TOO_DEEP) from error
    return TextQuery(text, names, tuple(sources), tuple(texts))


@lru_cache(maxsize=4096)
def names_in(text: str) -> tuple[str, ...]:
    """The relations that a text itself names, each once, in order; a refresh asks this again and again.

    Raises DefinitionError: syntax, a function without a fixed result, a relation that is no plain table.
    """
    tree = parse_query(text)
    ensure_deterministic(tree)
    return tuple(dict.fromkeys(_relations(tree)))


def _relations(tree: exp.Expr) -> Iterable[str]:
    for table in tree.find_all(exp.Table):
        ensure_plain_table(table)
        if not _is_cte(table):
            yield table.name.lower()


def _is_cte(table: exp.Table) -> bool:
    """Whether a name means a CTE where it stands: within a WITH, only the CTEs before it are known.

    So `WITH r AS (SELECT * FROM r) SELECT * FROM r` reads the relation r.
    """
    below: exp.Expr = table
    above = table.parent
    while above is not None:
        with_ = above.args.get("with_")
        if isinstance(above, exp.With):
            known = above.expressions[: below.index or 0]
            known += [below] if above.args.get("recursive") else []
        else:
            known = with_.expressions if with_ is not None and with_ is not below else []
        if any(cte.alias.lower() == table.name.lower() for cte in known):
            return True
        below, above = above, above.parent
    return False
