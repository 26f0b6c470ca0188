"""What users do with the tables of an account beside creating and reading them: lags, groups, rights."""

from __future__ import annotations

from collections.abc import Sequence

from dynamic_tables.arguments import checked_name, checked_text
from dynamic_tables.definition import DynamicTable
from dynamic_tables.errors import DefinitionError
from dynamic_tables.journal import events
from dynamic_tables.journal.state import Operations
from dynamic_tables.operations.groups import groups_of
from dynamic_tables.operations.refresh_commands import RefreshCommands
from dynamic_tables.operations.rights import allowed, privilege_of
from dynamic_tables.operations.tables import AccountTables
from dynamic_tables.schedule.group import Isolation, RefreshGroup, checked_group
from dynamic_tables.schedule.lag import Lag, read_lag


class TableCommands(RefreshCommands):
    """The methods of an account that change how its dynamic tables are kept fresh, and by whom."""

    def alter_dynamic_table(self, name: str, *, target_lag: Lag) -> DynamicTable:
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

    def suspend(self, name: str) -> None:
        """Takes a dynamic table out of every schedule; those that read it wait, and show why.

        It can still be refreshed by command. Raises DefinitionError, MissingPrivilege.
        """
        with self.lock:
            table = allowed(self, name, events.Privilege.OPERATE)
            self.store.journal.add(events.Suspended(at=self.clock.now(), by=self.process, table=table.name))

    def resume(self, name: str) -> None:
        """Puts a dynamic table back into its schedule, and forgets its errors.

        Its next refresh begins where it stands: nothing that happened meanwhile is lost. Raises
        DefinitionError, MissingPrivilege.
        """
        with self.lock:
            table = allowed(self, name, events.Privilege.OPERATE)
            self.store.journal.add(events.Resumed(at=self.clock.now(), by=self.process, table=table.name))

    def create_refresh_group(
        self,
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
            group = checked_group(new, named, chosen, self.graph(), groups_of(self))
            if chosen is Isolation.REPEATABLE_READ:
                _bring_together(self, group)
            self.store.journal.append(lambda state: _created(self, group, state))
            return group

    def drop_refresh_group(self, name: str) -> None:
        """Ends a group: its members are published one by one again.

        Raises DefinitionError: no such group. Raises MissingPrivilege.
        """
        with self.lock:
            groups = groups_of(self)
            if name.lower() not in groups:
                names = ", ".join(groups) or "none"
                raise DefinitionError(f"no refresh group {name}; there are: {names}")
            for member in groups[name.lower()].members:
                allowed(self, member, events.Privilege.OPERATE)
            dropped = events.GroupDropped(at=self.clock.now(), by=self.process, group=name.lower())
            # Another process may have dropped it meanwhile.
            self.store.journal.append(lambda state: dropped if name.lower() in state.groups else None)

    def refresh_groups(self) -> Sequence[RefreshGroup]:
        """Returns all refresh groups, oldest first."""
        with self.lock:
            return tuple(groups_of(self).values())

    def grant(self, privilege: events.Privilege | str, table: str, role: str) -> None:
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

    def revoke(self, privilege: events.Privilege | str, table: str, role: str) -> None:
        """Takes a privilege on a dynamic table from a role. Raises DefinitionError, MissingPrivilege."""
        with self.lock:
            name = allowed(self, table, events.Privilege.OWNERSHIP).name
            kind = privilege_of(privilege)
            self.store.journal.add(
                events.Revoked(at=self.clock.now(), by=self.process, table=name, role=role, privilege=kind)
            )


def _created(account: AccountTables, group: RefreshGroup, state: Operations) -> events.GroupCreated:
    """Returns the beginning of a group: readers see what its members hold now.

    Raises DefinitionError: by what other processes have done meanwhile it makes no group.
    """
    checked_group(group.name, group.members, group.isolation, account.graph(), state.groups)
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


def _bring_together(account: RefreshCommands, group: RefreshGroup) -> None:
    """Refreshes all members of a new group to one data timestamp.

    Raises DefinitionError: one has no contents yet.
    """
    newest = [account.store.refreshes(account.dynamic_table(member)) for member in group.members]
    if any(not records for records in newest):
        missing = group.members[[not records for records in newest].index(True)]
        raise DefinitionError(f"refresh group {group.name}: {missing} has no contents yet; refresh it first")
    if len({records[-1].frontier.timestamp for records in newest}) > 1:
        account.refresh_together(group.members)
