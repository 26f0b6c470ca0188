"""The definitions of an account, and the folders in it that cannot be read.

One damaged folder must not stop the work on all other tables. So its error is kept, and raised only for who
names that table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dynamic_tables.definition import BaseTable, Definition
from dynamic_tables.errors import CorruptTable


@dataclass(frozen=True, slots=True, eq=False)
class Known(Mapping[str, Definition]):
    """Definitions by name. A folder that cannot be read concerns only those who ask for it by its name.

    `listed`: the readable definitions as they were read last, in the order of creation. `unreadable`: the
    error of each other folder; to look its name up, also by `in`, raises it. `current`: returns a definition
    as it is now, or raises KeyError; it is asked when a name is looked up, because another process may have
    dropped the table and created another one under its name.
    """

    listed: Mapping[str, Definition]
    unreadable: Mapping[str, CorruptTable]
    current: Callable[[str], Definition]

    @property
    def base_tables(self) -> Sequence[str]:
        """The names of the base tables."""
        return [name for name, definition in self.listed.items() if isinstance(definition, BaseTable)]

    def __getitem__(self, name: str) -> Definition:
        if name in self.unreadable:
            raise self.unreadable[name].with_traceback(None)
        if name not in self.listed:
            raise KeyError(name)
        return self.current(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.listed)

    def __len__(self) -> int:
        return len(self.listed)
