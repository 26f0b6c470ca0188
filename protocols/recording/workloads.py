"""Random transactions, the same ones for the same seed, client and number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from random import Random
from types import MappingProxyType

from protocols.recording.database import Promise

APPENDS_OF_A_KEY = 40
"""Elements up to which a list grows, about. Then other keys take over: each read shows the whole list."""

FIRST_BALANCE = 100
STAMP = 1_000_000
"""A balance is stored as a unique number times STAMP, plus the balance: a read tells what it has read."""

TURNS = 10
"""Keys that a client inserts, and that it deletes: a read by a predicate is judged over all keys."""

MODULUS = 3
"""A read by a predicate selects the rows whose value has a remainder by this number."""


class Word(Enum):
    """What a step does."""

    READ = "read"
    APPEND = "append"
    WRITE = "write"
    UPDATE = "update"
    DELETE = "delete"
    SELECT = "select"
    MOVE = "move"


@dataclass(frozen=True, slots=True)
class Request:
    """A step of a transaction, before it is known what it reads.

    `key`: which; of SELECT the modulus, of MOVE the account that money is taken from. `value`: what is
    written; of SELECT the remainder, of MOVE the account that it goes to. `amount`: of MOVE. `stamp`: what
    makes the balances of a MOVE unique.
    """

    word: Word
    key: int
    value: int = 0
    amount: int = 0
    stamp: int = 0


@dataclass(frozen=True, slots=True)
class Workload:
    """Transactions of one kind.

    `adya`: its file has the order of versions, so that Adya's levels are decided. `clients`: it has no
    reads by predicates, so that the levels that clients can tell are. `lists`: keys hold lists. `first`: what
    the keys hold at first, by their number and that of the clients. `steps`: returns a transaction.
    """

    name: str
    adya: bool
    clients: bool
    lists: bool
    first: Callable[[int, int], Mapping[int, int]]
    steps: Callable[[Draw], tuple[Request, ...]]


@dataclass(frozen=True, slots=True)
class Draw:
    """What a transaction is drawn from. `number`: its number among those of the client."""

    random: Random
    keys: int
    client: int
    clients: int
    number: int

    @property
    def unique(self) -> int:
        """A number above 0 that no other transaction of the run has."""
        return self.number * self.clients + self.client + 1

    def value(self, place: int) -> int:
        """Returns a number that nothing else of the run writes, for one of the first ten steps."""
        return self.unique * 10 + place


def decided(workload: Workload, promise: Promise) -> tuple[str, ...]:
    """Returns the levels that a promise names, as far as recordings of a workload decide them."""
    adya, clients = promise.value
    named = {adya: workload.adya, clients: workload.clients}
    return tuple(name for name, is_decided in named.items() if name and is_decided)


def drawn(
    workload: Workload, seed: int, keys: int, client: int, clients: int, number: int
) -> tuple[Request, ...]:
    """Returns the transaction of a client with a number."""
    random = Random(f"{seed} {workload.name} {client} {number}")
    return workload.steps(Draw(random, keys, client, clients, number))


def _nothing(keys: int, clients: int) -> Mapping[int, int]:
    return {}


def _appends(draw: Draw) -> tuple[Request, ...]:
    # Half of two to four steps are appends, so that this many transactions of all clients fill a key.
    filled = draw.keys * APPENDS_OF_A_KEY // 2
    first = draw.number * draw.clients // filled * draw.keys
    steps = []
    for place in range(draw.random.randint(1, 4)):
        key = first + draw.random.randrange(draw.keys)
        append = draw.random.random() < 0.5
        steps.append(Request(Word.APPEND, key, draw.value(place)) if append else Request(Word.READ, key))
    return tuple(steps)


def _registers(draw: Draw) -> tuple[Request, ...]:
    """Returns reads of some keys, then writes of about half of these keys: that is where updates get lost."""
    chosen = draw.random.sample(range(draw.keys), min(draw.keys, draw.random.randint(1, 3)))
    steps = [Request(Word.READ, key) for key in chosen]
    for place, key in enumerate(chosen):
        if draw.random.random() < 0.5:
            steps.append(Request(Word.WRITE, key, draw.value(place)))
    return tuple(steps)


def _bank(draw: Draw) -> tuple[Request, ...]:
    if draw.random.random() < 0.5:
        return tuple(Request(Word.READ, key) for key in range(draw.keys))
    source, target = draw.random.sample(range(draw.keys), 2)
    return (Request(Word.MOVE, source, target, draw.random.randint(1, 5), draw.unique),)


def _predicates(draw: Draw) -> tuple[Request, ...]:
    """Returns a read by a remainder, and in most cases a write; keys with that remainder come and go.

    No key gets another remainder, and none is deleted that was inserted, so that of a key which a read does
    not show it is known what the read has selected.
    """
    read = Request(Word.SELECT, MODULUS, draw.random.randrange(MODULUS))
    steps = [read]
    turn, rest = divmod(draw.number, 4)
    gone = draw.keys + turn * draw.clients + draw.client
    new = gone + TURNS * draw.clients
    key = draw.random.randrange(draw.keys)
    if rest == 1 and turn < TURNS:
        # Half of them are inserted blindly.
        steps = [read] if draw.random.random() < 0.5 else []
        steps.append(Request(Word.WRITE, new, draw.unique * MODULUS + new % MODULUS))
    elif rest == 3 and turn < TURNS:
        steps.append(Request(Word.DELETE, gone))
    elif draw.random.random() < 0.7:
        steps.append(Request(Word.UPDATE, key, draw.unique * MODULUS + key % MODULUS))
    return tuple(steps)


def _remainders(keys: int, clients: int) -> Mapping[int, int]:
    return {key: key % MODULUS for key in range(keys + TURNS * clients)}


def _balances(keys: int, clients: int) -> Mapping[int, int]:
    return dict.fromkeys(range(keys), FIRST_BALANCE)


WORKLOADS: Mapping[str, Workload] = MappingProxyType(
    {
        name: Workload(
            name, name in ("append", "predicate"), name != "predicate", name == "append", *drawn_from
        )
        for name, drawn_from in {
            "append": (_nothing, _appends),
            "register": (_nothing, _registers),
            "bank": (_balances, _bank),
            "predicate": (_remainders, _predicates),
        }.items()
    }
)
"""The workloads by name."""
