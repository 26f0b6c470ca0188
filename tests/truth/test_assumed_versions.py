"""What a user assumes of the versions of registers: dependencies with the name of the assumption."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from campaign.cli import main
from dvs_model.analysis.verdict import Present
from dvs_model.checking.check import Violated
from dvs_model.clients.judge import judge
from dvs_model.observed.seen import Assumption, Kind, Observed, Op, Records, Status, Transaction, Window
from dvs_model.theory.names import Level, Phenomenon
from tests.depth import examples

R, W = Kind.READ, Kind.WRITE
ALL = tuple(each.value for each in Assumption)
SEEDS = examples(300)


Rows = Sequence[tuple[str, Sequence[tuple[Kind, str, int | None]]]]


def observed(rows: Rows, *assumed: str) -> Observed:
    """Returns transactions one after the other, each with its session and its operations."""
    transactions = [
        Transaction(
            number,
            session,
            Status.COMMITTED,
            [Op(*op) for op in ops],
            f"line {number}",
            Window(2 * number, 2 * number + 1),
        )
        for number, (session, ops) in enumerate(rows, 1)
    ]
    return Observed("h", transactions, Records(aborts=True, real_time=True, assumed=assumed))


CASES: Mapping[str, Rows] = {
    # T2 has overwritten what it has read; T3 has seen T2's other write, and not that one.
    "writes-follow-reads": [
        ("a", [(W, "x", 1)]),
        ("b", [(R, "x", 1), (W, "x", 2), (W, "y", 3)]),
        ("c", [(R, "y", 3), (R, "x", 1)]),
    ],
    "sessions": [
        ("a", [(W, "x", 1)]),
        ("a", [(W, "x", 2), (W, "y", 3)]),
        ("c", [(R, "y", 3), (R, "x", 1)]),
    ],
    "real-time": [
        ("a", [(W, "x", 1)]),
        ("b", [(W, "x", 2), (W, "y", 3)]),
        ("c", [(R, "y", 3), (R, "x", 1)]),
    ],
}


@pytest.mark.parametrize("assumption", CASES)
def test_an_assumption_shows_what_is_open_without_it(assumption: str) -> None:
    rows = CASES[assumption]
    single = Phenomenon.G_SINGLE
    assert not isinstance(judge(observed(rows)).phenomena[single], Present)
    found = judge(observed(rows, assumption))
    assert isinstance(found.phenomena[single], Present)
    assert found.seen is not None
    words = {"writes-follow-reads": "writes follow reads", "sessions": "the order of sessions"}
    assert f"as assumed: {words.get(assumption, 'real time')}" in found.seen.rules.values()


def test_assumptions_in_a_circle_are_cyclic_versions() -> None:
    rows: Rows = [("a", [(R, "x", 2), (W, "x", 1)]), ("b", [(R, "x", 1), (W, "x", 2)])]
    found = judge(observed(rows, "writes-follow-reads"))
    assert found.seen is not None
    name, txns, text = next(each for each in found.seen.anomalies if each[0] == "cyclic versions")
    assert (name, set(txns)) == ("cyclic versions", {1, 2})
    assert "(writes follow reads)" in text
    assert isinstance(found.levels[Level.PL_1], Violated)


def test_of_one_after_the_other_no_assumption_violates_anything() -> None:
    random = Random(7)
    for _ in range(SEEDS):
        state: dict[str, int | None] = {}
        rows = []
        for number in range(1, random.randint(3, 9)):
            ops: list[tuple[Kind, str, int | None]] = []
            for at, key in enumerate(random.sample("xyz", random.randint(1, 3))):
                if random.random() < 0.6:
                    ops.append((R, key, state.get(key)))
                if random.random() < 0.6:
                    state[key] = 10 * number + at
                    ops.append((W, key, state[key]))
            rows.append((random.choice("abc"), ops))
        found = judge(observed(rows, *ALL))
        assert not any(isinstance(verdict, Violated) for verdict in found.levels.values()), rows
        assert found.seen is not None
        assert found.seen.client == (judge(observed(rows)).seen or found.seen).client


def test_assumptions_are_an_option(tmp_path: Path) -> None:
    file = tmp_path / "h.txt"
    file.write_text("w(1,1,0,1)\nr(1,1,1,2)\nw(1,2,1,2)\nw(2,3,1,2)\nr(2,3,2,3)\nr(1,1,2,3)\n")
    found = CliRunner().invoke(main, ["check", "--json", "--assume", "writes-follow-reads", str(file)])
    assert json.loads(found.stdout)["phenomena"]["G-single"]["verdict"] == "present"
    table = tmp_path / "h.parquet"
    CliRunner().invoke(main, ["convert", "--to", "parquet", "--out", str(table), str(file)])
    options = ["--memory", "0.0000001", "--assume", "sessions"]
    refused = CliRunner().invoke(main, ["check", *options, str(table)])
    assert (refused.exit_code, "--assume" in refused.stderr) == (2, True)
    plain = CliRunner().invoke(main, ["check", "--json", str(file)])
    assert json.loads(plain.stdout)["phenomena"]["G-single"]["verdict"] == "unknown"
