"""What users do with tables that others read: rename, swap, bring back, clone (DVS paper, section 3.4).

What is upstream takes precedence: it may change at any time. The next refresh of a table below it goes on,
writes its contents anew, or fails with the reason, and recovers when the cause is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from dynamic_tables.definition import Definition, DynamicTable, View
from dynamic_tables.errors import DefinitionError
from dynamic_tables.journal.events import Privilege, Renamed
from dynamic_tables.operations.operated import Operated
from dynamic_tables.operations.operating import allowed
from dynamic_tables.operations.reading import reaches
from dynamic_tables.plan.text import renamed_text
from dynamic_tables.store.port import Action, FrameStore

SWAPPED = "swapped_away_"
"""The beginning of the name that a table has for a moment while it is swapped."""


class Evolving:
    """The methods of an account that give tables other names, and copies."""

    def rename(self, name: str, new_name: str) -> Definition:
        """Gives a table or view another name, and returns its definition.

        Tables that read the old name fail to refresh until there is a table of that name again, or until they
        are replaced. Raises DefinitionError, MissingPrivilege.
        """
        account = cast(Operated, self)
        with account.lock:
            definition = account.existing(name)
            _ensure_own(account, definition)
            return _renamed(account, definition, account.new_name(new_name))

    def swap(self, name: str, other: str) -> None:
        """Exchanges the names of two tables or views; tables that read them are written anew.

        Raises DefinitionError, MissingPrivilege.
        """
        account = cast(Operated, self)
        with account.lock:
            first, second = account.existing(name), account.existing(other)
            if first.name == second.name:
                raise DefinitionError(f"{first.name} cannot be swapped with itself")
            for each in (first, second):
                _ensure_own(account, each)
                _ensure_no_cycle(account, each, (second if each is first else first).name)
            away = _renamed(account, first, f"{SWAPPED}{first.name}")
            _renamed(account, second, first.name)
            _renamed(account, away, second.name)

    def undrop(self, name: str) -> Definition:
        """Brings back the table or view that was dropped last under a name, and returns its definition.

        Tables that read it go on where they stand. Raises DefinitionError: the name is in use, or nothing was
        dropped under it.
        """
        account = cast(Operated, self)
        with account.lock:
            definition = _frames(account).restore(account.new_name(name))
            if isinstance(definition, DynamicTable):
                account.note_definition(definition)
            return definition

    def clone(self, name: str, new_name: str) -> DynamicTable:
        """Makes a copy of a dynamic table, with its contents and data timestamp, and returns its definition.

        The copy goes on by itself: its next refresh begins where the original stood. Raises DefinitionError,
        MissingPrivilege.
        """
        return self.clone_graph({name: new_name})[0]

    def clone_graph(self, names: Mapping[str, str]) -> tuple[DynamicTable, ...]:
        """Makes copies of several dynamic tables at once, by their names and those of the copies.

        Copies read the copies of what the originals read, where these are among them. Returns the
        definitions, each after those that it reads. Raises DefinitionError, MissingPrivilege.

        Example: `account.clone_graph({"totals": "totals_test", "top": "top_test"})`.
        """
        account = cast(Operated, self)
        with account.lock:
            originals = {allowed(account, name, Privilege.MONITOR).name: new for name, new in names.items()}
            for new in originals.values():
                account.new_name(new)
            order = [name for name in account.graph().order if name in originals]
            made: list[DynamicTable] = []
            try:
                for name in order:
                    clone = _cloned(account, account.dynamic_table(name), originals)
                    made.append(clone)
            except BaseException:
                for table in made:
                    account.drop(table.name, even_if_read=True)
                raise
            return tuple(made)


def _cloned(account: Operated, table: DynamicTable, names: Mapping[str, str]) -> DynamicTable:
    new = names[table.name].lower()
    records = account.store.refreshes(table)
    if not records:
        raise DefinitionError(f"{table.name} has no contents yet; refresh it before it is cloned")
    text = renamed_text(table.text, names)
    sources = tuple(names.get(source, source).lower() for source in table.sources)
    clone = replace(table, name=new, text=text, sources=sources)
    account.store.create_dynamic_table(clone)
    account.note_definition(clone)
    frontier = records[-1].frontier
    # The identities of copied sources are new: the copy is at home among them from its first version on.
    known = account.store.definitions()
    versions = {}
    for old, source in frontier.sources.items():
        name = names.get(old, old).lower()
        definition = known[name]
        if name != old and isinstance(definition, DynamicTable):
            history = account.store.history(definition).versions
            versions[name] = next(v for v in history if v.timestamp == source.timestamp)
        else:
            versions[name] = source
    described = account.refreshing(clone).table
    moved = replace(frontier, sources=versions, definition=described.expanded)
    record = replace(
        records[-1],
        action=Action.INITIALIZE,
        reason=f"cloned from {table.name}",
        frontier=moved,
        changed=True,
        inserted=None,
        deleted=None,
    )
    whole = account.refreshing(table).table
    account.store.overwrite(described, account.store.current(whole), record)
    return clone


def _ensure_no_cycle(account: Operated, definition: Definition, other: str) -> None:
    if isinstance(definition, View | DynamicTable):
        way = reaches(account.store.definitions(), definition.text, other)
        if way:
            names = " reads ".join((definition.name, *way))
            raise DefinitionError(f"{definition.name} and {other} cannot be swapped: {names}")


def _renamed(account: Operated, definition: Definition, name: str) -> Definition:
    renamed = _frames(account).rename(definition.name, name)
    account.forget(definition.name)
    account.forget(name)
    if isinstance(definition, DynamicTable):
        account.store.journal.add(
            Renamed(at=account.clock.now(), by=account.process, table=definition.name, name=name)
        )
    return renamed


def _ensure_own(account: Operated, definition: Definition) -> None:
    if isinstance(definition, DynamicTable):
        allowed(account, definition.name, Privilege.OWNERSHIP)


def _frames(account: Operated) -> FrameStore:
    if not isinstance(account.store, FrameStore):
        raise DefinitionError("this account's store keeps no names; rename tables where they live")
    return account.store
