"""Versions of tables, and frontiers: which version of each source a refresh consumed, and as of when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourceVersion:
    """A version of a source.

    `timestamp` in microseconds: the commit time of a base table's version, the data timestamp of a
    dynamic table's. `content`: the newest version up to this one that changed rows, so two versions with
    equal `content` hold the same rows. `identity`: Delta's table id; another id under the same name is
    another table.
    """

    version: int
    timestamp: int
    content: int
    identity: str


@dataclass(frozen=True, slots=True)
class SourceHistory:
    """The readable versions of a source, oldest first; `dynamic`: they are refreshes of a dynamic table."""

    name: str
    dynamic: bool
    versions: Sequence[SourceVersion]


@dataclass(frozen=True, slots=True)
class Frontier:
    """What one refresh consumed (DVS paper, section 5.3).

    `timestamp`: the data timestamp in microseconds. `definition`: the fingerprint of the expanded query.
    The frontier lives in the metadata of the commit that holds the contents. If the frontier were in a table
    of its own, a crash between the two commits could leave contents and frontier that disagree.
    """

    timestamp: int
    sources: Mapping[str, SourceVersion]
    definition: str

    def to_json(self) -> dict[str, object]:
        """Returns the frontier as the JSON object stored in the commit."""
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
        """Reads what `to_json` wrote. Raises KeyError, TypeError or ValueError for any other object."""
        sources = data["sources"]
        if not isinstance(sources, Mapping):
            raise TypeError("the frontier in the commit metadata has no object `sources`")
        # `int` does not accept the type `object` of a decoded value, so it is made a text before.
        return Frontier(
            int(str(data["timestamp"])),
            {name: SourceVersion(int(v), int(t), int(c), str(i)) for name, (v, t, c, i) in sources.items()},
            str(data["definition"]),
        )
