"""The limits of adapters: checked where they are called, sent to other processes by the names of adapters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import Any

from engines.errors import EngineError, shown
from workload.limits import NO_LIMITS, Limits, both
from workload.query import Item, Literal, Named, Query, Select
from workload.types import INT

FindLimits = Callable[[str], Limits]
"""The name of an adapter -> the limits that it gives. Raises EngineError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentLimits(Limits):
    """Limits that another process loads again from the adapters.

    A function of a user's module cannot always be pickled: it may be a lambda.
    """

    find: FindLimits
    names: tuple[str, ...]

    def __reduce__(self) -> tuple[object, ...]:
        return common_limits, (self.find, *self.names)


ANY_QUERY = Select((Item(Literal(0, INT), "x"),), Named("r", "t"))
"""A query that no engine refuses."""


def common_limits(find: FindLimits, *names: str) -> Limits:
    """Returns the limits that some adapters have in common. Raises EngineError as `find` does."""
    found = reduce(both, (_checked(name, find(name)) for name in names), NO_LIMITS)
    # Wrong functions show here, before anything runs.
    found.stores(0, INT)
    found.gap(ANY_QUERY)
    found.amend(ANY_QUERY)
    if found == NO_LIMITS:
        return NO_LIMITS
    values = {each.name: getattr(found, each.name) for each in fields(Limits)}
    return SentLimits(**values, find=find, names=names)


def _checked(name: str, limits: Limits) -> Limits:
    """Returns limits whose functions raise EngineError where the adapter's own ones are wrong."""
    if limits == NO_LIMITS:
        return limits

    def is_reason(gap: object) -> bool:
        return gap is None or isinstance(gap, str)

    return replace(
        limits,
        stores=_guarded(name, "stores", limits.stores, lambda answer: answer is not None, "True or False"),
        gap=_guarded(name, "gap", limits.gap, is_reason, "a reason in words, or None"),
        amend=_guarded(name, "amend", limits.amend, lambda query: isinstance(query, Query), "a Query"),
    )


def _guarded(
    name: str, what: str, call: Callable[..., Any], fits: Callable[[object], bool], due: str
) -> Callable[..., Any]:
    """Returns `call`, which now raises EngineError where it raises or its result does not fit.

    `what`: its name in `Limits`. `due`: what it is to return, in words.
    """

    def guarded(*args: object) -> Any:
        try:
            result = call(*args)
        except Exception as error:
            raise EngineError(
                f"adapter {name!r}: `{what}` of its limits raised {shown(error)}; it returns {due}"
            ) from error
        if not fits(result):
            arguments = ", ".join(map(repr, args))
            raise EngineError(
                f"adapter {name!r}: `{what}` of its limits returned {result!r} for {arguments[:200]}; "
                f"it returns {due}"
            )
        return result

    return guarded
