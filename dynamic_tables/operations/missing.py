"""Tables of an account that cannot be read, and the tables that therefore cannot be refreshed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dynamic_tables.definition import BaseTable, Definition, DynamicTable, View
from dynamic_tables.errors import CorruptTable
from dynamic_tables.operations.reading import sources_now
from dynamic_tables.operations.tables import AccountTables
from dynamic_tables.store.log.known import Known


def lacking(account: AccountTables) -> Mapping[str, str]:
    """Returns by table why it cannot be refreshed: something that it reads, at any depth, cannot be read."""
    definitions = account.store.definitions()
    found: dict[str, str] = {}
    for name in account.graph().order:
        table = account.dynamic_table(name)
        for source in sources_now(table, definitions):
            try:
                kind = definitions.get(source)
            except CorruptTable as error:
                found.setdefault(name, str(error))
            else:
                if kind is None:
                    found.setdefault(name, f"{source}, which it reads, was dropped or renamed")
                elif source in found:
                    found.setdefault(name, f"{source}, which it reads, cannot be refreshed")
    return found


def unreadable(account: AccountTables) -> Sequence[str]:
    """Returns the reasons why folders of the account cannot be read, one each."""
    definitions = account.store.definitions()
    return [str(error) for error in definitions.unreadable.values()] if isinstance(definitions, Known) else []


def kind_of(definitions: Mapping[str, Definition], source: str) -> str:
    """Returns what a source is, in the words of `Account.dependencies`."""
    kinds = {BaseTable: "BASE TABLE", DynamicTable: "DYNAMIC TABLE", View: "VIEW"}
    try:
        return kinds.get(type(definitions.get(source)), "DROPPED")
    except CorruptTable:
        return "UNREADABLE"
