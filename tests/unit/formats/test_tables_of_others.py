"""Parquet with operations: of somebody else, in any order of rows, and larger than memory."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dvs_model.checking.check import Checked, Holds, Violated
from dvs_model.clients.judge import judge
from dvs_model.columns.shares import Listed
from dvs_model.columns.table import Rows
from dvs_model.errors import HistoryError
from dvs_model.formats import table
from dvs_model.formats.elle import read_edn
from dvs_model.formats.plume import observed_in
from dvs_model.formats.reader import Item, Refused, Viewed
from dvs_model.observed.seen import Kind, Observed, Status, Window
from dvs_model.theory.names import Level

LOST_UPDATE: Mapping[str, Sequence[object]] = {
    "transaction": [5, 5, 7, 7],
    "kind": ["r", "w", "r", "w"],
    "key": ["x", "x", "x", "x"],
    "value": [None, 1, None, 2],
}


def observed(columns: Mapping[str, Sequence[object]], path: Path, memory: int | None = None) -> Observed:
    """Returns the history in a table."""
    pq.write_table(pa.table(dict(columns)), path)
    item = read(path, memory)
    if isinstance(item, Refused):
        raise item.error
    assert isinstance(item, Viewed), item
    return item.observed


def read(path: Path, memory: int | None = None) -> Item:
    folder = path.parent / "shares"
    folder.mkdir(exist_ok=True)
    with path.open("rb") as file:
        (item,) = table.read(file, "h", None, folder=folder, memory=memory)
    return item


def anomalies(checked: Checked) -> list[str]:
    assert checked.seen is not None
    return [name for name, _, _ in checked.seen.anomalies]


def test_other_columns_of_a_table_say_nothing(tmp_path: Path) -> None:
    more: dict[str, Sequence[object]] = {"writer": ["me"] * 4, "start_stamp": ["now"] * 4, "event": [1.5] * 4}
    found = observed({**LOST_UPDATE, **more}, tmp_path / "h.parquet")
    assert found.transactions == observed(LOST_UPDATE, tmp_path / "h.parquet").transactions


def test_four_columns_are_enough(tmp_path: Path) -> None:
    found = observed(LOST_UPDATE, tmp_path / "h.parquet")
    assert [each.number for each in found.transactions] == [5, 7]
    assert found.transactions[1].place == "row 3"
    assert not found.records.sessions
    assert not found.records.real_time
    checked = judge(found)
    assert anomalies(checked) == ["lost update"]
    # Without sessions it cannot be said to hold, but what is violated without them is with them.
    assert checked.seen is not None
    assert checked.seen.client["serializable"][0] == "violated"
    assert checked.seen.client["causal"][0] == "unknown"


def test_other_columns_say_more(tmp_path: Path) -> None:
    more: dict[str, Sequence[object]] = {
        "session": ["a", "a", "b", "b"],
        "status": ["committed", "committed", "aborted", "aborted"],
        "began": [1.0, 1.0, 2.0, 2.0],
        "ended": [4.0, 4.0, None, None],
    }
    found = observed({**LOST_UPDATE, **more}, tmp_path / "h.parquet")
    assert [(t.session, t.status) for t in found.transactions] == [
        ("a", Status.COMMITTED),
        ("b", Status.ABORTED),
    ]
    assert [t.window for t in found.transactions] == [Window(1, 4), Window(2, float("inf"))]
    assert found.records.aborts
    assert found.records.real_time
    assert anomalies(judge(found)) == []


def test_lists_are_read_with_their_elements(tmp_path: Path) -> None:
    columns: dict[str, Sequence[object]] = {
        "transaction": [1, 2, 3],
        "kind": ["append", "append", "r"],
        "key": [7, 7, 7],
        "value": [1, 2, None],
        "list": [None, None, [2, 1]],
    }
    found = observed(columns, tmp_path / "h.parquet")
    assert found.records.lists
    assert [op.kind for op in found.transactions[2].ops] == [Kind.READ_LIST]
    assert found.transactions[2].ops[0].value == (2, 1)
    assert found.transactions[2].ops[0].key == "7"


def test_rows_of_a_transaction_may_stand_apart(tmp_path: Path) -> None:
    mixed = {name: [values[at] for at in (0, 2, 1, 3)] for name, values in LOST_UPDATE.items()}
    found = observed(mixed, tmp_path / "h.parquet")
    assert list(found.transactions) == list(found.transactions)
    assert [[op.value for op in each.ops] for each in found.transactions] == [[None, 1], [None, 2]]
    item = read(tmp_path / "h.parquet", memory=1)
    assert isinstance(item, Refused)
    assert "the rows of transaction 5 stand apart, from row 1 and from row 3 on" in item.error.fact


@pytest.mark.parametrize(
    ("column", "values", "fact"),
    [
        ("kind", ["r", "w", "read", "w"], "'read' is not a kind; it is one of w, append, r, r list"),
        ("kind", ["r", "w", "r", "?"], "'?' is not a kind"),
        ("key", ["x", None, "x", "x"], "an operation has no key"),
        ("transaction", [5, None, 7, 7], "a transaction is a whole number in each row"),
        ("transaction", ["5", "5", "7", "7"], "a transaction is a whole number in each row"),
        ("status", ["committed", "ok", "ok", "ok"], "'ok' is not a status; it is one of committed"),
    ],
)
@pytest.mark.parametrize("memory", [None, 1])
def test_cells_that_are_none_are_refused(
    column: str, values: Sequence[object], fact: str, memory: int | None, tmp_path: Path
) -> None:
    columns = {**LOST_UPDATE, column: values}
    if column == "status":
        columns["transaction"] = [1, 2, 3, 4]
    pq.write_table(pa.table(columns), tmp_path / "h.parquet")
    item = read(tmp_path / "h.parquet", memory)
    assert isinstance(item, Refused)
    assert fact in item.error.fact


def test_a_table_without_a_needed_column_is_refused(tmp_path: Path) -> None:
    columns = {name: values for name, values in LOST_UPDATE.items() if name != "key"}
    pq.write_table(pa.table(columns), tmp_path / "h.parquet")
    item = read(tmp_path / "h.parquet")
    assert isinstance(item, Refused)
    assert item.error.fact == (
        "no table of operations: it has no column key; its columns are transaction, kind, value"
    )


def plume(seed: int) -> Observed:
    random, state, lines = Random(seed), dict[int, int](), list[str]()
    for txn in range(1, 60):
        stale = dict(state) if random.random() < 0.9 else {}
        for at, key in enumerate(random.sample(range(12), random.randint(1, 4))):
            if random.random() < 0.5:
                state[key] = txn * 10 + at
                lines.append(f"w({key},{state[key]},{txn % 5},{txn})")
            else:
                lines.append(f"r({key},{stale.get(key, 0)},{txn % 5},{txn})")
    return observed_in("\n".join(lines).encode(), "h", 0)


def appends(seed: int) -> Observed:
    random, state, lines = Random(seed), dict[int, list[int]](), list[str]()
    for number in range(50):
        asked, done = [], []
        for key in random.sample(range(6), random.randint(1, 3)):
            held = state.setdefault(key, [])
            if random.random() < 0.5:
                held.append(number)
                asked.append(f"[:append {key} {number}]")
                done.append(asked[-1])
            else:
                shown = held[: len(held) - (random.random() < 0.2)]
                asked.append(f"[:r {key} nil]")
                done.append(f"[:r {key} [{' '.join(map(str, shown))}]]")
        for kind, ops in (("invoke", asked), (random.choice(["ok", "ok", "ok", "info"]), done)):
            lines.append(f"{{:type :{kind}, :process {number}, :value [{' '.join(ops)}]}}")
    (item,) = read_edn(io.BytesIO("\n".join(lines).encode()), "h")
    assert isinstance(item, Viewed)
    return item.observed


@pytest.mark.parametrize("made", [plume, appends])
def test_what_is_larger_than_memory_is_judged_the_same(made: object, tmp_path: Path) -> None:
    assert callable(made)
    violated = 0
    for seed in range(12):
        due = made(seed)
        path = tmp_path / "h.parquet"
        table.write_parquet(path, [Viewed(due, 1)])
        found = read(path, memory=20_000)
        assert isinstance(found, Viewed)
        assert isinstance(found.observed.transactions, Listed)
        at_once = read(path)
        assert isinstance(at_once, Viewed)
        assert isinstance(at_once.observed.transactions, Rows)
        verdicts = [_plain(judge(each)) for each in (due, at_once.observed, found.observed)]
        assert verdicts[0] == verdicts[1] == verdicts[2]
        violated += "violated" in verdicts[0].values()
    assert violated > 3


def _plain(checked: Checked) -> dict[str, object]:
    """Returns what is said of a history beside places, and beside which of several keys is named."""
    assert checked.seen is not None
    kinds = {p.value: type(verdict).__name__ for p, verdict in checked.phenomena.items()}
    levels = {level.value: type(verdict).__name__ for level, verdict in checked.levels.items()}
    clients = {name: verdict for name, (verdict, _) in checked.seen.client.items()}
    named = sorted((name, txns) for name, txns, _ in checked.seen.anomalies)
    return {**kinds, **levels, **clients, "anomalies": named, "notes": checked.seen.notes}


SKEW: Mapping[str, Sequence[object]] = {
    "transaction": [1, 1, 2, 2],
    "session": ["a", "a", "b", "b"],
    "kind": ["w", "w", "r", "r"],
    "key": ["x", "y", "x", "y"],
    "value": [1, 2, 1, None],
}
"""T2 reads one of T1's two writes."""

