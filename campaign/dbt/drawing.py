"""The drawing of random trials: one function for each kind of change, in `CHANGES`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random

from campaign.dbt.databases import keeps_checks
from campaign.dbt.kinds import ChangeKind
from campaign.dbt.project import ForeignKey, Project, Source, SourceColumn, in_order
from campaign.dbt.reading import columns_of
from campaign.dbt.rows import DAY, NEWEST, NULL, Clock, Domains, value_of
from campaign.dbt.trials import Change, Contents, Gone, Put, Round, Row, Trial, Widened

LATENESS = (1, 60, DAY, 2 * DAY, 3 * DAY, 4 * DAY, 7 * DAY, 31 * DAY)
"""How late rows arrive, in minutes: at the edges of usual lookback windows."""

STEPS = (1, 60, DAY)
"""How much newer than all others an appended row is, in minutes."""

AGES = (1, 60, DAY, 10 * DAY, 10 * DAY)
"""How much older than the newest the other first rows are, in minutes: in a lookback window or not."""

MEETING = 0.6
"""How often a column takes a value that stands on the other side of a join."""

ASKED_SHARE = 0.4
"""How often all columns of a row take values that models ask for: else few rows pass several conditions."""

CROSSING = 0.6
"""How often an update takes a column across a constant of a model: into a filter, or out of it."""

STATEMENTS = 5
"""About how many statements a model takes; a run is stopped at one of them."""


def key_of(project: Project, source: Source, models: Sequence[str], domains: Domains) -> tuple[str, ...]:
    """Returns the columns by which rows of a source are told apart: its first key, else a `unique_key`."""
    if source.keys:
        return source.keys[0]
    for id_ in models:
        key = [columns_of(source, name, domains.renamed)[:1] for name in project.models[id_].key]
        if key and all(key):
            return tuple(name for names in key for name in names)
    return ()


class NotPossible(Exception):
    """Raised where a kind of change cannot happen to a source; the text says why."""


@dataclass(slots=True)
class Drawing:
    """The state of one trial on a source while it is drawn.

    `keys`: for each source the columns by which its rows are told apart. `merged`: its columns in models'
    keys, which are NULL only where the kind of change says so; also those of sources that do not change, or
    their rows would show a difference that is not the change's. `newest`, `oldest`: ticks of the clocks.
    `numbers`: those of the next rows. `repeats`: rows of the source may share a key that it does not declare.
    """

    random: Random
    project: Project
    source: Source
    keys: Mapping[str, tuple[str, ...]]
    domains: Domains
    merged: Mapping[str, frozenset[str]] = field(default_factory=dict)
    contents: Contents = field(default_factory=Contents)
    newest: int = NEWEST
    oldest: int = NEWEST
    numbers: Iterator[int] = field(default_factory=count)
    repeats: bool = False

    @property
    def key(self) -> tuple[str, ...]:
        """The columns by which rows of the source are told apart."""
        return self.keys.get(self.source.id, ())

    def clock(self, source: Source) -> Clock | None:
        """Returns the clock of a source, or None."""
        if source.clock is None:
            return None
        return self.domains.clock(source, source.clock)

    def later(self) -> int:
        """Returns a tick of the source that is newer than all others."""
        clock = self.clock(self.source)
        self.newest += max(1 if clock is None else clock.unit, self.random.choice(STEPS))
        return self.newest

    def write(self, change: Change) -> Change:
        """Makes a change, and returns it."""
        self.contents.apply(change)
        return change

    def put(self, source: Source, tick: int, fixed: Mapping[str, str] | None = None) -> Put:
        """Appends a random row with the clock at a tick; `fixed`: values by column. Raises NotPossible."""
        change = Put(source.id, next(self.numbers), self.row(source, tick, fixed))
        self.contents.apply(change)
        return change

    def row(self, source: Source, tick: int, fixed: Mapping[str, str] | None = None) -> Row:
        """Returns a random row with the clock at a tick and keys that no row has. Raises NotPossible."""
        self.oldest = min(self.oldest, tick)
        others = list(self.contents.rows.get(source.id, {}).values())
        for attempt in range(60):
            asked = bool(self.domains.constants) and self.random.random() < ASKED_SHARE
            values = {column.name: self._value(source, column, asked=asked) for column in source.columns}
            for foreign in source.foreign:
                values |= self._reference(source, foreign)
            for key in self._keys(source):
                # A single key counts on; parts of a longer one repeat, so that rows share them.
                most = len(others) + 1 + attempt // 4 if len(key) == 1 else 2 + attempt // 8
                for name in key:
                    if not any(name in foreign.columns for foreign in source.foreign):
                        linked = self._linked(source, name)
                        number = self.random.randint(1, most)
                        values[name] = (
                            self.random.choice(linked)
                            if linked and self.random.random() < MEETING
                            else value_of(source.column(name).type, number, self.domains.base)
                        )
            self._set_clocks(values, source, tick)
            self._set(values, source, fixed or {})
            row = tuple(values[name] for name in source.names)
            if not self._clashes(source, row, others) and self._keeps_checks(source, row):
                return row
        raise NotPossible(f"{source.name} has no further row with another key")

    def some(self) -> tuple[int, Row]:
        """Returns the number of a random row of the source, and the row. Raises NotPossible: it has none."""
        rows = self.contents.rows.get(self.source.id)
        if not rows:
            raise NotPossible(f"{self.source.name} has no row")
        return self.random.choice(list(rows.items()))

    def changed(self, number: int, row: Row, *, tick: int | None) -> Change:
        """Updates columns that are no key or clock, and the clock if there is a tick. Raises NotPossible."""
        source = self.source
        fixed = {name for key in self._keys(source) for name in key} | {source.clock}
        fixed |= {name for foreign in source.foreign for name in foreign.columns}
        usable = [column for column in source.columns if column.name not in fixed]
        if not usable:
            raise NotPossible(f"{source.name}: every column belongs to a key or is the clock")
        values = dict(zip(source.names, row, strict=False))
        compared = [column for column in usable if self._compared(source, column)]
        for _ in range(30):
            for column in self.random.sample(usable, self.random.randint(1, len(usable))):
                before = row[source.names.index(column.name)]
                values[column.name] = self._value(source, column, before=before)
            # Drawn anew, a column often has a value for which a filter answers as before.
            if compared and self.random.random() < CROSSING:
                column = self.random.choice(compared)
                before = row[source.names.index(column.name)]
                required = self._required(source, column)
                values[column.name] = self.domains.across(
                    self.random, column.name, column.type, required, before
                )
            if part := source.part(source.clock):
                name = part[0].name
                before = row[source.names.index(name)]
                values[name] = self.domains.with_part_of(part, values[name], before)
            updated = tuple(values.values())
            if updated != row[: len(source.names)] and self._keeps_checks(source, updated):
                break
        if tick is not None and source.clock is not None:
            # A further clock may be of the row's creation: set too, it would hide a model that filters by it.
            self._set(values, source, {source.clock: self.domains.clock(source, source.clock).literal(tick)})
        return self.write(Put(source.id, number, tuple(values.values())))

    def _set_clocks(self, values: dict[str, str], source: Source, tick: int) -> None:
        """Sets the clock column of a row, and further ones, to a tick."""
        names = [name for name in (source.clock, *source.clocks) if name is not None]
        self._set(values, source, {name: self.domains.clock(source, name).literal(tick) for name in names})

    def _set(self, values: dict[str, str], source: Source, found: Mapping[str, str]) -> None:
        """Sets columns, and parts of them, to literals, by name."""
        for name, literal in found.items():
            if part := source.part(name):
                column = part[0].name
                values[column] = self.domains.with_part(part, values[column], literal)
            else:
                values[name] = literal

    def _value(
        self, source: Source, column: SourceColumn, *, asked: bool = False, before: str | None = None
    ) -> str:
        """Returns a random value of a column; `asked`: one that a model asks for, if one does.

        `before`: the value of the row that is updated.
        """
        linked = self._linked(source, column.name)
        if linked and self.random.random() < MEETING:
            return self.random.choice(linked)
        required = self._required(source, column)
        if before is not None:
            return self.domains.redrawn(self.random, column.name, column.type, required, before)
        return self.domains.draw(self.random, column.name, column.type, required, asked=asked)

    def _required(self, source: Source, column: SourceColumn) -> bool:
        """Returns whether a column is never NULL; columns of models' keys count, too (`merged`)."""
        return column.required or column.name.lower() in self.merged.get(source.id, ())

    def _compared(self, source: Source, column: SourceColumn) -> bool:
        return bool(self.domains.compared(column.name, column.type, self._required(source, column)))

    def _linked(self, source: Source, name: str) -> list[str]:
        """Returns values of other sources' columns that a column is compared with, so that joins meet."""
        links = self.domains.links.get(name.lower(), frozenset())
        return [
            row[place]
            for other in self.project.sources.values()
            if other.id != source.id
            for place, column in enumerate(other.names)
            if column.lower() in links
            for row in self.contents.rows.get(other.id, {}).values()
            if row[place] != NULL
        ]

    def unreferenced(self) -> int:
        """Returns the number of a row that no declared foreign key refers to. Raises NotPossible."""
        source = self.source
        for number, row in self.random.sample(
            list(self.contents.rows.get(source.id, {}).items()), len(self.contents.rows.get(source.id, {}))
        ):
            if not any(self._refers(other, foreign, row) for other in self.project.sources.values()
                       for foreign in other.foreign if foreign.target == source.id):  # fmt: skip
                return number
        raise NotPossible(f"{source.name} has no row that no other table refers to")

    def _refers(self, other: Source, foreign: ForeignKey, row: Row) -> bool:
        mine = [row[self.source.names.index(name)] for name in self._target_key(foreign)]
        places = [other.names.index(name) for name in foreign.columns]
        return any(
            [each[p] for p in places] == mine for each in self.contents.rows.get(other.id, {}).values()
        )

    def _target_key(self, foreign: ForeignKey) -> tuple[str, ...]:
        return foreign.key or self.project.sources[foreign.target].keys[0]

    def _reference(self, source: Source, foreign: ForeignKey) -> dict[str, str]:
        """Returns values of a foreign key: of a row that is there, or NULL where that is allowed."""
        rows = list(self.contents.rows.get(foreign.target, {}).values())
        names = self.project.sources[foreign.target].names
        required = any(source.column(name).required for name in foreign.columns)
        if not rows and required:
            raise NotPossible(f"{source.name} needs rows of {self.project.sources[foreign.target].name}")
        if not rows or (not required and self.random.random() < 0.1):
            return dict.fromkeys(foreign.columns, NULL)
        row = self.random.choice(rows)
        key = self._target_key(foreign)
        return {n: row[names.index(other)] for n, other in zip(foreign.columns, key, strict=False)}

    def _keys(self, source: Source) -> tuple[tuple[str, ...], ...]:
        """Returns the keys of a source, or that of a model where the source declares none."""
        key = self.keys.get(source.id)
        return source.keys or ((key,) if key else ())

    def _keeps_checks(self, source: Source, row: Row) -> bool:
        return keeps_checks(source.checks, [(column.name, column.type) for column in source.columns], row)

    def _clashes(self, source: Source, row: Row, others: Sequence[Row]) -> bool:
        repeats = self.repeats and source.id == self.source.id
        for key in source.keys if repeats else self._keys(source):
            places = [source.names.index(name) for name in key]
            # NULL equals nothing, so that two rows may have it.
            if any(all(other[p] == row[p] != NULL for p in places) for other in others):
                return True
        return False


