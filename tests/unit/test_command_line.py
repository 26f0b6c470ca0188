"""The outer shell of `dvs`: lazily loaded commands, errors as one line, exit status."""

from collections.abc import Callable

import click
import pytest
from click.testing import CliRunner

from campaign.cli import COMMANDS, DOMAIN_ERRORS, LazyGroup, is_domain_error, main
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from dvs_model.errors import HistoryError, RequestError
from dynamic_tables.errors import DynamicTablesError, SessionError
from engines.errors import EngineError
from workload.errors import WorkloadError


def group(body: Callable[[], object]) -> click.Group:
    """`dvs` with one command, `do`, that is already loaded."""

    class Ready(LazyGroup):
        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
            return click.Command(cmd_name, callback=body)

    return Ready("dvs")


def fail_with(error: Exception) -> Callable[[], object]:
    def body() -> object:
        raise error

    return body


@pytest.mark.parametrize("code", ExitCode)
def test_a_commands_result_is_the_exit_status(code: ExitCode) -> None:
    assert CliRunner().invoke(group(lambda: code), ["do"]).exit_code == code


def test_a_domain_error_is_one_line_and_misuse() -> None:
    error = SessionError("No Java", observed="nothing\nat all", remedy="Install one.")
    outcome = CliRunner().invoke(group(fail_with(error)), ["do"])
    assert outcome.exit_code == ExitCode.MISUSE
    assert outcome.stderr == "error: No Java (nothing at all). Install one.\n"


def test_any_other_error_is_a_bug_and_keeps_its_traceback() -> None:
    outcome = CliRunner().invoke(group(fail_with(KeyError("x"))), ["do"])
    assert isinstance(outcome.exception, KeyError)


def test_domain_errors_are_named_as_they_are() -> None:
    bases = (CampaignError, DynamicTablesError, EngineError, HistoryError, RequestError, WorkloadError)
    assert {f"{base.__module__}.{base.__qualname__}" for base in bases} == DOMAIN_ERRORS
    assert all(is_domain_error(base("x")) for base in bases)


def test_help_lists_every_command_with_its_summary() -> None:
    text = CliRunner().invoke(main, ["--help"]).output
    for name, (_, summary) in COMMANDS.items():
        assert f"{name}  " in text
        assert summary in text


def test_an_unknown_command_is_misuse() -> None:
    assert CliRunner().invoke(main, ["no-such"]).exit_code == ExitCode.MISUSE
