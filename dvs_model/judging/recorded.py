"""The Python interface for histories: read them from files or build them of records, judge and assert."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from dvs_model.checking.check import Checked
from dvs_model.checking.explain import LevelStatus, explanations, overall, requested_with
from dvs_model.clients.variants import VARIANTS
from dvs_model.errors import HistoryError, RequestError
from dvs_model.formats.reader import Parsed, Refused, Viewed
from dvs_model.formats.registry import FORMATS
from dvs_model.histories.history import History
from dvs_model.judging.files import histories
from dvs_model.judging.options import CheckOptions
from dvs_model.theory.levels import BY_NAME

Recorded = Parsed | Viewed
"""A history as a file holds it: with version orders of its own, or as clients saw it."""

PL_3 = CheckOptions()


def read_histories(
    path: str | Path, *, form: str = "auto", workload: str | None = None
) -> Iterator[Recorded]:
    """Yields the histories of a file, of a folder of Jepsen's or Cobra's, or of a Delta table.

    `form`: as `dvs check --format` takes it; by default the file is recognised. `workload`: what a file of
    Jepsen holds, where its operations leave it open. Raises HistoryError: one is not well-formed.
    Raises RequestError: the file cannot be read, or `form` is unknown.
    """
    if form not in {*FORMATS, "cobra", "delta", "auto"}:
        names = ", ".join([*FORMATS, "cobra", "delta", "auto"])
        raise RequestError(f"there is no format {form!r}; take one of {names}")
    for _, item in histories([Path(path)], form, workload):
        if isinstance(item, Refused):
            error = item.error
            raise HistoryError(f"{error.fact} ({path})", error.line, error.column)
        yield item


def read_history(path: str | Path, *, form: str = "auto", workload: str | None = None) -> Recorded:
    """Returns the one history of a file; see `read_histories`.

    Raises RequestError: it has none, or several.
    """
    found = list(islice(read_histories(path, form=form, workload=workload), 2))
    if len(found) != 1:
        raise RequestError(
            f"{path} holds {'several histories' if found else 'no history'}; "
            f"{'read_histories yields each' if found else 'name another file'}"
        )
    return found[0]


def history(records: Iterable[Mapping[str, object]], name: str = "records") -> Recorded:
    """Returns a history that clients recorded, made of one record an operation, in the order of sessions.

    A record has the columns of a table of operations (docs/clients.md): `transaction`, `kind` ("w", "append",
    "r"), `key` and `value` are enough; `session`, `status`, `began` and `ended` are read where they are
    given. The value of a read of a list is a list. Raises HistoryError: the records are no history.
    Raises RequestError: there is none, one is no record of an operation, or a column has several types.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dvs_model.formats import table

    known = [column for column, _ in table.COLUMNS]
    rows = [_row(number, record, known) for number, record in enumerate(records, 1)]
    if not rows:
        raise RequestError("a history of no records; give one an operation")
    file = io.BytesIO()
    names = list(dict.fromkeys(column for row in rows for column in row))
    columns: dict[str, pa.Array] = {}
    for column in names:
        cells = [row.get(column) for row in rows]
        try:
            columns[column] = pa.array(cells)
        except UnicodeEncodeError:
            raise RequestError(f"{column}: a text is no Unicode (half of a surrogate pair)") from None
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise RequestError(_several(column, cells, str(error))) from None
    pq.write_table(pa.table(columns), file)
    file.seek(0)
    (item,) = table.read(file, name)
    if isinstance(item, Refused):
        raise item.error
    return item


def _several(column: str, cells: list[object], error: str) -> str:
    """Returns what is wrong with a column that has several types, or another one than tables have."""
    shown = [
        (number, each)
        for number, cell in enumerate(cells, 1)
        for each in (cell if isinstance(cell, list) else [cell])
        if each is not None
    ]
    first = shown[0][1]
    for number, cell in shown:
        if type(cell) is not type(first):
            return f"row {number}: {column} is {cell!r:.60}, and {first!r:.60} before; give it one type"
    return f"{column}: {error}; give it texts, or numbers of 64 bits"