def draw(
    drawing: Drawing, kind: ChangeKind, others: Sequence[Source], *, rounds: int, models: int, late: int
) -> Trial:
    """Returns a trial of a kind of change on the drawing's source. Raises NotPossible: it cannot happen.

    `others`: the further sources of the models under test. `models`: how many models a run builds. `late`:
    how late rows arrive, in minutes, where the kind is that. Most trials are small, so that what they find
    can be read.
    """
    random, source = drawing.random, drawing.source
    # A model that reads its newest row again hides what happened to the row that is joined to it.
    sizes = (2, 3) if kind is ChangeKind.DIMENSION_CHANGED else (1, 2)
    # What happens to an old row is seen only where there is a newer one.
    own = (1, 2, 2, 3) if kind is ChangeKind.UPDATED_WITHOUT_CLOCK else (1, 1, 2, 3)
    start = []
    # Where the facts name the source in a foreign key, its rows are there first.
    for each in in_order([*others, source]):
        size = random.choice(own if each is source else sizes)
        for number in range(size):
            newest = each is source and number == size - 1
            back = 0 if newest else random.choice(AGES if each is source else STEPS)
            start.append(drawing.put(each, NEWEST - back))
    happened = []
    # A row with NULL in its key goes wrong when a later run reads it again, or looks for keys that it has.
    least = min(2, rounds) if kind is ChangeKind.NULL_KEY else 1
    for _ in range(random.randint(least, max(least, random.choice((1, 1, rounds))))):
        changes = tuple(CHANGES[kind](drawing, late))
        stopped = kind in (ChangeKind.FAILED_RUN, ChangeKind.TWO_RUNS)
        stop = random.randint(1, STATEMENTS * models) if stopped else None
        beside = tuple(CHANGES[kind](drawing, late)) if kind is ChangeKind.TWO_RUNS else None
        happened.append(Round(changes, stop, beside, drawing.newest))
    lateness = late if kind is ChangeKind.APPENDED_LATE else None
    return Trial(kind, source.id, tuple(start), tuple(happened), lateness, drawing.oldest)