WAYS = (None, 1)
"""As a whole, and in shares."""


@pytest.mark.parametrize("memory", WAYS)
@pytest.mark.parametrize(
    "columns",
    [
        {**SKEW, "transaction": [0, 0, 1, 1]},
        {**SKEW, "transaction": [1, 1, 0, 0]},
        {**SKEW, "transaction": [-1, -1, -2, -2]},
        {**SKEW, "value": [-(2**62), 2, -(2**62), None]},
        {**SKEW, "value": [-(2**63), 2**63 - 1, -(2**63), None]},
        {**SKEW, "value": ["'a", "a", "'a", None]},
        {**SKEW, "list": [[7], None, None, None]},
        {name: values for name, values in SKEW.items() if name != "session"},
    ],
)
def test_read_skew_is_seen_in_numbers_of_any_kind(
    columns: Mapping[str, Sequence[object]], memory: int | None, tmp_path: Path
) -> None:
    checked = judge(observed(columns, tmp_path / "h.parquet", memory))
    assert "read skew" in anomalies(checked)
    assert isinstance(checked.levels[Level.PL_3], Violated)


@pytest.mark.parametrize("memory", WAYS)
@pytest.mark.parametrize(
    ("columns", "fact"),
    [
        ({**SKEW, "session": [None, None, "b", "b"]}, "a row has no session; leave the column out"),
        ({**SKEW, "session": ["a", "b", "b", "b"]}, "transaction 1 has the session b here, and a"),
        (
            {**SKEW, "status": ["committed", "aborted", "committed", "committed"]},
            "has the status aborted here",
        ),
        (
            {**SKEW, "began": [1, 1, 10, 10], "ended": [2, 2, 1, 1]},
            "row 3: transaction 2 ends before it begins",
        ),
        ({**SKEW, "kind": ["w", None, "r", "r"]}, "a row has a key and no kind"),
        (
            {**SKEW, "began": [None, None, 3, 3], "ended": [2, 2, 4, 4]},
            "row 1: transaction 1 has an end (ended), and no beginning (began)",
        ),
        (
            {**SKEW, "began": pa.array([1, 1, 3, 3]).cast(pa.timestamp("us")), "ended": [2, 2, 4, 4]},
            "began holds timestamp[us], and ended int64; give both one type",
        ),
    ],
)
def test_rows_that_contradict_each_other_are_refused(
    columns: Mapping[str, Sequence[object]], fact: str, memory: int | None, tmp_path: Path
) -> None:
    pq.write_table(pa.table(dict(columns)), tmp_path / "h.parquet")
    item = read(tmp_path / "h.parquet", memory)
    assert isinstance(item, Refused)
    assert fact in item.error.fact


