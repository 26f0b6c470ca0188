"""Option types, options and the handling of SIGTERM that several commands share."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click
from click.core import ParameterSource

from campaign.errors import CampaignError
from generators.profiles import GOAL_FLOOR, PROFILES


class Duration(click.ParamType[float]):
    """A duration such as 90, 90s, 10m or 2h; its value is in seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Returns the seconds of a text. Raises click.BadParameter: the text is no duration."""
        # Imported here, because commands without a duration share this module and must start fast.
        from campaign.runs.plan import seconds_of

        if isinstance(value, float | int):
            return float(value)
        try:
            return seconds_of(str(value))
        except CampaignError as error:
            self.fail(str(error), param, ctx)


class TierName(click.ParamType[str]):
    """The name of a tier, `adapter:NAME`, or one of some more names."""

    name = "tier"

    def __init__(self, *more: str) -> None:
        self.more = more

    def names(self) -> tuple[str, ...]:
        """Returns every name but those of adapters."""
        # Imported here, because commands that need no tier share this module and must start fast.
        from engines.registry import TIERS

        return (*TIERS, *self.more)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Returns the names as the help shows them."""
        return f"[{'|'.join(self.names())}|adapter:NAME]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Returns the name itself. Raises click.BadParameter: there is no such tier."""
        from engines.registry import ADAPTER

        text = str(value)
        if text not in self.names() and not text.startswith(ADAPTER):
            self.fail(f"{text!r} is no tier; choose {', '.join(self.names())} or adapter:NAME", param, ctx)
        return text


tier = click.option("--tier", type=TierName(), default="rules", help="The engine that runs the scenario.")
fault = click.option(
    "--fault",
    "faults",
    multiple=True,
    help="Plant this fault in the engine (`dvs mutants --list` lists them); may be repeated.",
)
validations = click.option(
    "--validations/--no-validations", default=True, help="Whether the engine validates its own change sets."
)
seed = click.option("--seed", type=int, default=1, help="Decides which random scenarios run.")
first = click.option("--first", type=click.IntRange(0), default=0, help="Index of the first scenario.")
budget = click.option("--budget", type=Duration(), help="How long to run at most, such as 90s, 10m or 2h.")
profile = click.option(
    "--profile", default="smoke", help=f"Kind of random scenarios: {', '.join(PROFILES)}, or a TOML file."
)
definitions = click.option(
    "--definitions",
    type=click.Path(),
    metavar="PATH",
    help="Your own tables and dynamic tables, not random ones: a .sql script, or a folder of them.",
)
values = click.option(
    "--values",
    type=click.Choice(["random", "sample"]),
    default="random",
    help="sample: an account's values come as often as in its tables; only frequencies are taken from them.",
)
show_values = click.option(
    "--show-values", is_flag=True, help="With --values sample: rows have the values of your tables."
)
floor = click.option(
    "--floor",
    type=click.IntRange(0, 100),
    default=GOAL_FLOOR,
    help="With --definitions: the percentage of each definition's text that random data must cover.",
)
hunted_fault = click.option(
    "--fault",
    "faults",
    multiple=True,
    help="Hunt only this planted fault (`dvs mutants --list` lists them); may be repeated.",
)
workers = click.option("--workers", type=click.IntRange(1, 64), default=2, help="Number of worker processes.")
ignore = click.option(
    "--ignore",
    type=click.Path(),
    help="TOML file with rules for known failures, each with an issue and an expiry date.",
)
shrink = click.option(
    "--shrink",
    type=click.IntRange(0),
    default=24,
    help="How many failures to shrink. --ignore covers only failures that were shrunk to the end.",
)
shrink_budget = click.option(
    "--shrink-budget", type=Duration(), default="2m", help="How long to shrink failures after each campaign."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout instead of text.")


def given(option: str) -> bool:
    """Tells whether the user gave an option of the current command."""
    return click.get_current_context().get_parameter_source(option) is not ParameterSource.DEFAULT


@contextmanager
def interruptible() -> Iterator[None]:
    """Lets SIGTERM end a run as Ctrl-C does (KeyboardInterrupt), so that its results so far are written."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