def latenesses(clock: Clock | None, promised: Iterable[int]) -> list[int]:
    """Returns how late rows arrive in the trials of a source, in minutes; what is promised comes first.

    A clock of days cannot tell minutes apart.
    """
    found = dict.fromkeys([*sorted(set(promised), reverse=True), *LATENESS])
    return [each for each in found if each and (clock is None or each % clock.unit == 0)] or [DAY]


def _few(drawing: Drawing) -> range:
    """Returns a range of one number or, less often, of two."""
    return range(drawing.random.choice((1, 1, 2)))


def _clock_column(drawing: Drawing) -> str:
    """Returns the name of the clock column. Raises NotPossible: there is none."""
    if drawing.source.clock is None:
        raise NotPossible(
            f"{drawing.source.name} has no clock column; if one says how new a row is, name it by "
            "loaded_at_field, or by meta: {dvs: {clock: ..}}"
        )
    return drawing.source.clock


def _appended(drawing: Drawing, _late: int) -> Iterator[Change]:
    for _ in _few(drawing):
        yield drawing.put(drawing.source, drawing.later())


def _appended_late(drawing: Drawing, late: int) -> Iterator[Change]:
    _clock_column(drawing)
    for _ in _few(drawing):
        yield drawing.put(drawing.source, drawing.newest - late)


