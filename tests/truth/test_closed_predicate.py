"""Files of the closed-predicate workload against the histories that made them.

A random execution chooses of each key the version that a read selects. The file has what the read shows; the
notation has the choice. What is found in the file must be so in the execution; what the file leaves open is
unknown.
"""

from __future__ import annotations

import io
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from dvs_model.analysis.verdict import Absent, Present, Unknown
from dvs_model.checking.check import Violated, check, with_unselected
from dvs_model.formats.elle import read_edn
from dvs_model.formats.reader import Parsed
from dvs_model.graph.reading import Predicates, Reading
from dvs_model.judging.options import CheckOptions
from dvs_model.notation import parse
from dvs_model.theory.names import Level, Phenomenon
from tests.depth import examples

COUNT = examples(600)
PARTS = 4
COMPARED = (
    Phenomenon.G0,
    Phenomenon.G1A,
    Phenomenon.G1B,
    Phenomenon.G1C,
    Phenomenon.G_SINGLE,
    Phenomenon.G2_ITEM,
    Phenomenon.G2,
    Phenomenon.G_UPDATE,
    Phenomenon.G1_PREDA,
    Phenomenon.G1_PREDB,
)
PREDICATES: dict[str, Callable[[int], bool]] = {
    "[:= 0]": lambda value: value == 0,
    "[:mod 2 1]": lambda value: value % 2 == 1,
    ":true": lambda value: True,
}


