"""The command `dvs`: a table of sub-commands. A sub-command is imported only when it is called.

So `dvs --help` is instant, although some commands load Spark.
"""

import importlib
import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import IO, Any

import click

from campaign.exit_codes import ExitCode

COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "doctor": ("doctor", "Check that this machine can run everything."),
        "fuzz": ("fuzz", "Run random scenarios and judge every refresh."),
        "replay": ("replay", "Run a stored scenario again and judge it."),
        "shrink": ("shrink", "Make a failing scenario as small as possible."),
        "mutants": ("mutants", "Plant faults and check that each is found."),
        "gate": ("gate", "Run the release gate; give one verdict."),
        "compare": ("compare", "Compare two configurations or versions."),
        "runs": ("runs", "List past runs and how their speed changed."),
        "check": ("histories.check", "Tell which isolation levels histories satisfy."),
        "record": ("histories.record", "Run clients on a database; judge what they saw."),
        "convert": ("histories.convert", "Write histories as notation, JSON or Parquet."),
        "dbt": ("dbt", "Compare dbt models with their full refresh."),
        "audit": ("audit", "Compare a deployed account with its queries."),
        "verify": ("verification.verify", "Check theorems, rules, protocols on small cases."),
        "soak": ("verification.soak", "Run a busy account for simulated hours."),
        "protocol": ("protocols.protocol", "Run transaction protocols; judge their histories."),
        "explain": ("explain", "Show plan, change query and row ids of a query."),
        "adapter": ("adapter", "Write an adapter for your engine; check it."),
        "found": ("found", "List bugs found in engines of others; check them."),
        "operators": ("operators", "List what is maintained incrementally, and how."),
    }
)
"""The commands by name: the module in `campaign.cli` whose `command` it is, and its line in `dvs --help`."""

DOMAIN_ERRORS = frozenset(
    {
        "campaign.errors.CampaignError",
        "dvs_model.errors.HistoryError",
        "dvs_model.errors.RequestError",
        "dynamic_tables.errors.DynamicTablesError",
        "engines.errors.EngineError",
        "workload.errors.WorkloadError",
    }
)
"""Base classes of the errors that are shown to the user as one line.

Given by name, because importing them would import their packages.
"""


SPARK_PACKAGES = frozenset({"delta", "delta-spark", "py4j", "pyspark"})
"""The packages that everything but Spark and Delta works without."""


class Misuse(click.ClickException):
    """A domain error as the user sees it: one line on stderr, no traceback."""

    exit_code = ExitCode.MISUSE

    def show(self, file: IO[Any] | None = None) -> None:
        """Prints the error in one line."""
        click.echo(f"error: {' '.join(self.format_message().split())}", file=file, err=True)


class LazyGroup(click.Group):
    """The commands of `COMMANDS`. The `ExitCode` that a command returns is the exit status.

    Domain errors become `Misuse`; any other exception is a bug and keeps its traceback.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the names of the commands, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports and returns the command of a name; None where there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        module, _ = COMMANDS[cmd_name]
        command = importlib.import_module(f"campaign.cli.{module}").command
        assert isinstance(command, click.Command), cmd_name
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands from the table, so that `dvs --help` imports none of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command and exits with the status that it returns. Raises Misuse for a domain error."""
        try:
            result = super().invoke(ctx)
        except ModuleNotFoundError as error:
            # Also importlib.metadata.PackageNotFoundError, which Delta's own package raises.
            package = (error.name or "").partition(".")[0]
            if package not in SPARK_PACKAGES:
                raise
            # Imported here, so that `dvs --help` imports no other room.
            from dynamic_tables.session.jars import INSTALL_SPARK

            raise Misuse(f"this needs Spark, and {package} is not installed; {INSTALL_SPARK}") from error
        except Exception as error:
            if is_domain_error(error):
                raise Misuse(str(error)) from error
            raise
        if isinstance(result, ExitCode):
            ctx.exit(result)
        return result


def is_domain_error(error: BaseException) -> bool:
    """Tells whether an error is shown to the user as one line."""
    return any(f"{base.__module__}.{base.__qualname__}" in DOMAIN_ERRORS for base in type(error).__mro__)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(package_name="dvs-harness", prog_name="dvs")
def main() -> None:
    """Find wrong refreshes of dynamic tables, and show what causes them.

    Exit status: 0 nothing is wrong; 1 something wrong was found; 2 the options or the set-up are wrong;
    3 undecided.
    """
    # What it cannot read or write, a message of ours says.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
