"""How well AUTO tables choose between INCREMENTAL and FULL: `python -m benchmarks.choice --rows 300000`.

A grid of queries in the shapes of TPC-H, shares of changed rows, and places of these rows. Each query is two
AUTO tables; in each cell of the grid one is refreshed incrementally and the other in full, side by side. What
a third one would choose is asked of the engine's own `choose`, whose past is what it has chosen before. The
cells come in random order, as changes do. Printed: how often the chosen action took at most a tenth longer
than the other, and what is lost to always choosing the better one. A cell counts by the best of its rounds.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dynamic_tables.account import Account
from dynamic_tables.refresh.choice import Choice, Extents, Past, Work, choose
from dynamic_tables.refresh.execute import PROTOCOL
from dynamic_tables.schedule.clock import WallClock
from dynamic_tables.session import open_session
from dynamic_tables.store.port import Action, Extent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES: Mapping[str, str] = {
    "1: few groups": (
        "SELECT l.flag, COUNT(*) AS n, SUM(l.quantity) AS quantity, MAX(l.price) AS price "
        "FROM lineitem AS l WHERE l.day < 2400 GROUP BY l.flag"
    ),
    "3: sums over a join": (
        "SELECT o.id, o.day, SUM(l.price * (100 - l.discount)) AS revenue FROM orders AS o "
        "JOIN lineitem AS l ON l.order_id = o.id JOIN customer AS c ON c.id = o.customer_id "
        "WHERE c.segment = 1 GROUP BY o.id, o.day"
    ),
    "6: filter": "SELECT l.id, l.price FROM lineitem AS l WHERE l.discount > 4",
    "10: join": (
        "SELECT l.id, o.day, c.name, l.price FROM lineitem AS l JOIN orders AS o ON l.order_id = o.id "
        "JOIN customer AS c ON c.id = o.customer_id"
    ),
    "13: outer join": (
        "SELECT o.id, COUNT(l.id) AS n FROM orders AS o LEFT JOIN lineitem AS l ON l.order_id = o.id "
        "AND l.price > 500 GROUP BY o.id"
    ),
    "15: latest of a key": (
        "SELECT l.part, l.id, l.price FROM lineitem AS l "
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY l.part ORDER BY l.id DESC) = 1"
    ),
    "18: many groups": "SELECT l.order_id, SUM(l.price) AS price FROM lineitem AS l GROUP BY l.order_id",
}
PERCENT = (0.01, 0.1, 1, 5, 20, 50)
LOCAL, SCATTERED = "local", "scattered"
"""Changed rows lie together, or here and there in all files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Two refreshes of one query after one change.

    `seconds`: INCREMENTAL and FULL.
    """

    query: str
    percent: float
    place: str
    seconds: tuple[float, float]
    work: Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What was measured of one query: its initialization, and the cells in the order of their measurement."""

    first: Past
    cells: Sequence[Cell]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The choice in a cell, and what both actions took in the best of its rounds."""

    cell: Cell
    choice: Choice
    best: tuple[float, float]

    @property
    def taken(self) -> float:
        """Seconds of the chosen action."""
        return self.best[self.choice.action is Action.FULL]

    @property
    def right(self) -> bool:
        """Whether the chosen action took at most a tenth longer than the better one."""
        return self.taken <= 1.1 * min(self.best)


def load(spark: SparkSession, path: str, rows: int) -> Account:
    """Returns an account with the base tables, written by plain Spark."""
    account = Account.open(path, spark, WallClock())
    tables = {
        "customer": ("id BIGINT, name STRING, segment INT", rows // 40),
        "orders": ("id BIGINT, customer_id BIGINT, day INT", rows // 4),
        "lineitem": (
            "id BIGINT, order_id BIGINT, part INT, quantity BIGINT, price BIGINT, discount BIGINT, flag INT, "
            "day INT",
            rows,
        ),
    }
    sql = {
        "name": "CONCAT('customer ', id)",
        "segment": "CAST(id % 5 AS INT)",
        "customer_id": f"(id * 31) % {rows // 40}",
        "order_id": "id DIV 4",
        "part": f"CAST((id * 17) % {max(1, rows // 30)} AS INT)",
        "quantity": "(id * 7) % 50",
        "price": "(id * 13) % 1000",
        "discount": "(id * 3) % 10",
        "flag": "CAST(id % 4 AS INT)",
        "day": f"CAST(id * 2500 DIV {rows} AS INT)",
    }
    for name, (columns, count) in tables.items():
        typed = [column.split() for column in columns.split(", ")]
        account.create_base_table(name, [(column, type_) for column, type_ in typed])
        items = ", ".join(f"{sql[column]} AS {column}" if column in sql else column for column, _ in typed)
        frame = spark.sql(f"SELECT {items} FROM RANGE(0, {count}, 1, {8 if name == 'lineitem' else 1})")
        frame.write.format("delta").mode("append").save(f"{path}/{name}")
    return account


def change_text(rows: int, percent: float, place: str, number: int) -> str:
    """Returns the statement that changes a share of the largest table."""
    changed = max(1, round(rows * percent / 100))
    if place == SCATTERED:
        return f"UPDATE lineitem SET price = price + 1 WHERE (id * 7919 + {number}) % {rows} < {changed}"
    start = (number * 7919 * 13) % (rows - changed + 1)
    return f"UPDATE lineitem SET price = price + 1 WHERE id >= {start} AND id < {start + changed}"


@dataclass(slots=True)
class Meter:
    """Refreshes tables and measures it: by the journal's times, or in seconds of CPU where there is `cpu`.

    `work`: what the last refresh had to do.
    """

    account: Account
    cpu: Callable[[], float] | None
    work: Work | None = None

    def created(self, name: str, query: str) -> Past:
        """Creates an AUTO table, and returns its initialization."""
        return self._measured(name, lambda: self.account.create_dynamic_table(name, query))

    def refreshed(self, name: str, action: Action) -> Past:
        """Refreshes an AUTO table by an action, and returns the refresh."""

        def chosen(past: Sequence[Past], work: Work) -> Choice:
            self.work = work
            return Choice(action, "to measure it")

        self.account.protocol = replace(PROTOCOL, choose=chosen)
        past = self._measured(name, lambda: self.account.refresh(name))
        if past.action is not action:
            raise SystemExit(f"error: {name} was refreshed by {past.action.value}, not {action.value}")
        return past

    def _measured(self, name: str, act: Callable[[], object]) -> Past:
        start = self.cpu() if self.cpu else 0.0
        act()
        record = self.account.describe(name).refreshes[-1]
        seconds_by_time = self.account.store.journal.poll().of(name).took
        seconds = self.cpu() - start if self.cpu else seconds_by_time[record.frontier.timestamp] / 1e6
        return Past(action=record.action, seconds=seconds, extents=record.extents)


def cpu_of(spark: SparkSession) -> Callable[[], float]:
    """Returns what tells the seconds of CPU that the JVM and this process have used."""
    handle = spark._jvm.java.lang.ProcessHandle.current()  # type: ignore[union-attr]  # noqa: SLF001

    def used() -> float:
        here = os.times()
        return float(handle.info().totalCpuDuration().get().toMillis()) / 1000 + here.user + here.system

    return used


def life_of(query: str, meter: Meter, rows: int, rounds: int, choices: random.Random) -> Life:
    """Returns what is measured of one query."""
    number = query.partition(":")[0]
    names = {action: f"q{number}_{action.value.lower()}" for action in (Action.INCREMENTAL, Action.FULL)}
    first = [meter.created(name, QUERIES[query]) for name in names.values()]
    cells: list[Cell] = []
    for _ in range(rounds):
        grid = [(percent, place) for percent in PERCENT for place in (LOCAL, SCATTERED)]
        choices.shuffle(grid)
        for percent, place in grid:
            meter.account.execute(change_text(rows, percent, place, len(cells)))
            incremental, full = (meter.refreshed(name, action) for action, name in names.items())
            assert meter.work is not None
            cell = Cell(
                query=query,
                percent=percent,
                place=place,
                seconds=(incremental.seconds, full.seconds),
                work=meter.work,
            )
            cells.append(cell)
            click.echo(_line(cell, cell.seconds), err=True)
    for name in names.values():
        meter.account.drop(name)
    return Life(first=first[1], cells=cells)


def judged(life: Life) -> Iterator[Judged]:
    """Yields the choices of a table that lives through all cells, with the past of its own choices."""
    past = [life.first]
    best: dict[tuple[float, str], tuple[float, float]] = {}
    for cell in life.cells:
        old = best.get((cell.percent, cell.place), cell.seconds)
        best[cell.percent, cell.place] = (min(old[0], cell.seconds[0]), min(old[1], cell.seconds[1]))
    for cell in life.cells:
        choice = choose(past, cell.work)
        seconds = cell.seconds[choice.action is Action.FULL]
        past.append(Past(action=choice.action, seconds=seconds, extents=cell.work.extents))
        yield Judged(cell=cell, choice=choice, best=best[cell.percent, cell.place])


def show(found: Sequence[Judged]) -> None:
    """Prints what was chosen in each cell, and the sums."""
    for each in found:
        click.echo(f"{_line(each.cell, each.best)}  {'' if each.right else 'wrong: '}{each.choice.why}")
    right = sum(each.right for each in found)
    better = sum(min(each.best) for each in found)
    lost = sum(each.taken for each in found) / better - 1
    always = [sum(each.best[place] for each in found) / better - 1 for place in (0, 1)]
    click.echo(
        f"{right} of {len(found)} choices ({right / len(found):.1%}) within a tenth of the better action; "
        f"{lost:.1%} lost in all (always INCREMENTAL: {always[0]:.0%}, always FULL: {always[1]:.0%})"
    )


def _line(cell: Cell, seconds: tuple[float, float]) -> str:
    return f"{cell.query:20} {cell.percent:5} % {cell.place:9} {seconds[0]:7.2f} {seconds[1]:7.2f} s"


def _read(document: Any) -> Life:
    def extents(data: Any) -> Extents:
        return {name: Extent(**each) for name, each in data.items()}

    def cell(data: Any) -> Cell:
        work = Work(**{**data["work"], "extents": extents(data["work"]["extents"])})
        return Cell(**{**data, "seconds": tuple(data["seconds"]), "work": work})

    first = document["first"]
    past = Past(action=Action(first["action"]), seconds=first["seconds"], extents=extents(first["extents"]))
    return Life(first=past, cells=list(map(cell, document["cells"])))


@click.command()
@click.option("--rows", default=300_000, show_default=True, help="Of the largest table.")
@click.option("--rounds", default=2, show_default=True)
@click.option("--seed", default=1, show_default=True, help="Of the order of the changes.")
@click.option("--only", default="", help="The numbers of some queries, separated by commas.")
@click.option("--cpu", is_flag=True, help="Count seconds of CPU: for a machine with other work.")
@click.option("--save", type=click.Path(path_type=Path), help="Append what was measured to a file.")
@click.option(
    "--saved", type=click.Path(path_type=Path, exists=True), help="Judge such a file; measure nothing."
)
def main(
    *, rows: int, rounds: int, seed: int, only: str, cpu: bool, save: Path | None, saved: Path | None
) -> None:
    """Measures both actions over a grid, and judges the choices between them."""
    if saved is not None:
        lines = saved.read_text(encoding="utf-8").splitlines()
        show([each for line in lines for each in judged(_read(json.loads(line)))])
        return
    numbers = [number.strip() for number in only.split(",") if number.strip()]
    kinds = {query.partition(":")[0]: query for query in QUERIES}
    unknown = [number for number in numbers if number not in kinds]
    if unknown:
        raise click.BadParameter(f"no query {unknown[0]}; there are: {', '.join(kinds)}", param_hint="--only")
    folder, choices = tempfile.mkdtemp(prefix="choice-"), random.Random(seed)
    try:
        spark = open_session()
        meter = Meter(load(spark, f"{folder}/account", rows), cpu_of(spark) if cpu else None)
        found: list[Judged] = []
        for number in numbers or kinds:
            life = life_of(kinds[number], meter, rows, rounds, choices)
            found.extend(judged(life))
            if save is not None:
                with save.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(life), default=lambda action: action.value) + "\n")
        show(found)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
