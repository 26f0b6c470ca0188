"""The graph of dynamic tables that a scheduler works on: who reads whom, components, diamonds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from dynamic_tables.errors import DefinitionError


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What a schedule knows of a dynamic table.

    `upstream`: the dynamic tables that it reads itself, views expanded. `bases`: the base tables that it
    reads itself. `target_lag` in microseconds; None for DOWNSTREAM.
    """

    name: str
    upstream: tuple[str, ...] = ()
    target_lag: int | None = None
    bases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Diamond:
    """A table that reads one source by several tables: `arms` all read `source` and lead to `bottom`."""

    source: str
    arms: tuple[str, ...]
    bottom: str


@dataclass(frozen=True, slots=True)
class Graph:
    """Dynamic tables by name. `order`: each after those that it reads. `consumers`: who reads it.

    Raises DefinitionError: for tables that read each other in a cycle.
    """

    tables: Mapping[str, Scheduled]
    order: Sequence[str] = field(init=False)
    consumers: Mapping[str, Sequence[str]] = field(init=False)

    def __post_init__(self) -> None:
        within = {
            name: tuple(up for up in table.upstream if up in self.tables)
            for name, table in self.tables.items()
        }
        consumers: dict[str, list[str]] = {name: [] for name in self.tables}
        for name, upstream in within.items():
            for up in upstream:
                consumers[up].append(name)
        object.__setattr__(self, "order", ordered(within))
        object.__setattr__(self, "consumers", consumers)

    @classmethod
    def of(cls, tables: Iterable[Scheduled]) -> Graph:
        """Returns the graph of some tables."""
        return cls({table.name: table for table in tables})

    def above(self, name: str) -> frozenset[str]:
        """Returns all dynamic tables that a table reads, at any depth."""
        return self._closure(name, lambda each: self.tables[each].upstream)

    def below(self, name: str) -> frozenset[str]:
        """Returns all dynamic tables that read a table, at any depth."""
        return self._closure(name, lambda each: self.consumers[each])

    def _closure(self, name: str, step: Callable[[str], Iterable[str]]) -> frozenset[str]:
        """Returns the dynamic tables that one or more calls of `step` lead to from a table."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            for each in step(waiting.pop()):
                if each in self.tables and each not in found:
                    found.add(each)
                    waiting.append(each)
        return frozenset(found)

    def components(self) -> Mapping[str, str]:
        """Returns for each dynamic table the name of its component: the least name that it is connected with.

        Tables are connected by what they read, base tables included.
        """
        # Union-find: each name points to another one of its component, the root to itself.
        root: dict[str, str] = {}

        def find(name: str) -> str:
            while root.setdefault(name, name) != name:
                root[name] = root[root[name]]
                name = root[name]
            return name

        for name, table in self.tables.items():
            for source in (*table.upstream, *(f"base {base}" for base in table.bases)):
                root[find(source)] = find(name)
        least: dict[str, str] = {}
        for name in sorted(self.tables):
            least.setdefault(find(name), name)
        return {name: least[find(name)] for name in self.tables}

    def diamonds(self) -> Sequence[Diamond]:
        """Returns every diamond: a source that a table reads by two or more of the tables above it."""
        found = []
        for bottom in self.order:
            arms = [up for up in self.tables[bottom].upstream if up in self.tables]
            reached = {arm: self._sources(arm) for arm in arms}
            shared = {source for one in arms for source in reached[one]}
            for source in sorted(shared):
                by = tuple(sorted(arm for arm in arms if source in reached[arm]))
                if len(by) > 1 and not self._is_behind_another(source, by, shared, reached):
                    found.append(Diamond(source, by, bottom))
        return found

    def _sources(self, name: str) -> frozenset[str]:
        """Returns all tables that a table reads, at any depth, base tables included."""
        above = {name, *self.above(name)}
        return frozenset(
            source for each in above for source in (*self.tables[each].upstream, *self.tables[each].bases)
        )

    def _is_behind_another(
        self, source: str, arms: tuple[str, ...], shared: set[str], reached: Mapping[str, frozenset[str]]
    ) -> bool:
        """Tells whether a shared source is only seen by another shared one, which is the nearer diamond."""
        nearer = [
            other
            for other in shared
            if other != source and other in self.tables and all(other in reached[arm] for arm in arms)
        ]
        direct = (each for arm in arms for each in (arm, *self.above(arm)) if self._reads(each, source))
        behind = {each for other in nearer for each in (other, *self.above(other))}
        return all(each in behind for each in direct)

    def _reads(self, name: str, source: str) -> bool:
        """Tells whether a table reads a source itself."""
        table = self.tables[name]
        return source in table.upstream or source in table.bases


def ordered(upstream: Mapping[str, Iterable[str]]) -> Sequence[str]:
    """Returns names, each after those that it names as upstream. Raises DefinitionError: for a cycle."""
    try:
        return tuple(TopologicalSorter(upstream).static_order())
    except CycleError as error:
        raise DefinitionError(
            f"dynamic tables read each other in a cycle: {' reads '.join(error.args[1])}"
        ) from error
