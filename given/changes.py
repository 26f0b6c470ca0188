"""The file `dvs.toml` beside the scripts: how tables change, and which values their columns hold.

A section `[sales]` with `changes = "append_only"` says that the table `sales` gets INSERT alone.
docs/your-own.md shows all keys.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from given.near import around
from given.script import BaseTable, Script, ScriptError
from workload.schema import Clock
from workload.types import BOOLEAN, Kind, SqlType, Value

FILE = "dvs.toml"

STATEMENTS = ("insert", "update", "delete", "merge", "truncate", "overwrite", "restore", "replace")
"""The statements that change a table, as the file names them."""

WORDS: Mapping[str, tuple[str, ...]] = {
    "append_only": ("insert",),
    "no_deletes": ("insert", "update", "merge"),
    "fixed": (),
}
"""Words for several statements at once; a table that is `fixed` keeps its first rows."""

KEYS = ("changes", "updated", "rows", "values", "clock", "late_by")

CLOCKS = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ, Kind.INT, Kind.BIGINT, Kind.SMALLINT})
"""The kinds of columns that can be a clock."""

SECONDS: Mapping[str, int] = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """How a table changes, and which values it holds.

    `statements`: the kinds that it gets after its first rows are inserted; None for all. `updated`: the
    columns that UPDATE and MERGE may change; None for all. `rows`: least and most first rows; None: as the
    profile says. `values`: all that a column may hold, by name, without NULL. `clock`: the column that grows.
    """

    statements: tuple[str, ...] | None = None
    updated: tuple[str, ...] | None = None
    rows: tuple[int, int] | None = None
    values: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    clock: Clock | None = None

    @property
    def got(self) -> frozenset[str]:
        """The statements that the table gets."""
        return frozenset(STATEMENTS if self.statements is None else self.statements)


ANY = Changes()
"""The changes of a table without a section: by all statements, to all values."""


def read_changes(path: Path, script: Script) -> Mapping[str, Changes]:
    """Returns what the file beside the scripts at a path says, by table; nothing where there is no file.

    Raises ScriptError for the first thing in it that cannot be used.
    """
    file = (path if path.is_dir() else path.parent) / FILE
    if not file.exists():
        return {}
    try:
        sections = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ScriptError(f"{file} cannot be read: {error}") from error
    tables = {base.table.name: base for base in script.tables}
    found = {}
    for name, section in sections.items():
        if name in script.unfit:
            continue
        if name not in tables:
            raise ScriptError(f"{file}: no script creates a table {name}; there are {', '.join(tables)}")
        if not isinstance(section, dict):
            raise ScriptError(f"{file}: {name} is no section; write [{name}]")
        found[name] = _changes(section, tables[name], f"{file}: {name}")
    return found


def _changes(section: Mapping[str, Any], base: BaseTable, where: str) -> Changes:
    """Returns the changes that a section says. `where`: the file and the table, for messages."""
    if unknown := [key for key in section if key not in KEYS]:
        raise ScriptError(f"{where}: {unknown[0]} is unknown; write one of {', '.join(KEYS)}")
    statements = _statements(section["changes"], where) if "changes" in section else None
    known = {column.name: column.type for column in base.table.columns}
    updated = section.get("updated")
    if updated is not None and (not isinstance(updated, list) or not {*map(str, updated)} <= known.keys()):
        raise ScriptError(f"{where}: updated is {updated!r}; write a list of columns, of {', '.join(known)}")
    rows = section.get("rows")
    if rows is not None and not (
        isinstance(rows, list)
        and len(rows) == 2
        and all(type(n) is int for n in rows)
        and 0 <= rows[0] <= rows[1]
    ):
        raise ScriptError(f"{where}: rows is {rows!r}; write the least and the most, such as [0, 20]")
    values: dict[str, tuple[Value, ...]] = {}
    value_lists = section.get("values", {})
    for name, listed in value_lists.items() if isinstance(value_lists, dict) else [("values", value_lists)]:
        if name not in known or not isinstance(listed, list) or not listed:
            raise ScriptError(
                f"{where}: values of {name}: write COLUMN = [..] under [{base.table.name}.values]"
            )
        values[name] = ()
        for value in listed:
            fitting = around(value, known[name])[:1]
            if not fitting:
                raise ScriptError(f"{where}: {value!r} is no {known[name]}, the type of {name}")
            values[name] += fitting
    return Changes(
        statements=statements,
        updated=None if updated is None else tuple(updated),
        rows=None if rows is None else (rows[0], rows[1]),
        values=values,
        clock=_clock(section, known, where),
    )


def _clock(section: Mapping[str, Any], known: Mapping[str, SqlType], where: str) -> Clock | None:
    """Returns the clock of a section, or None. `late_by` becomes days of a DATE, seconds of a time."""
    if "clock" not in section:
        if "late_by" in section:
            raise ScriptError(f"{where}: late_by without clock; name the column that grows: clock = COLUMN")
        return None
    name, late = section["clock"], section.get("late_by", 0)
    if not isinstance(name, str) or known.get(name, BOOLEAN).kind not in CLOCKS:
        raise ScriptError(f"{where}: clock is {name!r}; write a column of a time or of whole numbers")
    if known[name].kind in (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ):
        number, _, unit = str(late).partition(" ")
        seconds = SECONDS.get(unit.removesuffix("s"), 0) if number.isdigit() else 0
        if late != 0 and not seconds:
            raise ScriptError(f'{where}: late_by is {late!r}; write a time such as "3 days" or "10 minutes"')
        # A row that is ten minutes late may have the date of the day before.
        late = -(-int(number) * seconds // (SECONDS["day"] if known[name].kind is Kind.DATE else 1))
    elif type(late) is not int or late < 0:
        raise ScriptError(f"{where}: late_by is {late!r}; {name} is a number, so write a whole number")
    return Clock(name, late)


def _statements(value: Any, where: str) -> tuple[str, ...]:
    """Returns the kinds of statements that `changes` names, in the order of STATEMENTS."""
    listed = [value] if isinstance(value, str) else value
    statements: set[str] = set()
    for word in listed if isinstance(listed, list) else [listed]:
        if not isinstance(word, str) or (word not in STATEMENTS and word not in WORDS):
            names = ", ".join((*WORDS, *STATEMENTS))
            raise ScriptError(f"{where}: changes is {value!r}; write a list of these: {names}")
        statements.update(WORDS.get(word, (word,)))
    return tuple(each for each in STATEMENTS if each in statements)
