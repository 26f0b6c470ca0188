"""Finds coverage floors that no run of a profile can meet, before the campaign starts.

A floor is a minimum count, such as `operator: left join` 20 times in 1000 scenarios. If the profile gives
left joins weight 0, no run reaches that floor, and every run is undecided.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from campaign.errors import CampaignError
from dynamic_tables.plan.branches import Branch
from generators.intents import INTENTS
from generators.profiles import STATEMENTS, Profile
from generators.queries.queries import SHAPES
from workload.lift.kind import Lifting
from workload.limits import NO_LIMITS
from workload.operators import JOIN_OPERATORS, OPERATORS, Operator
from workload.outcomes.trace import Action
from workload.types import DRAWN

READER_STATES = (
    "reader of one dynamic table",
    "reader of several dynamic tables",
    "reader of dynamic and base tables",
    "reader with several statements",
    "reader that saw skew",
)

PROCESS_STATES = (
    "commit during a refresh",
    "commit by a wrong clock",
    "commit by a foreign writer",
    "abandoned transaction",
    "refresh killed",
)

ROLLED_BACK = "transaction rolled back"

STYLED = "text in a style of its own"
RECREATED = "name given again"
REPLACED = "definition replaced"

TIME_STATES = ("time alone changed rows", "time passed and changed nothing")
"""States of tables whose queries read the current time."""

FAILING_STATES = ("refresh failed as its query does", "refresh where the query fails")
"""States that only the intents of data that fails bring about."""

STATES = (
    "retraction",
    "row updated",
    "empty result",
    "duplicate rows",
    "old data timestamp",
    "commit at the data timestamp",
    "empty change set",
    "both join sides changed",
    "outer row lost its last match",
    "outer row found its first match",
    "group emptied",
    "group refilled",
    "group emptied again",
    "group as it was before",
    "group changed three times in a row",
    "null key born",
    "null key vanished",
    STYLED,
    RECREATED,
    REPLACED,
    "read of an earlier data timestamp",
    *READER_STATES,
    *PROCESS_STATES,
    ROLLED_BACK,
    *TIME_STATES,
    *FAILING_STATES,
)
"""Every state that the judge counts (see campaign.judging)."""


BRANCHES_WITHOUT_FLOOR: Mapping[Branch, str] = {
    Branch.VALUE_CHECKED: "its query fails where two rows are tied to one outside; it is not drawn yet",
}
"""The branches of rules that have no floor in the profiles, each with the reason."""


def ensure_reachable_floors(profile: Profile) -> None:
    """Does nothing where every floor can be met. Raises CampaignError naming the first one that cannot."""
    for name, wanted in profile.floors.items():
        reason = unreachable(profile, name, wanted)
        if wanted and reason:
            raise CampaignError(
                f"profile {profile.name}: floor {name!r} can never be met: {reason}; change or remove it"
            )


def unreachable(profile: Profile, name: str, wanted: float) -> str:
    """Returns why no run of the profile can meet a floor; empty where one may.

    `name`: such as `operator: left join`. `wanted`: the count in 1000 scenarios.
    """
    kind, _, what = name.partition(": ")
    match kind:
        case "operator":
            return _operator(profile, what)
        case "pair":
            return _pair(profile, what)
        case "intent":
            return _intent(profile, what, wanted)
        case "type":
            names = [kind.value for kind in DRAWN]
            return "" if what in names else f"there is no type {what!r}, there are {', '.join(names)}"
        case "dml":
            return _statement(profile, what)
        case "state":
            return _state(profile, what)
        case "branch":
            names = [branch.value for branch in Branch]
            return "" if what in names else f"there is no branch {what!r}, there are {', '.join(names)}"
        case "action":
            names = [action.value for action in Action]
            return "" if what in names else f"there is no action {what!r}, there are {', '.join(names)}"
        case _:
            return "a floor's name begins with operator, pair, intent, type, dml, state, branch or action"


def _operator(profile: Profile, name: str) -> str:
    """Returns why the profile draws no operator of a name, by the weights that are 0; empty where it may."""
    if name not in OPERATORS:
        return f"there is no operator {name!r}, there are {', '.join(sorted(OPERATORS))}"
    if profile.intents[1]:
        # An intent may add a definition of any shape.
        return ""
    query = profile.query
    shapes = {shape for weight, shape in query.shapes if weight}
    if not query.depth:
        shapes -= {"union", "cte", "compared"}
    if "cte" in shapes:
        # The body of a generated CTE may be grouped, whatever its parts are.
        shapes.add("grouped")
    if name in SHAPES and SHAPES[name] not in shapes:
        return f"queries of shape {SHAPES[name]!r} have weight 0"
    if name in JOIN_OPERATORS.values():
        drawn = {JOIN_OPERATORS[kind] for weight, kind in query.joins if weight}
        joined = any(weight and count > 1 for weight, count in query.relations) or "cte" in shapes
        # A cross join that would yield too many rows is made an inner one.
        if name not in drawn and not (name == Operator.INNER_JOIN and Operator.CROSS_JOIN in drawn):
            return "that join has weight 0"
        if not joined:
            return "queries read one relation each"
    return ""


def _pair(profile: Profile, name: str) -> str:
    """Returns why the profile draws no such pair of operators, outer and inner; empty where it may."""
    outer, mark, inner = name.partition(" > ")
    if not mark:
        return "a pair is written `outer > inner`"
    return _operator(profile, outer) or _operator(profile, inner)


def _statement(profile: Profile, name: str) -> str:
    """Returns why no such operator meets such a kind of statement; empty where one may."""
    operator, mark, kind = name.partition(" / ")
    if not mark:
        return "a statement is written `operator / update`"
    if kind not in STATEMENTS:
        return f"there is no kind of statement {kind!r}, there are {', '.join(STATEMENTS)}"
    if not profile.intents[1] and not any(weight for drawn, weight in profile.dml.items() if kind in drawn):
        return f"statements of kind {kind!r} have weight 0"
    return _operator(profile, operator)


def _intent(profile: Profile, name: str, wanted: float) -> str:
    """Returns why an intent is not drawn so often; empty where it may."""
    if name not in INTENTS:
        return f"there is no intent {name!r}, there are {', '.join(INTENTS)}"
    most = profile.intents[1]
    if wanted <= most * 1000:
        return ""
    return f"a scenario has at most {most} intents, the floor wants {wanted / 1000:g} of this one"


def _state(profile: Profile, name: str) -> str:
    """Returns why a state is not reached; empty where it may."""
    if name not in STATES:
        return f"there is no state {name!r}, there are {', '.join(STATES)}"
    if name in READER_STATES and not profile.reader_percent:
        return "reader_percent is 0"
    if name in PROCESS_STATES and not profile.concurrent_percent:
        return "concurrent_percent is 0"
    if name == ROLLED_BACK and (profile.limits == NO_LIMITS or not profile.limits.rollbacks):
        return "only engines whose limits have rollbacks roll transactions back"
    if name in TIME_STATES and not profile.timed_percent:
        return "timed_percent is 0"
    if name in FAILING_STATES and not profile.intents[1]:
        return "a scenario has no intents"
    if name == STYLED and not profile.styled_percent:
        return "styled_percent is 0"
    if name == REPLACED and not profile.limits.replaces:
        return "the engine's limits have no replaces"
    if name in (RECREATED, REPLACED) and not profile.recreated_percent:
        return "recreated_percent is 0"
    return ""


INTERVALS_NEVER_REACH = (
    "action: NO_DATA",
    "action: REINITIALIZE",
    "action: FULL",
    "state: reader",
    "state: group refilled",
    "state: group emptied again",
    "state: group as it was before",
    "state: group changed three times in a row",
    "state: old data timestamp",
    *(f"state: {name}" for name in (*PROCESS_STATES, ROLLED_BACK, *TIME_STATES)),
)
"""Beginnings of the floors that a run with lifted intervals cannot meet: it refreshes each world once."""

NOT_LIFTED = frozenset({Operator.CROSS_JOIN.value, Operator.SCALAR_AGGREGATION.value, "restore"})
"""Lifting makes a cross join an inner one, a scalar aggregate a grouped one, and RESTORE other writes."""


def floors_of_lifted(floors: Mapping[str, float], lifting: Lifting) -> dict[str, float]:
    """Returns the floors that a run with this lifting can meet, with their counts."""
    if lifting is Lifting.NONE:
        return dict(floors)
    # A lifted query is another one, which takes other branches; the tier `rules` lifts nothing.
    never = ("branch: ", *(INTERVALS_NEVER_REACH if lifting is Lifting.INTERVALS else ()))
    return {
        name: wanted
        for name, wanted in floors.items()
        if not name.startswith(never) and not NOT_LIFTED & set(re.split(": | > | / ", name))
    }
