"""`dvs protocol read-committed`: runs a script of a few statements as it is written, or in every order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from campaign.cli import options
from campaign.cli.protocols.shown import document_of, levels_of, show, transactions_of
from campaign.cli.terminal import print_json
from campaign.errors import CampaignError
from campaign.exit_codes import ExitCode
from reports.documents import OrdersDocument

if TYPE_CHECKING:
    from dvs_model.checking.check import Checked
    from protocols.read_committed.machine import Rules
    from protocols.read_committed.run import Run
    from protocols.read_committed.script import Script


DDL_ORDERS = 100
"""Random orders with DDL drawn into the sessions, which `--explore` runs as well."""


@click.command("read-committed")
@click.argument("script", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--explore", is_flag=True, help="Run every order of the statements.")
@click.option(
    "--most", type=click.IntRange(1), default=20_000, show_default=True, help="Most orders with --explore."
)
@click.option("--fault", help="Plant a mistake; a wrong name lists them.")
@click.option(
    "--postgres",
    type=click.Choice(["read-committed", "repeatable-read"]),
    help="Run it on a PostgreSQL that is started for it (Debian: postgresql), beside the model.",
)
@options.as_json
def read_committed(
    script: Path, explore: bool, most: int, fault: str | None, postgres: str | None, as_json: bool
) -> ExitCode:
    """Run sessions under read committed with statement snapshots and partition locks.

    A line of SCRIPT is `T1: UPDATE t SET n = 1`; SETUP lines come first. Shows who waits for whom, the
    history and its levels; with --explore the anomalies of all orders, the shortest first, and DDL drawn into
    the sessions. Exit status 0: PL-2 holds (with --postgres repeatable-read: PL-SI); 1: it does not, or a
    step did what it must not; 3: undecided, nothing is committed, or --most ended the search.
    """
    from campaign.cli.protocols.postgres import on_postgres
    from campaign.faults.read_committed import READ_COMMITTED_FAULTS
    from protocols.read_committed.machine import RULES
    from protocols.read_committed.rows import StatementFailed
    from protocols.read_committed.script import ScriptError, script_of

    if fault is not None and fault not in READ_COMMITTED_FAULTS:
        raise CampaignError(f"no fault {fault!r}; there are: {', '.join(READ_COMMITTED_FAULTS)}")
    if fault is not None and postgres is not None:
        raise CampaignError("--fault changes the model; leave out --postgres")
    rules = READ_COMMITTED_FAULTS[fault].model if fault else RULES
    try:
        with click.open_file(str(script), encoding="utf-8") as file:
            read = script_of(file.read())
        if postgres is not None:
            return on_postgres(read, postgres, most if explore else None, as_json)
        return _explored(read, rules, most, as_json) if explore else _once(read, rules, as_json)
    except (ScriptError, StatementFailed) as error:
        raise CampaignError(f"{script}: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise CampaignError(f"cannot read {script}: {error}") from error


def _once(script: Script, rules: Rules, as_json: bool) -> ExitCode:
    """Runs a script in the order of its text, prints the run, and returns the exit status."""
    from campaign.protocols.read_committed import commits
    from dvs_model.checking.anomalies import anomalies
    from dvs_model.checking.check import check
    from dvs_model.notation import render
    from protocols.read_committed.evaluate.duck import DuckEvaluator
    from protocols.read_committed.run import run

    done = run(script, DuckEvaluator(), rules)
    checked = check(done.history)
    named = anomalies(done.history)
    if as_json:
        print_json(document_of(done, checked, named))
        return _status_of(done, checked)
    show(done)
    click.echo(f"\n{render(done.history)}\n")
    for name, txns in named.items():
        click.echo(f"{name}: {transactions_of(txns)}")
    strongest = [level.value for level in checked.strongest]
    for law in done.broken:
        click.echo(f"a step is wrong: {law}")
    if not commits(done):
        click.echo("undecided: no transaction commits, so the levels say nothing")
    click.echo(f"levels that hold: {', '.join(strongest) or 'none'}; PL-2 {levels_of(checked)['PL-2']}")
    return _status_of(done, checked)


def _status_of(done: Run, checked: Checked) -> ExitCode:
    """Returns the exit status of one run; it is undecided where no transaction commits."""
    from campaign.protocols.read_committed import commits

    if done.broken:
        return ExitCode.FAILED
    return _status(levels_of(checked)) if commits(done) else ExitCode.UNKNOWN


def _status(levels: Mapping[str, str]) -> ExitCode:
    return {"holds": ExitCode.OK, "violated": ExitCode.FAILED}.get(levels["PL-2"], ExitCode.UNKNOWN)


def _explored(script: Script, rules: Rules, most: int, as_json: bool) -> ExitCode:
    """Runs a script in at most `most` orders, prints the anomalies, and returns the exit status."""
    from campaign.protocols.read_committed import explore, explore_ddl

    found, drawn = explore(script, rules, most), explore_ddl(script, rules, DDL_ORDERS)
    broken = {**drawn, **found.broken}
    if as_json:
        document: OrdersDocument = {
            "orders": found.orders,
            "complete": found.complete,
            "levels": found.levels,
            "anomalies": [
                {
                    "name": name,
                    "orders": found.counts[name],
                    "transactions": list(named[name]),
                    **document_of(run, checked, named),
                }
                for name, (run, checked, named) in found.first.items()
            ],
            "with_ddl": DDL_ORDERS,
            "broken": list(broken),
        }
        print_json(document)
    else:
        rest = "" if found.complete else f" (the first {most:,}; there are more)"
        click.echo(f"{found.orders:,} orders of the statements{rest}")
        for name, (run, _, named) in found.first.items():
            click.echo(
                f"\n{name}: in {found.counts[name]:,} orders, {transactions_of(named[name])} in the shortest:"
            )
            show(run)
        for law, run in broken.items():
            click.echo(f"\na step is wrong: {law}")
            show(run)
        holding = [level for level, verdict in found.levels.items() if verdict == "holds"]
        click.echo(f"\nin every order holds: {', '.join(holding) or 'no level'}")
        result = "see above" if drawn else "each step as due"
        click.echo(f"{DDL_ORDERS} orders with DDL drawn into them: {result}")
    code = ExitCode.FAILED if broken else _status(found.levels)
    return ExitCode.UNKNOWN if code is ExitCode.OK and not found.complete else code
