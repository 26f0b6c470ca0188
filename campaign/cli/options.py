"""Option types that several commands share."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

from campaign.exit_codes import ExitCode
from workload.results import OutcomeClass, RunSummary

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


class Duration(click.ParamType[float]):
    """A duration such as 90, 90s, 10m or 2h, in seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds; fails with one line."""
        if isinstance(value, float | int):
            return float(value)
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", str(value).strip())
        if match is None or float(match[1]) <= 0:
            self.fail(f"{value!r} is no duration; write 90s, 10m or 2h", param, ctx)
        return float(match[1]) * UNITS[match[2]]


class TierName(click.ParamType[str]):
    """A tier of `campaign.lanes`, `adapter:NAME`, or one of `more` names."""

    name = "tier"

    def __init__(self, *more: str) -> None:
        self.more = more

    def names(self) -> tuple[str, ...]:
        """Every name but the adapters'."""
        # Imported here: other commands share this module and do without what lanes load.
        from campaign.lanes import TIERS

        return (*TIERS, *self.more)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """For the help."""
        return f"[{'|'.join(self.names())}|adapter:NAME]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as it is; fails with one line."""
        from campaign.lanes import ADAPTER

        text = str(value)
        if text not in self.names() and not text.startswith(ADAPTER):
            self.fail(f"{text!r} is no tier; there are: {', '.join(self.names())}, adapter:NAME", param, ctx)
        return text


@contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does: what has been judged is written down."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """The exit status of several runs: a failure outweighs a doubt, and a doubt a clean run."""
    order = (ExitCode.FAILED, ExitCode.MISUSE, ExitCode.UNKNOWN, ExitCode.OK)
    return min(codes, key=order.index)


def exit_code(summary: RunSummary) -> ExitCode:
    """What a run's summary means for a script: only a clean run that met its floors is 0."""
    outcomes = summary.outcomes
    if outcomes[OutcomeClass.PRODUCT_FAILURE.value]:
        return ExitCode.FAILED
    doubtful = (
        OutcomeClass.DIVERGENCE,
        OutcomeClass.FLAKY,
        OutcomeClass.INFRASTRUCTURE_FAILURE,
        OutcomeClass.GENERATOR_INVALID,
    )
    partial = summary.interrupted or not summary.coverage.floors_met
    if partial or any(outcomes[outcome.value] for outcome in doubtful):
        return ExitCode.UNKNOWN
    return ExitCode.OK if outcomes[OutcomeClass.PASSED.value] else ExitCode.UNKNOWN