APPENDS: Mapping[str, Sequence[object]] = {
    "transaction": [1, 2, 3],
    "kind": ["append", "append", "r"],
    "key": ["x"] * 3,
    "value": [1, 2, None],
    "list": [None, None, [1, 2]],
}


@pytest.mark.parametrize("memory", WAYS)
@pytest.mark.parametrize(
    ("columns", "fact"),
    [
        (
            {**APPENDS, "value": [1, 2, 1], "list": [None] * 3},
            "row 3: key x holds a single value here and a list in row 1",
        ),
        (
            {**APPENDS, "value": [1, None, None]},
            "row 2: nothing is written to key x, and nothing is what was",
        ),
        ({**LOST_UPDATE, "value": [None, 1, None, None]}, "row 4: nothing is written to key x"),
        (
            {**APPENDS, "kind": ["append", "w", "r"]},
            "row 2: key x holds a single value here and a list in row 1",
        ),
        ({**APPENDS, "kind": ["w", "w", "r"]}, "row 3: key x holds a list here and a single value in row 1"),
    ],
)
def test_operations_that_no_history_has_are_refused_with_their_row(
    columns: Mapping[str, Sequence[object]], fact: str, memory: int | None, tmp_path: Path
) -> None:
    # Of what lies in shares, the operations are read when they are judged.
    with pytest.raises(HistoryError, match=fact):
        judge(observed(columns, tmp_path / "h.parquet", memory))


