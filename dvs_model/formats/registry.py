"""Every history format by the name that `--format` takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dvs_model.formats import adya, jsonl
from dvs_model.formats.reader import Read


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its reader, its file name suffixes, and the first byte by which it is recognised."""

    read: Read
    suffixes: tuple[str, ...]
    first: bytes = b""


FORMATS: Mapping[str, Format] = {
    "jsonl": Format(jsonl.read, (".jsonl", ".ndjson", ".json"), b"{"),
    "adya": Format(adya.read, (".adya", ".txt")),
}
"""The formats. A file that none of them recognises is read as adya."""


def recognised(name: str, head: bytes) -> Format:
    """Returns the format of a file by its name, else by its first byte."""
    for known in FORMATS.values():
        if name.endswith(known.suffixes):
            return known
    begin = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return next((f for f in FORMATS.values() if f.first and f.first == begin), FORMATS["adya"])
