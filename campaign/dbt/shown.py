"""The result of `dvs dbt` as one document, from which JSON, pages and scripts are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from campaign.dbt.answers import CellVerdict, Found, ModelCell, breaks_promise, needs, run_error
from campaign.dbt.kinds import WORDS, ChangeKind, duration
from campaign.dbt.process import vars_at
from campaign.dbt.project import Model, Project, Source
from campaign.dbt.rows import NEWEST
from campaign.dbt.run import time_of
from campaign.dbt.search import DbtResult
from campaign.dbt.trials import NEW_COLUMN, Change, Contents, Gone, Put, Row, Widened, load_statements
from reports.documents import (
    DbtCellDocument,
    DbtDocument,
    DbtModelDocument,
    DbtReproductionDocument,
    DbtRunDocument,
)
from workload.outcomes.decision import Decision

Rows = tuple[tuple[str | None, ...], ...]


def decision_of(found: DbtResult) -> Decision:
    """Returns FAILED if a model differs though its promises were kept, UNDECIDED if something was not judged.

    That is a cell without a trial, a trial that broke, one for which the budget left no time, or a model of
    which all incremental runs fail.
    """
    cells = [(found.facts.project.models[id_], kind, cell) for id_, kind, cell in _cells(found)]
    if any(breaks_promise(*each) for each in cells):
        return Decision.FAILED
    undecided = any(cell.verdict is CellVerdict.UNDECIDED for _, _, cell in cells)
    undecided |= any(run_error(of) for of in found.answers.values())
    if undecided or found.broken or not found.finished or not found.comparisons:
        return Decision.UNDECIDED
    return Decision.PASSED


def _cells(found: DbtResult) -> list[tuple[str, ChangeKind, ModelCell]]:
    return [(id_, kind, cell) for id_, cells in found.answers.items() for kind, cell in cells.items()]


def document(found: DbtResult, project: str, seed: int, *, show_values: bool = False) -> DbtDocument:
    """Returns the document of `dvs dbt --json`, with the reproduction of every difference.

    `show_values`: also of models that read what trials do not write, where values may be the user's.
    """
    facts = found.facts
    models = {}
    for id_, cells in found.answers.items():
        model = facts.project.models[id_]
        hides = not show_values and any(each.outside for each in facts.project.above(id_))
        shown = {kind: hidden(cell) for kind, cell in cells.items()} if hides else cells
        models[model.name] = _model(found, model, shown, hides=hides)
    hides = not show_values and any(model.outside for model in facts.project.models.values())
    problems = dict.fromkeys(hidden_text(each) if hides else each for each in found.broken)
    return {
        "project": project,
        "dbt": facts.project.dbt,
        "seed": seed,
        "decision": decision_of(found).value,
        "trials": found.trials,
        "comparisons": found.comparisons,
        "seconds": round(found.seconds, 2),
        "finished": found.finished,
        "kinds": {kind.value: WORDS[kind].happens for kind in found.kinds},
        "models": models,
        "problems": [*problems],
    }


def hidden(cell: ModelCell) -> ModelCell:
    """Returns a cell without the values of rows and messages: equal values become equal names (hidden 1)."""

    def of(found: Found) -> Found:
        names: dict[str, str] = {}
        difference = found.difference

        def rows(shown: Rows) -> Rows:
            return tuple(
                tuple(each and names.setdefault(each, f"hidden {len(names) + 1}") for each in row)
                for row in shown
            )

        missing, extra = rows(difference.missing), rows(difference.extra)
        changed = replace(difference, missing=missing, extra=extra, error=hidden_text(difference.error))
        return replace(found, difference=changed)

    return replace(
        cell,
        differs=[of(each) for each in cell.differs],
        smallest=cell.smallest and of(cell.smallest),
        reason=hidden_text(cell.reason),
        notes={hidden_text(note): None for note in cell.notes},
    )


def hidden_text(text: str) -> str:
    """Returns a message without what dbt and the database say behind the colon: that may name values."""
    first, colon, _ = text.partition(":")
    return f"{first}: (hidden, see --show-values)" if colon else text


def _model(
    found: DbtResult, model: Model, cells: Mapping[ChangeKind, ModelCell], *, hides: bool
) -> DbtModelDocument:
    facts = found.facts
    notes = []
    if hides:
        notes.append("reads more than its sources, so values are hidden; --show-values shows them")
    # A model that cannot be built fails over empty sources, too, and has said why.
    if model.id in facts.empty and model.id not in facts.wrong:
        reason = f"fails while its sources are empty: {facts.empty[model.id]}"
        notes.append(hidden_text(reason) if hides else reason)
    if more := sorted(facts.ignored.get(model.id, frozenset()) - model.ignored):
        notes.append(f"columns that differ between two full refreshes are not compared: {', '.join(more)}")
    if model.ignored:
        notes.append(f"columns that are not compared: {', '.join(sorted(model.ignored))}")
    return {
        "file": model.file,
        "materialized": model.materialized,
        "promises": [*model.promises.names] if model.declares else None,
        "notes": notes,
        "needs": needs(model, cells),
        "changes": {kind.value: _cell(found, model, kind, cell) for kind, cell in cells.items()},
    }


def _cell(result: DbtResult, model: Model, kind: ChangeKind, cell: ModelCell) -> DbtCellDocument:
    found = cell.smallest or cell.best(model, kind)
    return {
        "verdict": cell.verdict.value,
        "trials": cell.trials,
        "source_rows": None if found is None else found.trial.source_rows,
        "broken_promise": breaks_promise(model, kind, cell),
        "reason": "; ".join(cell.notes) if cell.trials else cell.reason,
        "reproduction": None if found is None else _reproduction(result, model, found),
    }


def _reproduction(result: DbtResult, model: Model, found: Found) -> DbtReproductionDocument:
    """Returns the runs of a trial in words and as SQL, and what differs after them."""
    project, base = result.facts.project, result.facts.domains.base
    trial, difference = found.trial, found.difference
    contents = Contents()
    sources = [source.id for source in project.sources_of([model.id])]
    runs: list[DbtRunDocument] = []
    for number, changes in enumerate((trial.start, *(each.changes for each in trial.rounds))):
        lines = [_apply_change(project, contents, change) for change in changes]
        changed = sources if not number else [id_ for id_ in sources if id_ in {c.source for c in changes}]
        stop = trial.rounds[number - 1].stop_at if number else None
        statements = load_statements(project, contents, changed)
        beside = trial.rounds[number - 1].beside if number else None
        while_waiting = [_apply_change(project, contents, change) for change in beside or ()]
        at = time_of(base, (trial.rounds[number - 1].at if number else NEWEST) + 1)
        runs.append(
            {
                "lines": lines,
                "statements": statements,
                "stop_at": stop,
                "beside": None if beside is None else while_waiting,
                "at": at.isoformat(),
                "vars": vars_at(result.profile["vars"], at),
            }
        )
    above = [each for each in project.above(model.id) if not each.left_out]
    return {
        "source": project.sources[trial.source].name,
        "late": None if trial.late is None else duration(trial.late),
        "runs": runs,
        "statements": load_statements(project, contents, sources),
        "select": [each.select for each in above],
        "relation": model.relation,
        "schemas": sorted({each.relation.rpartition(".")[0] for each in project.sources_of([model.id])}),
        "begin": time_of(base, trial.since).isoformat() if any(each.batches for each in above) else None,
        "snapshots": any(each.is_snapshot for each in above),
        "law": model.is_snapshot,
        "compared": [] if difference.lost or difference.added else [*difference.columns],
        "columns": [*difference.columns],
        "missing": [[*row] for row in difference.missing],
        "extra": [[*row] for row in difference.extra],
        "lost": [*difference.lost],
        "added": [*difference.added],
        "error": difference.error,
        "inherited": [*difference.inherited],
    }


def _apply_change(project: Project, contents: Contents, change: Change) -> str:
    """Makes a change, and returns it in one line."""
    line = _line(project, contents, change)
    contents.apply(change)
    return line


def _line(project: Project, contents: Contents, change: Change) -> str:
    """Returns a change in one line, before it is made."""
    source = project.sources[change.source]
    match change:
        case Widened():
            return f"{source.name}: new column {NEW_COLUMN.name} {NEW_COLUMN.type}"
        case Gone(_, number):
            return f"{source.name}: delete {_row(source, contents.rows[source.id][number])}"
        case Put(_, number, row):
            old = contents.rows.get(source.id, {}).get(number)
            if old is None:
                return f"{source.name}: append {_row(source, row)}"
            names = [*source.names, NEW_COLUMN.name]
            pairs = zip(names, old, row, strict=False)
            changed = [f"{n} {_plain(was)} -> {_plain(now)}" for n, was, now in pairs if was != now]
            key = [f"{n} {_plain(v)}" for n, v in zip(names, old, strict=False) if n in _key_columns(source)]
            return f"{source.name}: update {', '.join(key)}: {', '.join(changed)}"


def _key_columns(source: Source) -> tuple[str, ...]:
    """Returns the columns that tell the rows of a source apart."""
    return source.keys[0] if source.keys else source.names


def _row(source: Source, row: Row) -> str:
    names = [*source.names, NEW_COLUMN.name]
    return ", ".join(f"{name} {_plain(value)}" for name, value in zip(names, row, strict=False))


def _plain(literal: str) -> str:
    """Returns a literal without its type.

    >>> _plain("TIMESTAMP '2024-01-01 00:00:00'"), _plain("'a'::JSON")
    ('2024-01-01 00:00:00', "'a'")
    """
    if found := re.fullmatch(r"(?:DATE|TIME|TIMESTAMP) '(.*)'", literal):
        return found[1]
    return re.sub(r"::[A-Z]+$", "", literal)
