"""Frontiers: which version of each source a table has consumed, and as of when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourceVersion:
    """A version of a source.

    `timestamp`: commit time of a base table's version, data timestamp of a dynamic table's. `content`:
    the newest version up to this one that changed rows. `identity`: the table's id; another one under
    the same name is another table.
    """

    version: int
    timestamp: int
    content: int
    identity: str


@dataclass(frozen=True, slots=True)
class Frontier:
    """What one refresh consumed (DVS paper, section 5.3). `definition`: fingerprint of the expanded query."""

    timestamp: int
    sources: Mapping[str, SourceVersion]
    definition: str

    def to_json(self) -> dict[str, object]:
        """As stored in the commit."""
        return {
            "timestamp": self.timestamp,
            "definition": self.definition,
            "sources": {
                name: [source.version, source.timestamp, source.content, source.identity]
                for name, source in self.sources.items()
            },
        }

    @staticmethod
    def from_json(data: Mapping[str, object]) -> Frontier:
        """The reverse of `to_json`. Raises KeyError, TypeError or ValueError for anything else."""
        sources = data["sources"]
        if not isinstance(sources, Mapping):
            raise TypeError("sources is no object")
        return Frontier(
            int(str(data["timestamp"])),
            {name: SourceVersion(int(v), int(t), int(c), str(i)) for name, (v, t, c, i) in sources.items()},
            str(data["definition"]),
        )
