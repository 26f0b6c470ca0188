"""All reductions, in the order in which a round tries them.

Reductions that cut most for one attempt come first: whole definitions, the tail of the history, then the
shape of queries from the outside in, then statements and rows. Details (single values, literals) come last,
when the scenario is small.
"""

from __future__ import annotations

from shrink.reduction import Reduction
from shrink.reductions import (
    clauses,
    definitions,
    dml,
    exploded,
    expressions,
    history,
    joins,
    relations,
    rows,
    steps,
    tables,
    windows,
)

BEFORE_HISTORY: tuple[Reduction, ...] = (
    *definitions.REDUCTIONS,
    *steps.REDUCTIONS,
    *tables.REDUCTIONS,
    *relations.REDUCTIONS,
    *joins.REDUCTIONS,
    *exploded.REDUCTIONS,
    *tables.MERGES,
    *clauses.REDUCTIONS,
    *windows.REDUCTIONS,
)
"""The reductions that are tried before the history is folded into one INSERT."""
AFTER_HISTORY: tuple[Reduction, ...] = (
    *dml.REDUCTIONS,
    *rows.REDUCTIONS,
    *expressions.REDUCTIONS,
    *definitions.DETAILS,
    *steps.DETAILS,
    *dml.DETAILS,
    *tables.DETAILS,
    *expressions.DETAILS,
    *rows.DETAILS,
)
REDUCTIONS = (*BEFORE_HISTORY, *AFTER_HISTORY)
"""Every reduction that needs only the scenario. To add one, write a function and list it in its file."""


def all_reductions(
    source_rows: history.SourceRows, smaller_texts: definitions.SmallerTexts
) -> tuple[Reduction, ...]:
    """Returns `REDUCTIONS`, and those that ask the caller: for smaller texts, or the rows of a history."""
    return (*BEFORE_HISTORY, definitions.cutting(smaller_texts), history.folding(source_rows), *AFTER_HISTORY)
