"""The refresh groups of an account: their order, and what readers see of their members."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from dynamic_tables.definition import Definition
from dynamic_tables.errors import CorruptTable, DefinitionError
from dynamic_tables.journal.events import Published
from dynamic_tables.journal.state import Operations
from dynamic_tables.operations.tables import AccountTables, graph_of
from dynamic_tables.schedule.group import Isolation, RefreshGroup, ensure_ordered


def ensure_in_order(
    account: AccountTables, definitions: Mapping[str, Definition], names: Mapping[str, str] | None = None
) -> None:
    """Raises DefinitionError: with other definitions a table would stand between two members of a group.

    `names`: the new names of tables that get one.
    """
    names = names or {}
    groups = {
        group.name: replace(group, members=tuple(names.get(member, member) for member in group.members))
        for group in groups_of(account).values()
    }
    if not groups:
        return
    graph = graph_of(definitions, account.store.journal.poll())
    for group in groups.values():
        ensure_ordered(group, graph, groups)


def groups_of(account: AccountTables) -> Mapping[str, RefreshGroup]:
    """Returns the refresh groups of an account by name."""
    return account.store.journal.poll().groups


def publish(account: AccountTables, group: RefreshGroup, timestamps: Mapping[str, int]) -> None:
    """Lets readers see data timestamps of members of a group, all at once.

    `group`: as it was when the refreshes of the members began. Nothing is published if it is another one by
    now, or if a name belongs to another table: the next refresh of the group that there is publishes them.
    Other processes drop and replace groups, and drop, rename and swap members, at any time.
    """

    def published(state: Operations) -> Published | None:
        if not _is_whole(account, group, timestamps, state):
            return None
        return Published(
            at=account.clock.now(), by=account.process, group=group.name, versions=dict(timestamps)
        )

    account.store.journal.append(published)


def _is_whole(
    account: AccountTables, group: RefreshGroup, timestamps: Mapping[str, int], state: Operations
) -> bool:
    """Tells whether a group is as it was, and its members have the contents that are to be published."""
    if state.groups.get(group.name) != group or state.is_moving(group.members):
        return False
    if group.isolation is Isolation.REPEATABLE_READ and (
        timestamps.keys() != {*group.members} or len({*timestamps.values()}) > 1
    ):
        return False
    with suppress(CorruptTable, DefinitionError):
        # A member that was swapped with another one, or created again, may lack a data timestamp.
        return all(
            account.has_version_at(account.dynamic_table(name), timestamp)
            for name, timestamp in timestamps.items()
        )
    return False
