"""Names that are made when they are asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from dvs_model.columns.table import Ints


@dataclass(frozen=True, slots=True)
class Codes(Sequence[str], ABC):
    """A name for each of some numbers."""

    codes: Ints

    def __len__(self) -> int:
        return len(self.codes)

    @abstractmethod
    def name(self, code: int) -> str:
        """Returns the name of a number."""

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return list(map(self.name, self.codes[index].tolist()))
        return self.name(int(self.codes[index]))


@dataclass(frozen=True, slots=True)
class Numbered(Codes):
    """Numbers as texts."""

    def name(self, code: int) -> str:
        return str(code)


@dataclass(frozen=True, slots=True)
class Named(Codes):
    """The names of keys at places."""

    keys: Sequence[str]

    def name(self, code: int) -> str:
        return self.keys[code]
