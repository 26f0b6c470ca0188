"""What `dvs soak`, `verify`, `protocol` and `mutants --kind` check, as stages of a gate.

Each stage calls the function behind the command and takes its decision: a mistake in the scheduler, in the
rules of the engine, in a protocol or in the analysis of histories shuts the gate here.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from campaign.errors import CampaignError
from campaign.gate.stage import HUNT_CASES, GatePlan, Stage, listed
from campaign.mutants.cases import CaseHunt, hunt_cases, known
from campaign.mutants.histories import disagreement
from campaign.mutants.kinds import KINDS, FaultKind
from campaign.mutants.verdict import HuntVerdict, hunt_text
from campaign.protocols.intents import search_intents
from campaign.protocols.read_committed import search_scripts
from campaign.soak.floors import decision_of as soak_decision, not_shown
from campaign.soak.plan import plan_of
from campaign.soak.result import Soaked
from campaign.soak.run import soak
from campaign.verify.coherence import Setting, decision_of as groups_decision, search
from campaign.verify.definitions import QUICK_PAIRS, over_time, pairs, singles
from campaign.verify.protocol import verify_protocol
from campaign.verify.running import decision_of as rules_decision, verify_all
from campaign.verify.unbounded.running import decision_of as proofs_decision, provable, prove_all
from dvs_model.errors import HistoryError
from dynamic_tables.errors import DynamicTablesError
from engines.errors import EngineError
from reports.figures import plural
from reports.junit import Case, CaseVerdict
from workload.outcomes.decision import Decision
from workload.outcomes.run_verdict import worst


@dataclass(frozen=True, slots=True)
class Result:
    """What a check has shown. `look`: the command that runs it alone. `wrong`: a text for each mistake."""

    decision: Decision
    message: str
    look: str
    wrong: Sequence[str] = ()
    cases: tuple[Case, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandCheck:
    """A check by its name in the gate's table, and the command that does the same alone."""

    name: str
    command: str
    run: Callable[[GatePlan], Result]


def checked(check: CommandCheck, plan: GatePlan) -> Stage:
    """Returns the stage of a check; one that cannot run is undecided, so that the other stages still run."""
    try:
        result = check.run(plan)
    except (CampaignError, EngineError, DynamicTablesError, HistoryError) as error:
        return Stage(check.name, Decision.UNDECIDED, f"could not be done: {error}", look=check.command)
    message = result.message + (f"; wrong: {listed(result.wrong, '; ')}" if result.wrong else "")
    look = "\n".join([*result.wrong, *([result.look] if result.look else [])])
    return Stage(check.name, result.decision, message, result.cases, look=look)


SOAK_HOURS, SOAK_TABLES = 8.0, 12
"""Simulated hours and dynamic tables of each account: enough for the floors in `campaign.soak.floors`."""

STORIES, GROUP_RUNS, INTENTS, SCRIPTS, HISTORIES, HUNT_S = 12, 200, 1000, 25, 5000, 900.0
"""What one round does: stories of changes, runs of each kind of group, sets of intents, scripts of sessions,
histories; and the most seconds for all planted faults of one kind."""


def soaked(plan: GatePlan) -> Result:
    """Runs busy accounts in simulated time, up to the first one in which something is wrong."""
    done: list[Soaked] = []
    while len(done) < plan.gate.rounds and not any(each.wrong for each in done):
        done.append(soak(plan_of(plan.seed + len(done), SOAK_HOURS, SOAK_TABLES)))
    lacking = not_shown(done, floors=True)
    wrong = [
        f"seed {each.plan.seed}, {one.at / 1e6:.0f} s: {one.table} {one.message}"
        for each in done
        for one in each.wrong
    ]
    size = f"{SOAK_HOURS:g} simulated hours and {SOAK_TABLES} tables"
    message = f"{plural(len(done), 'account')} of {size}, {plural(sum(r.refreshes for r in done), 'refresh')}"
    if lacking and not wrong:
        message += f"; not met: {listed(lacking, ', ')}"
    look = (
        f"dvs soak --hours {SOAK_HOURS:g} --tables {SOAK_TABLES} --runs {plan.gate.rounds} --seed {plan.seed}"
    )
    return Result(soak_decision(done, lacking), message, look, wrong)


def rules(plan: GatePlan) -> Result:
    """Verifies every operator and every pair of operators in all small worlds, by the smaller bounds."""
    every = [*singles(quick=True), *over_time(QUICK_PAIRS), *pairs(QUICK_PAIRS)]
    results = verify_all(every, workers=plan.workers)
    wrong = [
        f"{result.definition.name}: {failure.message}" for result in results for failure in result.failures
    ]
    checks = plural(sum(result.checks for result in results), "check")
    message = f"{plural(len(results), 'definition')} in all small worlds, {checks}"
    return Result(rules_decision(results), message, "dvs verify rules --quick", wrong)


def proofs(plan: GatePlan) -> Result:
    """Proves every operator for every number of rows, over few values."""
    look = "dvs verify rules --unbounded --quick"
    try:
        found = prove_all([*provable(quick=True)], quick=True, workers=plan.workers)
    except CampaignError as error:
        return Result(Decision.UNDECIDED, str(error), look)
    wrong = [f"{proof.definition.name}: {proof.failure.message}" for proof in found if proof.failure]
    cases = plural(sum(proof.cases for proof in found), "case")
    message = f"{plural(len(found), 'definition')} for every number of rows, {cases}"
    return Result(proofs_decision(found), message, look, wrong)


