"""SeaHash, the hash function of the article's workload: no package on PyPI has it.

The algorithm is that of the Rust crate `seahash`, version 4, which Materialize uses.
"""

from __future__ import annotations

MASK = (1 << 64) - 1
FACTOR = 0x6EED0E9DA4D94A4F
SEEDS = (0x16F11FE89B0D677C, 0xB480A793D8E6C86C, 0x6FE2E5AAF078EBC9, 0x14F994A4C5259381)


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