@dataclass
class Execution:
    """An execution that is made up, as a file and in the notation.

    `versions`: by key its versions, each with its name in the notation and its value; None: no value.
    """

    choose: random.Random
    versions: dict[str, list[tuple[str, int | None]]] = field(default_factory=dict)
    orders: dict[str, list[str]] = field(default_factory=dict)
    own: dict[tuple[int, str], tuple[str, int | None]] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    lines: dict[int, list[str]] = field(default_factory=dict)
    file: list[str] = field(default_factory=list)
    hidden: list[tuple[str, str]] = field(default_factory=list)
    next: Counter[str] = field(default_factory=Counter)

    def run(self, transactions: int) -> None:
        keys = ["a", "b", "c"][: self.choose.randint(1, 3)]
        initial = {key: self.choose.randint(0, 1) for key in keys if self.choose.random() < 0.7}
        for key in keys:
            self.versions[key] = [(f"{key}0", initial[key])] if key in initial else [(f"{key}_init", None)]
            self.orders[key] = [f"{key}0"] if key in initial else []
        self.events += [f"w0({key}0)" for key in keys if key in initial] + ["c0"]
        rows = " ".join(f":{key} {value}" for key, value in initial.items())
        self.file.append(f"{{:type :ok, :process 0, :f :init, :value {{{rows}}}}}")
        work = [n for n in range(1, transactions + 1) for _ in range(self.choose.randint(1, 3))]
        self.choose.shuffle(work)
        left = Counter(work)
        for n in work:
            self.operation(n, self.choose.choice(keys))
            left[n] -= 1
            if not left[n]:
                self.commit(n)

    def operation(self, n: int, key: str) -> None:
        kind = self.choose.choice(["write", "write", "delete", "read", "by", "by"])
        if kind in ("write", "delete"):
            value = None
            if kind == "write":
                self.next[key] += 1
                value = 1 + self.next[key]
            number = 1 + sum(name.startswith(f"{key}{n}.") for name, _ in self.versions[key])
            made = (f"{key}{n}.{number}", value)
            self.versions[key].append(made)
            self.own[n, key] = made
            self.events.append(f"w{n}({made[0]})")
            self.line(n, f"[:delete :{key}]" if value is None else f"[:w :{key} {value}]")
        elif kind == "read":
            name, value = self.selected(n, key)
            self.line(n, f"[:r :{key} {'nil' if value is None else value}]")
            self.events.append(f"r{n}({name})" if value is not None else f"r{n}(there{key}: {name})")
            if value is None and (n, key) not in self.own:
                self.hidden.append((key, name))
        else:
            text = self.choose.choice(list(PREDICATES))
            chosen = {each: self.selected(n, each) for each in self.versions}
            shown = {k: (name, v) for k, (name, v) in chosen.items() if v is not None and PREDICATES[text](v)}
            self.line(n, f"[:rp {text} {{{' '.join(f':{k} {v}' for k, (_, v) in shown.items())}}}]")
            place = list(PREDICATES).index(text)
            self.events.append(f"r{n}(P{place}: {', '.join(name for name, _ in chosen.values())})")
            self.events += [f"r{n}({name})" for name, _ in shown.values()]
            self.hidden += [
                (k, name) for k, (name, _) in chosen.items() if k not in shown and (n, k) not in self.own
            ]

    def selected(self, n: int, key: str) -> tuple[str, int | None]:
        if (n, key) in self.own:
            return self.own[n, key]
        # Mostly the newest one, so that not every execution is full of cycles.
        return (
            self.versions[key][-1] if self.choose.random() < 0.6 else self.choose.choice(self.versions[key])
        )

    def line(self, n: int, text: str) -> None:
        self.lines.setdefault(n, []).append(text)

    def commit(self, n: int) -> None:
        self.file.append(f"{{:type :ok, :process {n}, :f :txn, :value [{' '.join(self.lines[n])}]}}")
        self.events.append(f"c{n}")
        for key in self.versions:
            if (n, key) in self.own:
                self.orders[key].append(self.own[n, key][0])

    def traceless(self) -> bool:
        """Whether something was selected and not shown that its own transaction has replaced."""
        return any(name not in self.orders[key] and not name.endswith("init") for key, name in self.hidden)

    def notation(self) -> str:
        clauses = [" << ".join(order) for order in self.orders.values() if len(order) > 1]
        every = [(key, name, value) for key, made in self.versions.items() for name, value in made]
        there = [(key, name, value) for key, name, value in every if value is not None]
        matches = [
            f"[P{place} matches {', '.join(name for _, name, value in there if test(value))}]"
            for place, test in enumerate(PREDICATES.values())
        ]
        matches += [
            f"[there{key} matches {', '.join(name for k, name, _ in there if k == key)}]"
            for key in self.versions
        ]
        orders = [f"[{', '.join(clauses)}]"] if clauses else []
        return "\n".join([" ".join(self.events), *orders, *matches])


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_found_in_a_file_is_so_in_the_execution(part: int) -> None:
    decided: Counter[type] = Counter()
    traceless = 0
    for seed in range(part, COUNT, PARTS):
        execution = Execution(random.Random(seed))
        execution.run(2 + seed % 3)
        if execution.traceless():
            traceless += 1
            continue
        truth = parse(execution.notation())
        [item] = read_edn(io.BytesIO("\n".join(execution.file).encode()), "h.edn")
        assert isinstance(item, Parsed), (seed, item)
        assert not item.unexplained, (seed, item.unexplained)
        for reading in (Reading(), Reading(predicates=Predicates.THESIS)):
            checked = check(item.history, reading)
            if item.unselected is not None:
                checked = with_unselected(checked, item.unselected)
            expected = check(truth, reading).phenomena
            for phenomenon in COMPARED:
                found = checked.phenomena[phenomenon]
                decided[type(found)] += 1
                if not isinstance(found, Unknown):
                    where = f"seed {seed}, {phenomenon.value}, {reading}\n{execution.notation()}"
                    assert type(found) is type(expected[phenomenon]), where
    assert traceless < COUNT / PARTS / 3
    assert decided[Absent] > decided[Present] > 0
    assert 0 < decided[Unknown] < 0.5 * decided.total()


def test_the_smallest_part_of_a_file_shows_the_same() -> None:
    """What is written is read again, and violates the level by the same transactions."""
    options, met, smaller = CheckOptions((Level.PL_3,)), 0, 0
    for seed in range(examples(150)):
        execution = Execution(random.Random(seed))
        execution.run(3 + seed % 4)
        [item] = read_edn(io.BytesIO("\n".join(execution.file).encode()), "h.edn")
        assert isinstance(item, Parsed)
        assert item.pieces is not None
        checked = options.judge(item)
        if not isinstance(checked.levels[Level.PL_3], Violated):
            continue
        met += 1
        places = options.fewest(item.pieces, checked)
        smaller += len(places) < item.pieces.count
        data = item.pieces.written(places)
        # Commas are blanks.
        kept = [execution.file[place].replace(",", "") for place in places]
        assert data.decode().replace(",", "").splitlines() == kept
        [again] = read_edn(io.BytesIO(data), "h.edn")
        assert isinstance(again, Parsed)
        assert isinstance(options.judge(again).levels[Level.PL_3], Violated), data.decode()
    assert met > 15
    assert smaller > 5
