"""The scheduler on ten thousand tables: `python -m benchmarks.schedule --tables 10000 --days 2`.

Prints how long a simulation took, how many refreshes it scheduled, and how long one look at all tables takes,
which is what a process that keeps an account fresh pays.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter

from benchmarks.simulation import Ran, Simulation, World
from dynamic_tables.schedule.due import due
from dynamic_tables.schedule.graph import Graph, Scheduled
from dynamic_tables.schedule.lag import SECOND
from dynamic_tables.schedule.timetable import Rhythm, timetable

DAY = 86_400 * SECOND
LAGS = (None, 300, 600, 3_600, 3_600, 7_200, 14_400, 86_400)
"""Target lags in seconds, as an account of many pipelines has them; None for DOWNSTREAM."""


def account(count: int) -> Graph:
    """Returns tables that read up to two of the twenty before them; every tenth begins a pipeline."""
    draw = random.Random(1)
    tables = []
    for number in range(count):
        near = (
            [f"t{draw.randrange(max(0, number - 20), number)}" for _ in range(draw.randrange(3))]
            if number
            else []
        )
        lag = draw.choice(LAGS)
        above = tuple(dict.fromkeys(near)) if number % 10 else ()
        tables.append(Scheduled(f"t{number}", above, None if lag is None else lag * SECOND))
    return Graph.of(tables)


def main() -> None:
    """Runs the simulation and prints its figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tables", type=int, default=10_000)
    options.add_argument("--days", type=float, default=2.0)
    chosen = options.parse_args()
    start = time.perf_counter()
    graph = account(chosen.tables)
    durations = dict.fromkeys(graph.tables, SECOND)
    table = timetable(graph, Rhythm(), None, durations)
    print(f"timetable of {chosen.tables} tables: {time.perf_counter() - start:.2f} s")
    counts: Counter[str] = Counter()

    def observe(ran: Ran) -> None:
        counts["refreshes"] += 1
        lag = table.lags[ran.table]
        counts["late"] += ran.peak_lag is not None and lag is not None and ran.peak_lag >= lag

    start = time.perf_counter()
    simulation = Simulation(table, World(duration=lambda name, before, at: SECOND), observe)
    simulation.run(round(chosen.days * DAY))
    seconds = time.perf_counter() - start
    print(
        f"{chosen.days:g} days: {counts['refreshes']} refreshes in {seconds:.1f} s, "
        f"{counts['late']} of them past the target lag (chains that are too long for it)"
    )
    start = time.perf_counter()
    due(table, simulation.states, simulation.now)
    print(f"one look at all tables: {time.perf_counter() - start:.3f} s")


if __name__ == "__main__":
    main()
