"""What follows when refreshes fail: when to try again, and when to stop (DVS paper, section 3.3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from dynamic_tables.schedule.lag import SECOND


class Blame(Enum):
    """Who must act after a refresh has failed.

    USER: the query fails on the data, or cannot be run any more. The same data timestamp is not tried again.
    SYSTEM: a disk, a conflict with another writer, the network. It is tried again, later and later.
    """

    USER = "user"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class FailureRule:
    """What an account does after failures. `threshold`: consecutive user errors that suspend a table.

    `first_wait`: microseconds until a refresh is tried again after a system error; the wait doubles with each
    further one, up to `longest_wait`.
    """

    threshold: int = 5
    first_wait: int = SECOND
    longest_wait: int = 300 * SECOND


RULE = FailureRule()
"""The rule of an account that has no other one."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A scheduled refresh that failed. `timestamp`: its data timestamp. `at`: when it ended; microseconds."""

    timestamp: int
    at: int
    fault: Blame
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """What some failures since the last success mean.

    `errors`: consecutive user errors. `failed`: the newest data timestamp at which the query failed.
    `retry_at`: no refresh before this time. `suspended`: the errors reached the threshold.
    """

    errors: int
    failed: int | None
    retry_at: int | None
    suspended: bool


def standing(failures: Sequence[Failure], newest: int | None, rule: FailureRule) -> Standing:
    """Returns what the failures of a table mean, oldest first, where its contents are at `newest`.

    Failures at or before the contents are over: a success resets the count, for data timestamps grow.
    """
    since = [each for each in failures if newest is None or each.timestamp > newest]
    users = [each for each in since if each.fault is Blame.USER]
    systems = 0
    for each in reversed(since):
        if each.fault is Blame.USER:
            break
        systems += 1
    # Without the 60 the power would have as many bits as there were failures.
    wait = min(rule.first_wait * 2 ** min(systems - 1, 60), rule.longest_wait) if systems else 0
    return Standing(
        errors=len(users),
        failed=max((each.timestamp for each in users), default=None),
        retry_at=since[-1].at + wait if systems else None,
        suspended=len(users) >= rule.threshold,
    )
