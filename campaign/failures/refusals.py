"""Groups what an engine refused by its message, and suggests the limit that excludes such definitions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from campaign.failures.fingerprint import masked, names_in
from generators.coverage import features
from generators.fitting import query_gap
from workload.limits import NO_LIMITS
from workload.outcomes.results import Outcome, OutcomeClass, Refusal
from workload.query import AggregateFunction, Query
from workload.scenario import Scenario
from workload.sql import Dialect
from workload.sql.functions import CASE, FUNCTIONS, IN, NOW

Refused = Mapping[int, tuple[Scenario, Outcome]]
"""By index, the scenarios in which something was refused."""


def refusals(refused: Refused, reached: Mapping[str, int], dialect: Dialect) -> tuple[Refusal, ...]:
    """Returns the messages of an engine that refused definitions, those of most scenarios first.

    `reached`: how often scenarios that passed had each operator, type and function, by `kind: name`.
    `dialect`: that of the engine.
    """
    by_message: dict[str, list[tuple[int, Query]]] = defaultdict(list)
    first: dict[str, str] = {}
    for index, (scenario, outcome) in sorted(refused.items()):
        if outcome.outcome is not OutcomeClass.UNSUPPORTED:
            continue
        name, _, message = outcome.reason.partition(": ")
        key = masked(message, names_in(scenario))
        first.setdefault(key, message)
        by_message[key] += [(index, each.query) for each in scenario.definitions if each.name == name]
    found = [
        Refusal(
            message=first[key],
            indices=tuple(index for index, _ in of_key),
            limit=limit_for([query for _, query in of_key], reached, first[key], dialect),
        )
        for key, of_key in by_message.items()
    ]
    return tuple(sorted(found, key=lambda refusal: -len(refusal.indices)))


def limit_for(queries: Sequence[Query], reached: Mapping[str, int], message: str, dialect: Dialect) -> str:
    """Returns the limit that excludes all these queries and least of what passed; "" without queries.

    All that the queries have in common may be the cause. What never passed is the likelier one, and of that
    what the message names. Where several things are left, or one query is all there is, none of them is
    said to be it. Where the message names only what other queries have, too, the cause is how these have it.
    """
    if not queries:
        return ""
    have = [set(features(query)) - EVERYWHERE for query in queries]
    common = set.intersection(*have)
    never = sorted(feature for feature in common if not reached.get(feature, 0))
    # COUNT() may be COUNT(*) as well.
    words = {feature: word_of(feature, dialect).split("(")[0] for feature in set.union(*have)}
    meant = {feature for feature, word in words.items() if _names(message, word)}
    named = [feature for feature in never if feature in meant]
    likely = named or never
    if not 0 < len(likely) <= MOST_SUGGESTED or (meant and not named):
        return GAP
    if not named and (len(never) > 1 or len(queries) == 1):
        return f"{GAP}; they alone have {', '.join(_called(feature, dialect) for feature in likely)}"
    functions = (feature.removeprefix("function: ") for feature in sorted(reached) if reached[feature])
    taken = [_text(name, dialect) for name in functions if ": " not in name]
    limits = [_limit(feature, queries, taken, dialect) for feature in likely]
    return ", or ".join(dict.fromkeys(limits))


GAP = "asks=True, or a `gap` for these queries"

EVERYWHERE = frozenset({"operator: scan", "operator: projection", "operator: cte", "type: BOOLEAN"})
"""What no limit excludes by itself: a condition is no value of type BOOLEAN."""

MOST_SUGGESTED = 3
"""The most candidates for a limit that are named; with more it would be a guess."""

ENGLISH = frozenset({"AND", "IN", "IS", "NOT", "OR"})
"""Words of SQL with which sentences begin, too."""

CASTS = re.compile(r"CAST\((.*?) AS [^()]*\)")


def word_of(feature: str, dialect: Dialect) -> str:
    """Returns the word of a dialect's SQL by which a feature is known; "" where it has none of its own."""
    kind, _, name = feature.partition(": ")
    if kind != "function":
        return name
    text = _text(name, dialect)
    while name != "cast" and CASTS.search(text):
        text = CASTS.sub(r"\1", text)
    pieces = [piece.strip(" (),") for piece in re.split(r"\{\w+\}", text)]
    word = text if len(pieces) == 1 else next(filter(None, pieces), "")
    # These are in negative numbers, in COUNT(*) and in NULLs, too.
    return "" if word in ("-", "*", "CAST") else word


def _text(name: str, dialect: Dialect) -> str:
    """Returns the text of a function or aggregate, with `{0}` for what it is of."""
    if name in FUNCTIONS:
        return FUNCTIONS[name].template(dialect)
    fixed = {CASE: "CASE {0}", IN: "{0} IN ({1})", NOW: "", AggregateFunction.COUNT_STAR.value: "COUNT(*)"}
    function, distinct, _ = name.partition(" DISTINCT")
    return fixed.get(name, f"{function}({distinct.strip()} {{0}})".replace("( ", "("))


def _called(feature: str, dialect: Dialect) -> str:
    kind, _, name = feature.partition(": ")
    return f"{kind} {name}" if kind != "function" else word_of(feature, dialect) or name


def _limit(feature: str, queries: Sequence[Query], taken: Sequence[str], dialect: Dialect) -> str:
    """Returns the limit that excludes a feature; `lacks` only where these queries alone have its word."""
    kind, _, name = feature.partition(": ")
    if kind != "function":
        return f"operators without {name!r}" if kind == "operator" else f"types without {name}"
    word = word_of(feature, dialect)
    if word and not any(_has(text, word) for text in taken):
        lacking = replace(NO_LIMITS, lacks=frozenset({word}), dialects=frozenset({dialect}))
        if all(query_gap(query, lacking) is not None for query in queries):
            return f"`lacks` with {word!r}"
    return f"asks=True, or a `gap` for queries with {_called(feature, dialect)}"


def _has(text: str, word: str, flags: int = re.IGNORECASE) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, flags) is not None


def _names(message: str, word: str) -> bool:
    """Tells whether a message names a word: a function in any case, a keyword not as an English word."""
    if not re.search(r"\w", word):
        return bool(word) and any(f"{quote}{word}{quote}" in message for quote in "'\"`")
    if word != word.upper():
        return _has(message, word)
    shapes = (word,) if word in ENGLISH else (word, word.capitalize())
    return any(_has(message, shape, 0) for shape in shapes)
