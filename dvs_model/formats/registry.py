"""Every history format by the name that `--format` takes, and how a file of it is recognised."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from dvs_model.errors import HistoryError
from dvs_model.formats import adya, awdit, cobra, dbcop, elle, jsonl, packed, plume, timekiller
from dvs_model.formats.reader import Item, Reader, Refused

HEAD = 4096
"""Bytes of a file by which its format is recognised."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its reader, its file name suffixes, and the beginning by which it is recognised.

    `head`: matched against the first bytes without white space, as text.
    """

    read: Reader
    suffixes: tuple[str, ...] = ()
    head: re.Pattern[str] | None = None


NO_EVENTS = r"(?:(?!\"(?:events|text|orders|sessions|matches|precedes)\"\s*:)(?s:.))"
"""A character of JSON at which no key of `.jsonl` begins."""

YAML = (
    r"(?:---\s+)?(?:(?:-\s+\[\]\s+)*-\s+-\s+(?:events|success|committed)\s*:"
    r"|(?:params|info|data|start|end)\s*:\s)"
)
"""How a YAML file of dbcop begins: a list of sessions, or the whole record."""


def _dbcop(file: BinaryIO, name: str, workload: str | None = None) -> Iterator[Item]:
    """Yields the history of any of dbcop's formats."""
    if name.endswith(".hist"):
        return dbcop.read_hist(file, name, workload)
    data = file.peek(64)[:64] if hasattr(file, "peek") else b""
    if name.lower().endswith((".yaml", ".yml")) or re.match(
        YAML, data.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    ):
        return dbcop.read_yaml(file, name, workload)
    first = data.lstrip()[:1]
    if name.endswith(".bincode") or (b"\0" in data and first not in (b"{", b"[")):
        return dbcop.read_bincode(file, name, workload)
    text = first in (b"{", b"[") and not re.match(rb"\[\s*\w+\s*(:=|==)", data.lstrip())
    return (dbcop.read_json if text else dbcop.read_hist)(file, name, workload)


def _parquet(file: BinaryIO, name: str, workload: str | None = None) -> Iterator[Item]:
    """Yields the histories of a table of operations."""
    # Imported here, because every command would start later with it.
    from dvs_model.formats import table

    return table.read(file, name, workload)


JSON = (".json", ".jsonl", ".ndjson")
"""Suffixes of JSON; the last two are those of JSON lines."""

OPERATION = r"\{(?=[^\n]{0,4000}?\"(?:process\"\s*:|type\"\s*:\s*\":?(?:invoke|ok|fail|info)\"))"
"""How a line of JSON begins that is an operation of Jepsen. A line of `.jsonl` has no such keys."""


def _elle(file: BinaryIO, name: str, workload: str | None = None) -> Iterator[Item]:
    """Yields the history of Jepsen's EDN, of elle-cli's JSON, or of JSON lines with its operations."""
    data = file.peek(HEAD)[:HEAD] if hasattr(file, "peek") else b""
    json = name.endswith(JSON) or re.match(rb"\s*\[?\s*\{\s*\"", data) is not None
    return (elle.read_json if json else elle.read_edn)(file, name, workload)


FORMATS: Mapping[str, Format] = {
    "jsonl": Format(jsonl.read, JSON[1:], re.compile(r"\{\s*\"(?:name|text|events)\"")),
    "parquet": Format(_parquet, (".parquet",), re.compile("PAR1")),
    "adya": Format(adya.read, (".adya",)),
    "elle": Format(
        _elle,
        (".edn", ".jepsen", ".fressian"),
        re.compile(
            # Atomic and possessive, so that a banner of semicolons is not tried in each way to cut it.
            r"(?>(?:;[^\n]*(?:\s|$)++)*)[\s,]*+[\[(]?[\s,]*+(?:#jepsen\S*)?\{\s*:"
            r"|\[\s*\{(?=(?s:.){0,4000}?\"type\"\s*:\s*\"(?:invoke|ok|fail|info)\")|\S+\t:\w+\t|JEPSEN|"
            + OPERATION
        ),
    ),
    "plume": Format(plume.read, (), re.compile(r"[rw]\(\d+,\d+,\d+,-?\d+\)")),
    "timekiller": Format(timekiller.read, (), re.compile(r"\[\s*\{(?s:.)*?\"(?:sts|cts|tid|ops)\"\s*:")),
    "dbcop": Format(
        _dbcop,
        (".hist", ".bincode", ".yaml", ".yml", ".YAML", ".YML"),
        re.compile(
            YAML
            + r"|\{(?:\s*\"(?:info|start|end)\"|"
            + NO_EVENTS
            + r"*?\"(?:params|data)\"\s*:)|\[\s*\[\s*[\[{\]]|(?>(?:-+\s++)*)\[\s*\w+(?::=|==)|//"
        ),
    ),
    "awdit": Format(awdit.read, (), re.compile(r"[=\-\s]*+[rw][ \t]+\d+[ \t]+\d+(?=[\s=-]|$)")),
}
"""The formats. A file that none of them recognises is read as adya; folders of logs are read as cobra."""

