"""Profiles: how large scenarios are, what is drawn how often, and which floors a run must reach."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

from generators.dml import DML_WEIGHTS
from generators.given.model import Given
from generators.queries.branches import BRANCH_FLOORS
from generators.queries.queries import QueryWeights
from workload.errors import WorkloadError
from workload.limits import NO_LIMITS, Limits
from workload.operators import OPERATORS, Operator
from workload.types import DRAWN

GENERATOR_VERSION = 45
"""Scenario i is a function of (seed, generator version, profile, i): raise it whenever a draw changes."""

DRAWS_VERSION = 40
"""The part of the seed of all draws: raise it with GENERATOR_VERSION, unless the new version changes the
scenarios of one intent alone, or only draws more after all that was drawn before."""


GOAL_FLOOR = 80
"""The percentage of the goals of each given definition that a run must reach by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The shape of a campaign's scenarios. Pairs are inclusive ranges; percentages are of scenarios or draws.

    The repr seeds the draws (`generate.scenario_at`), so a field that must not change them has `repr=False`.
    """

    name: str
    tables: tuple[int, int] = (1, 3)
    columns: int = 4
    rows: tuple[int, int] = (0, 6)
    null_percent: int = 18
    dynamic_tables: tuple[int, int] = (1, 4)
    view_percent: int = 25
    full_percent: int = 8
    rounds: tuple[int, int] = (2, 4)
    commits: tuple[int, int] = (1, 3)
    quiet_percent: int = 12
    """Percent of rounds in which no row changes, so that refreshes have nothing to do."""
    no_op_percent: int = 50
    """Percent of quiet rounds with a commit that changes no row: OPTIMIZE, or an UPDATE to the old values."""
    intents: tuple[int, int] = (1, 3)
    stale_percent: int = 25
    """Percent of refreshes at a data timestamp older than the newest commit."""
    reader_percent: int = 45
    """Percent of rounds that end with a reader transaction."""
    concurrent_percent: int = field(default=25, repr=False)
    """Percent of commits made by another process, often while a refresh is under way. They are drawn last, so
    the percentage changes nothing else and is no part of the repr."""
    styled_percent: int = field(default=60, repr=False)
    """Percent of definitions written as people write them (`workload.writing.writer`); drawn last, too."""
    recreated_percent: int = field(default=15, repr=False)
    """Percent of scenarios in which a definition is dropped and created again; drawn last, too."""
    timed_percent: int = field(default=40, repr=False)
    """Percent of definitions over dates or times with a condition on the current time; drawn last, too."""
    dml: Mapping[str, int] = field(default_factory=lambda: DML_WEIGHTS)
    query: QueryWeights = field(default_factory=QueryWeights)
    floors: Mapping[str, float] = field(default_factory=dict, repr=False)
    """Name -> how many per 1,000 scenarios a run must reach: `operator: left join`, `pair: a > b`,
    `intent: ..`, `type: ..` (scenarios whose queries read a column of it), `dml: window / update`
    (incremental refreshes of an operator after a statement), `state: ..`, `action: ..`. A run of n scenarios
    must reach n/1000 of each number, rounded down."""
    documents: int = field(default=0, repr=False)
    """How many random dynamic tables over documents (columns of type VARIANT) a run draws first; all its
    scenarios are over these. On Delta only. 0: each scenario has definitions of its own."""
    fresh_percent: int = 10
    """Percent of refreshes whose row ids are compared with those of a fresh initialization; those of the last
    refresh of each table are always compared."""
    tiers: Mapping[str, int] = field(
        default_factory=lambda: {"rules": 40, "spark": 30, "spark-stock": 5, "delta": 25}, repr=False
    )
    """Tier -> its share of a campaign over all tiers."""
    limits: Limits = field(default=NO_LIMITS, repr=False)
    """What the engine under test can do. Scenarios are drawn without limits and reduced afterwards."""
    given: Given | None = field(default=None, repr=False)
    """The given definitions, in place of random ones (`dvs fuzz --definitions`)."""
    goal_floor: int = field(default=GOAL_FLOOR, repr=False)
    """The percentage of the goals of each given definition that a run must reach."""


COMMON_OPERATORS = (
    Operator.FILTER,
    Operator.INNER_JOIN,
    Operator.LEFT_JOIN,
    Operator.FULL_JOIN,
    Operator.GROUPED_AGGREGATION,
)
"""The operators that a campaign must meet more often than the others."""

COUNTED = sorted(OPERATORS - {Operator.PROJECTION})
"""The operators whose pairs have floors; a projection belongs to every block."""

COMMON_PAIRS = (
    (Operator.GROUPED_AGGREGATION, Operator.LEFT_JOIN),
    (Operator.GROUPED_AGGREGATION, Operator.INNER_JOIN),
    (Operator.FILTER, Operator.GROUPED_AGGREGATION),
    (Operator.FILTER, Operator.LEFT_JOIN),
    (Operator.INNER_JOIN, Operator.INNER_JOIN),
    (Operator.UNION_ALL, Operator.INNER_JOIN),
    (Operator.GROUPED_AGGREGATION, Operator.GROUPED_AGGREGATION),
    (Operator.GROUPED_AGGREGATION, Operator.FULL_JOIN),
)
"""Pairs of operators, the first right above the second in a query, that a run must meet more often."""

INTENT_NAMES = (
    "both join sides change",
    "there and back",
    "group emptied and refilled",
    "null keys",
    "identical duplicates",
    "extremum deleted",
    "boundary crossed",
    "last match leaves and returns",
    "read twice",
    "mixed aggregates",
    "stacked filter",
    "diamond",
    "maintenance",
    "no op update",
    "data that fails",
    "pair of two times",
    "many rows",
    "in several branches",
    "values of two types",
    "row comes between",
    "partition changed",
    "subtotals",
    "elements change",
    "group comes and goes",
    "average beside nulls",
    "statistic of changed group",
    "member with several matches",
    "keys run together",
    "tagged branches",
    "first rows below",
    "rows equal at the border",
    "running values",
    "member by two columns",
    "marked by unknown",
    "member of groups",
    "value of one row",
    "first rows of each",
    "story of a key",
    "first of each key",
)
"""The intents that every campaign must have run: those known from bug reports of incremental engines."""

STATEMENTS = ("insert", "update", "delete", "merge", "truncate", "overwrite", "restore")
"""The kinds of statements under which every operator is maintained (see `campaign.judging.statements`)."""

RARE_FLOOR = 0.04
"""The floor of what a run of 25,000 scenarios must have met once."""

FLOORS: Mapping[str, float] = {
    **{f"operator: {operator}": 100 for operator in COMMON_OPERATORS},
    **{
        f"operator: {operator}": 40
        for operator in Operator
        if operator in OPERATORS.difference(COMMON_OPERATORS, {Operator.PROJECTION})
    },
    **{f"action: {name}": 200 for name in ("INITIALIZE", "INCREMENTAL", "NO_DATA", "FULL")},
    "action: REINITIALIZE": 5,
    **{f"pair: {outer} > {inner}": RARE_FLOOR for outer in COUNTED for inner in COUNTED},
    **{f"pair: {outer} > {inner}": 3 for outer, inner in COMMON_PAIRS},
    **{f"dml: {operator} / {kind}": 0.5 for operator in COUNTED for kind in STATEMENTS},
    **{f"intent: {intent}": 5 for intent in INTENT_NAMES},
    **{f"type: {kind.value}": 4 for kind in DRAWN},
    **{f"branch: {name}": wanted for name, wanted in BRANCH_FLOORS.items()},
    "state: retraction": 500,
    "state: row updated": 200,
    "state: group emptied": 30,
    "state: group refilled": 10,
    "state: group emptied again": 2,
    "state: group as it was before": 10,
    "state: group changed three times in a row": 10,
    "state: null key born": 30,
    "state: both join sides changed": 100,
    "state: outer row lost its last match": 20,
    "state: outer row found its first match": 20,
    "state: duplicate rows": 200,
    "state: empty result": 100,
    "state: old data timestamp": 100,
    "state: reader of one dynamic table": 50,
    "state: reader of several dynamic tables": 50,
    "state: reader of dynamic and base tables": 50,
    "state: reader with several statements": 50,
    "state: reader that saw skew": 20,
    "state: commit during a refresh": 200,
    "state: commit by a wrong clock": 300,
    "state: commit by a foreign writer": 100,
    "state: abandoned transaction": 50,
    "state: refresh killed": 100,
    "state: text in a style of its own": 500,
    "state: name given again": 60,
    "state: definition replaced": 20,
    "state: refresh failed as its query does": 30,
    "state: time alone changed rows": 10,
    "state: time passed and changed nothing": 10,
}
"""The floors of a run of whole scenarios, per 1,000 of them; see `Profile.floors`."""

SMOKE = Profile(name="smoke", floors=FLOORS)

QUICK = Profile(
    name="quick",
    tables=(1, 2),
    dynamic_tables=(1, 2),
    rounds=(1, 2),
    commits=(1, 2),
    intents=(1, 1),
    query=QueryWeights(depth=1),
    # A scenario has one intent and small queries, so every floor is an eighth; pairs come up half as often,
    # branches a third as often.
    floors={
        **{name: wanted / (2 if wanted == RARE_FLOOR else 8) for name, wanted in FLOORS.items()},
        **{f"branch: {name}": wanted / 4 for name, wanted in BRANCH_FLOORS.items()},
        "action: INITIALIZE": 1000,
        "action: INCREMENTAL": 300,
    },
)
"""Small scenarios, for uses where each step is slow: Delta in a demo, property tests."""

NIGHTLY = Profile(
    name="nightly",
    columns=5,
    rows=(0, 9),
    rounds=(2, 6),
    intents=(0, 3),
    query=QueryWeights(depth=3, max_rows=600),
    floors=FLOORS,
)

PRODUCTION = Profile(
    name="production",
    rows=(60, 160),
    columns=5,
    rounds=(20, 30),
    commits=(1, 1),
    quiet_percent=92,
    no_op_percent=2,
    intents=(0, 0),
    null_percent=8,
    dynamic_tables=(1, 3),
    full_percent=30,
    query=QueryWeights(
        depth=1,
        max_rows=30_000,
        relations=((3, 1), (6, 2), (1, 3)),
        shapes=((4, "plain"), (7, "grouped"), (1, "distinct"), (1, "union")),
    ),
    dml={"insert": 8, "update_one": 10, "delete_one": 4, "merge": 6, "update": 2, "delete": 1, "optimize": 1},
    floors={
        "action: NO_DATA": 8000,
        "action: INCREMENTAL": 300,
        "operator: inner join": 100,
        "operator: grouped aggregation": 100,
    },
)
"""As the DVS paper, section 6.3, reports of production: over 90 % of refreshes are NO_DATA, most changes are
small, joins and aggregates are common."""

DOCUMENTS = replace(SMOKE, name="documents", documents=16, floors={})
"""Random definitions over columns of type VARIANT."""

PROFILES: Mapping[str, Profile] = {
    profile.name: profile for profile in (SMOKE, QUICK, NIGHTLY, PRODUCTION, DOCUMENTS)
}


def load_profile(name: str) -> Profile:
    """Returns a built-in profile by its name, or one from a TOML file: `base = "smoke"` and other fields.

    Raises WorkloadError if there is no such profile or file, or for an unknown key or a wrong value.
    """
    if name in PROFILES:
        return PROFILES[name]
    path = Path(name)
    if not path.is_file():
        raise WorkloadError(f"no profile {name!r}: it is neither one of {', '.join(PROFILES)} nor a file")
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        remedy = f"correct the file or name one of {', '.join(PROFILES)}"
        raise WorkloadError(f"profile {name}: the file cannot be read as TOML: {error}; {remedy}") from error
    base = data.pop("base", "smoke")
    if base not in PROFILES:
        raise WorkloadError(f"profile {name}: base {base!r} is none of {', '.join(PROFILES)}")
    known = [f.name for f in fields(Profile) if f.name not in ("query", "limits", "given", "goal_floor")]
    changes: dict[str, Any] = {"name": path.stem}
    for key, value in data.items():
        if key not in known:
            raise WorkloadError(f"profile {name}: unknown key {key!r}; known: {', '.join(known)}")
        changes[key] = _checked(name, key, value, getattr(PROFILES[base], key))
    return replace(PROFILES[base], **changes)


def _checked(profile: str, key: str, value: object, default: object) -> object:
    """Returns the value of a key of a file. Raises WorkloadError if it does not fit the default's form."""
    match default, value:
        # `type`, since a TOML true is an int for isinstance.
        case tuple(), [low, high] if type(low) is int and type(high) is int and 0 <= low <= high:
            return low, high
        case int(), int() if type(value) is int and value >= 0:
            return value
        case Mapping(), dict() if all(_is_count(v, fraction=key == "floors") for v in value.values()):
            return value
        case str(), str():
            return value
        case _:
            form = list(default) if isinstance(default, tuple) else default
            if isinstance(default, Mapping):
                # There are hundreds of floors; two entries show the form.
                form = dict(islice(default.items(), 2))
            message = f"{key} = {value!r} does not fit; write it like {key} = {form!r}"
            raise WorkloadError(f"profile {profile}: {message}")


def _is_count(value: object, *, fraction: bool) -> bool:
    """Tells whether a value is a number of at least 0; `fraction`: it need not be a whole one."""
    match value:
        case bool():
            return False
        case int():
            return value >= 0
        case float():
            return fraction and 0 <= value < math.inf
        case _:
            return False
