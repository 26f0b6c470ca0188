"""The state that an account's journal adds up to: claims, failures, suspensions, groups, privileges.

The journal folds its events into one `Operations`, and keeps that in its checkpoints as JSON.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from dynamic_tables.journal.events import (
    Claimed,
    Defined,
    Dropped,
    Event,
    FunctionDefined,
    FunctionDropped,
    Granted,
    GroupCreated,
    GroupDropped,
    LagSet,
    Moved,
    Moving,
    Privilege,
    Published,
    Refreshed,
    RefreshFailure,
    Released,
    Renamed,
    Resumed,
    Revoked,
    Suspended,
    Trigger,
    Undropped,
    from_json,
    plain,
    to_json,
)
from dynamic_tables.schedule.failing import Blame, Failure
from dynamic_tables.schedule.group import Isolation, RefreshGroup

KEPT_PER_TABLE = 64
"""How many failures, durations and published data timestamps of a table are remembered."""

DURATIONS = 8
"""How many refreshes a duration is estimated from."""


@dataclass(slots=True)
class Claim:
    """A refresh under way: by which process, to which data timestamp, and until when it holds."""

    by: str
    timestamp: int
    until: int


@dataclass(slots=True)
class TableOperations:
    """What the journal knows of one table.

    `failures`: of scheduled refreshes since the last success, oldest first. `took`: the duration of the last
    refreshes by data timestamp, both in microseconds. `lag`: a target lag that was set later, in a tuple of
    one. `grants`: roles by privilege. `number`: tells a table from others that have had its name; 0 in
    journals of older engines.
    """

    suspended: bool = False
    claim: Claim | None = None
    failures: list[Failure] = field(default_factory=list)
    took: dict[int, int] = field(default_factory=dict)
    lag: tuple[int | None] | None = None
    grants: dict[str, list[str]] = field(default_factory=dict)
    number: int = 0

    @property
    def duration(self) -> int:
        """The longest of the last refreshes in microseconds; 0 before the first one."""
        return max(list(self.took.values())[-DURATIONS:], default=0)

    def to_json(self) -> dict[str, object]:
        """Returns what is known as an object for JSON."""
        claim = self.claim
        return {
            "suspended": self.suspended,
            "claim": None if claim is None else [claim.by, claim.timestamp, claim.until],
            "failures": [[each.timestamp, each.at, each.fault.value, each.reason] for each in self.failures],
            "took": list(self.took.items()),
            "lag": self.lag,
            "grants": self.grants,
            "number": self.number,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> TableOperations:
        """Reads what `to_json` wrote. Raises KeyError, TypeError or ValueError for any other object."""
        return TableOperations(
            suspended=bool(data["suspended"]),
            claim=None if data["claim"] is None else Claim(*data["claim"]),
            failures=[Failure(at, end, Blame(fault), text) for at, end, fault, text in data["failures"]],
            # Journals of older engines hold the durations alone.
            took=dict(data["took"]) if "took" in data else dict(enumerate(data["durations"])),
            lag=None if data["lag"] is None else (data["lag"][0],),
            grants={str(privilege): list(roles) for privilege, roles in data["grants"].items()},
            number=int(data.get("number", 0)),
        )


@dataclass(slots=True)
class Operations:
    """The state of an account's operations after some events. `newest`: the time of the last event.

    `dropped`: the state of the dropped tables that may come back. `moving`: names that are being changed, by
    id, each with the number of its `Renamed` so far. `memberships`: the data timestamps that readers see of
    each table that is in a group now; `published` returns them. `created`: how many dynamic tables were
    created so far. `functions`: the functions that users defined, by name.
    """

    tables: dict[str, TableOperations] = field(default_factory=dict)
    dropped: dict[str, TableOperations] = field(default_factory=dict)
    groups: dict[str, RefreshGroup] = field(default_factory=dict)
    newest: int = 0
    moving: dict[str, tuple[Moving, int]] = field(default_factory=dict)
    memberships: dict[str, list[int]] = field(default_factory=dict)
    created: int = 0
    functions: dict[str, FunctionDefined] = field(default_factory=dict)

    def of(self, table: str) -> TableOperations:
        """Returns what is known of a table."""
        return self.tables.get(table) or TableOperations()

    def group_of(self, table: str) -> RefreshGroup | None:
        """Returns the group that a table is in."""
        # Another thread, which gives signs of life, may read that a group was made meanwhile.
        return next((group for group in tuple(self.groups.values()) if table in group.members), None)

    def published(self, table: str) -> Sequence[int] | None:
        """Returns the data timestamps that readers see of a member of a group; None: it is in no group.

        A table that is in no group is read as it is stored: what a group has published of it is forgotten
        when it leaves the group.
        """
        timestamps = self.memberships.get(table)
        return None if timestamps is None else tuple(timestamps)

    def is_moving(self, tables: Collection[str]) -> bool:
        """Tells whether one of some tables is getting another name, or comes to have one of these names."""
        moves = [move for moving, _ in self.moving.values() for move in moving.moves]
        return any(name in tables for old, new, *_ in moves for name in (old, new))

    def apply(self, event: Event) -> None:
        """Adds an event to the state."""
        self.newest = max(self.newest, event.at)
        match event:
            case Claimed() | Released():
                self._apply_to_claims(event)
            case Refreshed(table=table):
                state = self._at(table)
                state.failures.clear()
                kept = list(state.took.items())[1 - KEPT_PER_TABLE :]
                state.took = {**dict(kept), event.timestamp: event.at - event.started}
            case RefreshFailure(table=table, trigger=Trigger.SCHEDULED):
                failure = Failure(event.timestamp, event.at, event.fault, event.reason)
                self._at(table).failures = [*self._at(table).failures[1 - KEPT_PER_TABLE :], failure]
            case RefreshFailure():
                pass
            case Suspended() | Resumed() | LagSet() | Defined():
                self._apply_to_definition(event)
            case Dropped() | Undropped() | Renamed():
                self._apply_to_name(event)
            case Moving() | Moved():
                self._apply_to_moving(event)
            case GroupCreated() | GroupDropped() | Published():
                self._apply_to_group(event)
            case Granted() | Revoked():
                self._apply_to_rights(event)
            case FunctionDefined(name=name):
                self.functions[name] = event
            case FunctionDropped(name=name):
                self.functions.pop(name, None)
            case _:
                assert_never(event)

    def _apply_to_claims(self, event: Claimed | Released) -> None:
        """Gives the tables of an event to the process that claims them, or takes its claims away."""
        for table in event.tables:
            state = self._at(table)
            if isinstance(event, Claimed):
                state.claim = Claim(event.by, event.timestamp, event.until)
            elif state.claim is not None and state.claim.by == event.by:
                state.claim = None

    def _apply_to_definition(self, event: Suspended | Resumed | LagSet | Defined) -> None:
        match event:
            case Suspended(table=table):
                self._at(table).suspended = True
            case Resumed(table=table):
                self._at(table).suspended = False
                self._at(table).failures.clear()
            case LagSet(table=table, target_lag=lag):
                self._at(table).lag = (lag,)
            case Defined(table=table, created=True):
                # If another process has dropped one of this name, and has not said so yet: that one is gone.
                if self.of(table).number:
                    self.dropped[table] = self._without(table)
                self.created += 1
                self.tables[table] = TableOperations(number=self.created)
            case Defined(table=table):
                # Another text may not fail where the old one did.
                self._at(table).failures.clear()
                self._at(table).lag = None
            case _:
                assert_never(event)

    def _apply_to_name(self, event: Dropped | Undropped | Renamed) -> None:
        """Changes under which name a table stands, or puts it among those that were dropped."""
        match event:
            case Dropped(table=table, for_good=for_good):
                state = self._without(table)
                if not for_good:
                    self.dropped[table] = state
            case Undropped(table=table):
                self.tables[table] = self.dropped.pop(table, TableOperations())
            case Renamed(table=table, name=name):
                self._rename(table, name)
                self._count_renamed(event)
            case _:
                assert_never(event)

    def _apply_to_moving(self, event: Moving | Moved) -> None:
        """Notes that several tables begin to change their names together, or have ended it."""
        match event:
            case Moving(takes=taken):
                _, renamed = self.moving.pop(taken, (event, 0))
                self.moving[event.id] = event, renamed
            case Moved(id=number):
                self.moving.pop(number, None)
            case _:
                assert_never(event)

    def _count_renamed(self, event: Renamed) -> None:
        """Counts the `Renamed` events of a `Moving`: up on its way, down when it is taken back."""
        moving, count = self.moving.get(event.moving, (None, 0))
        if moving is None:
            return
        if (event.table, event.name) in moving.noted[count : count + 1]:
            self.moving[event.moving] = moving, count + 1
        elif count and (event.name, event.table) == moving.noted[count - 1]:
            # On the way back.
            self.moving[event.moving] = moving, count - 1

    def _apply_to_group(self, event: GroupCreated | GroupDropped | Published) -> None:
        """Creates or ends a refresh group, or notes what it has published."""
        match event:
            case GroupCreated(group=name, members=members, isolation=isolation, published=published):
                self.groups[name] = RefreshGroup(name, members, isolation)
                for member in members:
                    self.memberships[member] = [published[member]] if member in published else []
            case GroupDropped(group=name):
                self._end_group(name)
            case Published(versions=versions):
                for member, timestamp in versions.items():
                    seen = self.memberships.get(member)
                    # What is in no group is read as it is stored; and no reader goes back in time.
                    if seen is not None and (not seen or timestamp > seen[-1]):
                        self.memberships[member] = [*seen[1 - KEPT_PER_TABLE :], timestamp]
            case _:
                assert_never(event)

    def _apply_to_rights(self, event: Granted | Revoked) -> None:
        """Gives a privilege on a table to a role, or takes it away; OWNERSHIP has one role only."""
        roles = self._at(event.table).grants.setdefault(event.privilege.value, [])
        match event:
            case Granted(role=role, privilege=privilege):
                if privilege is Privilege.OWNERSHIP:
                    roles.clear()
                if role not in roles:
                    roles.append(role)
            case Revoked(role=role):
                if role in roles:
                    roles.remove(role)
            case _:
                assert_never(event)

    def _without(self, table: str) -> TableOperations:
        """Takes a table out of its group and out of the state, and returns what was known of it."""
        self._leave_group(table)
        state = self.tables.pop(table, TableOperations())
        # Nobody refreshes it now.
        state.claim = None
        return state

    def _at(self, table: str) -> TableOperations:
        """Returns what is known of a table, to be changed by an event."""
        return self.tables.setdefault(table, TableOperations())

    def _end_group(self, name: str) -> None:
        """Removes a refresh group; its tables are in no group then."""
        group = self.groups.pop(name, None)
        for member in () if group is None else group.members:
            self.memberships.pop(member, None)

    def _leave_group(self, table: str) -> None:
        """Takes a table out of its refresh group, which ends if fewer than two members are left."""
        group = self.group_of(table)
        if group is None:
            return
        members = tuple(member for member in group.members if member != table)
        if len(members) < 2:
            self._end_group(group.name)
        else:
            self.groups[group.name] = RefreshGroup(group.name, members, group.isolation)
            self.memberships.pop(table, None)

    def _rename(self, table: str, name: str) -> None:
        """Moves what is known of a table, and its place in a group, to another name."""
        if table in self.tables:
            self.tables[name] = self.tables.pop(table)
        group = self.group_of(table)
        if group is not None:
            members = tuple(name if member == table else member for member in group.members)
            self.groups[group.name] = RefreshGroup(group.name, members, group.isolation)
            self.memberships[name] = self.memberships.pop(table, [])

    def to_json(self) -> dict[str, object]:
        """Returns the state as an object for JSON."""
        tables = {name: table.to_json() for name, table in self.tables.items()}
        dropped = {name: table.to_json() for name, table in self.dropped.items()}
        groups = {name: [plain(group.members), group.isolation.value] for name, group in self.groups.items()}
        moving = [[to_json(each), renamed] for each, renamed in self.moving.values()]
        return {
            "tables": tables,
            "dropped": dropped,
            "groups": groups,
            "newest": self.newest,
            "moving": moving,
            "memberships": {name: list(seen) for name, seen in self.memberships.items()},
            "created": self.created,
            "functions": [to_json(function) for function in self.functions.values()],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Operations:
        """Reads what `to_json` wrote. Raises KeyError, TypeError or ValueError for any other object."""
        # Journals of older engines have forgotten what was dropped.
        tables, dropped = (
            {str(name): TableOperations.from_json(table) for name, table in data.get(part, {}).items()}
            for part in ("tables", "dropped")
        )
        groups = {
            str(name): RefreshGroup(name, tuple(members), Isolation(isolation))
            for name, (members, isolation) in data["groups"].items()
        }
        moving: dict[str, tuple[Moving, int]] = {}
        for event, renamed in data.get("moving", ()):
            each = from_json(event)
            assert isinstance(each, Moving)
            moving[each.id] = each, int(renamed)
        members = [member for group in groups.values() for member in group.members]
        # Older engines noted what a group has published with each table.
        published = data.get("memberships") or {
            name: table.get("published", ()) for name, table in data["tables"].items()
        }
        memberships = {member: [*map(int, published.get(member, ()))] for member in members}
        newest, created = int(data["newest"]), int(data.get("created", 0))
        functions: dict[str, FunctionDefined] = {}
        for event in data.get("functions", ()):
            function = from_json(event)
            assert isinstance(function, FunctionDefined)
            functions[function.name] = function
        return Operations(tables, dropped, groups, newest, moving, memberships, created, functions)
