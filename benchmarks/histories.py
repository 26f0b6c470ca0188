"""How fast `dvs check` is: many small histories in one call, and one large one with derivations.

    python -m benchmarks.histories small --count 20000
    python -m benchmarks.histories large --transactions 100000 --skew 0.01

Prints seconds per stage and figures per second. `--skew`: the share of readers that read two dynamic tables
at different data timestamps, which ties knots into the graph.
"""

from __future__ import annotations

import io
import json
import random
import time
from collections.abc import Iterator

import click

from dvs_model.checking.check import check
from dvs_model.formats import jsonl
from dvs_model.formats.reader import Parsed
from dvs_model.notation import parse, render
from generators.histories import SMALL, history_at
from reports.history.json_object import as_object


@click.group()
def main() -> None:
    """Benchmarks of history analysis."""


@main.command()
@click.option("--count", default=20_000, show_default=True)
def small(count: int) -> None:
    """Small histories through the reader, all detectors and the JSON report."""
    lines = [json.dumps({"text": render(history_at(1, SMALL, n % 2000))}) for n in range(count)]
    data = io.BytesIO("\n".join(lines).encode())
    start = time.perf_counter()
    written = 0
    for item in jsonl.read(data, "benchmark"):
        assert isinstance(item, Parsed)
        written += len(json.dumps(as_object(check(item.history))))
    seconds = time.perf_counter() - start
    click.echo(f"{count} histories in {seconds:.1f} s: {60 * count / seconds:,.0f} a minute")


@main.command()
@click.option("--transactions", default=100_000, show_default=True)
@click.option("--skew", default=0.0, show_default=True)
@click.option("--tables", default=50, show_default=True)
@click.option("--starts", is_flag=True, help="Give every transaction a start event.")
def large(transactions: int, skew: float, tables: int, starts: bool) -> None:
    """One history: base commits, refreshes of dynamic tables in a DAG, readers."""
    text = " ".join(events(random.Random(1), transactions, skew, tables, starts))
    start = time.perf_counter()
    history = parse(text)
    parsed = time.perf_counter()
    checked = check(history)
    done = time.perf_counter()
    click.echo(
        f"{transactions:,} transactions, {len(history.events):,} events, "
        f"{len(checked.analysis.facts.sources):,} derivations, {len(checked.analysis.graph.tails):,} arcs: "
        f"read {parsed - start:.1f} s, checked {done - parsed:.1f} s; "
        f"strongest: {', '.join(level.value for level in checked.strongest)}"
    )
    for phenomenon, finding in checked.phenomena.items():
        click.echo(
            f"  {phenomenon.value}: {type(finding).__name__} {getattr(finding, 'reason', '')}".rstrip()
        )


def events(
    choose: random.Random, transactions: int, skew: float, tables: int, starts: bool = False
) -> Iterator[str]:
    """Yields half commits, a quarter refreshes (some over another dynamic table), a quarter readers."""
    base = dict.fromkeys(range(tables), 0)
    stored: dict[int, int] = {}
    upper: dict[int, int] = {}
    for txn in range(1, transactions + 1):
        if starts:
            yield f"s{txn}"
        kind = choose.random()
        if kind < 0.5 or (kind >= 0.65 and len(stored) < 2):
            for table in choose.sample(range(tables), 2):
                base[table] = txn
                yield f"w{txn}(r{table}_{txn})"
        elif kind < 0.65:
            table = choose.randrange(tables)
            other = (table + 1) % tables
            yield f"d{txn}(d{table}_{txn} | r{table}_{base[table]}, r{other}_{base[other]})"
            stored[table] = txn
        elif kind < 0.75:
            table = choose.choice(list(stored))
            yield f"d{txn}(e{table}_{txn} | d{table}_{stored[table]})"
            upper[table] = txn
        elif choose.random() < skew and len(upper) > 1:
            for table in choose.sample(list(upper), 2):
                yield f"r{txn}(e{table}_{upper[table]})"
        else:
            table = choose.choice(list(stored))
            yield f"r{txn}(d{table}_{stored[table]})"
        yield f"c{txn}"


if __name__ == "__main__":
    main()
