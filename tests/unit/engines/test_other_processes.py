"""What other processes do while the engine in memory refreshes, and that none of it is left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.faults import plant
from campaign.faults.fault import Subject
from campaign.judging.lane import Lane
from engines.drive import drive
from engines.in_memory import InMemory
from tests.in_memory import in_memory
from workload.dml import Delete, Insert, Replace
from workload.errors import WorkloadError
from workload.outcomes.results import Check, OutcomeClass
from workload.outcomes.trace import SourceWritten
from workload.query import ColumnRef, Item, Named, Select
from workload.scenario import Commit, Create, DynamicTable, Meanwhile, Refresh, Scenario
from workload.schema import Column, Table
from workload.types import INT
from workload.wellformed import check_scenario

pytestmark = pytest.mark.slow

R, S = (Table(name, (Column("a", INT),)) for name in "rs")


def copy_of(source: str) -> Select:
    return Select((Item(ColumnRef(source, "a", INT), "a"),), Named(source, source))


def scenario(*commits: Commit, killed: int | None = None) -> Scenario:
    """Two rows of r, which d and then e above it hold; the commits come after the refresh of e at 40."""
    return Scenario(
        name="three processes",
        tables=(R, S),
        definitions=(DynamicTable("d", copy_of("r")), DynamicTable("e", copy_of("d"))),
        steps=(
            Commit(10, (Insert("r", ((1,),)),)),
            Create(20, "d"),
            Create(25, "e"),
            Commit(30, (Insert("r", ((2,),)),)),
            Refresh(40, "e", 40, killed),
            *commits,
            Refresh(90, "e", 90),
        ),
    )


BOTH = (Insert("r", ((3,),)), Insert("s", ((3,),)))
SLOW = Commit(50, BOTH, Meanwhile(first=0, last=1, clock=-30))
FAST = Commit(50, BOTH, Meanwhile(first=2, last=4, clock=300))
FOREIGN = Commit(50, BOTH, Meanwhile(first=2, last=2, foreign=True))
ABANDONED = Commit(50, BOTH, Meanwhile(first=0, last=3, abandoned=True))


def judged(tried: Scenario, *faults: str) -> tuple[OutcomeClass, set[Check]]:
    subject = Subject()
    for fault in faults:
        subject = plant(fault, subject)
    outcome = Lane(engine=in_memory(subject.variant)).judge(tried)
    return outcome.outcome, {finding.check for finding in outcome.findings}


@pytest.mark.parametrize("commit", [SLOW, FAST, FOREIGN, ABANDONED])
@pytest.mark.parametrize("killed", [None, *range(0, 40, 3)])
def test_a_table_never_holds_what_other_processes_commit_meanwhile(
    commit: Commit, killed: int | None
) -> None:
    assert judged(scenario(commit, killed=killed)) == (OutcomeClass.PASSED, set())


@pytest.mark.parametrize(
    ("fault", "commit"),
    [
        ("slow-clock-enters-the-past", SLOW),
        ("fast-clock-hides-commit", FAST),
        ("torn-transaction", SLOW),
        ("undo-by-restore", ABANDONED),
        ("read-latest-not-snapshot", FAST),
    ],
)
def test_an_engine_that_confuses_versions_is_found_by_it_alone(fault: str, commit: Commit) -> None:
    assert judged(scenario(commit), fault)[0] is OutcomeClass.PRODUCT_FAILURE
    assert judged(scenario(replace(commit, meanwhile=None)), fault)[0] is OutcomeClass.PASSED


def test_a_wrong_undo_is_the_engines_fault_whatever_is_committed_later() -> None:
    later = Commit(60, (Insert("r", ((4,),)), Insert("s", ((4,),))))
    outcome, checks = judged(scenario(ABANDONED, later), "undo-by-restore")
    assert outcome is OutcomeClass.PRODUCT_FAILURE
    assert Check.SOURCES in checks


def test_an_engine_that_forgets_a_killed_attempt_is_found() -> None:
    fault = "frontier-before-contents"
    assert any(judged(scenario(killed=killed), fault)[1] >= {Check.EQUALITY} for killed in range(30))
    assert judged(scenario(), fault)[0] is OutcomeClass.PASSED


def test_the_commit_is_made_between_two_calls_of_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = InMemory()
    order: list[str] = []
    for name in ("decide", "merge"):
        call = getattr(type(engine.store), name)

        def noted(self: object, *given: object, name: str = name, call: object = call) -> object:
            order.append(name)
            return call(self, *given)  # type: ignore[operator]

        monkeypatch.setattr(type(engine.store), name, noted)
    statement = engine.applier.base_rows.apply

    def applied(*given: object) -> None:
        order.append("statement")
        statement(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(engine.applier.base_rows, "apply", applied)
    trace = drive(engine, scenario(SLOW))
    engine.close()
    # The last refresh, at 90, and the one at 40 each merge d and e.
    assert order[-8:] == ["statement", "decide", "statement", "merge", "merge", "decide", "merge", "merge"]
    written = [(event.table, event.rows) for event in trace.events if isinstance(event, SourceWritten)]
    assert written[-2:] == [("r", ((1,), (2,), (3,))), ("s", ((3,),))]


@pytest.mark.parametrize(
    ("commit", "message"),
    [
        (Commit(50, BOTH, Meanwhile(first=2, last=1)), "before calls 2 and 1"),
        (Commit(50, BOTH, Meanwhile(first=0, last=0)), "the last one is at least 1"),
        (Commit(50, (Delete("r", None),), Meanwhile(abandoned=True)), "INSERTs only"),
        (Commit(50, (Replace("r", ()),), Meanwhile(foreign=True)), "does not replace tables"),
        (Commit(50, BOTH, Meanwhile(first=0, last=1, foreign=True)), "directly after the other"),
    ],
)
def test_what_makes_no_sense_is_refused(commit: Commit, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        check_scenario(scenario(commit))
    with pytest.raises(WorkloadError, match="killed before call -1"):
        check_scenario(scenario(killed=-1))
