"""The answer of `dvs dbt`: a cell for each model and kind of change, and a sentence on what a model needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from campaign.dbt.differences import RefreshDifference
from campaign.dbt.kinds import WORDS, ChangeKind, duration
from campaign.dbt.project import Model
from campaign.dbt.trials import Trial


class CellVerdict(Enum):
    """The verdict on one model under one kind of change."""

    EQUAL = "equal"
    DIFFERS = "differs"
    NOT_APPLICABLE = "not applicable"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Found:
    """A trial in which a model differs. `number`: of the trial in its pair of kind and source."""

    number: int
    trial: Trial
    difference: RefreshDifference


@dataclass(slots=True)
class ModelCell:
    """The trials of one model under one kind of change, by what they showed.

    `equal`: the trials after which it was equal, each by how late its rows were, None where rows are not
    late. `applicable`: the change can happen to a source of the model. `differs_already`: some trial differs
    without the change, too. `filled`: the model had rows in some trial. `reason`: why nothing could be
    judged. `smallest`: the reproduction, once it is shrunk. `notes`: what else was seen in trials after which
    the model was equal.
    """

    equal: list[int | None] = field(default_factory=list)
    differs: list[Found] = field(default_factory=list)
    smallest: Found | None = None
    applicable: bool = False
    differs_already: bool = False
    filled: bool = False
    reason: str = ""
    notes: dict[str, None] = field(default_factory=dict)

    @property
    def verdict(self) -> CellVerdict:
        """The verdict by the trials; a kind that could happen and was not judged is undecided.

        What a model that differs without the change shows is noted for appended rows.
        """
        if self.differs:
            return CellVerdict.DIFFERS
        if self.equal:
            return CellVerdict.EQUAL
        not_applicable = not self.applicable or self.differs_already
        return CellVerdict.NOT_APPLICABLE if not_applicable else CellVerdict.UNDECIDED

    @property
    def trials(self) -> int:
        """The number of trials that were judged."""
        return len(self.equal) + len(self.differs)

    def best(self, model: Model, kind: ChangeKind) -> Found | None:
        """Returns the difference to show: one within the promises, not inherited, little late, and small."""
        if not self.differs:
            return None
        return min(
            self.differs,
            key=lambda each: (
                not model.promises.covers(kind, each.trial.late),
                bool(each.difference.inherited),
                each.trial.late or 0,
                each.trial.source_rows,
                each.number,
            ),
        )


def run_error(cells: Mapping[ChangeKind, ModelCell]) -> str:
    """Returns with which error each incremental run ends, though rows were only appended; empty: not each.

    Then no incremental run of the model was judged at all, which no promise excuses.
    """
    cell = cells.get(ChangeKind.APPENDED)
    if cell is None or cell.equal or not all(each.difference.error for each in cell.differs):
        return ""
    return next((each.difference.error for each in cell.differs), "")


def breaks_promise(model: Model, kind: ChangeKind, cell: ModelCell) -> bool:
    """Returns whether a model that declares promises differs although they were kept."""
    return model.declares and any(model.promises.covers(kind, each.trial.late) for each in cell.differs)


def needs(model: Model, cells: Mapping[ChangeKind, ModelCell]) -> str:
    """Returns in one sentence what a model needs from its sources and runs to be right."""
    wrong = [kind for kind, cell in cells.items() if cell.verdict is CellVerdict.DIFFERS]
    judged = any(cell.trials for cell in cells.values())
    if not judged:
        reason = next((cell.reason for cell in cells.values() if cell.reason), "no change could be judged")
        return f"Nothing can be said of {model.name}: {reason}."
    if not wrong:
        law = "had one row for each version" if model.is_snapshot else "was equal to its full refresh"
        return f"{model.name} needs nothing: it {law} after every change that was tried."
    if error := run_error(cells):
        return f"Nothing can be said of {model.name}: its incremental runs fail: {error}"
    if ChangeKind.APPENDED in wrong:
        return f"{model.name} is wrong already where rows are only appended: look at that first."
    # A model that needs that no row is updated has no need about how rows are updated.
    kinds = [k for k in wrong if k is not ChangeKind.UPDATED_WITHOUT_CLOCK or ChangeKind.UPDATED not in wrong]
    clauses = [_need(kind, cells[kind]) for kind in kinds]
    text = ", ".join(clauses[:-1]) + (" and " if len(clauses) > 1 else "") + clauses[-1]
    inherited = sorted(
        {
            name
            for kind in wrong
            if (best := cells[kind].best(model, kind)) is not None
            for name in best.difference.inherited
        }
    )
    by = f" (in part what it reads needs it: {', '.join(inherited)})" if inherited else ""
    return f"{model.name} is right if {text}{by}."


def _need(kind: ChangeKind, cell: ModelCell) -> str:
    """Returns what a model needs that differs after a kind of change, and how late rows may be."""
    if kind is not ChangeKind.APPENDED_LATE:
        return WORDS[kind].need
    least = min(each.trial.late or 0 for each in cell.differs)
    if below := [late for late in cell.equal if late is not None and late < least]:
        # Between the two nothing was tried, so the sentence promises no more than what was seen to be right.
        trials = f"{len(below)} trial{'s' * (len(below) != 1)}"
        return (
            f"no row is more than {duration(max(below))} older than the newest when it arrives "
            f"(right in {trials} up to that, wrong at {duration(least)})"
        )
    return WORDS[kind].need
