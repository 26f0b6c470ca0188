"""A plan as text that a person reads: the tables, then the events in order of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from campaign.soak import plan as plans


def timeline(plan: plans.Plan) -> list[str]:
    """Returns the lines of a plan."""
    lines = [f"{table.name}: {table.query}; {_lag(table.lag)}" for table in plan.tables]
    for number, tick in enumerate(plan.ticks, 1):
        lines += [
            f"before {number * plans.TICK // plans.SECOND} s: {told(each, plan.tables)}" for each in tick
        ]
    return lines


def told(each: plans.Happening, tables: Sequence[plans.Declared]) -> str:
    """Returns an event in words."""
    match each:
        case plans.Write():
            return _written(each)
        case plans.Alter(name, lag):
            return f"{name} gets {_lag(lag)}"
        case plans.Switch(name, on):
            return f"{'resume' if on else 'suspend'} {name}"
        case plans.Group(members, isolation):
            return f"group of {', '.join(members)} with {isolation.replace('_', ' ')}"
        case plans.Ungroup():
            return "drop the group"
        case plans.Redefine(name, number, kind):
            of_two = any(table.name == name and table.kind.of_two for table in tables)
            what = "" if of_two or kind.of_two else f"it is {kind.value.format('..', n=number)}, "
            return f"replace the definition of {name}: {what}n = {number}"
        case plans.ReplaceView(number):
            return f"replace the view {plans.VIEW}: {plans.view_query(number)}"
        case plans.Down(ticks):
            return f"the process that refreshes misses {ticks} look{'s' if ticks > 1 else ''}"
        case _:
            return _renamed(each)


def _renamed(
    each: plans.Clone
    | plans.Rename
    | plans.Swap
    | plans.Drop
    | plans.Undrop
    | plans.DropBase
    | plans.BaseBack,
) -> str:
    match each:
        case plans.Clone(name, copy):
            return f"clone {name} as {copy}"
        case plans.Rename(name, other):
            return f"rename {name} to {other}"
        case plans.Swap(name, other):
            return f"swap {name} with {other}"
        case plans.Drop(name) | plans.DropBase(name):
            return f"drop {name}"
        case plans.Undrop(name):
            return f"undrop {name}"
        case plans.BaseBack(name, anew):
            return f"another table, empty, takes the name {name}" if anew else f"undrop {name}"
        case _:
            assert_never(each)


def _written(write: plans.Write) -> str:
    new = ", ".join(f"{table} ({a}, {b})" for table, a, b in write.inserted)
    gone = ", ".join(f"{table} where {column} = {value}" for table, column, value in write.deleted)
    parts = [*([f"insert into {new}"] if new else []), *([f"delete from {gone}"] if gone else [])]
    return "; ".join(parts)


def _lag(lag: int | None) -> str:
    return "target lag DOWNSTREAM" if lag is None else f"target lag {lag} s"
