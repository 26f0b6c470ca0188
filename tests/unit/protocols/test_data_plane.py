"""Transactions in the data plane: the article's numbers, its examples, and what each clause is for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from campaign.cli import main
from campaign.faults.intents import INTENT_FAULTS
from campaign.protocols.intents import search_intents
from dvs_model.checking.check import Holds, check
from dvs_model.theory.names import Level
from protocols.data_plane.histories import history_of
from protocols.data_plane.intents import IntentRow, IntentsError, intents_of, rows_of
from protocols.data_plane.resolve import resolve
from protocols.data_plane.retire import broken_task, retirable, retired
from protocols.data_plane.serial import serial
from protocols.data_plane.workloads import BANK, article, random_intents, seahash
from tests.depth import examples


def rows(text: str) -> list[IntentRow]:
    """Reads `1 r k v` and `1 w k v`, one a line; - is NULL."""
    found = []
    for line in text.strip().splitlines():
        number, kind, key, val = line.split()
        found.append(IntentRow(int(number), kind == "r", key, None if val == "-" else val))
    return found


def test_the_articles_workload_has_the_articles_numbers() -> None:
    workload = article()
    resolved = resolve(intents_of(workload))
    gone = retirable(workload, resolved.to_rollback)
    assert (len(workload), len(resolved.to_rollback), len(resolved.store)) == (40_000, 5988, 5591)
    assert (resolved.store["k1234"], resolved.store["k5678"]) == ("943:k1234", "3841:k5678")
    assert (len(gone.failed), len(gone.committed_reads), len(gone.dead_writes)) == (23952, 8024, 1323)


def test_the_articles_bank() -> None:
    resolved = resolve(intents_of(BANK))
    assert resolved.to_rollback == {4, 8, 9}
    assert resolved.store == {"alice": "50", "bob": "100", "x": "B"}
    # "Iter 1: 8's tentative write makes 9 look fine. Iter 2: ... Iter 3: stable."
    assert resolved.rounds == 3


def test_the_articles_maintenance_leaves_the_store() -> None:
    left = retired(BANK, resolve(intents_of(BANK)).to_rollback)
    assert [(row.id, row.key, row.val) for row in left] == [
        (5, "alice", "50"),
        (5, "bob", "100"),
        (7, "x", "B"),
    ]


@pytest.mark.parametrize(
    ("data", "due"),
    [(b"to be or not to be", 1988685042348123509), (b"", 14492805990617963705)],
)
def test_seahash_of_the_rust_crate(data: bytes, due: int) -> None:
    assert seahash(data) == due


def test_random_intents_are_as_one_after_the_other_and_serializable() -> None:
    assert search_intents(seed=7, runs=300).difference is None


@pytest.mark.parametrize("name", INTENT_FAULTS)
def test_each_clause_is_needed(name: str) -> None:
    difference = search_intents(1, 200, INTENT_FAULTS[name].model).difference
    assert difference is not None
    assert len(difference.intents) <= 3


def test_a_read_of_a_rolled_back_write_is_an_aborted_read() -> None:
    difference = search_intents(1, 200, INTENT_FAULTS["intents-one-pass"].model).difference
    assert difference is not None
    assert not isinstance(difference.checked.levels[Level.PL_2], Holds)


def test_epochs_one_after_the_other_are_one_epoch() -> None:
    for seed in range(examples(50)):
        intents = random_intents(Random(seed), 20, 3)
        first = resolve(intents[:11])
        second = resolve(intents[11:], first.store)
        rejected, store = serial(intents)
        assert (first.to_rollback | second.to_rollback, second.store) == (rejected, store)


def test_retired_rows_change_no_later_result() -> None:
    for seed in range(examples(50)):
        intents = random_intents(Random(seed), 20, 3)
        old = resolve(intents[:12])
        left = intents_of(retired(rows_of(intents[:12]), old.to_rollback))
        again = resolve((*left, *intents[12:]))
        rejected, store = serial(intents)
        assert (old.to_rollback | again.to_rollback, again.store) == (rejected, store)


@pytest.mark.parametrize(
    ("text", "rolled_back"),
    [
        pytest.param("1 w a 1\n2 r a 1\n2 w a 2\n3 r a 1\n3 w a 3", {3}, id="lost update refused"),
        pytest.param("1 r a -\n1 w a 1\n2 r a -\n2 w a 2", {2}, id="two inserts of one key"),
        pytest.param("1 r a 1\n1 r a 2", {1}, id="one key read twice with two values"),
        pytest.param("1 w a -\n2 r a -", set(), id="a write of NULL is read as NULL"),
        pytest.param("1 r a -\n1 w b 1\n2 r b -\n2 w a 2", {2}, id="write skew refused"),
    ],
)
def test_small_cases(text: str, rolled_back: set[int]) -> None:
    assert resolve(intents_of(rows(text))).to_rollback == rolled_back


def test_a_history_names_rolled_back_transactions_as_aborted() -> None:
    intents = intents_of(BANK)
    history = history_of(intents, resolve(intents).to_rollback)
    assert history.transactions() == (1, 2, 3, 4, 5, 6, 7, 8, 9)
    assert isinstance(check(history).levels[Level.PL_3], Holds)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([IntentRow(1, True, "", "v")], "row 1: transaction 1 names no key"),
        ([IntentRow(0, True, "k", "v")], "row 1: the id 0 is not greater than 0"),
    ],
)
def test_rows_that_are_no_intents(bad: Sequence[IntentRow], message: str) -> None:
    with pytest.raises(IntentsError, match=message):
        intents_of(bad)


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["protocol", "data-plane", *arguments])
    return done.exit_code, done.output


def test_the_command_prints_the_articles_numbers() -> None:
    status, output = run("--workload", "article", "--json")
    assert status == 0
    document = json.loads(output)
    assert (document["to_rollback"], document["store"], document["levels"]) == (5988, 5591, ["PL-3"])


def test_the_command_finds_a_planted_mistake() -> None:
    status, output = run("--workload", "random", "--fault", "intents-one-pass", "--runs", "50")
    assert status == 1
    assert "PL-3 violated" in output


def test_the_command_reads_a_file(tmp_path: Path) -> None:
    file = tmp_path / "intents.csv"
    file.write_text("id,is_read,key,val\n1,false,a,1\n2,true,a,\n2,false,a,2\n", encoding="utf-8")
    status, output = run("--intents", str(file))
    assert status == 0
    assert "T2 rolled back: has read a = NULL; writes a = 2" in output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,key\n", "it must be"),
        ("id,is_read,key,val\n1,maybe,a,1\n", ":2: ['1', 'maybe', 'a', '1'] is no intent"),
        ("id,is_read,key,val\n1,true,,1\n", "row 1: transaction 1 names no key"),
        ("id,is_read,key,val\n", "holds no intents"),
    ],
)
def test_a_file_that_holds_no_intents(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "intents.csv"
    file.write_text(text, encoding="utf-8")
    status, output = run("--intents", str(file))
    assert status == 2
    assert message in output


def test_a_task_that_drops_a_visible_write_is_found_though_the_tasks_after_it_hide_it() -> None:
    """A dead write is one that no later row reads. The end of all tasks is the same: the reads are gone."""
    wrong = INTENT_FAULTS["read-writes-are-collected"].model
    intents = intents_of(BANK)
    resolved = resolve(intents)
    assert retired(BANK, resolved.to_rollback, wrong) == retired(BANK, resolved.to_rollback)
    assert broken_task(BANK, resolved) == ""
    assert broken_task(BANK, resolved, wrong).startswith("without the dead writes ")


@pytest.mark.parametrize("workload", ["bank", "random"])
@pytest.mark.parametrize("fault", ["read-writes-are-collected", "last-writes-are-collected"])
def test_the_command_finds_a_wrong_task(workload: str, fault: str) -> None:
    status, output = run("--workload", workload, "--fault", fault, "--runs", "50")
    assert status == 1
    assert "garbage collection" in output
