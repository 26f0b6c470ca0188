"""Carries out the events of a plan on a simulated account, and on the truth, what the account must hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import assert_never

from campaign.soak import plan
from campaign.soak.result import Check, Watched
from campaign.soak.truth import is_cyclic
from dynamic_tables.account import Account
from dynamic_tables.errors import DefinitionError, RefreshFailed
from dynamic_tables.schedule.group import Isolation
from engines.memory.applier import Applier
from workload.dml import Delete, Dml, Insert, Replace
from workload.expression import Call, ColumnRef, Literal
from workload.scenario import Commit
from workload.types import BOOLEAN, INT

GROUP = "g"


@dataclass(slots=True)
class Acts(Watched):
    """Carries out the events between two looks of the process. `down`: looks that the process will miss.

    `gone`: by name each dropped table, whether it was suspended, and how often it had failed in a row.
    """

    applier: Applier
    down: int = 0
    gone: dict[str, tuple[plan.Declared, bool, int]] = field(default_factory=dict)

    def happens(self, each: plan.Happening) -> None:
        """Carries out one event, on the account and on its truth."""
        if not self._can_happen(each):
            return
        self.result.events[type(each).__name__] += 1
        truth, account = self.truth, self.account
        match each:
            case plan.Write():
                truth.write(each)
                self._writes(each)
            case plan.Alter(name, lag):
                account.alter_dynamic_table(name, target_lag=None if lag is None else lag * plan.SECOND)
                truth.tables[name] = replace(truth.tables[name], lag=lag)
            case plan.Switch(name, on):
                (account.resume if on else account.suspend)(name)
                (truth.suspended.discard if on else truth.suspended.add)(name)
                if on:
                    self.seen.errors[name] = 0
            case plan.Group() | plan.Ungroup():
                self._groups(each)
            case plan.Redefine() | plan.Clone():
                self._defines(each)
                self.note()
            case plan.ReplaceView(number):
                self._replace_view(number)
            case plan.Rename() | plan.Swap() | plan.Drop() | plan.Undrop():
                self._renames(each)
                self.note()
            case plan.DropBase() | plan.BaseBack():
                self._base(each)
                self.note()
            case plan.Down(ticks):
                self.down = ticks
            case _:
                assert_never(each)

    def _can_happen(self, each: plan.Happening) -> bool:
        """Tells whether the tables of an event are there, or gone, as the plan assumes.

        They are not where an earlier command was refused, or is not in a plan that was made smaller.
        """
        present = self.gone if isinstance(each, plan.Undrop) else self.truth.tables
        match each:
            case plan.Rename(_, new) | plan.Clone(_, new):
                is_free = new not in self.truth.tables
            case plan.Undrop(name):
                is_free = name not in self.truth.tables
            case plan.DropBase(name):
                is_free = name not in self.truth.lost
            case plan.BaseBack(name, _):
                is_free = name in self.truth.lost
            case _:
                is_free = True
        return is_free and set(plan.named_by(each)).issubset(present)

    def _writes(self, each: plan.Write) -> None:
        """Commits a write to the base tables that are there."""
        present = [base for base in plan.BASES if base not in self.truth.lost]
        statements: list[Dml] = [
            Insert(base, tuple((a, b) for other, a, b in each.inserted if other == base))
            for base in present
            if any(other == base for other, _, _ in each.inserted)
        ]
        statements += [
            Delete(base, _equals(base, column, v)) for base, column, v in each.deleted if base in present
        ]
        if statements:
            self.applier.commit(Commit(self.account.clock.now(), tuple(statements)))

    def _base(self, each: plan.DropBase | plan.BaseBack) -> None:
        """Drops a base table, or brings back it or another table of its name."""
        match each:
            case plan.DropBase(name):
                self.account.drop(name, even_if_read=True)
                self.truth.lost.add(name)
            case plan.BaseBack(name, False):
                self.account.undrop(name)
                self.truth.lost.remove(name)
            case plan.BaseBack(name, True):
                # In memory a base table keeps its log, so new contents in it stand for another table.
                self.account.undrop(name)
                self.applier.commit(Commit(self.account.clock.now(), (Replace(name, ()),)))
                self.truth.rows[name] = []
                self.truth.lost.remove(name)

    def _groups(self, each: plan.Group | plan.Ungroup) -> None:
        """Drops the group, and creates another one unless the event is `Ungroup`."""
        if self.truth.group:
            self.account.drop_refresh_group(GROUP)
            self.truth.group, self.truth.repeatable = (), False
        if isinstance(each, plan.Ungroup):
            return
        try:
            group = self.account.create_refresh_group(GROUP, each.members, each.isolation)
        except (DefinitionError, RefreshFailed):
            # The members that were refreshed before the failure stay so.
            pass
        else:
            self.truth.group, self.truth.repeatable = (
                group.members,
                group.isolation is Isolation.REPEATABLE_READ,
            )
        self.note()

    def _replace_view(self, number: int) -> None:
        """Replaces the view, which must be refused while its base table is dropped."""
        try:
            self.account.create_view(plan.VIEW, plan.view_query(number), or_replace=True)
        except DefinitionError as error:
            if plan.BASES[0] not in self.truth.lost:
                self._wrong_command(plan.VIEW, f"was not replaced: {error}")
        else:
            if plan.BASES[0] in self.truth.lost:
                self._wrong_command(plan.VIEW, "was replaced without the table that it reads")
            self.truth.view = number

    def _defines(self, each: plan.Redefine | plan.Clone) -> None:
        """Replaces a definition, or copies a table."""
        changed, lacks = self.truth.tables[each.name], self.truth.lacks_source(each.name)
        if isinstance(each, plan.Clone):
            try:
                self.account.clone(each.name, each.copy)
            except DefinitionError as error:
                if not lacks:
                    self._wrong_command(each.name, f"was not copied: {error}")
                return
            self.truth.tables[each.copy] = replace(changed, name=each.copy)
            return
        kind = changed.kind if changed.kind.of_two or each.kind.of_two else each.kind
        changed = replace(changed, number=each.number, kind=kind)
        if not lacks:
            # The new query may not fail where the old one did; if it fails, the old one counts from 0 again.
            self.seen.errors[each.name] = 0
        lag = None if changed.lag is None else changed.lag * plan.SECOND
        # A group is refreshed as a whole, also one that has a table above.
        read = {each.name, *self.truth.above(each.name)}
        unit = {each.name, *(self.truth.group if read & {*self.truth.group} else ())}
        failing = (RefreshFailed, DefinitionError) if any(map(self.truth.lacks, unit)) else (RefreshFailed,)
        with suppress(*failing):
            self.account.create_dynamic_table(each.name, changed.query, target_lag=lag, or_replace=True)
            self.truth.tables[each.name] = changed

    def _renames(self, each: plan.Rename | plan.Swap | plan.Drop | plan.Undrop) -> None:
        """Renames, swaps, drops and brings back tables; what makes a table read itself must be refused."""
        truth, account = self.truth, self.account
        match each:
            case plan.Rename(name, other):
                if not self._refused({name: other}, lambda: account.rename(name, other)):
                    self._moved({name: other})
            case plan.Swap(name, other):
                exchanged = {name: other, other: name}
                if not self._refused(exchanged, lambda: account.swap(name, other)):
                    self._moved(exchanged)
            case plan.Drop(name):
                account.drop(name, even_if_read=True)
                self.gone[name] = truth.dropped(name), name in truth.suspended, self.seen.errors[name]
                truth.suspended.discard(name)
                for by_name in (self.seen.errors, self.seen.stored, self.seen.visible):
                    by_name.pop(name, None)
            case plan.Undrop(name):
                table, suspended, errors = self.gone.pop(name)
                if not self._refused({}, lambda: account.undrop(name), table):
                    truth.tables[name] = table
                    self.seen.errors[name] = errors
                    (truth.suspended.add if suspended else truth.suspended.discard)(name)

    def _refused(self, names: Mapping[str, str], command: Callable[[], object], *more: plan.Declared) -> bool:
        """Carries out a command; returns whether it was refused, as is due only if a table would read itself.

        `names`: the new names of tables; `more`: tables that come back.
        """
        tables = {**self.truth.with_names(names), **{table.name: table for table in more}}
        cyclic = is_cyclic(tables, [names.get(name, name) for name in self.truth.group])
        try:
            command()
        except DefinitionError as error:
            if not cyclic:
                self._wrong_command("", f"was refused: {error}")
            self.result.events["refused"] += 1
            return True
        if cyclic:
            self._wrong_command("", "a table reads itself")
        return False

    def _moved(self, names: Mapping[str, str]) -> None:
        """Gives tables other names in the truth and in what was seen of them. `names`: from old to new."""
        self.truth.moved(names)
        for by_name in (self.seen.errors, self.seen.stored, self.seen.visible):
            renamed = {names.get(name, name): value for name, value in by_name.items()}
            by_name.clear()
            by_name.update(renamed)

    def _wrong_command(self, table: str, message: str) -> None:
        """Notes that a command was refused, or done, wrongly."""
        self.wrong(self.account.clock.now(), table, Check.COMMAND, message)

    def note(self) -> None:
        """Notes what commands have refreshed between two looks, to times that need not be ticks."""
        for name in self.truth.tables:
            self.seen.visible[name] = visible(self.account, name)
            stored = self.account.store.refreshes(self.account.dynamic_table(name))[-1].frontier.timestamp
            before = self.seen.stored.get(name)
            if before not in (None, stored):
                self.seen.errors[name] = 0
            if before != stored and stored in self.truth.states:
                self.truth.note(name, stored)
            self.seen.stored[name] = stored


def _equals(base: str, column: str, value: int) -> Call:
    """Returns the predicate `base.column = value`."""
    return Call("eq", (ColumnRef(base, column, INT), Literal(value, INT)), BOOLEAN)


def visible(account: Account, name: str) -> int:
    """Returns the data timestamp of a dynamic table that readers see."""
    shown = account.shown(account.dynamic_table(name))
    assert shown is not None, f"{name} was created with contents"
    return shown
