"""Fewer base tables: one table in the place of another, wherever that one was read or written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

from campaign.shrink.reduction import Reduction
from campaign.shrink.tables import reading
from workload.dml import Assignment, Dml, Merge
from workload.query import ColumnRef, Named
from workload.scenario import Commit, Read, Scenario, Step
from workload.types import SqlType


def merge_tables(scenario: Scenario) -> Iterator[Scenario]:
    """A table of the same types instead of another: what has two inputs may be left with one."""
    for gone in reversed(scenario.tables):
        for kept in scenario.tables:
            if kept != gone and [c.type for c in kept.columns] == [c.type for c in gone.columns]:
                names = {a.name: b.name for a, b in zip(gone.columns, kept.columns, strict=True)}
                there = reading(scenario, gone.name, names)
                yield replace(
                    there,
                    tables=tuple(table for table in scenario.tables if table != gone),
                    definitions=_changed(there.definitions, partial(_named, gone.name, kept.name)),
                    steps=tuple(_step(step, gone.name, kept.name, names) for step in there.steps),
                )


def _named(gone: str, kept: str, node: Any) -> Any:
    return replace(node, name=kept) if isinstance(node, Named) and node.name == gone else None


def _step(step: Step, gone: str, kept: str, names: Mapping[str, str]) -> Step:
    match step:
        case Commit(_, statements):
            return replace(step, statements=tuple(_statement(s, gone, kept, names) for s in statements))
        case Read(_, _, tables):
            return replace(step, tables=tuple(dict.fromkeys(kept if t == gone else t for t in tables)))
        case _:
            return step


def _statement(statement: Dml, gone: str, kept: str, names: Mapping[str, str]) -> Dml:
    if statement.table != gone:
        return statement

    def change(node: Any) -> Any:
        match node:
            case ColumnRef(relation, name) if relation == gone:
                return replace(node, relation=kept, name=names[name])
            case Assignment(column, value):
                return Assignment(names[column], _changed(value, change))
            case _:
                return None

    moved: Dml = replace(_changed(statement, change), table=kept)
    return replace(moved, keys=tuple(names[key] for key in moved.keys)) if isinstance(moved, Merge) else moved


def _changed(node: Any, change: Callable[[Any], Any]) -> Any:
    """A value of the vocabulary with every part replaced that `change` has something for, outside in."""
    new = change(node)
    if new is not None:
        return new
    if isinstance(node, tuple):
        return tuple(_changed(part, change) for part in node)
    if is_dataclass(node) and not isinstance(node, SqlType | type):
        return replace(node, **{f.name: _changed(getattr(node, f.name), change) for f in fields(node)})
    return node


REDUCTIONS = (Reduction("merge tables", merge_tables),)
