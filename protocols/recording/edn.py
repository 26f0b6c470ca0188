"""A recording as a file of Jepsen: EDN, one operation a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from protocols.recording.clients import Moment, Op, Outcome, Recording

ROUNDS = 20
MOVE = 1e-6
"""The share of the distance of two moments by which an answer moves: it stays between its neighbours."""


def edn(recording: Recording) -> Iterator[str]:
    """Yields the lines. What a database says of an error stands in :error."""
    predicates = recording.run.workload.name == "predicate"
    f = ":init" if predicates else ":txn"
    # Files of predicates have no other order of versions than that of the answers.
    moments = in_order_of_versions(recording.moments) if predicates else recording.moments
    for moment in moments:
        ops = " ".join(map(_op, moment.ops))
        value = f"[{ops}]"
        if f == ":init":
            value = f"{{{' '.join(f'{op.argument} {op.value}' for op in moment.ops)}}}"
        error = f", :error {_text(moment.error)}" if moment.error else ""
        yield (
            f"{{:type :{moment.outcome.value}, :process {moment.process}, :f {f}, :value {value}, "
            f":time {moment.nanoseconds}{error}}}\n"
        )
        if moment.outcome is Outcome.OK:
            f = ":txn"


def in_order_of_versions(moments: Sequence[Moment]) -> list[Moment]:
    """Returns the moments; of two that wrote a key, the one that wrote first has its answer first.

    A client may note its answer late. The second writer of a key waited until the first one had committed, so
    the first answer moves to just before the second one: that is true as well.
    """
    at = {id(each): float(place) for place, each in enumerate(moments)}
    versions: dict[int, dict[int, Moment]] = {}
    for each in moments:
        for key, place in each.places:
            versions.setdefault(key, {})[place] = each
    # From the last answer on, so that one move can cause the next one; a few rounds, because versions in a
    # circle, which only a broken database gives, would move for ever.
    for _ in range(ROUNDS):
        before = dict(at)
        for chain in versions.values():
            for after, first in pairwise(chain[place] for place in sorted(chain, reverse=True)):
                if first is not after and at[id(first)] > at[id(after)]:
                    at[id(first)] = at[id(after)] - MOVE
        if at == before:
            break
    ends = sorted(moments, key=lambda each: at[id(each)])
    times = list(accumulate((each.nanoseconds for each in reversed(ends)), min))[::-1]
    return [replace(each, nanoseconds=time) for each, time in zip(ends, times, strict=True)]


def _op(op: Op) -> str:
    if op.f == "rp":
        assert isinstance(op.argument, tuple)
        modulus, remainder = op.argument
        return f"[:rp [:mod {modulus} {remainder}] {_value(op.value)}]"
    return f"[:{op.f} {op.argument}]" if op.f == "delete" else f"[:{op.f} {op.argument} {_value(op.value)}]"


def _value(value: object) -> str:
    match value:
        case None:
            return "nil"
        case tuple():
            return f"[{' '.join(map(str, value))}]"
        case Mapping():
            return f"{{{' '.join(f'{key} {each}' for key, each in value.items())}}}"
    return str(value)


def _text(words: str) -> str:
    plain = "".join(each for each in words if each.isalnum() or each in " _.-")
    return f'"{plain}"'
