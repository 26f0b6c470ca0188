"""Who may do what with a dynamic table: the privileges of the role that uses an account."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dynamic_tables.arguments import checked_text
from dynamic_tables.definition import DynamicTable
from dynamic_tables.errors import DefinitionError, MissingPrivilege
from dynamic_tables.journal.events import Privilege
from dynamic_tables.operations.tables import AccountTables


def privilege_of(privilege: Privilege | str) -> Privilege:
    """Returns a privilege given by itself or by its name in any case. Raises DefinitionError."""
    if isinstance(privilege, Privilege):
        return privilege
    try:
        return Privilege[checked_text(privilege, "a privilege").upper()]
    except KeyError:
        names = ", ".join(Privilege.__members__)
        raise DefinitionError(f"no privilege {privilege!r}; there are: {names}") from None


def allowed(account: AccountTables, name: str, privilege: Privilege) -> DynamicTable:
    """Returns a dynamic table on which the role of the account has a privilege.

    A table without an owner is everybody's. OWNERSHIP includes the others, OPERATE includes MONITOR. Raises
    MissingPrivilege, DefinitionError.
    """
    table = account.dynamic_table(name)
    _ensure(account, table.name, account.store.journal.poll().of(table.name).grants, privilege)
    return table


def allowed_back(account: AccountTables, name: str) -> None:
    """Raises MissingPrivilege unless the role of the account owns the table that was dropped under a name."""
    dropped = account.store.journal.poll().dropped.get(name)
    if dropped is not None:
        _ensure(account, name, dropped.grants, Privilege.OWNERSHIP)


def _ensure(
    account: AccountTables, name: str, grants: Mapping[str, Sequence[str]], privilege: Privilege
) -> None:
    """Raises MissingPrivilege: the grants give the role neither a privilege nor a higher one."""
    if not grants.get(Privilege.OWNERSHIP.value):
        return
    enough = {
        Privilege.MONITOR: tuple(Privilege),
        Privilege.OPERATE: (Privilege.OPERATE, Privilege.OWNERSHIP),
        Privilege.OWNERSHIP: (Privilege.OWNERSHIP,),
    }[privilege]
    if not any(account.role in grants.get(each.value, ()) for each in enough):
        raise MissingPrivilege(name, privilege.value, account.role)
