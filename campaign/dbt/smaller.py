"""The shrinking of a trial in which a dbt model differs: fewer rounds, changes and rows, plainer values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from campaign.dbt.kinds import ChangeKind
from campaign.dbt.project import Project, Source
from campaign.dbt.rows import NULL, value_of
from campaign.dbt.trials import Change, Contents, Put, Row, Trial
from shrink.loop import Candidates, Smallest, smallest
from shrink.reduction import chunks


def shrink(project: Project, base: dt.date, trial: Trial, fails: Callable[[Trial], bool]) -> Smallest[Trial]:
    """Returns the smallest trial found of the same kind for which `fails` holds, as it does for this one.

    `base`: the day from which clock values are counted.
    """

    def failing(candidate: Trial) -> Trial | None:
        return candidate if keeps_references(project, candidate) and fails(candidate) else None

    reductions: tuple[Candidates[Trial], ...] = (
        _fewer_rounds,
        _fewer_changes,
        _fewer_rows,
        lambda smaller: _plainer_values(project, base, smaller),
    )
    return smallest(trial, reductions, failing, project.database.attempts)


def _fewer_rounds(trial: Trial) -> Iterator[Trial]:
    for dropped in chunks(range(len(trial.rounds))):
        if len(dropped) < len(trial.rounds):
            yield replace(trial, rounds=tuple(r for n, r in enumerate(trial.rounds) if n not in dropped))


def _fewer_rows(trial: Trial) -> Iterator[Trial]:
    """Yields trials without some rows and all their changes; copies of one row are dropped together."""
    groups: dict[tuple[str, Row], list[int]] = {}
    for put in _puts(trial):
        if not any(put.number in group for group in groups.values()):
            groups.setdefault((put.source, put.row), []).append(put.number)
    kept = _needed_row(trial)
    for dropped in chunks([tuple(group) for group in groups.values() if kept not in group]):
        yield _without(trial, {number for group in dropped for number in group})


def _needed_row(trial: Trial) -> int | None:
    """Returns the number of the row that must be in the source from the start; None: any may be dropped.

    Without a row the first run would see an empty source, which is another mistake than the one that was
    found. It is the last row: the newest, by which other rows are late or have an equal clock.
    """
    rows = [put.number for put in trial.start if put.source == trial.source]
    needed = trial.kind in (ChangeKind.APPENDED_LATE, ChangeKind.EQUAL_CLOCK) or len(rows) == 1
    # A change without a number (`Widened`) concerns no row, but the columns of the source.
    changed = {change.number for each in trial.rounds for change in each.changes if hasattr(change, "number")}
    return rows[-1] if rows and (needed or not changed.intersection(rows)) else None


def _without(trial: Trial, numbers: set[int]) -> Trial:
    def stays(change: Change) -> bool:
        return not hasattr(change, "number") or change.number not in numbers

    rounds = (replace(each, changes=tuple(filter(stays, each.changes))) for each in trial.rounds)
    return replace(trial, start=tuple(filter(stays, trial.start)), rounds=tuple(rounds))


def _fewer_changes(trial: Trial) -> Iterator[Trial]:
    places = [(n, place) for n, each in enumerate(trial.rounds) for place in range(len(each.changes))]
    for dropped in chunks(places):
        if len(dropped) == len(places):
            continue
        rounds = (
            replace(
                each, changes=tuple(c for place, c in enumerate(each.changes) if (n, place) not in dropped)
            )
            for n, each in enumerate(trial.rounds)
        )
        yield replace(trial, rounds=tuple(rounds))


def _plainer_values(project: Project, base: dt.date, trial: Trial) -> Iterator[Trial]:
    """Yields trials in which a column has one plain value in all rows; keys and clocks stay as they are.

    A reference becomes NULL if the column may be NULL, so that the row to which it refers can be dropped.
    """
    model_keys = {name for model in project.models.values() for name in model.key}
    for id_ in dict.fromkeys(put.source for put in _puts(trial)):
        source = project.sources[id_]
        keys = {source.clock, *(name for key in source.keys for name in key)}
        keys |= {part[0].name for name in (source.clock, *source.clocks) if (part := source.part(name))}
        references = {name for key in source.foreign for name in key.columns}
        for place, column in enumerate(source.columns):
            refers = column.name in references
            plain = NULL if refers else value_of(column.type, 1, base)
            same = all(put.row[place] == plain for put in _puts(trial) if put.source == id_)
            if (
                not same
                and column.name not in keys
                and column.name.lower() not in model_keys
                and not (refers and column.required)
            ):
                yield _with_value(trial, id_, place, plain)


def _with_value(trial: Trial, source: str, place: int, value: str) -> Trial:
    def changed(change: Change) -> Change:
        if not isinstance(change, Put) or change.source != source:
            return change
        return replace(change, row=(*change.row[:place], value, *change.row[place + 1 :]))

    start = tuple(put for each in trial.start if isinstance(put := changed(each), Put))
    rounds = (replace(each, changes=tuple(map(changed, each.changes))) for each in trial.rounds)
    return replace(trial, start=start, rounds=tuple(rounds))


def _puts(trial: Trial) -> list[Put]:
    return [*trial.start, *(c for each in trial.rounds for c in each.all_changes if isinstance(c, Put))]


def keeps_references(project: Project, trial: Trial) -> bool:
    """Returns whether before each run every foreign key, as declared, refers to a row that is there."""
    contents = Contents()
    for changes in (trial.start, *(each.all_changes for each in trial.rounds)):
        for change in changes:
            contents.apply(change)
        for source in project.sources.values():
            for key in source.foreign:
                target = project.sources[key.target]
                there = _values(contents, target, key.key or target.keys[0])
                if any(
                    NULL not in row and row not in there for row in _values(contents, source, key.columns)
                ):
                    return False
    return True


def _values(contents: Contents, source: Source, columns: Sequence[str]) -> list[Row]:
    places = [source.names.index(name) for name in columns]
    return [tuple(row[place] for place in places) for row in contents.rows.get(source.id, {}).values()]
