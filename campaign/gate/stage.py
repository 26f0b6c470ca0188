"""The plan of a gate, and the result of one stage of it, such as a campaign or a hunt for planted faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from campaign.failures.ignore import IgnoreRules
from campaign.failures.report import ShrinkBudget
from campaign.gate.baseline import Baseline
from campaign.gate.profiles import GateProfile
from campaign.mutants.verdict import HuntVerdict
from reports.junit import Case, CaseVerdict
from reports.run_junit import CASES
from workload.outcomes.decision import Decision
from workload.outcomes.results import RunSummary

HUNT_CASES = {
    HuntVerdict.KILLED: CaseVerdict.PASSED,
    HuntVerdict.SURVIVED: CaseVerdict.FAILED,
    HuntVerdict.UNDECIDED: CaseVerdict.SKIPPED,
}
"""The JUnit verdict on a planted fault. One that is undecided is skipped: its stage has the error."""

MAX_LISTED = 6
"""Names that a stage's message lists; `gate.json` and `junit.xml` have all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePlan:
    """What a gate runs. `corpus`: the folder of kept scenarios. `out`: the folder of the gate's results.

    `faults`: the names of the planted faults to hunt. `slowdown`: the share of the baseline's speed that may
    be lost. `resume`: continue the campaigns that an earlier gate began in `out`; the other stages run again.
    """

    gate: GateProfile
    seed: int
    workers: int
    corpus: Path
    out: Path
    faults: tuple[str, ...]
    baseline: Baseline | None = None
    slowdown: float = 0.3
    resume: bool = False
    ignored: IgnoreRules = field(default_factory=IgnoreRules)
    shrinking: ShrinkBudget = field(default_factory=ShrinkBudget)


@dataclass(frozen=True, slots=True)
class Stage:
    """The result of one stage: a line of the gate's table, and the JUnit cases behind it.

    `summary`: None unless the stage is a campaign. `hunted`: the verdict on each fault that was hunted.
    `look`: the file that tells more, or the command that runs the stage alone.
    """

    name: str
    verdict: Decision
    message: str
    cases: tuple[Case, ...] = ()
    seconds: float = 0.0
    summary: RunSummary | None = None
    hunted: Mapping[str, HuntVerdict] = field(default_factory=dict)
    look: str = ""

    @property
    def junit_cases(self) -> tuple[Case, ...]:
        """The cases of the stage, none of which is empty.

        A stage that is no pass has a case with its verdict: one for the stage itself, unless one of its parts
        has that verdict. Parts that were not done are skipped, so that eighty of them do not hide the one
        error of their stage.
        """
        own = Case(self.name, self.seconds, CASES[self.verdict], self.message, self.look)
        if not self.cases:
            return (own,)
        shown = any(case.verdict is own.verdict for case in self.cases)
        return self.cases if shown else (own, *self.cases)


def hunted_faults(stages: Sequence[Stage]) -> dict[str, HuntVerdict]:
    """Returns the verdict on each fault that some stage hunted, by the fault's name."""
    return {fault: verdict for stage in stages for fault, verdict in stage.hunted.items()}


def listed(items: Sequence[str], separator: str) -> str:
    """Returns the first `MAX_LISTED` items as one text, and how many more there are: `a, b, and 3 more`."""
    more = len(items) - MAX_LISTED
    return separator.join([*items[:MAX_LISTED], *([f"and {more} more"] if more > 0 else [])])
