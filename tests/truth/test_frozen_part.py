"""The law of a frozen part, by a definition of its own: what was frozen stays, all else is the query."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from dynamic_tables.definition import DynamicTable
from dynamic_tables.errors import DefinitionError
from dynamic_tables.frozen import FrozenPart, condition_at, ensure_only_freezes
from dynamic_tables.refresh.execute import PROTOCOL
from engines.adapter import Transaction
from engines.in_memory import InMemory
from engines.variant import Variant
from tests.depth import examples
from tests.ir import table
from workload.dml import Overwrite
from workload.sql import Dialect
from workload.types import INT, TIMESTAMP, Row

R = table("r", k=INT, v=INT, ts=TIMESTAMP)
EPOCH = dt.datetime.fromisoformat("1970-01-01")


def instant(at: int) -> dt.datetime:
    return EPOCH + dt.timedelta(microseconds=at)


def summed(rows: list[Row]) -> list[Row]:
    return [(ts, sum(int(str(row[1])) for row in rows if row[2] == ts)) for ts in {row[2] for row in rows}]


@dataclass(frozen=True)
class Case:
    """A query as a text and by hand, and the place of `ts` in its rows."""

    text: str
    by_hand: Callable[[list[Row]], list[Row]]
    place: int
    mode: str = "AUTO"


CASES = (
    Case("SELECT k, v, ts FROM r WHERE v > 0", lambda rows: [row for row in rows if row[1] > 0], 2),  # type: ignore[operator]
    Case("SELECT ts, SUM(v) AS n FROM r GROUP BY ts", summed, 0),
    Case("SELECT ts, SUM(v) AS n FROM r GROUP BY ts", summed, 0, "FULL"),
    Case(
        "SELECT l.ts, r.v FROM r AS l LEFT JOIN r ON l.k = r.v",
        lambda rows: [
            (one[2], v) for one in rows for v in ([o[1] for o in rows if o[1] == one[0]] or [None])
        ],
        0,
    ),
)


@dataclass
class History:
    """One table with a frozen part, its base table, and what it must hold by the law."""

    case: Case
    variant: Variant = field(default_factory=Variant)
    held: Counter[Row] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.engine = InMemory(self.variant)
        self.engine.create_table(R, "")
        self.base: list[Row] = []

    def write(self, at: int, rows: list[Row]) -> None:
        self.base = rows
        self.engine.advance(at)
        overwrite = (Overwrite("r", tuple(rows)),)
        self.engine.commit(Transaction(at, overwrite, {"r": R}, Dialect.SPARK))

    def follow(self, at: int, *, first: bool = False) -> None:
        """The law: of the rows held before, those that are frozen by now; of the query, the others."""
        due = Counter(self.case.by_hand(self.base))
        old = {row: n for row, n in self.held.items() if row[self.case.place] < instant(at)}  # type: ignore[operator]
        new = {row: n for row, n in due.items() if not row[self.case.place] < instant(at)}  # type: ignore[operator]
        self.held = due if first else Counter(old) + Counter(new)

    def create(self, at: int) -> None:
        self.engine.advance(at)
        self.engine.account.create_dynamic_table(
            "d", self.case.text, refresh_mode=self.case.mode, frozen_where="ts < current_timestamp()"
        )
        self.follow(at, first=True)

    def refresh(self, at: int, *, anew: bool) -> int:
        """Refreshes the table and returns how many rows came too late."""
        self.engine.advance(at)
        account = self.engine.account
        (result,) = account.reinitialize("d") if anew else account.refresh("d")
        self.follow(at)
        return result.record.late

    def stored(self) -> Counter[Row]:
        return Counter(stored.row for stored in self.engine.stored("d", ()))


def drawn(choices: random.Random, at: int) -> list[Row]:
    return [
        (choices.randint(0, 2), choices.randint(0, 2), instant(at + choices.randint(-12, 12)))
        for _ in range(choices.randint(0, 5))
    ]


def differs(seed: int, case: Case, variant: Variant) -> bool:
    """Whether the table is once another than the law says, in a random history."""
    choices, history = random.Random(seed), History(case, variant)
    try:
        history.write(1_000, drawn(choices, 1_000))
        history.create(1_010)
        for at in range(1_020, 1_080, 10):
            if choices.random() < 0.8:
                # Some rows stay, so that groups have late and present rows beside one another.
                kept = [row for row in history.base if choices.random() < 0.6]
                history.write(at, kept + drawn(choices, at))
            history.refresh(at + 5, anew=choices.random() < 0.2)
            if history.stored() != history.held:
                return True
        return False
    finally:
        history.engine.close()


@pytest.mark.parametrize("case", CASES, ids=["rows", "groups", "groups in full", "left join"])
def test_contents_follow_the_law(case: Case) -> None:
    assert [seed for seed in range(examples(6)) if differs(seed, case, Variant())] == []


def one_late(table: DynamicTable, timestamp: int, *read: object) -> FrozenPart:
    """Rows are frozen a moment too late: those whose time is that of the refresh before are not yet."""
    return FrozenPart.of(table, timestamp - 10, *read)  # type: ignore[arg-type]


def one_early(table: DynamicTable, timestamp: int, *read: object) -> FrozenPart:
    """The boundary is off by one: rows at the data timestamp itself are frozen too."""
    return FrozenPart.of(table, timestamp + 1, *read)  # type: ignore[arg-type]


def never(table: DynamicTable, timestamp: int, *read: object) -> FrozenPart:
    """Late changes reach frozen rows."""
    return replace(FrozenPart.of(table, timestamp, *read), condition="ts IS NULL")  # type: ignore[arg-type]


@pytest.mark.parametrize("fault", [one_late, one_early, never])
def test_a_wrong_boundary_breaks_the_law(fault: Callable[..., FrozenPart]) -> None:
    variant = Variant(protocol=replace(PROTOCOL, frozen=fault))
    assert any(differs(seed, CASES[1], variant) for seed in range(60))


def test_late_changes_are_counted() -> None:
    history = History(CASES[0])
    old, new = (1, 1, instant(0)), (2, 1, instant(5_000))
    history.write(1_000, [old, new])
    history.create(1_010)
    history.write(1_020, [(3, 1, instant(1)), (4, 1, instant(5_000))])
    # The old row goes and another one comes, both before the boundary.
    assert history.refresh(1_030, anew=False) == 2
    assert history.stored() == Counter([old, (4, 1, instant(5_000))])
    history.engine.close()


@pytest.mark.parametrize(
    "condition",
    [
        "ts < current_timestamp()",
        "day <= date_sub(current_date(), 30) AND k = 1",
        "(current_date - 30 > day) OR s = 'current_date'",
        "ts < CAST(now() AS TIMESTAMP) - INTERVAL 3 DAYS",
        "day < DATE'2026-01-01'",
        "day > DATE'2026-01-01'",
    ],
)
def test_conditions_that_only_freeze(condition: str) -> None:
    ensure_only_freezes("d", condition)


@pytest.mark.parametrize(
    "condition",
    [
        "ts > current_timestamp()",
        "unix_timestamp() > n",
        "NOT ts < now()",
        "ts = current_timestamp()",
        "day < current_date() - n",
        "ts < now() AND now() < other",
        "day BETWEEN current_date() - 30 AND current_date()",
        "n < 10 - datediff(current_date(), day)",
    ],
)
def test_conditions_that_might_thaw_are_refused(condition: str) -> None:
    with pytest.raises(DefinitionError, match="rows may only become frozen as time goes on"):
        ensure_only_freezes("d", condition)


def test_the_current_time_is_the_data_timestamp() -> None:
    text = "ts < now() - INTERVAL 1 DAY AND day < current_date AND s <> 'now()' AND `current_date` = 1"
    assert condition_at(text, 86_400_000_001) == (
        "ts < TIMESTAMP '1970-01-02 00:00:00.000001' - INTERVAL 1 DAY AND day < DATE '1970-01-02' "
        "AND s <> 'now()' AND `current_date` = 1"
    )
