"""`assert_dbt_models`: `dvs dbt` in a test of pytest, with what is wrong in the message of the failure."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from campaign.dbt.kinds import ChangeKind
from campaign.dbt.process import Target
from campaign.dbt.project import read_settings
from campaign.dbt.search import Limits, search
from campaign.dbt.shown import document
from reports.dbt import heading, headline, wrong_lines
from reports.documents import DbtDocument
from workload.outcomes.decision import Decision


def assert_dbt_models(
    project: Path | str,
    *,
    python: Path | str = sys.executable,
    schema: Path | str | None = None,
    database: Path | str | None = None,
    promises: Path | str | None = None,
    select: Sequence[str] = (),
    kinds: Sequence[str] = (),
    trials: int = 5,
    budget: float = 300.0,
    seed: int = 1,
    show_values: bool = False,
) -> DbtDocument:
    """Judges the models of a dbt project as `dvs dbt` does; returns its document if no promise is broken.

    `python`: that of your dbt. `kinds`: of change, such as "appended_late"; without them all. `budget`: in
    seconds. `show_values`: also of models that read files. Raises AssertionError: a model differs from its
    full refresh though its promises were kept, or something was not judged; CampaignError: the project, or
    what says how to judge it, cannot be used; ValueError: there is no such kind.
    """
    __tracebackhide__ = True
    found = search(
        Target(Path(project), str(python), tuple(select)),
        Limits(seed=seed, trials=trials, rounds=3, budget=budget, workers=1),
        schema=schema,
        database=database,
        settings=read_settings(promises),
        kinds=[ChangeKind(kind) for kind in kinds] or tuple(ChangeKind),
    )
    result = document(found, str(project), seed, show_values=show_values)
    if result["decision"] == Decision.PASSED.value:
        return result
    lines = [headline(result)]
    for name, model in result["models"].items():
        lines.append(model["needs"])
        for kind, differences in wrong_lines(model):
            lines.append(f"{name}, {heading(kind)}:")
            lines.extend(f"  {line}" for line in differences)
    raise AssertionError("\n".join(lines))
