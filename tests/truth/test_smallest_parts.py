"""The smallest part of a history of clients: it is wrong in the same way, and nothing can be taken away."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from dvs_model.checking.smallest import smallest
from dvs_model.clients.judge import judge
from dvs_model.errors import HistoryError
from dvs_model.formats import awdit, cobra, dbcop, elle, plume, table
from dvs_model.formats.reader import Form, Viewed
from dvs_model.formats.written.registry import WRITERS
from dvs_model.observed.client import Client
from dvs_model.observed.seen import Kind, Observed, Op, Records, Status, Transaction, Window
from tests.depth import examples
from tests.truth.test_client_levels import lists, registers, timed

pytestmark = pytest.mark.slow

READERS = {
    Form.EDN: elle.read_edn,
    Form.ELLE_JSON: elle.read_json,
    Form.PLUME: plume.read,
    Form.AWDIT: awdit.read,
    Form.HIST: dbcop.read_hist,
    Form.BINCODE: dbcop.read_bincode,
    Form.DBCOP_JSON: dbcop.read_json,
    Form.PARQUET: table.read,
}
NUMBERED = {Form.PLUME, Form.AWDIT, Form.BINCODE, Form.DBCOP_JSON, Form.COBRA}
"""Formats whose keys are numbers."""


def violates(observed: Observed, level: Client) -> bool:
    seen = judge(observed).seen
    assert seen is not None
    return seen.client[level.value][0] == "violated"


def read_back(observed: Observed, form: Form, folder: Path) -> Observed:
    """Returns a history that was written and read again."""
    written = WRITERS[form].write(observed)
    if isinstance(written, bytes):
        (item,) = READERS[form](io.BytesIO(written), "h", None)
    else:
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for name, data in written.items():
            (folder / name).write_bytes(data)
        (item,) = cobra.read(folder, "h")
    assert isinstance(item, Viewed), item
    assert item.form is form
    return item.observed


def alone(random: Random) -> Observed:
    """A history of lists in which no client begins before it has ended."""
    observed = lists(random)
    for each in observed.transactions:
        each.session = str(each.number)
    return observed


@pytest.mark.parametrize("level", [Client.CAUSAL, Client.SERIALIZABLE])
@pytest.mark.parametrize("draw", [registers, alone])
def test_a_part_is_wrong_and_smallest_and_is_read_again(
    draw: Callable[[Random], Observed], level: Client, tmp_path: Path
) -> None:
    random, met, smaller = Random(83), 0, 0
    for _ in range(examples(50)):
        observed = draw(random)
        if not violates(observed, level):
            continue
        met += 1
        part = smallest(observed, [], lambda some: violates(some, level))
        assert violates(part, level)
        assert smallest(part, [], lambda some: violates(some, level)) == part, "nothing more can go"
        smaller += len(part.transactions) < len(observed.transactions)
        for form in (Form.EDN, Form.ELLE_JSON, Form.PARQUET):
            assert violates(read_back(part, form, tmp_path), level)
    assert met > 5
    assert smaller > 3


NUMBERS = {"x": "1", "y": "2"}


UNSTAMPED = [form for form in WRITERS if form is not Form.TIMEKILLER]
"""TimeKiller's JSON has the database's timestamps."""


@pytest.mark.parametrize("form", UNSTAMPED)
def test_what_is_written_is_read_again(form: Form, tmp_path: Path) -> None:
    random = Random(89)
    for _ in range(examples(50)):
        observed = timed(registers(random), random)
        for each in observed.transactions:
            keys = [NUMBERS[op.key] if form in NUMBERED else op.key for op in each.ops]
            # Of Cobra the values are unique in the whole file.
            each.ops = [
                op._replace(key=key, value=apart(op.value, key) if form is Form.COBRA else op.value)
                for op, key in zip(each.ops, keys, strict=True)
            ]
            if form is Form.AWDIT:
                each.status = Status.COMMITTED
            elif form in NUMBERED | {Form.HIST} and each.status is Status.UNKNOWN:
                each.status = Status.ABORTED
        again = read_back(observed, form, tmp_path / "logs")
        assert shown(again, form) == shown(observed, form)


def apart(value: object, key: str) -> object:
    return value if value is None else int(f"{key}{value}")


def shown(observed: Observed, form: Form) -> list[str]:
    """The operations of each session, as far as a format has them, in words."""
    initial = {(op.key, op.value) for op in first(observed)} if form is Form.AWDIT else set()
    zero = form in (Form.PLUME, Form.BINCODE)
    words = []
    for mine in observed.by_session().values():
        ops = [
            # A text as a key stands in quotes, where a file has numbers as keys, too.
            f"{each.status.value} {op.kind.value} {op.key.strip(chr(34))} "
            f"{None if is_initial(op, initial, zero) else op.value}"
            for each in mine
            for op in each.ops
            # Of what was aborted, Plume keeps the writes alone.
            if form is not Form.PLUME or each.status is Status.COMMITTED or op.kind is Kind.WRITE
        ]
        if ops and not (form is Form.AWDIT and mine[0].ops == first(observed)):
            words.append("; ".join(ops))
    return sorted(words)


def is_initial(op: Op, initial: set[tuple[str, object]], zero: bool) -> bool:
    return op.kind is Kind.READ and ((op.key, op.value) in initial or (zero and op.value == 0))


def first(observed: Observed) -> list[Op]:
    """The writes of what was there before the run, as AWDIT has them: 0, or another value nobody wrote."""
    ops = list(observed.transactions[0].ops)
    return ops if all(op.kind is Kind.WRITE and op.value == 0 for op in ops) else []


def written_alone(*ops: Op) -> Observed:
    """One transaction."""
    return Observed("", [Transaction(1, "1", Status.COMMITTED, ops, "line 1")], Records(aborts=True))


@pytest.mark.parametrize(
    "key", ["a,b", "k;2", "2024-01-01", "k@1", "#x", "1.50", "x", '"x"', "[1 2]", "x y", ":k"]
)
def test_a_key_of_another_format_is_a_text_in_edn(key: str, tmp_path: Path) -> None:
    observed = written_alone(Op(Kind.WRITE, key, 1), Op(Kind.WRITE, f"{key}!", 2))
    again = read_back(observed, Form.EDN, tmp_path)
    [first, second] = again.transactions[0].ops
    assert first.key in (key, json.dumps(key))
    assert second.key in (f"{key}!", json.dumps(f"{key}!"))


@pytest.mark.parametrize(
    ("form", "keys"),
    [
        (Form.HIST, ("1", "k1")),
        (Form.PLUME, ("7", "07")),
        (Form.BINCODE, ("7", "07")),
        (Form.DBCOP_JSON, ("7", "07")),
        (Form.ELLE_JSON, ("x", '"x"')),
        (Form.HIST, ("a-b", "c")),
        (Form.ELLE_JSON, (":x", "1")),
    ],
)
def test_keys_that_a_format_cannot_hold_apart_are_refused(form: Form, keys: tuple[str, str]) -> None:
    with pytest.raises(HistoryError, match=r"write \.edn"):
        WRITERS[form].write(written_alone(Op(Kind.WRITE, keys[0], 5), Op(Kind.WRITE, keys[1], 6)))


def test_write_ids_of_cobra_are_unique() -> None:
    with pytest.raises(HistoryError, match="unique"):
        WRITERS[Form.COBRA].write(written_alone(Op(Kind.WRITE, "1", 5), Op(Kind.WRITE, "2", 5)))


def test_what_was_there_before_is_no_value_that_somebody_read(tmp_path: Path) -> None:
    observed = written_alone(Op(Kind.READ, "1", None), Op(Kind.READ, "2", 0), Op(Kind.READ, "1", 0))
    again = read_back(observed, Form.AWDIT, tmp_path)
    assert sorted(each[0] for each in judge(again).seen.anomalies) == [  # type: ignore[union-attr]
        "non-repeatable read",
        "unwritten value read",
        "unwritten value read",
    ]


def test_what_ends_when_another_one_begins_is_not_over_before(tmp_path: Path) -> None:
    write = Transaction(1, "1", Status.COMMITTED, [Op(Kind.WRITE, "1", 1)], "", Window(0, 5))
    read = Transaction(2, "2", Status.COMMITTED, [Op(Kind.READ, "1", None)], "", Window(5, 10))
    mine = Transaction(3, "1", Status.COMMITTED, [Op(Kind.READ, "1", 1)], "", Window(5, 5))
    observed = Observed("", [write, read, mine], Records(aborts=True, real_time=True))
    again = read_back(observed, Form.EDN, tmp_path)
    windows = [each.window for each in again.transactions]
    assert windows == [(0, 2), (1, 5), (3, 4)]


def test_an_aborted_transaction_stays_aborted(tmp_path: Path) -> None:
    wrote = Transaction(1, "1", Status.ABORTED, [Op(Kind.WRITE, "5", 1)], "line 1")
    saw = Transaction(2, "2", Status.COMMITTED, [Op(Kind.READ, "5", 1)], "line 2")
    observed = Observed("", [wrote, saw], Records(aborts=True))
    part = smallest(observed, [2], lambda some: violates(some, Client.READ_COMMITTED))
    assert [each.number for each in part.transactions] == [1, 2]
    for form in set(UNSTAMPED) - {Form.AWDIT}:
        assert violates(read_back(part, form, tmp_path / "logs"), Client.READ_COMMITTED)
    with pytest.raises(HistoryError, match="committed transactions alone"):
        WRITERS[Form.AWDIT].write(part)
