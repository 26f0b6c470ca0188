"""Shrink a history of clients to the smallest part found that is wrong in the same way (delta debugging)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from dvs_model.observed.seen import Kind, Observed, Op, Transaction

CALLS = 400
"""Limit of parts that are judged. What is left by then is still wrong, but may not be the smallest."""

Item = TypeVar("Item")

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
    search = _Search(observed, wrong, calls)
    near = _with_writers(observed, set(first))
    if near and search.fails(near):
        search.kept = near
    before = None
    while before != search.kept and search.calls > 0:
        before = list(search.kept)
        search.transactions()
        search.operations()
    return search.part(search.kept)


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


def fewer(kept: list[Item], fails: Callable[[list[Item]], bool], left: Callable[[], bool]) -> list[Item]:
    """Leaves out ever smaller runs of items while the rest fails; returns what is left (ddmin, Zeller 2002).

    `left`: whether there are calls left.
    """
    size = max(1, len(kept) // 2)
    while left():
        at, before = 0, len(kept)
        while at < len(kept) and len(kept) > 1:
            rest = [*kept[:at], *kept[at + size :]]
            if rest and fails(rest):
                kept = rest
            else:
                at += size
        if size == 1 and len(kept) == before:
            break
        size = max(1, size // 2)
    return kept


class _Search:
    """The work of `smallest`. `calls`: how many are left. `kept`: the transactions that are left so far."""

    def __init__(self, observed: Observed, wrong: Wrong, calls: int) -> None:
        self.observed, self.wrong, self.calls = observed, wrong, calls
        self.kept = list(observed.transactions)
        self.appended = _appended(self.kept)

    def part(self, kept: Sequence[Transaction]) -> Observed:
        """Returns the history of some transactions."""
        numbers = {each.number for each in kept}
        follows = [pair for pair in self.observed.follows if numbers.issuperset(pair)]
        gone = self.appended - _appended(kept)
        copies = [replace(each, ops=[_without(op, gone) for op in each.ops]) for each in kept]
        return replace(self.observed, transactions=copies, notes=[], follows=follows)

    def fails(self, kept: Sequence[Transaction]) -> bool:
        """Whether a part is wrong; not, once the calls are used up."""
        self.calls -= 1
        return self.calls >= 0 and self.wrong(self.part(kept))

    def transactions(self) -> None:
        """Leaves out ever smaller runs of transactions."""
        self.kept = fewer(self.kept, self.fails, lambda: self.calls > 0)

    def operations(self) -> None:
        """Leaves out single operations."""
        for place in range(len(self.kept)):
            number = 0
            while number < len(self.kept[place].ops) > 1:
                transaction = self.kept[place]
                ops = [*transaction.ops[:number], *transaction.ops[number + 1 :]]
                rest = [*self.kept]
                rest[place] = replace(transaction, ops=ops)
                if self.fails(rest):
                    self.kept = rest
                else:
                    number += 1
