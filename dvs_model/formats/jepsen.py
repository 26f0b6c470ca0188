"""Operations of Jepsen's files: EDN in any layout, `history.txt`, and elle-cli's JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from dvs_model.errors import HistoryError
from dvs_model.formats.edn import SIMPLE, Pairs, forms, operations_of, shown, simple_lines
from dvs_model.formats.reader import json_value
from dvs_model.observed.seen import Status
from dvs_model.observed.values import Text

TYPES = {":invoke": None, ":ok": Status.COMMITTED, ":fail": Status.ABORTED, ":info": Status.UNKNOWN}
"""Type of an operation -> the status of its transaction; of an invocation there is none yet."""
NO_PROCESS = object()
"""Instead of the process of an operation that names none."""


@dataclass(slots=True)
class Operation:
    """One operation map. `at`: its place in the order of events. `where`: its place in the file, in words."""

    type: str
    process: object
    f: object
    value: object
    time: object
    line: int
    at: int = 0
    where: str = ""

    @property
    def place(self) -> str:
        """The place of the operation in the file, in words."""
        return self.where or f"line {self.line}"


def edn_operations(text: str) -> list[Operation]:
    """Returns the operations of EDN in any layout, or of `history.txt`. Raises HistoryError."""
    # Not splitlines, which also cuts at form feeds and the like, which an error may hold.
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    first = next((line for line in lines if line.strip()), "")
    if "\t" in first and first.split("\t")[1:2] and first.split("\t")[1].startswith(":"):
        return [_tabbed(line, number) for number, line in enumerate(lines, 1) if line.strip()]
    maps = _by_line(lines)
    if maps is None:
        maps = operations_of(text)
    return _numbered([_operation(form, line) for form, line in maps])


def _by_line(lines: list[str]) -> list[tuple[object, int]] | None:
    """Returns the maps of a file with one map a line; None: it is laid out otherwise."""
    full = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    if not all(line[0] in "{#" and line[-1] == "}" for _, line in full):
        return None
    simple = full if _all_simple(full) else [each for each in full if SIMPLE.fullmatch(each[1])]
    quick = simple_lines([line for _, line in simple])
    if quick is None:
        return None
    if simple is full:
        return [(form, number) for (number, _), form in zip(full, quick, strict=True)]
    found: dict[int, object] = {number: form for (number, _), form in zip(simple, quick, strict=True)}
    for number, line in full:
        if number not in found:
            try:
                inner = list(forms(line))
            except HistoryError:
                # A form may go over several lines.
                return None
            if len(inner) != 1:
                return None
            found[number] = inner[0][0]
    return [(found[number], number) for number, _ in full]


def _all_simple(lines: Sequence[tuple[int, str]]) -> bool:
    """Tells whether each line is of the form SIMPLE, from the text as a whole: that is faster."""
    text = "\n".join(line for _, line in lines)
    return (
        not any(character in text for character in '"#;\\^()')
        and text.count("{") == text.count("}") == len(lines)
        and all(line.startswith("{:") and line.endswith("}") for _, line in lines)
    )


def _operation(form: object, line: int) -> Operation:
    """Returns the operation of a map. Raises HistoryError: it is none."""
    if not isinstance(form, Pairs | dict):
        raise HistoryError(
            f"an operation is a map such as {{:type :ok, ...}}, not {shown(form)[:60]}", line, 1
        )
    by_name = form if isinstance(form, dict) else {n: value for n, value in form if isinstance(n, str)}
    if not isinstance(form, dict) and len({shown(name) for name, _ in form}) < len(form):
        raise HistoryError("a key is there twice in one map", line, 1)
    kind = by_name.get(":type")
    if not isinstance(kind, str) or kind not in TYPES:
        raise HistoryError(f":type is :invoke, :ok, :fail or :info, not {shown(kind)}", line, 1)
    at = by_name.get(":index")
    number = at if isinstance(at, int) and not isinstance(at, bool) else -1
    if at is not None and number < 0:
        raise HistoryError(f":index is a number from 0, not {shown(at)}", line, 1)
    process = by_name.get(":process", NO_PROCESS)
    values = by_name.get(":f"), by_name.get(":value"), by_name.get(":time")
    return Operation(str(kind), process, *values, line, number)


def _tabbed(line: str, number: int) -> Operation:
    """Returns an operation of `history.txt`: process, type, f, value and error, parted by tabs."""
    fields = line.split("\t")
    if len(fields) < 4:
        raise HistoryError("a line has process, type, f and value, parted by tabs", number, 1)
    parsed = []
    for text in fields[:4]:
        inner = [form for form, _ in forms(text)]
        if len(inner) != 1:
            raise HistoryError(f"{text[:60]!r} is not one value", number, 1)
        parsed.append(inner[0])
    if not isinstance(parsed[1], str) or parsed[1] not in TYPES:
        raise HistoryError(f"a type is :invoke, :ok, :fail or :info, not {shown(parsed[1])}", number, 1)
    return Operation(str(parsed[1]), parsed[0], parsed[2], parsed[3], None, number, number - 1)


def _numbered(operations: list[Operation]) -> list[Operation]:
    """Returns operations whose indexes ascend; without any index they are numbered. Raises HistoryError."""
    given = [operation.at >= 0 for operation in operations]
    if any(given) and not all(given):
        line = operations[given.index(False)].line
        raise HistoryError("an operation without :index, and others have one", line, 1)
    if not any(given):
        for number, operation in enumerate(operations):
            operation.at = number
    for before, after in pairwise(operations):
        if after.at <= before.at:
            fact = f":index {after.at} comes after {before.at}; the order of the file and :index must agree"
            raise HistoryError(fact, after.line, 1)
    return operations


def json_operations(text: str) -> list[Operation]:
    """Returns the operations of JSON: elle-cli's array, or one object a line. Raises HistoryError."""
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        lines, found = _objects(text)
    else:
        array = json_value(text)
        if not isinstance(array, list):
            raise HistoryError("elle's JSON is one array of operations, or one operation a line", 1, 1)
        found, lines = array, _lines(text, len(array))
    operations = [_of_json(item, number) for number, item in enumerate(found)]
    # Several on one line: the number of the line does not tell which operation is meant.
    shared = len(set(lines)) < len(lines)
    for number, (operation, line) in enumerate(zip(operations, lines, strict=True)):
        operation.line = line
        if shared:
            operation.where = f"operation {number}"
    return _numbered(operations)


