"""The text of AWDIT's own tests: `r KEY VALUE` and `w KEY VALUE`; `=` divides sessions, `-` transactions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dvs_model.errors import HistoryError
from dvs_model.formats.reader import Form, decoded, reads
from dvs_model.observed.seen import Kind, Observed, Op, Records, Status, Transaction

PART = re.compile(r"=+|-+|\n|[^=\-\n]+")
OPERATION = re.compile(r"([rw])[ \t]+(\d{1,20})[ \t]+(\d{1,20})", re.ASCII)


@reads(Form.AWDIT)
def read(data: bytes, name: str) -> Observed:
    """Returns the history of a file. Each read needs a write in it: no value means "before the run"."""
    transactions = list(_transactions(decoded(data)))
    if not transactions:
        raise HistoryError("there is no operation in it; one is written r 5 0 or w 5 0", 1, 1)
    return Observed(name, transactions, Records(aborts=False, initial=frozenset()))


def _transactions(text: str) -> Iterator[Transaction]:
    """Yields the transactions of a text. Raises HistoryError with the line that is wrong."""
    session = number = 0
    line, begun = 1, 1
    ops: list[Op] = []
    for found in PART.finditer(text.replace("\r\n", "\n") + "-"):
        part = found[0]
        if part == "\n":
            line += 1
        elif part[0] in "=-":
            if ops:
                number += 1
                yield Transaction(
                    number, str(session), Status.COMMITTED, ops, f"session {session}, line {begun}"
                )
                ops = []
            session += part[0] == "="
        elif part.strip():
            operation = OPERATION.fullmatch(part.strip())
            if operation is None:
                raise HistoryError(
                    f"a line is r KEY VALUE or w KEY VALUE, not {part.strip()[:60]!r}", line, 1
                )
            if not ops:
                begun = line
            kind = Kind.READ if operation[1] == "r" else Kind.WRITE
            ops.append(Op(kind, operation[2], int(operation[3])))
