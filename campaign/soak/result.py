"""The result of a simulated account: its events and refreshes, and what was wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from campaign.soak.plan import Plan
from campaign.soak.truth import Truth
from dynamic_tables.account import Account
from dynamic_tables.operations.runner import Schedule
from dynamic_tables.refresh.execute import PROTOCOL, RefreshProtocol
from dynamic_tables.schedule.due import due


@dataclass(frozen=True, slots=True)
class Scheduler:
    """The refresh protocol of an account, and what says which tables are due; a fault replaces either."""

    protocol: RefreshProtocol = PROTOCOL
    schedule: Schedule = due


SOUND = Scheduler()


class Check(Enum):
    """What the judge of an account compares; the value says what is wrong."""

    CONTENTS = "the contents are not the query at the data timestamp"
    NO_CONTENTS = "a refresh succeeded where the query fails"
    FAILED = "a refresh failed where the query does not"
    ERROR = "an error that is no failed refresh"
    SUSPENDED = "a suspended table was refreshed by the schedule"
    COUNT = "the failures in a row are counted wrongly"
    TIME = "a data timestamp is no tick, or lies in the future, or went back"
    LATE = "a table is not at the data timestamp that is due"
    GROUP = "the members of a group with repeatable reads are at different times"
    COMMAND = "a command was refused, or done, wrongly"
    SHOWN = "status or history shows something else than what was done"
    READ = "a read of an earlier data timestamp shows other rows than the query had then"


class State(Enum):
    """The rare states that a look of the process may meet."""

    SKIPPED = "skipped times"
    BELOW_SUSPENDED = "table below a suspended one"
    SUSPENDED_BY_ERRORS = "table suspended by errors"
    SOURCE_MISSING = "table without a source"
    REPEATABLE_GROUP = "group with repeatable reads"
    PAST = "read of the past"


@dataclass(frozen=True, slots=True)
class Wrong:
    """What was wrong after a look of the process at `at`, in microseconds."""

    at: int
    table: str
    check: Check
    message: str


@dataclass(slots=True)
class Soaked:
    """The result of one run. `wrong`: the mistakes that the judge found; after a few of them the run stops.

    `looks`: how many looks there were. `actions`: refreshes by action; `failures`: those that failed.
    `events`: how often each kind of event happened. `states`: how often a look met each rare state.
    """

    plan: Plan
    looks: int = 0
    refreshes: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    failures: int = 0
    events: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    wrong: list[Wrong] = field(default_factory=list)


@dataclass(slots=True)
class Seen:
    """What the last look showed of each dynamic table.

    `visible`, `stored`: data timestamps, as readers see them and as they are stored. `errors`: failed
    refreshes in a row, counted by hand. `past`: by the identity of a table, which a rename keeps, the rows of
    its query at each data timestamp at which it was judged.
    """

    errors: Counter[str] = field(default_factory=Counter)
    stored: dict[str, int] = field(default_factory=dict)
    visible: dict[str, int] = field(default_factory=dict)
    past: dict[str, dict[int, Counter[tuple[object, ...]]]] = field(default_factory=dict)


@dataclass(slots=True)
class Watched:
    """An account that runs, its truth by hand, what the last look showed, and the result so far."""

    account: Account
    truth: Truth
    seen: Seen
    result: Soaked

    def wrong(self, at: int, table: str, check: Check, message: str) -> None:
        """Notes a mistake. `at`: the time of the look in microseconds. `table`: "" for no single one."""
        self.result.wrong.append(Wrong(at, table, check, message))
