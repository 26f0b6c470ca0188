"""What sessions do, recorded as a history with predicates."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, product

from dvs_model.graph.wellformed import well_formed
from dvs_model.histories.draft import Draft, DraftEvent, Matches, Name, Session, Special
from dvs_model.histories.history import History
from protocols.read_committed.rows import Evaluator, StatementFailed
from protocols.read_committed.state import Transaction


@dataclass(frozen=True, slots=True)
class TableView:
    """What a statement sees of a table: the versions of all rows, deleted ones too, and those that it chose.

    A row that is left out of `names` would count as not inserted yet.
    """

    table: str
    condition: str
    names: tuple[Name, ...]
    chosen: tuple[Name, ...]


@dataclass(slots=True)
class Recorder:
    """Events in the order in which statements end; those of statements that fail never come here.

    `versions`: every version of every row with its values, by table. `predicates`: by label table and
    condition. `rows`: by row its table. `sessions`: by transaction its session.
    """

    events: list[DraftEvent] = field(default_factory=list)
    versions: dict[str, dict[Name, tuple[object, ...]]] = field(default_factory=dict)
    predicates: dict[str, tuple[str, str]] = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)
    sessions: dict[int, str] = field(default_factory=dict)

    def begin(self, transaction: Transaction) -> None:
        """Records the start event, s_i."""
        self.sessions[transaction.number] = transaction.session
        self.events.append(DraftEvent("s", transaction.number))

    def session_of(self, number: int) -> str:
        """Returns the session that began a transaction."""
        return self.sessions.get(number, "")

    def new_row(self, table: str) -> str:
        """Returns the id of a new row: a table's rows are named by letters in the order of their creation."""
        place = sum(1 for owner in self.rows.values() if owner == table)
        identity = f"{table}_{_letters(place)}"
        self.rows[identity] = table
        return identity

    def read(self, transaction: Transaction, views: Sequence[TableView]) -> None:
        """Records a query: a predicate read of each table, and an item read of each row that it matched."""
        for view in views:
            label = self._label(view)
            event = DraftEvent("R", transaction.number, view.names, view.chosen, predicate=label)
            self.events += [event, *(DraftEvent("r", transaction.number, (name,)) for name in view.chosen)]

    def write_where(self, transaction: Transaction, view: TableView) -> None:
        """Records how a statement chose the rows that it changes: as a predicate write, before the writes."""
        label = self._label(view)
        self.events.append(DraftEvent("W", transaction.number, view.names, view.chosen, predicate=label))

    def write(self, transaction: Transaction, identity: str, number: int, values: tuple[object, ...]) -> Name:
        """Records the `number`-th modification of a row; returns its version."""
        name = Name(identity, transaction.number, number if transaction.number else None)
        shown = ", ".join(map(str, values))
        self.versions.setdefault(self.rows[identity], {})[name] = values
        if transaction.number:
            value = re.sub(r"[()\[\]:;,|]", " ", shown)
            self.events.append(DraftEvent("w", transaction.number, (name,), value=value))
        return name

    def delete(self, transaction: Transaction, identity: str, number: int) -> Name:
        """Records a delete, the `number`-th modification of a row; returns its version."""
        if transaction.number:
            self.events.append(DraftEvent("w", transaction.number, (Name(identity, Special.DEAD),)))
        return Name(identity, transaction.number, number if transaction.number else None)

    def derive(self, transaction: Transaction, version: Name, sources: Sequence[Name]) -> None:
        """Records the version of a dynamic table and what it was derived from."""
        if sources:
            self.events.append(DraftEvent("d", transaction.number, (version,), tuple(sources)))
        else:
            self.events.append(DraftEvent("w", transaction.number, (version,)))

    def read_whole(self, transaction: Transaction, version: Name) -> None:
        """Records that a statement has read a dynamic table."""
        self.events.append(DraftEvent("r", transaction.number, (version,)))

    def end(self, transaction: Transaction, *, commit: bool) -> None:
        """Records the commit, c_i, or the abort, a_i."""
        self.events.append(DraftEvent("c" if commit else "a", transaction.number))

    def _label(self, view: TableView) -> str:
        """Returns the name of a predicate. Statements with the same condition share it."""
        _, _, condition = view.condition.partition(" WHERE ")
        plain = re.sub(r"[^\w=<>'+*/. -]", " ", condition) or "all"
        base = " ".join(f"{view.table} {plain}".split())
        for number in count(1):
            label = base if number == 1 else f"{base} {number}"
            predicate = (view.table, view.condition)
            if self.predicates.setdefault(label, predicate) == predicate:
                return label
        raise AssertionError

    def history(self, evaluator: Evaluator, name: str = "") -> History:
        """Returns the history so far. Which versions match a predicate is asked of each version by itself."""
        draft = Draft(name=name)
        # A transaction that only began and ended (s, c, a) is left out.
        reading = {event.txn for event in self.events if event.kind not in "sca"}
        draft.events = [event for event in self.events if event.txn in reading]
        existing = {each for event in draft.events if event.kind == "w" for each in event.names}
        named = {each for event in draft.events for each in (*event.names, *(event.others or ()))}
        for label, (table, condition) in self.predicates.items():
            if not any(event.predicate == label for event in draft.events):
                continue
            versions = {
                str(each): (each, values)
                for each, values in self.versions.get(table, {}).items()
                if each in existing or each in named
            }
            rows = {key: values for key, (_, values) in versions.items()}
            try:
                chosen = evaluator.matching(condition, table, rows)
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
