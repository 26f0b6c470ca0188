"""The smallest part of a history of clients: it is wrong in the same way, and nothing can be taken away."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from dvs_model.clients.judge import judge
from dvs_model.errors import HistoryError
from dvs_model.formats import awdit, cobra, dbcop, elle, plume, table
from dvs_model.formats.reader import Form, Viewed
from dvs_model.formats.written.registry import WRITERS
from dvs_model.observed.client import Client
from dvs_model.observed.seen import Kind, Observed, Op, Records, Status, Transaction
from dvs_model.observed.smallest import smallest
from tests.truth.test_client_levels import lists, registers, timed

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
    for _ in range(400):
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
    assert met > 10
    assert smaller > 3


NUMBERS = {"x": "1", "y": "2"}


UNSTAMPED = [form for form in WRITERS if form is not Form.TIMEKILLER]
"""TimeKiller's JSON has the database's timestamps."""


@pytest.mark.parametrize("form", UNSTAMPED)
def test_what_is_written_is_read_again(form: Form, tmp_path: Path) -> None:
    random = Random(89)
    for _ in range(100):
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
