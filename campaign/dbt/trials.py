"""Trials as values: rows of sources at the start, and their changes between runs (`drawing` draws them)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from campaign.dbt.databases import Written
from campaign.dbt.kinds import ChangeKind
from campaign.dbt.project import Project, SourceColumn
from campaign.dbt.rows import NEWEST, NULL

Row = tuple[str, ...]
"""The SQL literals of a row, in the order of the columns."""

NEW_COLUMN = SourceColumn("dvs_new", "INTEGER", False)
"""The column that a source gets when its schema changes."""


@dataclass(frozen=True, slots=True)
class Put:
    """Writes the row with a number: appended if the number is new, else updated."""

    source: str
    number: int
    row: Row


@dataclass(frozen=True, slots=True)
class Gone:
    """Deletes the row with a number."""

    source: str
    number: int


@dataclass(frozen=True, slots=True)
class Widened:
    """Adds `NEW_COLUMN`, which is NULL in the rows that are there."""

    source: str


Change = Put | Gone | Widened


@dataclass(frozen=True, slots=True)
class Round:
    """Changes, and the run after them.

    `stop_at`: the statement of the models at which a first run is stopped; a second one follows. `beside`:
    the changes while the first run waits there instead, before the second one, which runs from begin to end;
    None where no run waits. `at`: the tick of the newest row, after which the run takes place.
    """

    changes: tuple[Change, ...]
    stop_at: int | None = None
    beside: tuple[Change, ...] | None = None
    at: int = NEWEST

    @property
    def all_changes(self) -> tuple[Change, ...]:
        """The changes before the run, and while it waits."""
        return (*self.changes, *(self.beside or ()))


@dataclass(frozen=True, slots=True)
class Trial:
    """One kind of change on one source. `start`: the rows of all sources before the first run.

    `late`: how late its rows arrive, in minutes; `since`: the oldest tick.
    """

    kind: ChangeKind
    source: str
    start: tuple[Put, ...]
    rounds: tuple[Round, ...]
    late: int | None = None
    since: int = NEWEST

    @property
    def source_rows(self) -> int:
        """The number of different rows of the trial."""
        puts = [c for r in self.rounds for c in r.all_changes if isinstance(c, Put)]
        return len({(put.source, put.number) for put in (*self.start, *puts)})


@dataclass(slots=True)
class Contents:
    """The rows of the sources at one time, by source id and number. `widened`: sources with `NEW_COLUMN`."""

    rows: dict[str, dict[int, Row]] = field(default_factory=dict)
    widened: set[str] = field(default_factory=set)

    def apply(self, change: Change) -> None:
        """Makes a change; an update of a row that is not there appends it, a delete of one does nothing."""
        match change:
            case Put(source, number, row):
                self.rows.setdefault(source, {})[number] = row
            case Gone(source, number):
                self.rows.get(source, {}).pop(number, None)
            case Widened(source):
                self.widened.add(source)
            case _:
                assert_never(change)


def load_statements(project: Project, contents: Contents, sources: Sequence[str]) -> list[str]:
    """Returns SQL that makes sources hold the rows of `contents`; keys are kept by the trials themselves."""
    statements = []
    for id_ in sources:
        source = project.sources[id_]
        of_table = [*source.columns, *([NEW_COLUMN] if id_ in contents.widened else [])]
        columns = [(column.name, column.type, column.required) for column in of_table]
        rows = [row + (NULL,) * (len(columns) - len(row)) for row in contents.rows.get(id_, {}).values()]
        statements += project.database.write(Written(source.relation, columns, source.checks, rows))
    return statements
