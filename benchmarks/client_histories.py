"""How fast `dvs check` is on large files, each run in a process of its own.

    python -m benchmarks.client_histories appends --transactions 100000 --stale 0.001
    python -m benchmarks.client_histories registers --transactions 100000 --operations 10
    python -m benchmarks.client_histories derivations --count 100000 --depth 50
    python -m benchmarks.client_histories ring --transactions 10000
    python -m benchmarks.client_histories parquet --transactions 10000000 --memory 2
    python -m benchmarks.client_histories recorded --transactions 1000000 --stale 0.001 --starts

Prints seconds from start to end of the process, those of the processor, and its peak memory. Figures of
other checkers for such files are in docs/results.md.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from benchmarks.registers import write_registers


@click.group()
def main() -> None:
    """Benchmarks of histories that clients recorded."""


@main.command()
@click.option("--transactions", default=100_000, show_default=True)
@click.option("--stale", default=0.0, show_default=True, help="Share of transactions that read an old list.")
def appends(transactions: int, stale: float) -> None:
    """Jepsen's list-append as EDN: 20 processes, 1 to 4 operations, five keys at a time."""

    def write(path: Path) -> None:
        choose, lists, lines = random.Random(7), dict[int, list[int]](), list[str]()
        for number in range(transactions):
            requests, done = [], []
            old = choose.random() < stale
            for _ in range(choose.randint(1, 4)):
                key = number // 400 * 5 + choose.randrange(5)
                elements = lists.setdefault(key, [])
                if choose.random() < 0.5:
                    elements.append(len(elements) + 1)
                    requests.append(f"[:append {key} {len(elements)}]")
                    done.append(requests[-1])
                else:
                    shown = elements[: len(elements) // 2] if old else elements
                    requests.append(f"[:r {key} nil]")
                    done.append(f"[:r {key} [{' '.join(map(str, shown))}]]")
            for kind, ops in (("invoke", requests), ("ok", done)):
                lines.append(
                    f"{{:type :{kind}, :f :txn, :value [{' '.join(ops)}], :process {number % 20}, "
                    f":index {len(lines)}, :time {len(lines)}}}"
                )
        path.write_text("\n".join(lines) + "\n")

    _measure(f"{transactions:,} transactions of list-append, {stale:.2%} stale", "history.edn", write)


@main.command()
@click.option("--transactions", default=100_000, show_default=True)
@click.option("--operations", default=10, show_default=True)
@click.option(
    "--stale", default=0, show_default=True, help="Reads that show the version before the last one."
)
def registers(transactions: int, operations: int, stale: int) -> None:
    """Plume's text: 20 sessions that read and write registers, serializable but for stale reads."""

    def write(path: Path) -> None:
        choose, state, value = random.Random(3), dict[int, int](), 0
        older, left, every = dict[int, int](), stale, transactions // (stale + 1)
        with path.open("w") as file:
            for number in range(1, transactions + 1):
                mine: dict[int, int] = {}
                for _ in range(operations):
                    key = choose.randrange(max(1, transactions // 2))
                    if key in mine:
                        continue
                    if choose.random() < 0.5:
                        value += 1
                        mine[key] = value
                        file.write(f"w({key},{value},{number % 20},{number})\n")
                    elif left and key in older and number > every * (stale - left + 1):
                        left -= 1
                        file.write(f"r({key},{older[key]},{number % 20},{number})\n")
                    else:
                        file.write(f"r({key},{state.get(key, 0)},{number % 20},{number})\n")
                older |= {key: state[key] for key in mine if key in state}
                state |= mine

    what = f"{transactions:,} transactions of {operations} operations on registers, {stale} stale reads"
    _measure(what, "history.txt", write)


@main.command()
@click.option("--transactions", default=1_000_000, show_default=True)
@click.option("--operations", default=10, show_default=True)
@click.option("--memory", default=0.5, show_default=True, help="As for `dvs check`, in GB.")
def parquet(transactions: int, operations: int, memory: float) -> None:
    """Registers as in `registers`, in a table of somebody else, with less memory than the table needs."""
    what = f"{transactions:,} transactions of {operations} operations in Parquet, --memory {memory:g}"

    def write(path: Path) -> None:
        write_registers(path, transactions, operations)

    _measure(what, "history.parquet", write, "--memory", f"{memory:g}")


@main.command()
@click.option("--count", default=100_000, show_default=True)
@click.option("--depth", default=50, show_default=True)
def derivations(count: int, depth: int) -> None:
    """Refreshes of 20 chains of dynamic tables out of step with each other, and readers of two of them."""

    def write(path: Path) -> None:
        choose, newest, events = random.Random(5), dict[str, int](), list[str]()
        for chain in range(20):
            newest[f"b_{chain}"] = chain + 1
            events.append(f"w{chain + 1}(b_{chain}_{chain + 1}) c{chain + 1}")
        txn = 21
        for _ in range(count):
            chain, step = choose.randrange(20), choose.randrange(depth)
            below = f"d_{chain}_{step - 1}" if step else f"b_{chain}"
            below = below if below in newest else f"b_{chain}"
            other = f"b_{choose.randrange(20)}"
            sources = ", ".join(f"{obj}_{newest[obj]}" for obj in sorted({below, other}))
            newest[f"d_{chain}_{step}"] = txn
            events.append(f"d{txn}(d_{chain}_{step}_{txn} | {sources}) c{txn}")
            txn += 1
            if choose.random() < 0.1:
                newest[other] = txn
                events.append(f"w{txn}({other}_{txn}) c{txn}")
                txn += 1
            if choose.random() < 0.05:
                read = choose.sample(sorted(newest), 2)
                events.append(" ".join(f"r{txn}({obj}_{newest[obj]})" for obj in read) + f" c{txn}")
                txn += 1
        path.write_text(" ".join(events))

    _measure(f"{count:,} derivations of depth {depth}", "history.adya", write)


@main.command()
@click.option("--transactions", default=10_000, show_default=True)
def ring(transactions: int) -> None:
    """One component without a short cycle: each transaction reads what the one before appends to."""

    def write(path: Path) -> None:
        lines: list[str] = []
        for kind in ("invoke", "ok"):
            for number in range(transactions):
                shown = "nil" if kind == "invoke" else "[]"
                ops = f"[[:r {number} {shown}] [:append {(number + 1) % transactions} 1]]"
                lines.append(f"{{:type :{kind}, :process {number}, :value {ops}, :index {len(lines)}}}")
        path.write_text("\n".join(lines) + "\n")

    _measure(f"one component of {transactions:,} transactions", "history.edn", write)


@main.command()
@click.option("--transactions", default=1_000_000, show_default=True)
@click.option("--stale", default=0.0, show_default=True, help="Share of reads of the version before.")
@click.option("--starts", is_flag=True, help="Give every transaction a start event.")
@click.option("--notation", is_flag=True, help="As text in the notation, not as events in JSON lines.")
def recorded(transactions: int, stale: float, starts: bool, notation: bool) -> None:
    """Writes and reads of 20,000 objects with the order of versions, as a database records them itself."""

    def write(path: Path) -> None:
        choose = random.Random(11)
        events = list(_recorded(choose, transactions, stale, starts))
        if notation:
            texts = (f"{each[0]}{each[1]}{f'({each[2]})' if len(each) > 2 else ''}" for each in events)
            path.write_text(" ".join(texts))
        else:
            path.write_text(json.dumps({"name": "recorded", "events": events}) + "\n")

    what = f"{transactions:,} transactions with versions, {stale:.2%} stale reads"
    _measure(what, "history.adya" if notation else "history.jsonl", write)


def _recorded(choose: random.Random, transactions: int, stale: float, starts: bool) -> Iterator[list[object]]:
    """Yields the events of transactions of one to four reads and writes, one after the other."""
    newest: dict[int, list[int]] = {}
    for txn in range(1, transactions + 1):
        if starts:
            yield ["s", txn]
        written: set[int] = set()
        for _ in range(choose.randint(1, 4)):
            obj = choose.randrange(20_000)
            versions = newest.setdefault(obj, [])
            if obj in written:
                continue
            if choose.random() < 0.5:
                written.add(obj)
                yield ["w", txn, f"k{obj}_{txn}"]
            elif versions:
                yield ["r", txn, f"k{obj}_{versions[0 if choose.random() < stale else -1]}"]
        for obj in written:
            newest[obj] = [*newest[obj][-1:], txn]
        yield ["c", txn]


def _measure(what: str, name: str, write: Callable[[Path], None], *options: str) -> None:
    """Writes a file, runs `dvs check` on it in a process of its own, and prints what that took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        command = [sys.executable, "-m", "dvs", "check", "--json", *options, str(path)]
        start = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
        seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak, cpu = used.ru_maxrss / 2**20, used.ru_utime + used.ru_stime
    size = len(done.stdout) / 2**20
    click.echo(
        f"{what}: {seconds:.1f} s, {cpu:.1f} s of CPU, peak {peak:.1f} GiB, {size:.1f} MiB of JSON, "
        f"exit {done.returncode}"
    )


if __name__ == "__main__":
    main()
