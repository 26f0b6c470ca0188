"""The masking of secret rows as salted hashes: readers see which values are equal, and no value."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass

from oracle.bag import canonical
from workload.schema import Column
from workload.types import Row, SqlType, Value

DIGITS = 12
"""The hexadecimal digits of a hash that are shown: enough to tell the values of a run apart."""


@dataclass(frozen=True, slots=True)
class Mask:
    """A hash with a secret salt: equal SQL values of one type have equal hashes, also NULL."""

    salt: bytes

    def value(self, value: Value, type_: SqlType) -> str:
        """Returns the hash of a value of a type."""
        text = f"{type_}:{canonical(value, type_)!r}"
        return hmac.new(self.salt, text.encode(), hashlib.sha256).hexdigest()[:DIGITS]

    def row(self, row: Row, columns: Sequence[Column]) -> tuple[str, ...]:
        """Returns the hashes of the values of a row."""
        return tuple(self.value(value, column.type) for value, column in zip(row, columns, strict=True))
