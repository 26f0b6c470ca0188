"""The plan of a simulated account as a file, so that it can be run again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from campaign.errors import CampaignError
from campaign.soak import plan as plans
from dynamic_tables.schedule.group import Isolation
from workload.codec import decode, encode
from workload.errors import WorkloadError

FORMAT = "dvs-account-plan"
NAME = re.compile(r"[a-z]\w*", re.ASCII)
ISOLATIONS = tuple(each.value for each in Isolation)


def plan_to_json(plan: plans.Plan) -> str:
    """Returns the JSON text of a plan."""
    return json.dumps({"format": FORMAT, "plan": encode(plan)}, indent=1) + "\n"


def read_plan(path: Path) -> plans.Plan:
    """Returns the plan in a file. Raises CampaignError for a file that holds none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CampaignError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise CampaignError(f"{path} is no plan of an account: no valid JSON ({error})") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise CampaignError(f'{path} is no plan of an account: the top object lacks "format": "{FORMAT}"')
    try:
        plan = decode(document.get("plan"), plans.Plan, "plan")
    except (WorkloadError, RecursionError) as error:
        raise CampaignError(f"{path} is no plan of an account: {error}") from error
    assert isinstance(plan, plans.Plan)
    reason = next(_mistakes(plan), None)
    if reason is not None:
        raise CampaignError(f"{path} is no plan that can be run: {reason}")
    return plan


def _mistakes(plan: plans.Plan) -> Iterator[str]:
    """Yields what keeps a plan from being run."""
    if not plan.tables or not plan.ticks:
        yield "it needs tables and ticks"
    known: set[str] = {*plans.BASES, plans.VIEW}
    for table in plan.tables:
        if table.name in known or not NAME.fullmatch(table.name):
            yield f"{table.name!r} is no name that is free for a table"
        if len(table.sources) != 1 + table.kind.of_two or not known.issuperset(table.sources):
            yield f"{table.name} does not read one table above it, or two if its kind is JOIN or UNION"
        if table.lag is not None and table.lag < 1:
            yield f"{table.name} has target lag {table.lag}; write seconds, or null for DOWNSTREAM"
        known.add(table.name)
    for each in (each for tick in plan.ticks for each in tick):
        yield from _mistakes_of(each)


def _mistakes_of(each: plans.Happening) -> Iterator[str]:
    """Yields what keeps an event from being carried out."""
    match each:
        case plans.Write(inserted, deleted):
            named = {table for table, *_ in (*inserted, *deleted)} | {
                f"r.{column}" for _, column, _ in deleted
            }
            numbers = [n for _, *row in inserted for n in row] + [n for *_, n in deleted]
            if not named <= {*plans.BASES, "r.a", "r.b"} or any(abs(n) >= 1 << 31 for n in numbers):
                yield "a write is to other tables or columns than there are, or has a number that is no INT"
        case plans.Rename(name, other) | plans.Swap(name, other) | plans.Clone(name, other):
            if name == other or other in (*plans.BASES, plans.VIEW) or not NAME.fullmatch(other):
                yield f"{other!r} is no other name for {name}"
        case plans.DropBase(name) | plans.BaseBack(name, _):
            if name not in plans.BASES:
                yield f"{name} is no base table"
        case plans.Group(members, isolation):
            if len({*members}) < 2 or isolation not in ISOLATIONS:
                yield f"a group has two members or more, and isolation {' or '.join(ISOLATIONS)}"
        case _:
            pass