def _appended_twice(drawing: Drawing, _late: int) -> Iterator[Change]:
    if drawing.source.keys:
        raise NotPossible(f"{drawing.source.name} has a key that forbids it")
    _, row = drawing.some()
    yield drawing.write(Put(drawing.source.id, next(drawing.numbers), row))


def _updated(drawing: Drawing, _late: int) -> Iterator[Change]:
    yield drawing.changed(*drawing.some(), tick=drawing.later())


def _updated_without_clock(drawing: Drawing, _late: int) -> Iterator[Change]:
    _clock_column(drawing)
    yield drawing.changed(*drawing.some(), tick=None)


def _key_changed(drawing: Drawing, _late: int) -> Iterator[Change]:
    source = drawing.source
    if not drawing.key:
        raise NotPossible(
            f"{source.name} has no key; test one by `unique`, or name it by meta: {{dvs: {{key: [..]}}}}"
        )
    number = drawing.unreferenced()
    row = drawing.contents.rows[source.id][number]
    fresh = dict(zip(source.names, drawing.row(source, drawing.later()), strict=True))
    changing = {*drawing.key, source.clock}
    if part := source.part(source.clock):
        changing.add(part[0].name)
    values = (fresh[n] if n in changing else value for n, value in zip(source.names, row, strict=False))
    yield drawing.write(Put(source.id, number, tuple(values)))


