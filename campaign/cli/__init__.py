"""The command `dvs`: a table of sub-commands, each loaded only when it is called."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import IO, Any

import click

from campaign.exit_codes import ExitCode


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """A sub-command not loaded yet: where it is, as `module:attribute`, and what the list says of it."""

    target: str
    summary: str

    def load(self) -> click.Command:
        """Import the command."""
        module, _, attribute = self.target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command), self.target
        return command


COMMANDS: Mapping[str, LazyCommand] = MappingProxyType(
    {
        "doctor": LazyCommand("campaign.cli.doctor:command", "Check that this machine can run everything."),
        "fuzz": LazyCommand("campaign.cli.fuzz:command", "Search for wrong refreshes within a budget."),
        "replay": LazyCommand("campaign.cli.replay:command", "Run a stored scenario again and judge it."),
        "shrink": LazyCommand("campaign.cli.shrink:command", "Make a failing scenario as small as it gets."),
        "mutants": LazyCommand("campaign.cli.mutants:command", "Plant faults and see that each is found."),
        "gate": LazyCommand(
            "campaign.cli.gate:command", "One verdict: kept scenarios, campaigns, planted faults, a baseline."
        ),
        "compare": LazyCommand(
            "campaign.cli.compare:command", "Two configurations, one set of definitions, no value shown."
        ),
        "runs": LazyCommand("campaign.cli.runs:command", "List past runs and their trend."),
        "check": LazyCommand(
            "campaign.cli.check:command", "Tell which isolation levels histories keep, and why not others."
        ),
        "verify": LazyCommand("campaign.cli.verify:command", "Check theorems on all small histories."),
        "explain": LazyCommand(
            "campaign.cli.explain:command", "Show a plan, its change query and its row ids."
        ),
        "operators": LazyCommand("campaign.cli.operators:command", "List operators and how each is derived."),
    }
)

DOMAIN_ERRORS = frozenset(
    {
        "campaign.errors.CampaignError",
        "dvs_model.errors.HistoryError",
        "dynamic_tables.errors.DynamicTablesError",
        "workload.errors.WorkloadError",
    }
)
"""Base classes of the errors that are for the user. By name: importing them would load their packages."""


class Misuse(click.ClickException):
    """A domain error on its way to the user: one line on stderr, no traceback."""

    exit_code = ExitCode.MISUSE

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line."""
        click.echo(f"error: {' '.join(self.format_message().split())}", file=file, err=True)


class LazyGroup(click.Group):
    """A group over `COMMANDS`. A command may return an `ExitCode`; domain errors become `Misuse`.

    Any other exception is a bug and keeps its traceback.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command, or None if there is no such name."""
        entry = COMMANDS.get(cmd_name)
        return entry.load() if entry else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table, so that asking for help loads none of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; its result is the exit status."""
        try:
            result = super().invoke(ctx)
        except Exception as error:
            if is_domain_error(error):
                raise Misuse(str(error)) from error
            raise
        if isinstance(result, ExitCode):
            ctx.exit(result)
        return result


def is_domain_error(error: BaseException) -> bool:
    """Whether an error is meant for the user's eyes."""
    return any(f"{base.__module__}.{base.__qualname__}" in DOMAIN_ERRORS for base in type(error).__mro__)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dvs-harness", prog_name="dvs")
def main() -> None:
    """Hunt for wrong refreshes of dynamic tables, and prove what was found.

    Exit status: 0 nothing wrong, 1 something wrong was found, 2 the request or the set-up is at fault,
    3 undecided.
    """
