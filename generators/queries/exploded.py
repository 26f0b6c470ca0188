"""FROM clauses with the elements of arrays: of columns, of columns put together, of texts that are split."""

from __future__ import annotations

from generators.choices import Choices
from generators.queries.expressions import Term
from generators.queries.relations import FromClause
from workload.query import POSITION, Call, ColumnRef, Exploded, Literal
from workload.types import INT, NESTED, STRING, Kind, array_of

SEPARATORS = (",", ":", " ", "-")
"""Texts that stand between the parts of some drawn strings, and that no engine reads as a pattern."""

MOST_ELEMENTS = 3
"""Elements of an array, roughly, for the estimate of rows."""


def exploded(choices: Choices, source: FromClause, alias: str) -> FromClause | None:
    """Returns the rows of a FROM clause, each once for each element of an array; None if no column gives one.

    In 40 of 100 cases rows without elements stay, and in 40 the positions are shown.
    """
    array = _array(choices, source)
    if array is None:
        return None
    outer, position = choices.chance(40), choices.chance(40)
    node = Exploded(source.relation, array.expr, alias, outer, position)
    # The integers in stored arrays are small, and so are positions.
    digits = 3 if array.type == array_of(INT) and isinstance(array.expr, ColumnRef) else array.digits
    added = [
        Term(ColumnRef(alias, name, type_), 3 if name == POSITION else digits)
        for name, type_ in node.columns.items()
    ]
    return FromClause(node, [*source.scope, *added], source.rows * MOST_ELEMENTS)


def _array(choices: Choices, source: FromClause) -> Term | None:
    """Returns a column of arrays, mostly; else an array of columns, or parts of a text; None without any."""
    stored = [term for term in source.scope if term.type.kind is Kind.ARRAY]
    if stored and choices.chance(75):
        return choices.pick(stored)
    plain = [term for term in source.matchable if term.type.kind not in NESTED]
    texts = [term for term in plain if term.type == STRING]
    if texts and choices.chance(30):
        separator = Literal(choices.pick(SEPARATORS), STRING)
        return Term(Call("split", (choices.pick(texts).expr, separator), array_of(STRING)))
    if not plain:
        return None
    first = choices.pick(plain)
    alike = [term for term in plain if term.type == first.type]
    terms = [first, *(choices.pick(alike) for _ in range(choices.integer(1, 2)))]
    args = tuple(term.expr for term in terms)
    return Term(Call("array", args, array_of(first.type)), max(term.digits for term in terms))
