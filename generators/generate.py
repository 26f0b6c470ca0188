"""Random scenarios: from choices and a profile to one frozen value.

A scenario begins with tables and their first rows. Intents and then random queries define views and dynamic
tables. Each round has commits (the acts of intents, and random statements), refreshes, and sometimes a
reader. What an engine does not support is taken out at the end (`generators.fitting`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from generators.builder import ScenarioBuilder
from generators.choices import Choices, NothingToPick, SeededChoices
from generators.concurrency import with_other_processes, with_restarts, with_rollbacks
from generators.fitting import fit, is_within, with_reasons, without
from generators.given_scenarios import scenario_of
from generators.intents import INTENTS, TWICE_AS_OFTEN, Act, Script
from generators.passing_time import with_passing_time
from generators.profiles import DRAWS_VERSION, Profile
from generators.queries.styles import with_styles
from generators.recreations import with_recreations
from workload.dml import Dml, Insert
from workload.errors import WorkloadError
from workload.limits import NO_LIMITS, Timestamps
from workload.scenario import Scenario

ATTEMPTS = 20
"""How often a scenario is drawn again if the profile's limits leave no dynamic table of it."""


def scenario_at(seed: int, profile: Profile, index: int, cut: Counter[str] | None = None) -> Scenario:
    """Returns scenario `index` of a campaign: a function of (seed, generator version, profile, index) alone.

    `cut`: counts what the limits of the profile cost, as `generators.fitting.fit` does.

    The draws are seeded by the repr of these values, so every field of the profile that is part of its repr
    decides them.

    >>> from generators.profiles import SMOKE
    >>> scenario_at(1, SMOKE, 0).name
    'smoke-1-0'
    >>> repr(scenario_at(1, SMOKE, 0)) == repr(scenario_at(1, SMOKE, 0)) != repr(scenario_at(2, SMOKE, 0))
    True
    """
    choices = SeededChoices(seed, DRAWS_VERSION, profile, index)
    return generate(choices, profile, scenario_name(profile.name, seed, index), index, cut)


def scenario_name(profile: str, seed: int, index: int) -> str:
    """Returns the name of scenario `index` of a campaign."""
    return f"{profile}-{seed}-{index}"


def generate(
    choices: Choices,
    profile: Profile,
    name: str,
    turn: int | None = None,
    cut: Counter[str] | None = None,
) -> Scenario:
    """Returns a scenario from choices: tables with rows, definitions, then rounds of commits and refreshes.

    It is reduced to what the profile's limits admit; if that leaves no dynamic table, another one is drawn,
    up to `ATTEMPTS` times, after which the last one is returned without dynamic tables. `turn`: whose turn it
    is among given definitions; drawn where it is None. Raises WorkloadError if the profile's definitions over
    documents are not drawn yet.
    """
    if profile.given is not None:
        scenario = scenario_of(profile.given, choices, profile, name, turn)
        if profile.limits == NO_LIMITS:
            return with_other_processes(choices, scenario, profile.concurrent_percent)
        return _disturbed(choices, fit(scenario, profile.limits, cut), profile)
    if profile.documents:
        raise WorkloadError(
            f"profile {profile.name} has no definitions yet; "
            "dvs fuzz, dvs gate and dvs mutants draw them with --tier delta"
        )
    scenario = _unlimited(choices, profile, name)
    if profile.limits == NO_LIMITS:
        disturbed = with_other_processes(choices, scenario, profile.concurrent_percent)
        styled = with_styles(choices, disturbed, profile.styled_percent)
        # Before the recreations: what reads a replaced definition keeps its condition on the current time.
        timed = with_passing_time(choices, styled, profile.timed_percent)
        return with_recreations(choices, timed, profile.recreated_percent, may_replace=True)
    for _ in range(ATTEMPTS):
        shaped, reasons = with_reasons(scenario, profile.limits, cut)
        if any(table.name not in reasons for table in shaped.dynamic_tables):
            break
        scenario = _unlimited(choices, profile, name)
    within = without(shaped, reasons, profile.limits)
    # Where every commit maintains the tables, there is no time between a commit and its refreshes.
    if profile.limits.drops and profile.limits.timestamps is not Timestamps.COMMIT:
        recreated = with_recreations(
            choices, within, profile.recreated_percent, may_replace=profile.limits.replaces
        )
        # Another definition under the old name may be one that the engine refuses.
        within = recreated if is_within(recreated, profile.limits) else within
    return _disturbed(choices, within, profile)


def _disturbed(choices: Choices, scenario: Scenario, profile: Profile) -> Scenario:
    """Returns the scenario with restarts and transactions that are rolled back, where the engine has them."""
    percent = profile.concurrent_percent // 3
    if profile.limits.restarts:
        scenario = with_restarts(choices, scenario, percent)
    return with_rollbacks(choices, scenario, percent) if profile.limits.rollbacks else scenario


