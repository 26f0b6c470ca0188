"""Compares what a simulated account shows of its tables and their past with what the judge has noted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from campaign.soak.acts import GROUP
from campaign.soak.plan import SECOND
from campaign.soak.result import Check, State, Watched
from dynamic_tables.account import Account
from dynamic_tables.errors import DefinitionError
from dynamic_tables.store.port import NamingStore

DESCRIBE_EVERY = 4
"""One look in so many also describes a table and reads its past: the journal is long after some hours."""

START = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Showing(Watched):
    """Compares `dynamic_tables`, `describe`, `refresh_history` and reads of earlier data timestamps."""

    def compare_shown(self, at: int, stopped: set[str]) -> None:
        """Judges the state of all tables, and now and then all that is shown of one. `stopped`: suspended."""
        self._states(at, stopped)
        names = sorted(self.truth.tables)
        if names and self.result.looks % DESCRIBE_EVERY == 0:
            name = names[self.result.looks // DESCRIBE_EVERY % len(names)]
            self._described(at, name)
            self._past(at, name)

    def _states(self, at: int, stopped: set[str]) -> None:
        """Compares what `dynamic_tables` shows of each table: failures, state, data timestamp, group."""
        for row in self.account.dynamic_tables().to_pylist():
            name, errors = row["name"], self.seen.errors[row["name"]]
            if row["consecutive_errors"] != errors:
                message = f"failed {errors} times in a row, shown are {row['consecutive_errors']}"
                self.wrong(at, name, Check.COUNT, message)
            waits = name in stopped or bool(stopped.intersection(self.truth.above(name)))
            due: dict[str, object] = {
                "scheduling_state": "SUSPENDED" if waits else "RUNNING",
                "latest_data_timestamp": _instant(self.seen.visible[name]),
                "refresh_group": GROUP if name in self.truth.group else None,
            }
            for column, value in due.items():
                if row[column] != value:
                    self.wrong(at, name, Check.SHOWN, f"{column} is {row[column]}, and {value} is due")

    def _described(self, at: int, name: str) -> None:
        """Compares what `describe` and `refresh_history` show of a table."""
        described, stored = self.account.describe(name), self.seen.stored.get(name)
        lag = self.truth.tables[name].lag
        if described.data_timestamp != stored:
            message = f"describe shows {described.data_timestamp}, and it was refreshed to {stored}"
            self.wrong(at, name, Check.SHOWN, message)
        if described.table.target_lag != (None if lag is None else lag * SECOND):
            self.wrong(at, name, Check.SHOWN, f"describe shows the target lag {described.table.target_lag}")
        rows = self.account.refresh_history(name).to_pylist()
        done = [row["data_timestamp"] for row in rows if row["state"] == "SUCCEEDED"]
        due = [_instant(each.frontier.timestamp) for each in described.refreshes]
        if done != due:
            self.wrong(at, name, Check.SHOWN, f"its history shows {len(done)} refreshes of {len(due)}")

    def _past(self, at: int, name: str) -> None:
        """Reads a version in the middle of those that the judge has seen."""
        past = self.seen.past.get(identity_of(self.account, name), {})
        if not past:
            return
        table, timestamp = self.account.dynamic_table(name), sorted(past)[len(past) // 2]
        self.result.states[State.PAST.value] += 1
        try:
            version = self.account.version_read(table, timestamp)
        except DefinitionError as error:
            self.wrong(at, name, Check.READ, str(error))
            return
        assert version is not None, "a time has a version"
        relation = self.account.store.snapshot(name, version, ids=False)
        rows = Counter(row[: len(table.columns)] for row in relation.rows())
        if rows != past[timestamp]:
            message = f"as of {timestamp} it shows {sum(rows.values())} rows, others than its query had then"
            self.wrong(at, name, Check.READ, message)


def identity_of(account: Account, name: str) -> str:
    """Returns what tells a table from all others that have had its name."""
    assert isinstance(account.store, NamingStore), "a simulated account has names"
    return account.store.identity(name)


def _instant(micros: int) -> datetime:
    """Returns microseconds of simulated time as an instant."""
    return START + timedelta(microseconds=micros)
