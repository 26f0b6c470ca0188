"""`dvs verify groups`: what a reader of two dynamic tables may see, with and without a refresh group."""

from __future__ import annotations

import click

from campaign.cli import options
from campaign.cli.terminal import print_json, print_table
from campaign.exit_codes import EXIT_CODES, ExitCode
from workload.outcomes.decision import Decision


@click.command()
@click.option("--runs", type=click.IntRange(1), default=200, show_default=True, help="Runs of each setting.")
@click.option("--seed", type=int, default=1, show_default=True)
@options.as_json
def groups(runs: int, seed: int, as_json: bool) -> ExitCode:
    """Two dynamic tables over sources that one transaction writes, and readers of both.

    Random runs of the engine in memory, recorded as histories. Without a group, and with groups of weaker
    isolation, some readers see read skew; with repeatable_read none does. Exit status 0: that is what the
    runs show; 1: it is not; 3: too few runs to see read skew where it is possible.
    """
    from campaign.verify.coherence import Setting, decision_of, search

    # The factor keeps the runs of one seed apart from those of the next.
    seeds = [seed * 1_000_003 + number for number in range(runs)]
    found = [search(setting, seeds) for setting in Setting]
    if as_json:
        print_json(found)
    else:
        rows = [(each.setting.value, str(each.runs), str(each.skewed)) for each in found]
        print_table("", ["setting", "runs", "with read skew"], rows)
        for each in found:
            if each.shortest:
                click.echo(f"\nthe shortest with {each.setting.value}:\n{each.shortest}")
    decision = decision_of(found)
    if decision is Decision.UNDECIDED and not as_json:
        weaker = [each.setting.value for each in found if each.setting is not Setting.REPEATABLE_READ]
        click.echo(f"undecided: not each of {', '.join(weaker)} has shown read skew; give more --runs")
    return EXIT_CODES[decision]
