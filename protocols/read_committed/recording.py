"""What sessions do, recorded as a history with predicates."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, product

from dvs_model.draft import Draft, DraftEvent, Matches, Name, Session, Special
from dvs_model.history import History
from dvs_model.wellformed import well_formed
from protocols.read_committed.rows import Changed, Evaluator, StatementFailed
from protocols.read_committed.script import Kind, Statement
from protocols.read_committed.state import Row, Transaction


@dataclass(slots=True)
class Recorder:
    """Events in the order in which statements end; those of statements that fail never come here.

    `versions`: every version of every row with its values, by table. `predicates`: by label the table, the
    condition, and the text of a statement with it.
    """

    events: list[DraftEvent] = field(default_factory=list)
    versions: dict[str, dict[Name, tuple[object, ...]]] = field(default_factory=dict)
    predicates: dict[str, dict[str, str]] = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)
    sessions: dict[int, str] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)

    def begin(self, transaction: Transaction) -> None:
        """Records s_i."""
        self.sessions[transaction.number] = transaction.session
        self.events.append(DraftEvent("s", transaction.number))

    def session_of(self, number: int) -> str:
        """Returns the session that began a transaction."""
        return self.sessions.get(number, "")

    def new_row(self, table: str) -> str:
        """Returns the id of a new row: a table's rows are named by letters in the order of their creation."""
        known = sum(1 for owner in self.rows.values() if owner == table)
        identity = f"{table}_{_letters(known)}"
        self.rows[identity] = table
        return identity

    def read(
        self,
        transaction: Transaction,
        text: str,
        tables: Mapping[str, Mapping[str, Row]],
        matched: Mapping[str, Sequence[str]],
    ) -> None:
        """Records a query: a predicate read of each table, and an item read of each row that it returned."""
        for table, rows in tables.items():
            label = self._label(text, table)
            names = tuple(row.version for row in rows.values())
            chosen = tuple(rows[identity].version for identity in matched[table])
            self.events.append(DraftEvent("R", transaction.number, names, chosen, predicate=label))
            self.events += [DraftEvent("r", transaction.number, (name,)) for name in chosen]

    def wrote(
        self,
        transaction: Transaction,
        statement: Statement,
        target: str,
        tables: Mapping[str, Mapping[str, Row]],
        change: Changed,
    ) -> None:
        """Records what a statement read: of its own table as a predicate write, before the writes."""
        for table, rows in tables.items():
            if table != target:
                everything = {table: tuple(rows)}
                self.read(transaction, statement.text, {table: rows}, everything)
            elif statement.kind is Kind.CHANGE and transaction.number:
                names = tuple(row.version for row in rows.values())
                chosen = tuple(rows[identity].version for identity in change.matched)
                label = self._label(statement.text, table)
                self.events.append(DraftEvent("W", transaction.number, names, chosen, predicate=label))

    def write(self, transaction: Transaction, identity: str, number: int, values: tuple[object, ...]) -> Name:
        """Records the `number`-th modification of a row; returns its version."""
        name = Name(identity, transaction.number, number if transaction.number else None)
        shown = ", ".join(map(str, values))
        self.versions.setdefault(self.rows[identity], {})[name] = values
        if transaction.number:
            value = re.sub(r"[()\[\]:;,|]", " ", shown)
            self.events.append(DraftEvent("w", transaction.number, (name,), value=value))
        return name

    def delete(self, transaction: Transaction, identity: str) -> None:
        """Records a delete."""
        self.events.append(DraftEvent("w", transaction.number, (Name(identity, Special.DEAD),)))

    def end(self, transaction: Transaction, *, commit: bool) -> None:
        """Records c_i or a_i."""
        self.events.append(DraftEvent("c" if commit else "a", transaction.number))

    def _label(self, text: str, table: str) -> str:
        where = re.search(r"\bWHERE\b(.*)", text, re.IGNORECASE | re.DOTALL)
        condition = re.sub(r"[^\w=<>'+*/. -]", " ", where[1]).strip() if where else "all"
        base = " ".join(f"{table} {condition}".split())
        for number in count(1):
            label = base if number == 1 else f"{base} {number}"
            # Statements with the same condition share a predicate: the same rows match it.
            predicate = {
                "text": text,
                "table": table,
                "condition": " ".join(where[1].split()) if where else "",
            }
            if self.predicates.setdefault(label, predicate)["condition"] == predicate["condition"]:
                return label
        raise AssertionError

    def history(self, evaluator: Evaluator, name: str = "") -> History:
        """Returns the history so far. Which versions match a predicate is asked of each version by itself."""
        draft = Draft(name=name)
        reading = {event.txn for event in self.events if event.kind not in "sca"}
        draft.events = [event for event in self.events if event.txn in reading]
        existing = {each for event in draft.events if event.kind == "w" for each in event.names}
        named = {each for event in draft.events for each in (*event.names, *(event.others or ()))}
        for label, predicate in self.predicates.items():
            if not any(event.predicate == label for event in draft.events):
                continue
            versions = {
                str(each): (each, values)
                for each, values in self.versions.get(predicate["table"], {}).items()
                if each in existing or each in named
            }
            rows = {key: values for key, (_, values) in versions.items()}
            try:
                chosen = evaluator.matching(predicate["text"], predicate["table"], rows)
            except StatementFailed:
                # The condition fails on a version that the statement did not see.
                continue
            draft.matches.append(Matches(label, tuple(versions[key][0] for key in chosen)))
        by_session: dict[str, list[int]] = {}
        for number in sorted(reading):
            by_session.setdefault(self.sessions[number], []).append(number)
        draft.sessions = [Session(name, tuple(each)) for name, each in by_session.items() if len(each) > 1]
        return well_formed(draft)


def _letters(number: int) -> str:
    """Returns a, b, ..., z, aa, ab, ..."""
    for length in count(1):
        if number < 26**length:
            return "".join(list(product(string.ascii_lowercase, repeat=length))[number])
        number -= 26**length
    raise AssertionError
