"""The rows of affected groups: those whose keys some other rows have.

A group, or the partition of a window, is affected if a changed row has its key. Rules compute such groups
anew from their rows, and a join of few rows with groups needs no others (`rewrites.narrowed`).
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamic_tables.plan.expressions import Col, Expr, boolean, conjunction
from dynamic_tables.plan.nodes import Distinct, Plan, Project, SemiJoin

KEY = "$KEY"
"""How the names of affected keys begin; another beginning where rows may have such columns already."""


def affected_keys(changes: Plan, keys: Sequence[Expr], name: str = KEY) -> Plan:
    """Returns the distinct keys of changed rows, as `$KEY0`, `$KEY1`, ..."""
    return Distinct(Project(changes, tuple((f"{name}{i}", key) for i, key in enumerate(keys))))


def only_groups(rows: Plan, keys: Sequence[Expr], affected: Plan, name: str = KEY) -> Plan:
    """Returns the rows whose key is among the affected keys."""
    return SemiJoin(rows, affected, is_affected(keys, name))


def is_affected(keys: Sequence[Expr], name: str = KEY) -> Expr:
    """Returns the condition that keys are equal to `$KEY0`, `$KEY1`, ..., where two NULLs are equal."""
    return conjunction(
        boolean("is not distinct from", key, Col(f"{name}{i}", key.type)) for i, key in enumerate(keys)
    )
