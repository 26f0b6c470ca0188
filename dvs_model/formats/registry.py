"""Every history format by the name that `--format` takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dvs_model.formats import adya, jsonl
from dvs_model.formats.reader import Read


@dataclass(frozen=True, slots=True)
class Format:
    """A format: how it is read, which file names end so, and the first byte that gives it away."""

    read: Read
    suffixes: tuple[str, ...]
    first: bytes = b""


FORMATS: Mapping[str, Format] = {
    "jsonl": Format(jsonl.read, (".jsonl", ".ndjson", ".json"), b"{"),
    "adya": Format(adya.read, (".adya", ".txt")),
}
"""The last one is what an unknown file is taken for."""


def recognised(name: str, head: bytes) -> Format:
    """The format of a file by its name, else by how it begins."""
    for found in FORMATS.values():
        if name.endswith(found.suffixes):
            return found
    begin = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return next((f for f in FORMATS.values() if f.first and f.first == begin), FORMATS["adya"])
