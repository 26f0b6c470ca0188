"""`dvs record` on Delta tables by Spark: what isolation levels refuse, and what two tables do not share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from campaign.cli import main
from campaign.protocols.databases import opened
from dvs import Checked, CheckOptions, Level, judge, read_history
from dvs_model.checking.check import Holds, Violated
from protocols.recording.clients import Load, Moment, Op, Outcome, Recording, asked, done
from protocols.recording.database import Aborted, Connection, Database
from protocols.recording.edn import edn
from protocols.recording.workloads import WORKLOADS, Request, Word

pytestmark = pytest.mark.spark


@dataclass
class ByHand:
    """Transactions whose steps meet as a test says; noted as clients note them."""

    database: Database
    workload: str
    moments: list[Moment] = field(default_factory=list)
    open: dict[int, tuple[Connection, tuple[Request, ...], list[Op], dict[int, int]]] = field(
        default_factory=dict
    )

    def note(self, outcome: Outcome, process: int, ops: tuple[Op, ...], places: dict[int, int]) -> None:
        at = len(self.moments)
        self.moments.append(Moment(outcome, process, ops, at, places=tuple(places.items())))

    def begin(self, process: int, *steps: Request) -> None:
        self.open[process] = (self.database.session(), steps, [], {})
        self.note(Outcome.INVOKE, process, asked(steps), {})

    def do(self, process: int, step: Request) -> None:
        session, _, ops, places = self.open[process]
        ops.extend(done(session, step, places))

    def commit(self, process: int) -> Outcome:
        session, steps, ops, places = self.open.pop(process)
        try:
            session.commit()
        except Aborted:
            self.note(Outcome.FAIL, process, asked(steps), {})
            return Outcome.FAIL
        self.note(Outcome.OK, process, tuple(ops), places)
        return Outcome.OK

    def whole(self, process: int, *steps: Request) -> Outcome:
        self.begin(process, *steps)
        for step in steps:
            self.do(process, step)
        return self.commit(process)

    def judged(self, folder: Path) -> Checked:
        file = folder / "history.edn"
        file.write_text("".join(edn(Recording(Load(workload=WORKLOADS[self.workload]), self.moments))))
        return judge(read_history(file), CheckOptions(complete=True))


@contextmanager
def by_hand(level: str, workload: str) -> Iterator[ByHand]:
    with opened("delta-spark", level) as database, database.place(lists=WORKLOADS[workload].lists):
        yield ByHand(database, workload)


@pytest.mark.parametrize(("level", "outcome"), [("serializable", "fail"), ("write-serializable", "ok")])
def test_a_blind_append_and_a_delete_are_put_into_another_order(
    level: str, outcome: str, spark: SparkSession, tmp_path: Path
) -> None:
    """The delete has not seen the appended row and is after it in the log; a reader saw what is between."""
    look, delete = Request(Word.SELECT, 3, 1), Request(Word.DELETE, 1)
    with by_hand(level, "predicate") as run:
        run.whole(9, Request(Word.WRITE, 1, 1), Request(Word.WRITE, 2, 2))
        run.begin(1, look, delete)
        run.do(1, look)
        run.do(1, delete)
        assert run.whole(2, Request(Word.WRITE, 4, 4)) is Outcome.OK
        assert run.whole(3, look) is Outcome.OK
        assert run.commit(1).value == outcome
        checked = run.judged(tmp_path)
    assert isinstance(checked.levels[Level.PL_2_PLUS], Holds)
    assert isinstance(checked.levels[Level.PL_3], Violated if outcome == "ok" else Holds)


def test_two_tables_have_no_common_snapshot(spark: SparkSession, tmp_path: Path) -> None:
    both = [Request(Word.APPEND, key, 10 + key) for key in (0, 1)]
    reads = [Request(Word.READ, key) for key in (0, 1)]
    with by_hand("two-tables", "append") as run:
        run.begin(2, *reads)
        run.do(2, reads[0])
        assert run.whole(1, *both) is Outcome.OK
        run.do(2, reads[1])
        assert run.commit(2) is Outcome.OK
        assert isinstance(run.judged(tmp_path).levels[Level.PL_2_PLUS], Violated)


@pytest.mark.nightly
def test_random_clients_on_one_jvm(spark: SparkSession, tmp_path: Path) -> None:
    limits = ["--transactions", "12", "--clients", "3", "--seconds", "20m"]
    result = CliRunner().invoke(main, ["record", "delta-spark", *limits, "--out", str(tmp_path / "h.edn")])
    assert result.exit_code == 0, result.output
    assert "PL-3, serializable without sessions holds" in result.output
