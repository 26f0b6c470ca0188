"""Histories with the timestamps of the database as TimeKiller's JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from dvs_model.errors import HistoryError
from dvs_model.formats.written.plain import number, sessions_of
from dvs_model.observed.seen import Kind, Observed, Status, Transaction


def timekiller(observed: Observed) -> bytes:
    """Returns TimeKiller's JSON. Raises HistoryError: a transaction that has no timestamps, or aborted."""
    numbers = sessions_of(observed)
    stamped = [_stamped(each, numbers[each.session]) for each in observed.transactions]
    return (json.dumps(stamped, indent=1) + "\n").encode()


def _stamped(each: Transaction, session: int) -> Mapping[str, object]:
    if each.start is None or each.commit is None or each.status is not Status.COMMITTED:
        raise HistoryError("TimeKiller's JSON has committed transactions with the database's timestamps")
    words = {Kind.WRITE: "w", Kind.APPEND: "a"}
    return {
        "tid": each.number,
        "sid": session,
        "sts": dict(zip("pl", each.start, strict=True)),
        "cts": dict(zip("pl", each.commit, strict=True)),
        "ops": [
            {
                "t": words.get(op.kind, "r"),
                "k": number(op.key),
                "v": list(op.value) if isinstance(op.value, tuple) else op.value,
            }
            for op in each.ops
        ],
    }
