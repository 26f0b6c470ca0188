"""Names that are numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from dvs_model.columns.table import Ints


@dataclass(frozen=True, slots=True)
class Numbered(Sequence[str]):
    """Numbers as texts, each made when it is asked for."""

    numbers: Ints

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return list(map(str, self.numbers[index].tolist()))
        return str(self.numbers[index])