def _ensure_record(number: int, record: object, known: list[str]) -> None:
    """Raises RequestError: a record is no mapping, has a column not `known`, or a key of several parts.

    `number`: from 1, as rows are counted in all messages.
    """
    if not isinstance(record, Mapping):
        fact = f"row {number} is {record!r:.60}, which is no mapping"
        raise RequestError(f'{fact}; a record is {{"transaction": 1, "kind": "w", "key": "x", "value": 1}}')
    for name in record:
        if name not in known:
            near = get_close_matches(str(name), known, 1)
            meant = f"did you mean {near[0]!r}? Columns" if near else "columns"
            raise RequestError(f"row {number}: there is no column {name!r}; {meant} are {', '.join(known)}")
    key = record.get("key")
    if isinstance(key, Collection) and not isinstance(key, str | bytes):
        raise RequestError(
            f"row {number}: the key is {key!r:.60}; a key is one text or number, such as str(key)"
        )


def _row(number: int, record: Mapping[str, object], known: list[str]) -> dict[str, object]:
    """Returns a record as a row of a table of operations, which has a column of its own for lists.

    Raises RequestError: see `_ensure_record`; or another operation than a read has a list as its value.
    """
    _ensure_record(number, record, known)
    value, kind = record.get("value"), record.get("kind")
    if not isinstance(value, list | tuple):
        return dict(record)
    if kind not in ("r", "r list"):
        fact = f"row {number}: {kind!r} of a list, {value!r}; only reads give lists"
        raise RequestError(f"{fact}: append one element at a time")
    return {**record, "kind": "r list", "value": None, "list": list(value)}


def judge(recorded: History | Recorded, options: CheckOptions = PL_3) -> Checked:
    """Returns the verdicts on a history: each level of Adya's, each phenomenon, and what clients can tell.

    Raises HistoryError: values are not unique. Raises RequestError: it is no history, or one that cannot tell
    what is asked.
    """
    item: object = Parsed(recorded, 1) if isinstance(recorded, History) else recorded
    if not isinstance(item, Recorded):
        fact = f"{item!r:.60} is no history"
        raise RequestError(f"{fact}; parse(text), history(records) and read_history(path) return one")
    return options.judge(options.apply_to(item))


def assert_isolation(
    recorded: History | Recorded, *levels: str, options: CheckOptions = PL_3, undecided: bool = False
) -> Checked:
    """Asserts that a history keeps isolation levels, and returns the verdicts.

    `levels`: names such as "PL-SI" or "PL-3", or levels of clients such as "causal" or "strict serializable".
    `undecided`: whether an unknown verdict is good enough; by default it is none. Raises AssertionError with
    the transactions that show the violation. Raises RequestError: a level is unknown, or none is named.
    """
    known = {name.lower(): name for name in (*BY_NAME, *VARIANTS)}
    wrong = [name for name in levels if name.lower() not in known]
    if wrong or not levels:
        fact = f"there is no level {wrong[0]!r}" if wrong else "no level is named"
        raise RequestError(f"{fact}; take one of {', '.join(known.values())}")
    names = [known[name.lower()] for name in levels]
    asked = replace(
        options,
        requested=tuple(BY_NAME[name] for name in names if name in BY_NAME),
        clients=tuple(name for name in names if name in VARIANTS),
    )
    checked = judge(recorded, asked)
    verdict = overall(checked, asked.requested)
    if verdict is LevelStatus.HOLDS or (undecided and verdict is LevelStatus.UNKNOWN):
        return checked
    lines = [f"{checked.original.name or 'the history'}: {verdict.value}"]
    lines += [f"  {name}: {reason}" for name, reason in requested_with(checked, asked.requested, verdict)]
    for explanation in explanations(checked, minimised=False) if verdict is LevelStatus.VIOLATED else ():
        lines += [f"  {explanation.title}", *(f"    {line.text}" for line in explanation.lines)]
    raise AssertionError("\n".join(lines))