def _objects(text: str) -> tuple[list[int], list[object]]:
    """Returns the line and the value of each line of JSON lines. Raises HistoryError with the line."""
    lines, found = list[int](), list[object]()
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            found.append(json_value(line, number))
            lines.append(number)
    return lines, found


NEXT = re.compile(r"[\s,\[]*")
"""What stands between the elements of an array."""


def _lines(text: str, count: int) -> list[int]:
    """Returns the line of each element of a JSON array."""
    decoder, lines, line, at = json.JSONDecoder(), list[int](), 1, 0
    for _ in range(count):
        found = NEXT.match(text, at)
        assert found is not None
        line += text.count("\n", at, found.end())
        lines.append(line)
        _, end = decoder.raw_decode(text, found.end())
        line += text.count("\n", found.end(), end)
        at = end
    return lines


def _of_json(item: object, number: int) -> Operation:
    """Returns the operation of an object of JSON, with words as EDN has them. Raises HistoryError."""
    if not isinstance(item, dict):
        raise HistoryError(f"operation {number}: an operation is an object")
    kind = f":{str(item.get('type')).removeprefix(':')}"
    if kind not in TYPES:
        raise HistoryError(f"operation {number}: type is invoke, ok, fail or info, not {item.get('type')!r}")
    value = item.get("value")
    if isinstance(value, list) and all(isinstance(part, list) and part for part in value):
        value = [
            [f":{part[0].removeprefix(':')}" if isinstance(part[0], str) else part[0], *map(_plain, part[1:])]
            for part in value
        ]
    elif isinstance(value, dict):
        value = _plain(value)
    at = -1 if item.get("index") is None else item["index"]
    if not isinstance(at, int) or isinstance(at, bool) or (at < 0 and item.get("index") is not None):
        raise HistoryError(f"operation {number}: index is a number from 0, not {at!r}")
    f = f":{item['f']}" if isinstance(item.get("f"), str) else None
    return Operation(kind, item.get("process", NO_PROCESS), f, value, item.get("time"), 1, at)


def _plain(value: object) -> object:
    """Returns a value of JSON with its texts as `Text`, as EDN has them."""
    if isinstance(value, str):
        return Text(value)
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
