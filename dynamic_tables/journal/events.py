"""The events of an account's journal, and their form in JSON; times are microseconds of its clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import Enum

from dynamic_tables.schedule.failing import Blame
from dynamic_tables.schedule.group import Isolation

FORMAT = 1


class Trigger(Enum):
    """Why a refresh ran, by Snowflake's names."""

    SCHEDULED = "SCHEDULED"
    MANUAL = "MANUAL"
    CREATION = "CREATION"


class Privilege(Enum):
    """MONITOR: see state and history. OPERATE: refresh, suspend, resume, alter. OWNERSHIP: everything."""

    MONITOR = "MONITOR"
    OPERATE = "OPERATE"
    OWNERSHIP = "OWNERSHIP"


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """Something happened `at` a time; `by` names the process."""

    at: int
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed(Happened):
    """A process refreshes tables, and nobody else may until `until`, a time that it moves on as it works."""

    tables: tuple[str, ...]
    timestamp: int
    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Released(Happened):
    """A process has ended what it claimed."""

    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed(Happened):
    """A refresh is committed. `started`: when it began; `at`: when it ended. `action`: as in its record."""

    table: str
    timestamp: int
    started: int
    trigger: Trigger
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshFailure(Happened):
    """A refresh committed nothing."""

    table: str
    timestamp: int
    started: int
    trigger: Trigger
    fault: Blame
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspended(Happened):
    """No schedule refreshes a table any more."""

    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed(Happened):
    """A schedule refreshes a table again; its errors are forgotten."""

    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LagSet(Happened):
    """A table has another target lag; None for DOWNSTREAM."""

    table: str
    target_lag: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCreated(Happened):
    """A refresh group exists. `published`: the data timestamp of each member that readers see."""

    group: str
    members: tuple[str, ...]
    isolation: Isolation
    published: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDropped(Happened):
    """A refresh group is gone; readers see the newest contents of its members."""

    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Published(Happened):
    """Readers see these data timestamps of a group's members, all at once."""

    group: str
    versions: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped(Happened):
    """A table is gone; another one of its name begins without history. `for_good`: it cannot come back."""

    table: str
    for_good: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Undropped(Happened):
    """The table that was dropped last under a name is back, with all that was known of it."""

    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed(Happened):
    """A table has another name. `moving`: the id of the `Moving` that it is a part of."""

    table: str
    name: str
    moving: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moving(Happened):
    """Tables and views are given other names, one after another; if the process dies, another one goes on.

    `moves`: the name, the new name and the identity of each, in order. `noted`: the table and name of each
    `Renamed` that belongs to it. `takes`: the id of one that another process began: this process finishes it.
    """

    id: str
    moves: tuple[tuple[str, ...], ...]
    noted: tuple[tuple[str, ...], ...]
    takes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved(Happened):
    """The end of a `Moving`: all tables and views have their new names, or the old ones."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Defined(Happened):
    """A dynamic table was created or replaced, with these sources and this lag.

    `created`: it is a new table, which has nothing of another one that had its name before.
    """

    table: str
    sources: tuple[str, ...]
    target_lag: int | None
    text: str
    created: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted(Happened):
    """A role has a privilege on a table."""

    table: str
    role: str
    privilege: Privilege


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoked(Happened):
    """A role has a privilege on a table no more."""

    table: str
    role: str
    privilege: Privilege


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionDefined(Happened):
    """A function of one's own was made or replaced, as `own_functions.OwnFunction` describes it.

    `digest`: of its source when it was.
    """

    name: str
    sql: bool
    parameters: str
    body: str
    returns: str
    immutable: bool
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionDropped(Happened):
    """A function of one's own is gone."""

    name: str


Event = (
    Claimed
    | Released
    | Refreshed
    | RefreshFailure
    | Suspended
    | Resumed
    | LagSet
    | GroupCreated
    | GroupDropped
    | Published
    | Dropped
    | Undropped
    | Renamed
    | Moving
    | Moved
    | Defined
    | Granted
    | Revoked
    | FunctionDefined
    | FunctionDropped
)

KINDS: Mapping[str, type[Event]] = {kind.__name__: kind for kind in Event.__args__}
READERS: Mapping[str, Callable[[object], object]] = {
    **dict.fromkeys(("tables", "members", "sources"), lambda value: tuple(map(str, _list(value)))),
    **dict.fromkeys(
        ("moves", "noted"), lambda value: tuple(tuple(map(str, _list(each))) for each in _list(value))
    ),
    "isolation": Isolation,
    "fault": Blame,
    "trigger": Trigger,
    "privilege": Privilege,
}
"""How the fields that are no plain values in JSON are read."""


def _list(value: object) -> list[object]:
    """Returns a value that must be a list. Raises TypeError: it is none."""
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no list")
    return value


def plain(value: object) -> object:
    """Returns a value with enums as their values, for JSON."""
    match value:
        case Enum():
            return value.value
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case tuple() | list():
            return [plain(each) for each in value]
        case _:
            return value


def to_json(event: Event) -> dict[str, object]:
    """Returns an event as an object for JSON."""
    fields = {name: plain(value) for name, value in asdict(event).items()}
    return {"dvs": FORMAT, "event": type(event).__name__, **fields}


def from_json(data: Mapping[str, object]) -> Event:
    """Reads what `to_json` wrote. Raises KeyError, TypeError or ValueError for any other object."""
    if data["dvs"] != FORMAT:
        raise ValueError(f"format {data['dvs']}, and this engine reads format {FORMAT}")
    fields = {
        name: READERS[name](value) if name in READERS else value
        for name, value in data.items()
        if name not in ("dvs", "event")
    }
    return KINDS[str(data["event"])](**fields)  # type: ignore[arg-type]


def text_of(event: Event, state: Mapping[str, object] | None) -> str:
    """Returns the text of an event's file. `state`: the state after the events before, to be a checkpoint."""
    data = to_json(event)
    return json.dumps(data if state is None else {**data, "before": state})