EVENT = re.compile(r"(?<!\w)[a-z]{1,2}\d+(?!\w)")
"""An event of the notation, such as w1(x1) or c1."""

NAMES = (*FORMATS, "cobra")
"""The formats by name, for people. The logs of Cobra are a folder."""


def _unrecognised(file: BinaryIO, name: str, workload: str | None = None) -> Iterator[Item]:
    """Yields the history of a file in the notation; what is wrong with another one, and what it may be."""
    head = file.peek(HEAD)[:HEAD].decode("utf-8", "replace").strip() if hasattr(file, "peek") else ""
    for item in adya.read(file, name, workload):
        if isinstance(item, Refused):
            named = f"name its format with --format ({', '.join(NAMES)})"
            empty = re.fullmatch(r"\[\s*\]|null", head) is not None
            fact = "the file holds no operations" if empty else item.error.fact
            fact = f"{fact}; if this is a file of another checker, {named}"
            item = Refused(item.name, HistoryError(fact, item.error.line, item.error.column))
        yield item


UNRECOGNISED = Format(_unrecognised)
"""Of a file that may be notation, with an error that says what else it may be."""


def recognised(name: str, head: bytes) -> Format:
    """Returns the format of a file by its name, else by its first bytes.

    A name tells nothing of JSON lines: they may be histories, or operations of one.
    """
    begin = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").lstrip()
    if name.endswith(JSON[1:]) and re.match(OPERATION, begin):
        return FORMATS["elle"]
    for candidate in FORMATS.values():
        if candidate.suffixes and name.endswith(candidate.suffixes):
            return candidate
    for candidate in FORMATS.values():
        if candidate.head is not None and candidate.head.match(begin):
            return candidate
    if begin.startswith("{"):
        return FORMATS["jsonl"]
    return FORMATS["adya"] if EVENT.search(begin) else UNRECOGNISED


def folder(path: Path, format_: str, name: str) -> Iterator[Item] | Path | None:
    """Returns the histories of a folder of logs, or the one file in a folder that is read; None: neither."""
    if not path.is_dir() or (path / "_delta_log").is_dir():
        return None
    inner = None if format_ == "cobra" else _inner(path)
    if inner is not None:
        return inner
    if format_ == "cobra" or (format_ == "auto" and next(cobra.logs(path), None) is not None):
        return cobra.read(path, name)
    return None


INNER = ("history.edn", "history.bincode", "history.txt", "test.jepsen", "test.fressian")
"""The files of a folder of which the first one that is there is its history, also compressed."""


def _inner(path: Path) -> Path | None:
    """Returns the file of a folder that is its history; None: there is none."""
    names = (name + suffix for name in INNER for suffix in ("", *packed.SUFFIXES))
    return next((path / name for name in names if (path / name).is_file()), None)


def runs(path: Path) -> list[Path]:
    """Returns the folders of Jepsen's runs below `store` or `store/TEST`, each once; none: it is neither.

    The links `latest` and `current` lead to runs that have a name of their own.
    """
    if not path.is_dir() or _inner(path) is not None or next(cobra.logs(path), None) is not None:
        return []
    below = _folders(path)
    deeper = [run for each in below if _inner(each) is None for run in _folders(each)]
    return [each for each in (*below, *deeper) if _inner(each) is not None]


def _folders(path: Path) -> list[Path]:
    """Returns the folders in a folder, by name, without links."""
    return [each for each in sorted(path.iterdir()) if each.is_dir() and not each.is_symlink()]
