"""What users do with the tables of an account beside creating and reading them: lags, groups, rights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from dynamic_tables.arguments import checked_name, checked_text
from dynamic_tables.definition import BaseTable, Definition, DynamicTable
from dynamic_tables.errors import CorruptTable, DefinitionError, MissingPrivilege
from dynamic_tables.journal import events
from dynamic_tables.journal.state import Operations
from dynamic_tables.operations.operated import Operated
from dynamic_tables.operations.reading import sources_now
from dynamic_tables.refresh.execute import RefreshResult
from dynamic_tables.schedule.graph import Graph, Scheduled
from dynamic_tables.schedule.group import Isolation, RefreshGroup, checked_group, ensure_ordered
from dynamic_tables.schedule.lag import Lag, read_lag


class Operating:
    """The methods of an account that change how its dynamic tables are kept fresh, and by whom."""

    def alter_dynamic_table(self: Operated, name: str, *, target_lag: Lag) -> DynamicTable:
        """Gives a dynamic table another target lag, and returns its definition; None means DOWNSTREAM.

        Raises DefinitionError: no such table, or a lag below the minimum. Raises MissingPrivilege.

        Example: `account.alter_dynamic_table("totals", target_lag="10 minutes")`.
        """
        with self.lock:
            table = allowed(self, name, events.Privilege.OPERATE)
            lag = read_lag(table.name, target_lag, self.minimum_lag)
            self.store.journal.add(
                events.LagSet(at=self.clock.now(), by=self.process, table=table.name, target_lag=lag)
            )
            return self.dynamic_table(name)

    def suspend(self: Operated, name: str) -> None:
        """Takes a dynamic table out of every schedule; those that read it wait, and show why.

        It can still be refreshed by command. Raises DefinitionError, MissingPrivilege.
        """
        with self.lock:
            table = allowed(self, name, events.Privilege.OPERATE)
            self.store.journal.add(events.Suspended(at=self.clock.now(), by=self.process, table=table.name))

    def resume(self: Operated, name: str) -> None:
        """Puts a dynamic table back into its schedule, and forgets its errors.

        Its next refresh begins where it stands: nothing that happened meanwhile is lost. Raises
        DefinitionError, MissingPrivilege.
        """
        with self.lock:
            table = allowed(self, name, events.Privilege.OPERATE)
            self.store.journal.add(events.Resumed(at=self.clock.now(), by=self.process, table=table.name))

    def create_refresh_group(
        self: Operated,
        name: str,
        members: Sequence[str],
        isolation: Isolation | str = Isolation.READ_COMMITTED,
    ) -> RefreshGroup:
        """Makes a group of dynamic tables whose new contents are published together, or not at all.

        With `repeatable_read` all members are at one data timestamp at all times; they are refreshed to one
        now. With `read_committed` a member with a longer target lag may be older than the others.

        Raises DefinitionError: for members or an isolation that make no group. Raises RefreshFailed: the
        members cannot be brought to one data timestamp; then there is no group. Raises MissingPrivilege.

        Example: `account.create_refresh_group("positions", ["position", "price"], "repeatable_read")`.
        """
        with self.lock:
            if isinstance(members, str):
                raise DefinitionError(f"the members are the text {members!r}; give a list of names")
            named = [allowed(self, member, events.Privilege.OPERATE).name for member in members]
            chosen = Isolation.of(isolation)
            new = checked_name(name, "a refresh group")
            group = checked_group(new, named, chosen, graph_of(self), groups_of(self))
            if chosen is Isolation.REPEATABLE_READ:
                _bring_together(self, group)
            self.store.journal.append(lambda state: _created(self, group, state))
            return group

    def drop_refresh_group(self: Operated, name: str) -> None:
        """Ends a group: its members are published one by one again.

        Raises DefinitionError: no such group. Raises MissingPrivilege.
        """
        with self.lock:
            groups = groups_of(self)
            if name.lower() not in groups:
                known = ", ".join(groups) or "none"
                raise DefinitionError(f"no refresh group {name}; there are: {known}")
            for member in groups[name.lower()].members:
                allowed(self, member, events.Privilege.OPERATE)
            dropped = events.GroupDropped(at=self.clock.now(), by=self.process, group=name.lower())
            # Another process may have dropped it meanwhile.
            self.store.journal.append(lambda state: dropped if name.lower() in state.groups else None)

    def refresh_groups(self: Operated) -> Sequence[RefreshGroup]:
        """Returns all refresh groups, oldest first."""
        with self.lock:
            return tuple(groups_of(self).values())

    def grant(self: Operated, privilege: events.Privilege | str, table: str, role: str) -> None:
        """Gives a role a privilege on a dynamic table: MONITOR, OPERATE, or OWNERSHIP, which has one role.

        This is a guard against mistakes among colleagues: whoever may write the folder can do everything.
        Raises DefinitionError: no such table or privilege. Raises MissingPrivilege.
        """
        with self.lock:
            name = allowed(self, table, events.Privilege.OWNERSHIP).name
            kind = privilege_of(privilege)
            role = checked_text(role, "a role")
            self.store.journal.add(
                events.Granted(at=self.clock.now(), by=self.process, table=name, role=role, privilege=kind)
            )

    def revoke(self: Operated, privilege: events.Privilege | str, table: str, role: str) -> None:
        """Takes a privilege on a dynamic table from a role. Raises DefinitionError, MissingPrivilege."""
        with self.lock:
            name = allowed(self, table, events.Privilege.OWNERSHIP).name
            kind = privilege_of(privilege)
            self.store.journal.add(
                events.Revoked(at=self.clock.now(), by=self.process, table=name, role=role, privilege=kind)
            )

    def graph(self: Operated) -> Graph:
        """Returns who reads whom among the dynamic tables that can be read."""
        with self.lock:
            return graph_of(self)


def privilege_of(privilege: events.Privilege | str) -> events.Privilege:
    """Returns a privilege given by itself or by its name in any case. Raises DefinitionError."""
    if isinstance(privilege, events.Privilege):
        return privilege
    try:
        return events.Privilege[checked_text(privilege, "a privilege").upper()]
    except KeyError:
        known = ", ".join(events.Privilege.__members__)
        raise DefinitionError(f"no privilege {privilege!r}; there are: {known}") from None


def allowed(account: Operated, name: str, privilege: events.Privilege) -> DynamicTable:
    """Returns a dynamic table on which the role of the account has a privilege.

    A table without an owner is everybody's. OWNERSHIP includes the others, OPERATE includes MONITOR. Raises
    MissingPrivilege, DefinitionError.
    """
    table = account.dynamic_table(name)
    _ensure(account, table.name, account.store.journal.poll().of(table.name).grants, privilege)
    return table


def allowed_back(account: Operated, name: str) -> None:
    """Raises MissingPrivilege unless the role of the account owns the table that was dropped under a name."""
    known = account.store.journal.poll().dropped.get(name)
    if known is not None:
        _ensure(account, name, known.grants, events.Privilege.OWNERSHIP)


def _ensure(
    account: Operated, name: str, grants: Mapping[str, Sequence[str]], privilege: events.Privilege
) -> None:
    if not grants.get(events.Privilege.OWNERSHIP.value):
        return
    enough = {
        events.Privilege.MONITOR: tuple(events.Privilege),
        events.Privilege.OPERATE: (events.Privilege.OPERATE, events.Privilege.OWNERSHIP),
        events.Privilege.OWNERSHIP: (events.Privilege.OWNERSHIP,),
    }[privilege]
    if not any(account.role in grants.get(each.value, ()) for each in enough):
        raise MissingPrivilege(name, privilege.value, account.role)


def with_lag(table: DynamicTable, operations: Operations) -> DynamicTable:
    """Returns a definition with the target lag that was set last."""
    lag = operations.of(table.name).lag
    return table if lag is None else replace(table, target_lag=lag[0])


def graph_of(account: Operated) -> Graph:
    """Returns who reads whom among the dynamic tables of an account that can be read."""
    return _graph(account, account.store.definitions())


def _graph(account: Operated, definitions: Mapping[str, Definition]) -> Graph:
    operations = account.store.journal.poll()
    tables = []
    for name in definitions:
        with suppress(KeyError, CorruptTable):
            table = definitions[name]
            if isinstance(table, DynamicTable):
                kinds = {source: _readable(definitions, source) for source in sources_now(table, definitions)}
                upstream = tuple(s for s, kind in kinds.items() if isinstance(kind, DynamicTable))
                bases = tuple(s for s, kind in kinds.items() if isinstance(kind, BaseTable))
                lag = with_lag(table, operations).target_lag
                tables.append(Scheduled(table.name, upstream, lag, bases))
    return Graph.of(tables)


def _readable(definitions: Mapping[str, Definition], name: str) -> Definition | None:
    """Returns a table or view; None: it was dropped or cannot be read, so that what reads it will fail."""
    try:
        return definitions.get(name)
    except CorruptTable:
        return None


def ensure_in_order(
    account: Operated, definitions: Mapping[str, Definition], names: Mapping[str, str] | None = None
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
    graph = _graph(account, definitions)
    for group in groups.values():
        ensure_ordered(group, graph, groups)


def groups_of(account: Operated) -> Mapping[str, RefreshGroup]:
    """Returns the refresh groups of an account by name."""
    return account.store.journal.poll().groups


def publish(account: Operated, group: RefreshGroup, timestamps: Mapping[str, int]) -> None:
    """Lets readers see data timestamps of members of a group, all at once.

    `group`: as it was when the refreshes of the members began. Nothing is published if it is another one by
    now, or if a name belongs to another table: the next refresh of the group that there is publishes them.
    Other processes drop and replace groups, and drop, rename and swap members, at any time.
    """

    def published(state: Operations) -> events.Published | None:
        if not _is_whole(account, group, timestamps, state):
            return None
        return events.Published(
            at=account.clock.now(), by=account.process, group=group.name, versions=dict(timestamps)
        )

    account.store.journal.append(published)


def _is_whole(
    account: Operated, group: RefreshGroup, timestamps: Mapping[str, int], state: Operations
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


def completed(account: Operated, result: RefreshResult, started: int, trigger: events.Trigger) -> None:
    """Writes a committed refresh into the journal."""
    account.store.journal.add(
        events.Refreshed(
            at=account.clock.now(),
            by=account.process,
            table=result.table,
            timestamp=result.timestamp,
            started=started,
            trigger=trigger,
            action=result.action.value,
        )
    )


def _created(account: Operated, group: RefreshGroup, state: Operations) -> events.GroupCreated:
    """Returns the beginning of a group: readers see what its members hold now.

    Raises DefinitionError: by what other processes have done meanwhile it makes no group.
    """
    checked_group(group.name, group.members, group.isolation, graph_of(account), state.groups)
    if state.is_moving(group.members):
        raise DefinitionError(f"refresh group {group.name}: a member is being renamed; try it again")
    published = {
        member: records[-1].frontier.timestamp
        for member in group.members
        if (records := account.store.refreshes(account.dynamic_table(member)))
    }
    if group.isolation is Isolation.REPEATABLE_READ and len({*published.values()}) != 1:
        raise DefinitionError(
            f"refresh group {group.name}: another process has refreshed a member meanwhile; try it again"
        )
    return events.GroupCreated(
        at=account.clock.now(),
        by=account.process,
        group=group.name,
        members=group.members,
        isolation=group.isolation,
        published=published,
    )


def _bring_together(account: Operated, group: RefreshGroup) -> None:
    """Refreshes all members of a new group to one data timestamp."""
    newest = [account.store.refreshes(account.dynamic_table(member)) for member in group.members]
    if any(not records for records in newest):
        missing = group.members[[not records for records in newest].index(True)]
        raise DefinitionError(f"refresh group {group.name}: {missing} has no contents yet; refresh it first")
    if len({records[-1].frontier.timestamp for records in newest}) > 1:
        account.refresh_together(group.members)