def _deleted(drawing: Drawing, _late: int) -> Iterator[Change]:
    yield drawing.write(Gone(drawing.source.id, drawing.unreferenced()))


def _null_key(drawing: Drawing, _late: int) -> Iterator[Change]:
    source = drawing.source
    keys = {*(name.lower() for name in drawing.key), *drawing.merged.get(source.id, ())}
    free = [column.name for column in source.columns if column.name.lower() in keys and not column.required]
    if not free:
        raise NotPossible(f"{source.name} has no key that may be NULL")
    yield drawing.put(source, drawing.later(), {drawing.random.choice(free): NULL})


def _null_clock(drawing: Drawing, _late: int) -> Iterator[Change]:
    clock = _clock_column(drawing)
    if drawing.source.part(clock) is None and drawing.source.column(clock).required:
        raise NotPossible(f"{drawing.source.name}.{clock}, its clock column, may not be NULL")
    yield drawing.put(drawing.source, drawing.newest, {clock: NULL})


def _equal_clock(drawing: Drawing, _late: int) -> Iterator[Change]:
    _clock_column(drawing)
    for _ in _few(drawing):
        yield drawing.put(drawing.source, drawing.newest)


def _dimension_changed(drawing: Drawing, late: int) -> Iterator[Change]:
    change = drawing.random.choice((_updated, _updated, _appended, _deleted))
    yield from change(drawing, late)


def _schema_changed(drawing: Drawing, late: int) -> Iterator[Change]:
    source = drawing.source
    if source.id in drawing.contents.widened:
        yield from _appended(drawing, late)
        return
    yield drawing.write(Widened(source.id))
    if drawing.random.random() < 0.8:
        put = drawing.put(source, drawing.later())
        yield drawing.write(replace(put, row=(*put.row, str(drawing.random.randint(1, 3)))))


CHANGES: Mapping[ChangeKind, Callable[[Drawing, int], Iterator[Change]]] = {
    ChangeKind.APPENDED: _appended,
    ChangeKind.APPENDED_LATE: _appended_late,
    ChangeKind.APPENDED_TWICE: _appended_twice,
    ChangeKind.UPDATED: _updated,
    ChangeKind.UPDATED_WITHOUT_CLOCK: _updated_without_clock,
    ChangeKind.KEY_CHANGED: _key_changed,
    ChangeKind.DELETED: _deleted,
    ChangeKind.NULL_KEY: _null_key,
    ChangeKind.NULL_CLOCK: _null_clock,
    ChangeKind.EQUAL_CLOCK: _equal_clock,
    ChangeKind.DIMENSION_CHANGED: _dimension_changed,
    ChangeKind.SCHEMA_CHANGED: _schema_changed,
    ChangeKind.FAILED_RUN: _appended,
    ChangeKind.TWO_RUNS: _appended,
}
"""The changes of one round, by kind; each function takes the drawing and how late rows arrive, in minutes."""
