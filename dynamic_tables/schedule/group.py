"""Refresh groups: tables that are published together, or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from dynamic_tables.errors import DefinitionError
from dynamic_tables.schedule.graph import Graph, ordered


class Isolation(Enum):
    """What a reader of several members of one group sees.

    READ_COMMITTED: what is due at a time is published together; members may be at different data timestamps.
    REPEATABLE_READ: all members are always at one data timestamp.
    """

    READ_COMMITTED = "read_committed"
    REPEATABLE_READ = "repeatable_read"

    @classmethod
    def of(cls, isolation: Isolation | str) -> Isolation:
        """Returns an isolation given by itself or by its name in any case. Raises DefinitionError."""
        if isinstance(isolation, Isolation):
            return isolation
        try:
            return cls(isolation.lower())
        except ValueError:
            names = ", ".join(one.value for one in cls)
            raise DefinitionError(f"no isolation {isolation!r}; there are: {names}") from None


@dataclass(frozen=True, slots=True)
class RefreshGroup:
    """A group by name. `members`: its dynamic tables, each after those that it reads."""

    name: str
    members: tuple[str, ...]
    isolation: Isolation = Isolation.READ_COMMITTED


def checked_group(
    name: str,
    members: Sequence[str],
    isolation: Isolation,
    graph: Graph,
    groups: Mapping[str, RefreshGroup],
) -> RefreshGroup:
    """Returns a new group over tables of a graph, its members in the order of their refreshes.

    Raises DefinitionError: for a name in use, fewer than two members, a member that is unknown, named twice
    or in another group, members of different components, or a table between two members that is no member.
    """
    if name in groups:
        raise DefinitionError(f"refresh group {name} exists already; drop it first or take another name")
    twice = sorted({member for member in members if members.count(member) > 1})
    if twice:
        raise DefinitionError(f"refresh group {name} names {twice[0]} twice")
    if len(members) < 2:
        raise DefinitionError(f"refresh group {name} has {len(members)} members; name at least two tables")
    for member in members:
        if member not in graph.tables:
            tables = ", ".join(graph.tables) or "none"
            raise DefinitionError(f"refresh group {name}: no dynamic table {member}; there are: {tables}")
        for other in groups.values():
            if member in other.members:
                raise DefinitionError(
                    f"refresh group {name}: {member} is in group {other.name} already; merge the two groups"
                )
    components = graph.components()
    first = members[0]
    for member in members:
        if components[member] != components[first]:
            raise DefinitionError(
                f"refresh group {name}: {first} and {member} have no table in common, above or below; "
                "only tables of one component can be a group"
            )
    group = RefreshGroup(name, tuple(each for each in graph.order if each in members), isolation)
    ensure_ordered(group, graph, groups)
    return group


def ensure_ordered(group: RefreshGroup, graph: Graph, groups: Mapping[str, RefreshGroup]) -> None:
    """Raises DefinitionError: a table outside of a group reads a member and is read by another one."""
    for outside in graph.order:
        if outside in group.members:
            continue
        above = sorted(graph.above(outside) & set(group.members))
        below = sorted(graph.below(outside) & set(group.members))
        if above and below:
            raise DefinitionError(
                f"refresh group {group.name}: {outside} reads {above[0]} and is read by {below[0]}; "
                f"add {outside} to the group"
            )
    units(graph, {**groups, group.name: group})


def units(graph: Graph, groups: Mapping[str, RefreshGroup]) -> Mapping[str, tuple[str, ...]]:
    """Returns what is refreshed together, by name, each unit after those that it reads.

    A table outside of every group is a unit of its own. Raises DefinitionError: groups read each other.
    """
    unit_of = {name: name for name in graph.tables}
    for group in groups.values():
        unit_of.update({member: f"group {group.name}" for member in group.members if member in graph.tables})
    members: dict[str, list[str]] = {}
    reads: dict[str, set[str]] = {}
    for name in graph.order:
        unit = unit_of[name]
        members.setdefault(unit, []).append(name)
        above = (unit_of[up] for up in graph.tables[name].upstream if up in unit_of)
        reads.setdefault(unit, set()).update(up for up in above if up != unit)
    return {unit: tuple(members[unit]) for unit in ordered(reads)}


def is_repeatable(unit: str, groups: Mapping[str, RefreshGroup]) -> bool:
    """Tells whether a unit is a group with repeatable reads."""
    group = groups.get(unit.removeprefix("group ")) if unit.startswith("group ") else None
    return group is not None and group.isolation is Isolation.REPEATABLE_READ
