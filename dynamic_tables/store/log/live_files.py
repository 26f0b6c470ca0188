"""Which data files a table has, by the `add` and `remove` actions of its log.

What a commit says about itself, its operation and its `dataChange`, is only the word of its writer. What
counts for every reader is the reconciliation of the protocol: a file is identified by its path and its
deletion vector, and a `remove` that names another vector, or none, does not remove it. A foreign writer may
make such a mistake; then the files that the engine believes in and those that Delta reads would differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Body = Mapping[str, Any]
"""What an `add` or a `remove` says of its file."""

RECORDS = re.compile(r'"numRecords"\s*:\s*(\d+)')
"""Finds the number of rows in the text of a file's statistics, which may be long and is not parsed for it."""


@dataclass(slots=True)
class LiveFiles:
    """The files after some commits.

    `files`: by path the id of the deletion vector, and the number of live rows, None if the log has no count.
    `whole`: the log was read from its first commit on, so a file that is not here is not in the table.
    """

    whole: bool
    files: dict[str, tuple[object, int | None]] = field(default_factory=dict)

    def follow(self, removed: Iterable[Body], added: Iterable[Body]) -> tuple[bool, bool]:
        """Takes in a commit; returns (whether it leaves another number of rows, whether it is `meant`).

        The first is False where the log does not tell. It does not notice other rows in the same number: only
        the files could tell that. The second is False where an action names a file in another state than that
        in the table.
        """
        before: list[int | None] = []
        after: list[int | None] = []
        meant = True
        for body in removed:
            state = self.files.get(str(body["path"]))
            if state is None or state[0] != vector_id(body):
                # After log cleanup an unknown file may have been added by a commit that is gone.
                meant = meant and state is None and not self.whole
                before.append(None)
            else:
                before.append(self.files.pop(str(body["path"]))[1])
        for body in added:
            state = self.files.get(str(body["path"]))
            if state is not None:
                # The same file again has new statistics or tags.
                meant = meant and state[0] == vector_id(body)
                before.append(state[1])
            self.files[str(body["path"])] = vector_id(body), live_rows(body)
            after.append(live_rows(body))
        counted = None not in before and None not in after
        return counted and sum(filter(None, before)) != sum(filter(None, after)), meant


def vector_id(body: Body) -> object:
    """Returns what identifies a deletion vector in Delta's protocol; None for a file without one."""
    vector = body.get("deletionVector")
    if not vector:
        return None
    return (vector.get("storageType"), vector.get("pathOrInlineDv"), vector.get("offset"))


def live_rows(body: Body) -> int | None:
    """Returns the number of rows of a file that are not deleted; None: its statistics do not tell."""
    found = RECORDS.search(str(body.get("stats") or ""))
    if found is None:
        return None
    return int(found[1]) - int((body.get("deletionVector") or {}).get("cardinality", 0))
