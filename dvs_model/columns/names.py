"""Sequences of names that hold integers and build each name on access, so that millions fit in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from dvs_model.columns.table import Ints


@dataclass(frozen=True, slots=True)
class Codes(Sequence[str], ABC):
    """A sequence of names, held as `codes`: one int64 per name."""

    codes: Ints

    def __len__(self) -> int:
        return len(self.codes)

    @abstractmethod
    def name(self, code: int) -> str:
        """Returns the name that belongs to a code."""

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
    """Names that are the numbers themselves, as texts."""

    def name(self, code: int) -> str:
        return str(code)


@dataclass(frozen=True, slots=True)
class Named(Codes):
    """Names of keys. A code is a place in `keys`."""

    keys: Sequence[str]

    def name(self, code: int) -> str:
        return self.keys[code]
