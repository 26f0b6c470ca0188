"""How soon `dvs dbt` finds each kind of mistake of examples/dbt_shop.

    python -m benchmarks.dbt_mistakes [KIND ...]

Each kind of change is searched in a run of its own over the whole project, in one process of dbt that starts
and reads the project anew; differences are made small. Printed by kind: the source rows of the largest
reproduction, seconds of CPU and of the wall, and the models that differ.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import click

from campaign.dbt.kinds import ChangeKind
from campaign.dbt.process import Target
from campaign.dbt.search import Limits, search

ROOT = Path(__file__).resolve().parents[1]
SHOP = ROOT / "examples" / "dbt_shop"
LIMITS = Limits(seed=1, trials=5, rounds=3, budget=3600.0, workers=1)

SOUND = (ChangeKind.FAILED_RUN, ChangeKind.TWO_RUNS)
"""On DuckDB a model is one transaction and one process writes: no model of the project is wrong there."""


@click.command()
@click.argument("kinds", nargs=-1, type=click.Choice([kind.value for kind in ChangeKind]))
@click.option("--dbt-python", default=str(ROOT / ".venv" / "dbt" / "bin" / "python"), show_default=True)
def main(kinds: tuple[str, ...], dbt_python: str) -> None:
    """Prints a line for each kind, then how many were found and the most that one took."""
    chosen = [kind for kind in ChangeKind if kind.value in kinds or (not kinds and kind not in SOUND)]
    target, most_rows, longest, missed = Target(SHOP, dbt_python), 0, 0.0, []
    for kind in chosen:
        before, start = processors_s(), time.monotonic()
        result = search(target, LIMITS, schema=SHOP / "schema.sql", kinds=(kind,))
        used, wall = processors_s() - before, time.monotonic() - start
        smallest = {id_: cells[kind].smallest for id_, cells in result.answers.items()}
        rows = {id_: found.trial.source_rows for id_, found in smallest.items() if found is not None}
        names = ", ".join(result.facts.project.models[id_].name for id_ in rows) or "nothing"
        most = max(rows.values(), default=0)
        print(f"{kind.value}: {most} rows, {used:.0f} s of CPU, {wall:.0f} s: {names}", flush=True)
        most_rows, longest = max(most_rows, most), max(longest, used)
        missed += [] if rows else [kind.value]
    text = f"{len(chosen) - len(missed)} of {len(chosen)} kinds found"
    text += f" (missed: {', '.join(missed)})" if missed else ""
    print(f"{text}, each within {longest:.0f} s of CPU, by reproductions of at most {most_rows} source rows")


def processors_s() -> float:
    """Returns the seconds of the processors that this process and those that it waited for have used."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


if __name__ == "__main__":
    main()
