"""The definitions of an account, and what is in its folder but cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dynamic_tables.definition import Definition
from dynamic_tables.errors import CorruptTable


@dataclass(frozen=True, slots=True, eq=False)
class Known(Mapping[str, Definition]):
    """Definitions by name. A folder that cannot be read concerns only those who ask for it by its name.

    `unreadable`: the error of each such folder; to look its name up, also by `in`, raises it.
    """

    readable: Mapping[str, Definition]
    unreadable: Mapping[str, CorruptTable]

    def __getitem__(self, name: str) -> Definition:
        if name in self.unreadable:
            raise self.unreadable[name].with_traceback(None)
        return self.readable[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.readable)

    def __len__(self) -> int:
        return len(self.readable)
