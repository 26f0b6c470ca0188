"""Dynamic tables in the model: a version is the result of one refresh, read and replaced as a whole.

The data timestamp of a refresh is the time at which it gets its lock: it reads what was committed then. It
refreshes the dynamic tables that it reads as of the same timestamp, and publishes with its transaction (DVS
paper, section 4). The history has a derivation for each version. Rows that are inserted later conflict with
no derivation: it names versions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dvs_model.histories.draft import Name
from protocols.read_committed.rows import Evaluator, Selection, StatementFailed, Tables
from protocols.read_committed.seeing import Known, visible
from protocols.read_committed.state import Contents, Row, Transaction

CREATE = re.compile(
    r"CREATE\s+DYNAMIC\s+TABLE\s+(?P<name>\w+)\s+(?:\w+\s*=\s*(?:'[^']*'|\w+)\s+)*AS\s+(?P<query>.*)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Definition:
    """A dynamic table: its query, the tables that the query reads, and the number of its lock."""

    query: str
    sources: Sequence[str]
    partition: int


@dataclass(slots=True)
class Dynamic:
    """The dynamic tables of a run. `results`: the rows of each version."""

    definitions: dict[str, Definition] = field(default_factory=dict)
    results: dict[Name, Selection] = field(default_factory=dict)

    def define(self, text: str, evaluator: Evaluator, partition: int, existing: Sequence[str]) -> str:
        """Adds a dynamic table, which nobody can read before its first refresh; returns its name.

        `existing`: the names of the tables that exist. Raises StatementFailed: it is not in the form CREATE
        DYNAMIC TABLE name [option = value] AS query, or there is such a table.
        """
        found = CREATE.fullmatch(text)
        if found is None:
            raise StatementFailed(f"{text[:60]!r} is not CREATE DYNAMIC TABLE name AS SELECT ...")
        name, query = found["name"].lower(), found["query"]
        if name in existing:
            raise StatementFailed(f"there is a table {name} already")
        sources = evaluator.reads(query)
        evaluator.derive(name, query)
        self.definitions[name] = Definition(query, sources, partition)
        return name

    def result(self, name: str, rows: Mapping[str, Row]) -> Selection:
        """Returns the rows of a dynamic table; none before its first refresh."""
        return next((self.results[row.version] for row in rows.values()), ())

    def upstream(self, name: str) -> Sequence[str]:
        """Returns the dynamic tables that a refresh refreshes, a source before its readers.

        Raises StatementFailed: there is no such dynamic table.
        """
        if name not in self.definitions:
            names = ", ".join(self.definitions) or "none"
            raise StatementFailed(f"there is no dynamic table {name}; there are: {names}")
        ordered: dict[str, None] = {}
        for source in self.definitions[name].sources:
            if source in self.definitions:
                ordered |= dict.fromkeys(self.upstream(source))
        return [*ordered, name]

    def locks(self, name: str) -> frozenset[int]:
        """Returns what a refresh locks: a table is refreshed once at a time. Raises StatementFailed."""
        return frozenset(self.definitions[each].partition for each in self.upstream(name))

    def tables(self, transaction: Transaction, seen: Contents, names: Sequence[str]) -> tuple[Known, Tables]:
        """Returns the rows of tables that a statement sees, and their values; a dynamic table is one row.

        Raises StatementFailed: there is no such table, or a dynamic table was never refreshed.
        """
        for name in names:
            if name not in seen:
                raise StatementFailed(f"there is no table {name}")
        rows = {name: visible(transaction, seen, name) for name in names}
        values: dict[str, Mapping[str, tuple[object, ...]]] = {}
        for name, each in rows.items():
            if name not in self.definitions:
                values[name] = {key: row.values for key, row in each.items()}
                continue
            if not each:
                raise StatementFailed(f"dynamic table {name} is not initialized; refresh it first")
            [row] = each.values()
            values[name] = {str(at): result for at, result in enumerate(self.results[row.version])}
        return rows, values

    def refresh(
        self, evaluator: Evaluator, transaction: Transaction, seen: Contents, name: str, *, together: bool
    ) -> Mapping[str, tuple[Name, Sequence[Name]]]:
        """Refreshes a dynamic table, `together` with those below it; returns each version with its sources.

        Raises StatementFailed: one was refreshed in this transaction before, or the query fails.
        """
        derived: dict[str, tuple[Name, Sequence[Name]]] = {}
        # What its own transaction has written is no committed data of a data timestamp.
        reading = Transaction(transaction.number, transaction.owner, "", True, 0)
        for table in self.upstream(name) if together else [name]:
            if table in transaction.changes:
                raise StatementFailed(f"{table} was refreshed in this transaction already")
            definition = self.definitions[table]
            rows, values = self.tables(reading, seen, definition.sources)
            version = Name(table, transaction.number)
            self.results[version] = evaluator.select(definition.query, values)
            reading.changes[table] = {table: Row((), definition.partition, version)}
            derived[table] = version, [row.version for each in rows.values() for row in each.values()]
        transaction.changes |= reading.changes
        return derived