@pytest.mark.parametrize("memory", WAYS)
def test_texts_of_others_are_what_they_are(memory: int | None, tmp_path: Path) -> None:
    values = ["a", "'a", '"a', "true", "-0", "0"]
    columns: dict[str, Sequence[object]] = {
        "transaction": [1] * 6,
        "kind": ["w"] * 6,
        "key": ["x"] * 6,
        "value": values,
    }
    checked = judge(observed(columns, tmp_path / "h.parquet", memory))
    assert checked.seen is not None
    assert checked.seen.size["events"] == 6


@pytest.mark.parametrize("memory", WAYS)
def test_a_table_without_sessions_whose_rows_need_more_than_a_look(
    memory: int | None, tmp_path: Path
) -> None:
    columns: dict[str, Sequence[object]] = {
        "transaction": [1, 2, 3, 3],
        "kind": ["w", "w", "r", "r"],
        "key": ["a", "b", "y", "y"],
        "value": [1, 1, 9, 8],
    }
    assert "non-repeatable read" in anomalies(judge(observed(columns, tmp_path / "h.parquet", memory)))
    if memory is None:
        apart = {name: [values[at] for at in (2, 0, 1, 3)] for name, values in columns.items()}
        found = observed(apart, tmp_path / "h.parquet")
        assert [(each.number, each.session) for each in found.transactions] == [(3, "0"), (1, "1"), (2, "2")]
        assert "non-repeatable read" in anomalies(judge(found))


