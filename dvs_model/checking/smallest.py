"""Shrink a history of clients to the smallest part found that is wrong in the same way (delta debugging)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from dvs_model.checking.reduction import Reduction, fewer
from dvs_model.observed.seen import Kind, Observed, Op, Transaction

CALLS = 400
"""Limit of parts that are judged. What is left by then is still wrong, but may not be the smallest."""

Wrong = Callable[[Observed], bool]
"""Tells whether a part of a history is still wrong in the way that is looked for."""


def smallest(observed: Observed, first: Sequence[int], wrong: Wrong, calls: int = CALLS) -> Observed:
    """Returns a part of a history that is still wrong; unless the calls are used up, nothing can be left out.

    First the transactions of the evidence are tried alone. Then halves, quarters and so on of the
    transactions are left out as long as the rest is wrong, then single operations, and all again until
    nothing changes. If an append is left out, its element goes from the lists that others read; otherwise
    these would be wrong in another way.

    `first`: numbers of the transactions of the evidence. `calls`: how many parts may be judged.
    """
    every = list(observed.transactions)
    appended = _appended(every)

    def part(kept: Sequence[Transaction]) -> Observed:
        numbers = {each.number for each in kept}
        follows = [pair for pair in observed.follows if numbers.issuperset(pair)]
        gone = appended - _appended(kept)
        copies = [replace(each, ops=[_without(op, gone) for op in each.ops]) for each in kept]
        return replace(observed, transactions=copies, notes=[], follows=follows)

    left = Reduction(every, lambda kept: wrong(part(kept)), calls)
    left.accept(_with_writers(observed, set(first)) or None)
    before = None
    while before != left.current and left.calls > 0:
        before = list(left.current)
        fewer(left)
        left.exhaust(_operations)
    return part(left.current)


def _with_writers(observed: Observed, numbers: set[int]) -> list[Transaction]:
    """Returns some transactions with the writers of what they read, by numbers."""
    chosen = [each for each in observed.transactions if each.number in numbers]
    read = {
        (op.key, value)
        for each in chosen
        for op in each.ops
        for value in (op.value if isinstance(op.value, tuple) else (op.value,))
    }
    return [
        each
        for each in observed.transactions
        if each.number in numbers or any((op.key, op.value) in read for op in each.ops)
    ]


def _appended(transactions: Sequence[Transaction]) -> set[tuple[str, object]]:
    """Returns the elements of lists that transactions append, each with its key."""
    return {(op.key, op.value) for each in transactions for op in each.ops if op.kind is Kind.APPEND}


def _without(op: Op, gone: set[tuple[str, object]]) -> Op:
    """Returns an operation whose list lacks the elements of appends that are left out."""
    if op.kind is not Kind.READ_LIST or not isinstance(op.value, tuple):
        return op
    return op._replace(value=tuple(value for value in op.value if (op.key, value) not in gone))


def _operations(kept: list[Transaction]) -> list[Callable[[], list[Transaction] | None]]:
    """Returns the transactions without each of their operations; None for the only one of a transaction."""

    def rest(place: int, number: int) -> list[Transaction] | None:
        each = kept[place]
        if len(each.ops) < 2:
            return None
        left = replace(each, ops=[*each.ops[:number], *each.ops[number + 1 :]])
        return [*kept[:place], left, *kept[place + 1 :]]

    return [
        partial(rest, place, number) for place, each in enumerate(kept) for number in range(len(each.ops))
    ]
