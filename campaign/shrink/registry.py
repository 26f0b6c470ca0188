"""All reductions, in the order in which a round tries them.

What cuts most for one attempt comes first: whole definitions, the tail of the history. Then rows, before
queries, because fewer rows make every later attempt cheaper; then the shape of queries, from the outside in;
details (single values, literals) last, when little is left to simplify.
"""

from __future__ import annotations

from campaign.shrink import (
    clauses,
    definitions,
    dml,
    expressions,
    history,
    joins,
    merge,
    relations,
    rows,
    steps,
    tables,
)
from campaign.shrink.reduction import Reduction

REDUCTIONS: tuple[Reduction, ...] = (
    *definitions.REDUCTIONS,
    *steps.REDUCTIONS,
    *tables.REDUCTIONS,
    *relations.REDUCTIONS,
    *joins.REDUCTIONS,
    *merge.REDUCTIONS,
    *clauses.REDUCTIONS,
    *history.REDUCTIONS,
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
"""A new reduction is a function in the file of its family and an entry in that file's tuple."""