@pytest.mark.parametrize("memory", WAYS)
@pytest.mark.parametrize("unit", [10**18, 1])
def test_moments_may_be_nanoseconds(unit: int, memory: int | None, tmp_path: Path) -> None:
    at = [17 * unit // 10 + 1, 17 * unit // 10 + 1, 17 * unit // 10 + 3, 17 * unit // 10 + 3]
    moments = {"began": pa.array(at), "ended": pa.array([each + 1 for each in at])}
    if unit > 1:
        moments = {name: column.cast(pa.timestamp("ns")) for name, column in moments.items()}
    pq.write_table(pa.table({**SKEW, **moments}), tmp_path / "h.parquet")
    item = read(tmp_path / "h.parquet", memory)
    assert isinstance(item, Viewed)
    assert [each.window for each in item.observed.transactions] == [Window(0, 1), Window(2, 3)]


@pytest.mark.parametrize("memory", WAYS)
@pytest.mark.parametrize(
    ("began", "ended"),
    [
        (pa.array([1.0, 1.0, 3.0, 3.0]), pa.array([2, 2, 4, 4])),
        (pa.array([1, 1, 3, 3]), pa.array([2.0, 2.0, 4.0, 4.0])),
        (
            pa.array([1000, 1000, 3000, 3000]).cast(pa.timestamp("us")),
            pa.array([2, 2, 4, 4]).cast(pa.timestamp("ms")),
        ),
        (
            # The year 9999, where nanoseconds of 64 bits have ended.
            pa.array([1000, 1000, 3000, 3000]).cast(pa.timestamp("us")),
            pa.array([2000, 2000, *[253_402_214_400_000_000] * 2]).cast(pa.timestamp("us")),
        ),
    ],
)
def test_moments_of_two_types_lie_on_one_clock(
    began: pa.Array, ended: pa.Array, memory: int | None, tmp_path: Path
) -> None:
    pq.write_table(pa.table({**SKEW, "began": began, "ended": ended}), tmp_path / "h.parquet")
    item = read(tmp_path / "h.parquet", memory)
    assert isinstance(item, Viewed)
    first, second = (each.window for each in item.observed.transactions)
    assert first is not None
    assert second is not None
    assert first.begin < first.end < second.begin < second.end


LATE: Mapping[str, Sequence[object]] = {
    "transaction": [1, 2, 3],
    "session": ["a", "a", "b"],
    "status": ["indeterminate", "committed", "committed"],
    "kind": ["w", "r", "r"],
    "key": ["x", "x", "x"],
    "value": [1, None, 1],
}
"""T1 got no answer, its client looks and finds nothing, and later somebody reads what T1 wrote."""


@pytest.mark.parametrize("memory", WAYS)
@pytest.mark.parametrize("ended", [2, None])
def test_what_got_no_answer_may_take_effect_after_its_client_has_given_up(
    ended: int | None, memory: int | None, tmp_path: Path
) -> None:
    found = observed({**LATE, "began": [1, 3, 5], "ended": [ended, 4, 6]}, tmp_path / "h.parquet", memory)
    assert next(iter(found.transactions)).window == Window(0, float("inf"))
    assert [each.session for each in found.transactions] == ["a", "a, life 2", "b"]
    levels = judge(found).levels
    assert {type(levels[level]) for level in (Level.PL_SS, Level.SESSION_3)} == {Holds}


@pytest.mark.parametrize("memory", WAYS)
def test_each_transaction_without_an_answer_ends_a_session(memory: int | None, tmp_path: Path) -> None:
    columns: dict[str, Sequence[object]] = {
        "transaction": list(range(1, 8)),
        "session": ["b", "a", "b", "a", "b", "a", "a"],
        "status": ["committed", "indeterminate", "indeterminate", "indeterminate", *["committed"] * 3],
        "kind": ["w"] * 7,
        "key": ["x"] * 7,
        "value": list(range(7)),
    }
    found = observed(columns, tmp_path / "h.parquet", memory)
    due = ["b", "a", "b", "a, life 2", "b, life 2", "a, life 3", "a, life 3"]
    assert [each.session for each in found.transactions] == due
    if memory is None:
        # Its rows may stand around those of others.
        apart = {name: [*values, values[1]] for name, values in columns.items()}
        apart["value"] = [*columns["value"], 9]
        assert [each.session for each in observed(apart, tmp_path / "h.parquet").transactions] == due


@pytest.mark.parametrize("memory", WAYS)
def test_a_list_that_is_missing_shows_nothing(memory: int | None, tmp_path: Path) -> None:
    columns: dict[str, Sequence[object]] = {
        "transaction": [1, 2, 2],
        "kind": ["append", "r list", "r list"],
        "key": ["x", "x", "y"],
        "value": [1, None, None],
    }
    assert isinstance(judge(observed(columns, tmp_path / "h.parquet", memory)).levels[Level.PL_3], Holds)


def test_orders_that_a_file_states_are_kept_however_large_it_is(tmp_path: Path) -> None:
    text = b"w(1,1,1,1)\nw(1,2,1,2)\n"
    stated = observed_in(text, "h", 0)
    stated.follows = [(2, 1)]
    table.write_parquet(tmp_path / "h.parquet", [Viewed(stated, 1)])
    for memory in WAYS:
        item = read(tmp_path / "h.parquet", memory)
        assert isinstance(item, Viewed)
        assert item.observed.follows == [(2, 1)]
