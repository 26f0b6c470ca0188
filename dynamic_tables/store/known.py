"""The definitions of an account, and what is in its folder but cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from dynamic_tables.definition import Definition
from dynamic_tables.errors import CorruptTable


@dataclass(frozen=True, slots=True, eq=False)
class Known(Mapping[str, Definition]):
    """Definitions by name. A folder that cannot be read concerns only those who ask for it by its name.

    `names`: those of readable definitions, in the order of creation. `unreadable`: the error of each other
    folder; to look its name up, also by `in`, raises it. `current`: returns a definition as it is now; it is
    asked when a name is looked up for the first time, because another process may have dropped the table and
    created another one under its name.
    """

    names: Collection[str]
    unreadable: Mapping[str, CorruptTable]
    current: Callable[[str], Definition]
    looked_up: dict[str, Definition] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Definition:
        if name in self.unreadable:
            raise self.unreadable[name].with_traceback(None)
        if name not in self.names:
            raise KeyError(name)
        if name not in self.looked_up:
            self.looked_up[name] = self.current(name)
        return self.looked_up[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