def protocol(plan: GatePlan) -> Result:
    """Runs refreshes of a group and of a table above it, with another event at every step."""
    result = verify_protocol()
    wrong = [f"{each.interleaving}: {each.law}" for each in result.broken]
    message = f"{plural(result.interleavings, 'interleaving')} of {plural(result.steps, 'step')}"
    return Result(result.decision, message, "dvs verify protocol", wrong)


def groups(plan: GatePlan) -> Result:
    """Searches for read skew of readers of two dynamic tables, with and without a refresh group."""
    runs = GROUP_RUNS * plan.gate.rounds
    # The same seeds as in `dvs verify groups`, so that the command in `look` shows the same runs.
    seeds = [plan.seed * 1_000_003 + number for number in range(runs)]
    found = [search(setting, seeds) for setting in Setting]
    counts = ", ".join(f"{each.setting.value} {each.skewed}" for each in found)
    message = f"{runs} runs of each setting, with read skew: {counts}"
    wrong = [each.shortest for each in found if each.setting is Setting.REPEATABLE_READ and each.shortest]
    look = f"dvs verify groups --runs {runs} --seed {plan.seed}"
    return Result(groups_decision(found), message, look, wrong)


def evolution(plan: GatePlan) -> Result:
    """Changes columns, tables and views that dynamic tables on Delta read, and checks each refresh."""
    # Imported here, because it loads pyspark.
    from campaign.verify.evolution import evolve
    from dynamic_tables.session import Settings, open_session

    seeds = range(plan.seed, plan.seed + STORIES * plan.gate.rounds)
    spark = open_session(app_name="dvs-gate", settings=Settings.TUNED)
    with tempfile.TemporaryDirectory(prefix="dvs-evolution-") as folder:
        result = evolve(spark, Path(folder), seeds=seeds)
    message = f"{result.stories} stories, {plural(result.steps, 'change')}"
    if result.unmet:
        message += f"; not met: {listed(result.unmet, ', ')}"
    wrong = [
        "\n  ".join([f"seed {each.seed}: {each.message}", *map(str, each.told)]) for each in result.wrong
    ]
    look = f"dvs verify evolution --stories {len(seeds)} --seed {plan.seed}"
    return Result(result.decision, message, look, wrong)


def models(plan: GatePlan) -> Result:
    """Runs the models of transaction protocols: random intents, and sessions with DDL in many orders."""
    sets, scripts = INTENTS * plan.gate.rounds, SCRIPTS * plan.gate.rounds
    intents, sessions = search_intents(plan.seed, sets), search_scripts(plan.seed, scripts)
    difference = intents.difference
    wrong = [] if difference is None else [f"intents, set {intents.runs}: {difference.what}"]
    wrong += [f"read committed, script {sessions.scripts}: {what}" for what in sessions.broken]
    message = (
        f"{plural(intents.runs, 'set')} of intents, {plural(sessions.scripts, 'script')} of sessions in "
        f"{plural(sessions.orders, 'order')}"
    )
    look = f"dvs protocol data-plane --workload random --runs {sets} --seed {plan.seed}"
    return Result(Decision.FAILED if wrong else Decision.PASSED, message, look, wrong)


def histories(plan: GatePlan) -> Result:
    """Compares the analysis of random histories with the literal definitions."""
    count = HISTORIES * plan.gate.rounds
    wrong = disagreement(plan.seed, count)
    if wrong:
        return Result(Decision.FAILED, f"of {count} random histories one is judged wrongly", "", [wrong])
    return Result(Decision.PASSED, f"{count} random histories as by the definitions", "")


def hunted(kind: FaultKind, plan: GatePlan) -> Result:
    """Hunts the planted faults of a kind, each of which must be found."""
    results = hunt_cases(kind, known(kind, ()), seed=plan.seed, budget=HUNT_S, attempts=0)
    cases = tuple(_fault_case(kind, plan, result) for result in results)
    killed = sum(result.verdict is HuntVerdict.KILLED for result in results)
    message = f"{killed} of {len(results)} faults killed"
    alive = [f"{case.name} {case.message}" for case in cases if case.verdict is not CaseVerdict.PASSED]
    if alive:
        message += f"; {listed(alive, '; ')}"
    look = f"dvs mutants --kind {kind.name} --seed {plan.seed}"
    return Result(worst(result.verdict.decision for result in results), message, look, cases=cases)


def _fault_case(kind: FaultKind, plan: GatePlan, result: CaseHunt) -> Case:
    """Returns the JUnit case of one fault: the result of its hunt, and the command that hunts it again."""
    message = hunt_text(result.verdict, result.cases, result.most, kind.unit)
    look = f"the fault: {kind.faults[result.fault]}\n"
    look += f"dvs mutants --kind {kind.name} --fault {result.fault} --seed {plan.seed}"
    return Case(result.fault, result.seconds, HUNT_CASES[result.verdict], message, look)


CHECKS: tuple[CommandCheck, ...] = (
    CommandCheck("soak", "dvs soak", soaked),
    CommandCheck("rules in small worlds", "dvs verify rules --quick", rules),
    CommandCheck("rules without a bound", "dvs verify rules --unbounded --quick", proofs),
    CommandCheck("refresh protocol", "dvs verify protocol", protocol),
    CommandCheck("refresh groups", "dvs verify groups", groups),
    CommandCheck("changed columns on delta", "dvs verify evolution", evolution),
    CommandCheck("protocol models", "dvs protocol data-plane --workload random", models),
    CommandCheck("analysis of histories", "dvs mutants --kind histories", histories),
    *(
        CommandCheck(f"faults in {kind.area}", f"dvs mutants --kind {kind.name}", partial(hunted, kind))
        for kind in KINDS.values()
    ),
)
"""The checks of a gate, in their order."""
