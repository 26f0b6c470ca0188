"""Which relations a definition reads now: views in between, and what they read, may change at any time."""

from __future__ import annotations

from collections.abc import Mapping

from dynamic_tables.definition import Definition, DynamicTable, View
from dynamic_tables.errors import CorruptTable, DefinitionError
from dynamic_tables.reading.text.text import names_in, read_text


def reaches(relations: Mapping[str, Definition], text: str, target: str) -> tuple[str, ...]:
    """Returns the way by which a query reads a relation, at any depth; empty if it does not."""

    def visit(current: str, path: tuple[str, ...]) -> tuple[str, ...]:
        for name in names_in(current):
            if name == target:
                return (*path, name)
            match relations.get(name):
                case View(text=below) | DynamicTable(text=below) if name not in path:
                    found = visit(below, (*path, name))
                    if found:
                        return found
                case _:
                    pass
        return ()

    return visit(text, ())


def ensure_acyclic(relations: Mapping[str, Definition], name: str, text: str) -> None:
    """Raises DefinitionError: a new text of a view or dynamic table would make it read itself."""
    way = reaches(relations, text, name)
    if way:
        raise DefinitionError(f"{name} would read itself: {' reads '.join((name, *way))}")


def sources_now(table: DynamicTable, relations: Mapping[str, Definition]) -> tuple[str, ...]:
    """Returns the stored relations that a table reads now: a view in between may have been replaced.

    If its text, or a relation in it, cannot be read any more, those that it read when it was created.
    """
    try:
        now = read_text(table.text, relations).sources
    except (DefinitionError, CorruptTable):
        return table.sources
    return table.sources if set(now) == set(table.sources) else now
