"""Histories from Python: of files and of records, judged as `dvs check` does, and asserted in tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import dvs
from campaign.cli import main
from dvs.testing import assert_isolation
from dvs_model.clients.answers import Answers
from dvs_model.formats.table import write_parquet

LOST = (
    {"transaction": 5, "kind": "r", "key": "x", "value": None},
    {"transaction": 5, "kind": "w", "key": "x", "value": 1},
    {"transaction": 7, "kind": "r", "key": "x", "value": None},
    {"transaction": 7, "kind": "w", "key": "x", "value": 2},
)
LISTS = (
    {"transaction": 1, "kind": "append", "key": "x", "value": 1, "session": 1},
    {"transaction": 2, "kind": "r", "key": "x", "value": [1], "session": 2},
    {"transaction": 2, "kind": "append", "key": "y", "value": 3, "session": 2},
)


def test_records_are_judged_as_a_file_of_them_is(tmp_path: Path) -> None:
    file = tmp_path / "h.parquet"
    pq.write_table(pa.table({name: [row[name] for row in LOST] for name in LOST[0]}), file)
    shown = CliRunner().invoke(main, ["check", "--json", str(file)])
    levels = {name: each["verdict"] for name, each in json.loads(shown.stdout)["levels"].items()}
    for read in (dvs.history(LOST), dvs.read_history(file)):
        checked = dvs.judge(read)
        assert {type(verdict) for verdict in checked.levels.values()} <= {
            dvs.Holds,
            dvs.Violated,
            dvs.Undecided,
        }
        for level, verdict in checked.levels.items():
            words = {dvs.Holds: "holds", dvs.Violated: "violated", dvs.Undecided: "unknown"}
            assert levels[level.value] == words[type(verdict)]
        assert checked.seen is not None
        assert [name for name, _, _ in checked.seen.anomalies] == ["lost update"]


def test_the_value_of_a_read_of_a_list_is_a_list() -> None:
    checked = dvs.judge(dvs.history(LISTS))
    assert isinstance(checked.levels[dvs.Level.PL_3], dvs.Holds)
    assert checked.seen is not None
    assert checked.seen.client["causal"][0] == "holds"


def test_a_level_that_is_kept_gives_the_verdicts() -> None:
    checked = assert_isolation(dvs.history(LISTS), "PL-3", "Causal")
    assert isinstance(checked.levels[dvs.Level.PL_3], dvs.Holds)


def test_a_level_that_is_violated_names_the_transactions() -> None:
    with pytest.raises(AssertionError) as raised:
        assert_isolation(dvs.history(LOST, "orders"), "read committed without sessions", "PL-SI")
    text = str(raised.value)
    assert text.startswith("orders: violated\n  PL-SI: lost update: T5 and T7 read the same version of key x")
    assert "T7 read x_of_T5 at version 0" in text


def test_what_is_unknown_is_no_pass_unless_it_may_be() -> None:
    with pytest.raises(AssertionError, match=r"records: unknown\n  PL-SI: G-SIa is unknown"):
        assert_isolation(dvs.history(LISTS), "PL-SI")
    assert_isolation(dvs.history(LISTS), "PL-SI", undecided=True)
    with pytest.raises(AssertionError, match="violated"):
        assert_isolation(dvs.history(LOST), "PL-SI", undecided=True)


def test_the_notation_is_asserted_too() -> None:
    assert_isolation(dvs.parse("w1(x1) c1 r2(x1) c2"), "PL-3")
    with pytest.raises(AssertionError, match="G1a"):
        assert_isolation(dvs.parse("w1(x1) r2(x1) a1 c2"), "PL-2")


def test_a_file_may_hold_several_histories(tmp_path: Path) -> None:
    file = tmp_path / "h.jsonl"
    file.write_text('{"text": "w1(x1) c1"}\n{"text": "w1(x1) c1 r2(x1) c2"}\n')
    assert len(list(dvs.read_histories(file))) == 2
    with pytest.raises(dvs.RequestError, match="holds several histories; read_histories yields each"):
        dvs.read_history(file)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ((), "a history of no records"),
        (({"key": 1},), "it has no column transaction; its columns are key"),
        ((1, 2), 'row 1 is 1, which is no mapping; a record is {"transaction": 1,'),
        (
            (LOST[0], {**LOST[1], "state": "aborted"}),
            "row 2: there is no column 'state'; did you mean 'status'",
        ),
        (
            ({**LOST[0], "by": "me"},),
            "row 1: there is no column 'by'; columns are history, number, transaction",
        ),
        ((LOST[1], {**LOST[3], "value": "a"}), "row 2: value is 'a', and 1 before; give it one type"),
        ((LOST[1], {**LOST[3], "key": 3}), "row 2: key is 3, and 'x' before"),
        (({**LOST[1], "key": ("a", 1)},), r"row 1: the key is \('a', 1\); a key is one text or number"),
        (({**LOST[1], "value": 2**70},), "value: .*; give it texts, or numbers of 64 bits"),
        ((LOST[0], {**LOST[1], "value": None}), "row 2: nothing is written to key x"),
        (({**LOST[1], "value": {"a": 1}},), "a cell that is no key and no value"),
        ((LOST[0], {**LOST[1], "value": [1]}), r"row 2: 'w' of a list, \[1\]; only reads give lists"),
        (
            (LISTS[0], LISTS[2], {**LISTS[0], "kind": "w", "value": 4}),
            "row 3: key x holds a single value here and a list in row 1",
        ),
        (({**LISTS[0], "value": (1,)},), r"row 1: 'append' of a list, \(1,\)"),
    ],
)
def test_records_that_are_no_history(records: tuple[dict[str, object], ...], message: str) -> None:
    with pytest.raises((dvs.HistoryError, dvs.RequestError), match=message):
        dvs.history(records)


def test_a_table_of_this_program_is_records_too(tmp_path: Path) -> None:
    file = tmp_path / "h.parquet"
    write_parquet(file, [dvs.history(LOST)])
    again = dvs.judge(dvs.history(pq.read_table(file).to_pylist()))
    assert again.levels.keys() == dvs.judge(dvs.history(LOST)).levels.keys()


def test_what_is_no_history_is_not_judged() -> None:
    with pytest.raises(dvs.RequestError, match=r"'w1\(x1\) c1' is no history; parse\(text\)"):
        dvs.judge("w1(x1) c1")  # type: ignore[arg-type]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    file = tmp_path / "h.adya"
    file.write_text("nothing of the kind")
    with pytest.raises(dvs.HistoryError, match=rf"line 1, column 1: 'nothing' is neither .*\({file}\)"):
        dvs.read_history(file)
    with pytest.raises(dvs.RequestError, match=r"cannot read .*: No such file"):
        dvs.read_history(tmp_path / "none")
    with pytest.raises(dvs.RequestError, match="there is no format 'nope'; take one of jsonl"):
        dvs.read_history(file, form="nope")
    with pytest.raises(dvs.RequestError, match="there is no level 'PL-9'; take one of PL-1"):
        assert_isolation(dvs.parse("w1(x1) c1"), "PL-9")
    with pytest.raises(
        dvs.RequestError, match=r"^the history has version orders .* such as causal is for what"
    ):
        assert_isolation(dvs.parse("w1(x1) c1"), "causal")
    with pytest.raises(dvs.RequestError, match="no level is named"):
        assert_isolation(dvs.parse("w1(x1) c1"))


def test_a_file_of_the_user_that_hides_another_package_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "reports.py").write_text("raise SystemExit(9)")
    script = tmp_path / "mine.py"
    script.write_text(
        "import dvs, dvs.testing\n"
        "dvs.testing.assert_isolation(dvs.parse('w1(x1) c1'), 'PL-3')\n"
        "dvs.check(dvs.parse('w1(x1) c1'))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


STALE = (
    {"transaction": 1, "kind": "w", "key": "x", "value": 1, "began": 1, "ended": 2},
    {"transaction": 2, "kind": "r", "key": "x", "value": None, "began": 3, "ended": 4},
)
"""T2 began when T1 was over, and has not seen it."""


def test_real_time_alone_violates_strict_levels_where_sessions_are_not_known() -> None:
    asked = dvs.CheckOptions(clients=("strict serializable", "strict causal"))
    checked = dvs.judge(dvs.history(STALE), asked)
    assert checked.seen is not None
    assert checked.seen.client["strict serializable"][0] == "violated"
    assert checked.seen.client["strict causal"][0] == "violated"
    assert checked.seen.client["serializable"][0] == "unknown"
    # Nothing contradicts real time here, but a session may.
    fresh = dvs.judge(dvs.history([STALE[0], {**STALE[1], "value": 1}]), asked)
    assert fresh.seen is not None
    assert fresh.seen.client["strict serializable"][0] == "unknown"


@pytest.mark.parametrize(
    ("records", "fact"),
    [
        ([{**STALE[0], "value": "\ud800"}], "value: a text is no Unicode"),
        ([LISTS[0], {**LISTS[1], "value": [1, "2"]}], "row 2: list is '2', and 1 before; give it one type"),
    ],
)
def test_records_that_no_table_can_hold_are_refused(records: list[dict[str, object]], fact: str) -> None:
    with pytest.raises(dvs.RequestError, match=fact):
        dvs.history(records)


@pytest.mark.parametrize("name", ["serializable without sessions", "strict serializable"])
def test_no_order_is_searched_for_where_that_of_the_records_explains_them(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = {} if name.endswith("sessions") else {"session": "a"}
    records = [
        {"transaction": n, "kind": kind, "key": "x", "value": value, "began": 2 * n, "ended": 2 * n + 1}
        for n in range(1, 9)
        for kind, value in (("r", n - 1 or None), ("w", n))
    ]
    monkeypatch.setattr(Answers, "ordered", lambda *_: pytest.fail("an order is searched for"))
    checked = dvs.judge(
        dvs.history({**each, **session} for each in records), dvs.CheckOptions(clients=(name,))
    )
    assert checked.seen is not None
    assert checked.seen.client[name] == ("holds", "")
