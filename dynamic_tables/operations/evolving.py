"""What users do with tables that others read: rename, swap, bring back, clone (DVS paper, section 3.4).

What is upstream takes precedence: it may change at any time. The next refresh of a table below it goes on,
writes its contents anew, or fails with the reason, and recovers when the cause is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from dynamic_tables.definition import Definition, DynamicTable, View
from dynamic_tables.errors import CorruptTable, DefinitionError
from dynamic_tables.journal.events import Privilege, Undropped
from dynamic_tables.moment import moment
from dynamic_tables.operations.binding import Binding
from dynamic_tables.operations.groups import ensure_in_order
from dynamic_tables.operations.reading import ensure_acyclic, reaches
from dynamic_tables.operations.renaming import all_renamed, naming
from dynamic_tables.operations.rights import allowed, allowed_back
from dynamic_tables.operations.tables import AccountTables, ensure_not_moving
from dynamic_tables.reading.text.text import renamed_text
from dynamic_tables.store.port import Action

SWAPPED = "swapped_away_"
"""The beginning of the name that a table has for a moment while it is swapped."""


class Evolving(Binding):
    """The methods of an account that give tables other names, and copies."""

    def rename(self, name: str, new_name: str) -> Definition:
        """Gives a table or view another name, and returns its definition.

        Tables that read the old name fail to refresh until there is a table of that name again, or until they
        are replaced. Raises DefinitionError, MissingPrivilege.
        """
        with self.lock:
            definition, new_name = self.existing(name), self.new_name(new_name)
            ensure_not_moving(self.store.journal.poll(), definition.name)
            _ensure_own(self, definition)
            # Others may read a table of the new name.
            _ensure_named(self, {definition.name: new_name})
            all_renamed(self, [(definition, new_name)])
            return self.existing(new_name)

    def swap(self, name: str, other: str) -> None:
        """Exchanges the names of two tables or views; tables that read them are written anew.

        Raises DefinitionError, MissingPrivilege.
        """
        with self.lock:
            first, second = self.existing(name), self.existing(other)
            if first.name == second.name:
                raise DefinitionError(f"{first.name} cannot be swapped with itself")
            ensure_not_moving(self.store.journal.poll(), first.name, second.name)
            for each in (first, second):
                _ensure_own(self, each)
                _ensure_no_cycle(self, each, (second if each is first else first).name)
            _ensure_named(self, {first.name: second.name, second.name: first.name})
            away = f"{SWAPPED}{first.name}"
            moves = [(first, away), (second, first.name), (replace(first, name=away), second.name)]
            all_renamed(self, moves)

    def undrop(self, name: str) -> Definition:
        """Brings back the table or view that was dropped last under a name, and returns its definition.

        Tables that read it go on where they stand. Raises DefinitionError: the name is in use, nothing was
        dropped under it, or what it reads has come to read its name meanwhile. Raises MissingPrivilege.
        """
        with self.lock:
            new_name = self.new_name(name)
            allowed_back(self, new_name)
            definition = naming(self).restore(new_name)
            if isinstance(definition, View | DynamicTable):
                try:
                    ensure_acyclic(self.store.definitions(), definition.name, definition.text)
                    ensure_in_order(self, self.store.definitions())
                except DefinitionError:
                    self.store.drop(definition)
                    raise
            if isinstance(definition, DynamicTable):
                back = Undropped(at=self.clock.now(), by=self.process, table=definition.name)
                self.store.journal.add(back)
            return definition

    def clone(self, name: str, new_name: str) -> DynamicTable:
        """Makes a copy of a dynamic table, with its contents and data timestamp, and returns its definition.

        The copy goes on by itself: its next refresh begins where the original stood. Raises DefinitionError,
        MissingPrivilege.
        """
        return _cloned_graph(self, {name: new_name})[0]

    def clone_graph(self, names: Mapping[str, str]) -> tuple[DynamicTable, ...]:
        """Makes copies of several dynamic tables at once, by their names and those of the copies.

        Copies read the copies of what the originals read, where these are among them. Returns the
        definitions, each after those that it reads. Raises DefinitionError, MissingPrivilege.

        Example: `account.clone_graph({"totals": "totals_test", "top": "top_test"})`.
        """
        return _cloned_graph(self, names)


def _cloned_graph(account: Binding, names: Mapping[str, str]) -> tuple[DynamicTable, ...]:
    """Copies dynamic tables, all or none, and returns the definitions of the copies, sources first."""
    with account.lock:
        new_names = {
            allowed(account, name, Privilege.MONITOR).name: account.new_name(new)
            for name, new in names.items()
        }
        twice = sorted({new for new in new_names.values() if [*new_names.values()].count(new) > 1})
        if twice:
            raise DefinitionError(f"{twice[0]} is the new name of several tables; give each its own")
        originals = [account.dynamic_table(name) for name in account.graph().order if name in new_names]
        clones: list[DynamicTable] = []
        try:
            for original in originals:
                clones.append(_declared(account, original, new_names))
                _fill(account, original, clones[-1], new_names)
        except BaseException:
            for clone in clones:
                account.discard(clone)
            raise
        return tuple(clones)


def _declared(account: AccountTables, original: DynamicTable, names: Mapping[str, str]) -> DynamicTable:
    """Adds a copy of a definition, without contents. It reads the copies of sources that are copied, too."""
    clone = replace(
        original,
        name=names[original.name],
        text=renamed_text(original.text, names),
        sources=tuple(names.get(source, source) for source in original.sources),
    )
    ensure_acyclic(account.store.definitions(), clone.name, clone.text)
    ensure_in_order(account, {**account.store.definitions(), clone.name: clone})
    account.store.create_dynamic_table(clone)
    account.note_definition(clone, created=True)
    return clone


def _fill(account: Binding, original: DynamicTable, clone: DynamicTable, names: Mapping[str, str]) -> None:
    """Writes the contents of a table into its copy, with a frontier that names what the copy reads."""
    records = account.store.refreshes(original)
    if not records:
        raise DefinitionError(f"{original.name} has no contents yet; refresh it before it is cloned")
    frontier, by_name = records[-1].frontier, account.store.definitions()
    sources = dict(frontier.sources)
    for source in frontier.sources.keys() & names.keys():
        copy = by_name[names[source]]
        assert isinstance(copy, DynamicTable), "only dynamic tables are copied"
        at = sources.pop(source).timestamp
        (version,) = account.store.history(copy).versions[-1:]
        if version.timestamp != at:
            raise DefinitionError(
                f"{original.name} was refreshed when {source} stood at {moment(at)}, and it stands at "
                f"{moment(version.timestamp)}; refresh {original.name} before they are cloned together"
            )
        sources[copy.name] = version
    described, now = account.refreshing(clone).table, account.refreshing(original).table
    # What the query means may have changed since the last refresh; then the copy is to be written anew too.
    expanded = described.expanded if frontier.definition == now.expanded else frontier.definition
    record = replace(
        records[-1],
        action=Action.INITIALIZE,
        reason=f"cloned from {original.name}",
        frontier=replace(frontier, sources=sources, definition=expanded),
        changed=True,
        inserted=None,
        deleted=None,
    )
    account.store.copy(now, described, record)


def _ensure_no_cycle(account: AccountTables, definition: Definition, other: str) -> None:
    """Raises DefinitionError: a definition reads the one that it is to be swapped with."""
    if isinstance(definition, View | DynamicTable):
        way = reaches(account.store.definitions(), definition.text, other)
        if way:
            names = " reads ".join((definition.name, *way))
            raise DefinitionError(f"{definition.name} and {other} cannot be swapped: {names}")


def _ensure_named(account: AccountTables, names: Mapping[str, str]) -> None:
    """Raises DefinitionError: under other names a table reads itself, or stands between two of a group."""
    current, definitions = account.store.definitions(), {}
    for name in current:
        # What cannot be read is in nobody's way.
        with suppress(KeyError, CorruptTable):
            new = names.get(name, name)
            definitions[new] = replace(current[name], name=new)
    for name in names.values():
        definition = definitions[name]
        if isinstance(definition, View | DynamicTable):
            ensure_acyclic(definitions, name, definition.text)
    ensure_in_order(account, definitions, names)


def _ensure_own(account: AccountTables, definition: Definition) -> None:
    """Raises MissingPrivilege: the role of the account does not own a dynamic table."""
    if isinstance(definition, DynamicTable):
        allowed(account, definition.name, Privilege.OWNERSHIP)
