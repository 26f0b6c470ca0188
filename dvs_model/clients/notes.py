"""Notes on the verdicts on a history of clients: what the verdicts leave out, or assume."""

from __future__ import annotations

from dvs_model.clients.basis import Basis

ITEMS_ONLY = (
    "items only: the format has no reads by predicates, so PL-3 is PL-2.99 here; and no cursors, so PL-CS is "
    "judged by items"
)
"""Said of every history of clients."""


def notes_on(basis: Basis, contradictions: int) -> list[str]:
    """Returns the notes on a history.

    `contradictions`: how many findings were dropped because the file was converted, so that another order of
    operations inside their transactions may explain them.
    """
    notes = list(basis.observed.notes)
    if contradictions:
        notes.append(f"{contradictions} reads are left out that another order in their transactions explains")
    if basis.tails:
        ends = "key ends" if basis.tails == 1 else "keys end"
        notes.append(
            f"{basis.tails} {ends} in several appends that no read shows; their order is taken "
            "to be one that closes no cycle, and where there is none, what is said is so in every order"
        )
    unanswered = basis.size.unanswered
    if unanswered:
        many = "transactions got no answer, and nobody read from them; they are"
        one = "transaction got no answer, and nobody read from it; it is"
        notes.append(f"{unanswered} {one if unanswered == 1 else many} left out")
    notes.append(ITEMS_ONLY)
    if basis.observed.records.lists and not basis.observed.records.aborts:
        notes.append("the format does not record aborted transactions")
    return notes


def size_of(basis: Basis) -> dict[str, int]:
    """Returns how much a history has, as counts by name."""
    size = basis.size
    return {
        "transactions": len(basis.taken),
        "committed": size.committed,
        "events": size.operations,
        "reads": size.reads,
        "objects": size.keys,
        "derivations": 0,
    }
