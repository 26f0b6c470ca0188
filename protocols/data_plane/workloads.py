"""Intents to resolve: the workload and the bank of McSherry's article, and random ones."""

from __future__ import annotations

from random import Random

from protocols.data_plane.intents import Intent, IntentRow, intents_of

BANK = (
    IntentRow(1, False, "alice", "100"),
    IntentRow(2, True, "bob", None),
    IntentRow(2, False, "bob", "50"),
    IntentRow(3, True, "alice", "100"),
    IntentRow(3, True, "bob", "50"),
    IntentRow(3, False, "alice", "70"),
    IntentRow(3, False, "bob", "80"),
    IntentRow(4, True, "alice", "100"),
    IntentRow(4, True, "bob", "50"),
    IntentRow(4, False, "alice", "60"),
    IntentRow(4, False, "bob", "90"),
    IntentRow(5, True, "alice", "70"),
    IntentRow(5, True, "bob", "80"),
    IntentRow(5, False, "alice", "50"),
    IntentRow(5, False, "bob", "100"),
    IntentRow(6, True, "x", None),
    IntentRow(6, False, "x", "A"),
    IntentRow(7, True, "x", "A"),
    IntentRow(7, False, "x", "B"),
    IntentRow(8, True, "x", "A"),
    IntentRow(8, False, "x", "C"),
    IntentRow(9, True, "x", "C"),
    IntentRow(9, False, "x", "D"),
)
"""The nine transactions of the article: 4, 8 and 9 are rolled back."""


def article(count: int = 10_000, keys: int = 10_000) -> list[IntentRow]:
    """Returns the article's workload: `count` transactions with two reads and two writes each over `keys`.

    Every read expects that its key has no value, because the store is empty before.
    """
    rows: list[IntentRow] = []
    for number in range(1, count + 1):
        rk1, rk2, wk1, wk2 = (
            f"k{seahash(f'{number}:{role}'.encode()) % keys}" for role in ("rk1", "rk2", "wk1", "wk2")
        )
        rows += [
            IntentRow(number, True, rk1, None),
            IntentRow(number, True, rk2, None),
            IntentRow(number, False, wk1, f"{number}:{wk1}"),
            IntentRow(number, False, wk2, f"{number}:{wk2}"),
        ]
    return rows


def random_intents(random: Random, count: int, keys: int) -> tuple[Intent, ...]:
    """Returns transactions over a few keys whose reads are often, but not always, what they find.

    A client reads the store as it is some transactions before its own turn.
    """
    names = [f"k{number}" for number in range(keys)]
    states: list[dict[str, str | None]] = [{}]
    rows: list[IntentRow] = []
    for number in range(1, count + 1):
        seen = states[max(0, len(states) - 1 - random.choice((0, 0, 0, 1, 2)))]
        state = dict(states[-1])
        for key in random.sample(names, random.randint(0, min(2, keys))):
            value = seen.get(key) if random.random() < 0.9 else random.choice([None, "7", "v1"])
            rows.append(IntentRow(number, True, key, value))
        for key in random.sample(names, random.randint(1, min(2, keys))):
            value = random.choice([f"v{number}", f"v{number}", "7", None])
            rows.append(IntentRow(number, False, key, value))
            state[key] = value
        states.append(state)
    return intents_of(rows)


MASK = (1 << 64) - 1
FACTOR = 0x6EED0E9DA4D94A4F
SEEDS = (0x16F11FE89B0D677C, 0xB480A793D8E6C86C, 0x6FE2E5AAF078EBC9, 0x14F994A4C5259381)
"""The constants of SeaHash."""


def seahash(data: bytes) -> int:
    """Returns the hash of bytes, from 0 to 2**64 - 1.

    >>> seahash(b"to be or not to be")
    1988685042348123509
    """
    lanes = list(SEEDS)
    for number, start in enumerate(range(0, len(data), 8)):
        word = int.from_bytes(data[start : start + 8], "little")
        lanes[number % 4] = _diffused(lanes[number % 4] ^ word)
    return _diffused(lanes[0] ^ lanes[1] ^ lanes[2] ^ lanes[3] ^ len(data))


def _diffused(value: int) -> int:
    value = (value * FACTOR) & MASK
    value ^= (value >> 32) >> (value >> 60)
    return (value * FACTOR) & MASK
