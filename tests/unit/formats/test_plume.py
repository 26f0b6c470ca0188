"""Large files of Plume, read at once: what is read, and what is wrong, is as if read line by line."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from dvs_model.checking.check import Violated
from dvs_model.clients.judge import judge
from dvs_model.columns.table import Rows
from dvs_model.errors import HistoryError
from dvs_model.formats.plume import LARGE_FILE, observed_in, quick
from dvs_model.theory.names import Level
from tests.depth import examples

COUNT = examples(400)


def text(random: Random) -> str:
    """Returns a file of sessions, some transactions aborted, sometimes with one that writes all keys."""
    lines = []
    if random.random() < 0.3:
        lines += [f"w({key},{random.choice([0, 90 + key])},0,0)" for key in range(random.randint(2, 3))]
    blocks = []
    for txn in range(random.randint(0, 1), random.randint(2, 6)):
        session = random.choice([0, 1, 1, 20])
        number = random.choice([txn, txn, txn, -1])
        values = [random.choice([0, txn * 10 + at]) for at in range(random.randint(1, 3))]
        keys = [random.choice([0, 1, 2, 10**12]) for _ in values]
        blocks.append(
            [
                f"{random.choice('rw')}({key},{value},{session},{number})"
                for key, value in zip(keys, values, strict=True)
            ]
        )
    random.shuffle(blocks)
    lines += [line for block in blocks for line in block]
    if random.random() < 0.2:
        random.shuffle(lines)
    return "\n".join(lines) + random.choice(["\n", ""])


def damaged(random: Random, whole: str) -> str:
    """Returns a file with one character more, less or another one."""
    at = random.randrange(len(whole))
    put = random.choice(["", "(", ")", ",", "-", "+", " ", "0", "r", "\n", "x", "\r\n", "9" * 20, '"'])
    return whole[:at] + put + whole[at + random.randint(0, 1) :]


def read(data: str, large: int) -> object:
    try:
        found = observed_in(data.encode(), "h", large)
    except HistoryError as error:
        return str(error)
    return list(found.transactions), found.records, found.notes


def test_a_file_is_read_as_line_by_line() -> None:
    random, met = Random(5), Counter[bool]()
    for _ in range(COUNT):
        data = text(random)
        due = read(data, len(data) + 1)
        assert read(data, 0) == due, data
        met[isinstance(due, str)] += 1
    assert min(met[True], met[False]) > 20, met


def test_what_is_wrong_is_said_as_line_by_line() -> None:
    random, refused = Random(6), 0
    for _ in range(COUNT):
        data = damaged(random, text(random))
        due = read(data, len(data) + 1)
        assert read(data, 0) == due, data
        refused += isinstance(due, str)
    assert refused > COUNT // 4


@pytest.mark.parametrize(
    "line",
    [
        "r(1,2(3,4)",
        "r(01,2,3,4)",
        "r(+1,2,3,4)",
        "r(1,2,3,4) ",
        "x(1,2,3,4)",
        "r(1,2,3,-2)",
        "r(1,2,3)",
        "r(-5,2,3,4)",
    ],
)
def test_a_line_of_another_form_is_not_read_at_once(line: str) -> None:
    assert quick(f"w(1,5,3,7)\n{line}\n".encode()) is None
    assert quick(f"{line}\nw(1,5,3,7)".encode()) is None


@pytest.mark.parametrize("value", [2**61, 2**63 - 1])
def test_values_and_numbers_of_any_size_are_judged(value: int) -> None:
    lines = [f"w(1,{value},1,1)", "w(2,5,1,1)", f"r(1,{value},2,2)", "r(2,0,2,2)"]
    for large in (0, 1000):
        checked = judge(observed_in("\n".join(lines).encode(), "h", large))
        assert isinstance(checked.levels[Level.PL_2_PLUS], Violated)
    numbers = [f"w(1,5,1,{value})", "w(1,6,1,-1)", "r(1,6,2,2)", f"w(1,7,3,{2**63 - 2})"]
    for large in (0, 1000):
        checked = judge(observed_in("\n".join(numbers).encode(), "h", large))
        assert isinstance(checked.levels[Level.PL_2], Violated)


def test_a_large_file_of_blank_lines_has_no_operation() -> None:
    with pytest.raises(HistoryError, match="there is no operation in it"):
        observed_in(b"\n" * LARGE_FILE, "h")


def test_a_large_file_is_read_at_once() -> None:
    lines = [f"w({n},{n + 1},0,{n + 1})" for n in range(LARGE_FILE // 12)]
    found = observed_in("\n".join(lines).encode(), "h")
    assert isinstance(found.transactions, Rows)
    assert found.transactions[5].place == "session 0, line 6"