def _unlimited(choices: Choices, profile: Profile, name: str) -> Scenario:
    """Returns a scenario without regard to the limits of the profile's engine."""
    builder = ScenarioBuilder(choices, profile)
    for _ in range(choices.integer(*profile.tables)):
        builder.add_table()
    initial_rows(builder)
    scripts = begin_intents(builder)
    random_definitions(builder)
    acts = [iter(script.acts) for script in scripts]
    rounds = max([choices.integer(*profile.rounds), *(len(script.acts) for script in scripts)])
    for _ in range(rounds):
        play_round(builder, scripts, acts)
    for table in builder.dynamic_tables:
        builder.refresh(table)
    return builder.finish(name)


def initial_rows(builder: ScenarioBuilder) -> None:
    """Commits the first contents, in one transaction over all tables."""
    statements: list[Dml] = []
    for table in builder.tables:
        rows = builder.dml.rows(table, *builder.profile.rows)
        if rows:
            statements.append(Insert(table.name, rows))
    builder.commit(tuple(statements))


GIVEN_UP = "given up for want of values"
"""The name that stands among the intents of a scenario for each that gave up."""


def begin_intents(builder: ScenarioBuilder) -> list[Script]:
    """Draws intents and lets each define its tables, at most three; returns their scripts.

    An intent that finds no value within the limits of the engine gives up, and is counted as that.
    """
    scripts: list[Script] = []
    names = [*INTENTS, *TWICE_AS_OFTEN]
    for _ in range(builder.choices.integer(*builder.profile.intents)):
        if len(builder.dynamic_tables) >= builder.profile.dynamic_tables[1]:
            break
        name = builder.choices.pick(names)
        try:
            scripts.append(INTENTS[name](builder))
        except NothingToPick:
            name = GIVEN_UP
        builder.intents.append(name)
    return scripts


def random_definitions(builder: ScenarioBuilder) -> None:
    """Adds random views and dynamic tables over everything defined so far."""
    count = builder.choices.integer(*builder.profile.dynamic_tables)
    if builder.choices.chance(builder.profile.view_percent):
        builder.add_view(builder.queries.query(builder.sources, 1))
    while len(builder.dynamic_tables) < count:
        builder.add_dynamic_table(builder.queries.query(builder.sources))


def play_round(builder: ScenarioBuilder, scripts: list[Script], acts: list[Iterator[Act]]) -> None:
    """Adds commits, then refreshes, and perhaps a reader. The intents' acts come before random DML."""
    choices = builder.choices
    if choices.chance(builder.profile.quiet_percent):
        if choices.chance(builder.profile.no_op_percent):
            builder.commit((builder.dml.no_op(choices.pick(builder.tables)),))
    else:
        for act in [next(act, None) for act in acts]:
            for transaction in act or ():
                builder.commit(transaction)
        for _ in range(choices.integer(*builder.profile.commits)):
            count = choices.weighted(((5, 1), (2, 2), (1, 3)))
            # Random DML often undoes what an act built, so half of it is left out beside acts.
            if acts and choices.chance(50):
                continue
            builder.commit(tuple(builder.random_statement() for _ in range(count)))
    play_refreshes(builder, [script.target for script in scripts])
    if choices.chance(builder.profile.reader_percent):
        play_reader(builder)


def play_refreshes(builder: ScenarioBuilder, targets: list[str]) -> None:
    """Refreshes the intents' tables and some others; sometimes a consumer lags behind its sources."""
    choices = builder.choices
    timestamp = builder.random_timestamp()
    tables = builder.dynamic_tables
    for target in targets:
        builder.refresh(target, timestamp)
    for table in choices.subset(tables, 1, 2):
        builder.refresh(table, timestamp)
    if choices.chance(20):
        lagging_consumer(builder)


def play_reader(builder: ScenarioBuilder) -> None:
    """Adds a reader: of one dynamic table, of several, of base tables too, or in two statements."""
    choices = builder.choices
    dynamic, base = builder.dynamic_tables, [table.name for table in builder.tables]
    reader = builder.next_reader()
    match choices.pick(("one", "several", "mixed", "statements")):
        case "one":
            builder.read(reader, [choices.pick(dynamic)])
        case "several":
            builder.read(reader, choices.subset(dynamic, 2, 3))
        case "mixed":
            builder.read(reader, [choices.pick(dynamic), choices.pick(base)])
        case _:
            first, second = choices.pick(dynamic), choices.pick([*dynamic, *base])
            builder.read(reader, [first])
            builder.commit((builder.random_statement(),))
            if choices.chance(60):
                builder.refresh(first)
            builder.read(reader, [second])


def lagging_consumer(builder: ScenarioBuilder) -> None:
    """Refreshes a table's upstreams twice, then the table itself to the older of the two data timestamps."""
    consumers = [table for table in builder.dynamic_tables if builder.timeline.upstream(table)]
    if not consumers:
        return
    consumer = builder.choices.pick(consumers)
    upstream = builder.timeline.upstream(consumer)
    older = builder.now
    for table in upstream:
        builder.refresh(table, older)
    builder.commit((builder.random_statement(),))
    for table in upstream:
        builder.refresh(table)
    builder.refresh(consumer, older)
