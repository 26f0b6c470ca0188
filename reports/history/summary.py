"""What happened in a history, in two sentences that need no theory."""

from __future__ import annotations

from collections.abc import Sequence

from dvs_model.checking.anomalies import named
from dvs_model.checking.check import Checked
from dvs_model.checking.explain import Status, explanations, overall, requested_with
from dvs_model.theory.levels import BY_NAME, LEVELS
from dvs_model.theory.names import Level
from reports.history.text import strongest_text


def in_short(checked: Checked, requested: Sequence[Level]) -> tuple[str, str]:
    """Returns the verdict with its first reason, and what the history does keep."""
    verdict = overall(checked, requested)
    levels = requested_with(checked, requested, verdict)
    names = ", ".join(_named(name) for name, _ in levels)
    kept = f"The strongest levels that it keeps: {strongest_text(checked)}."
    if verdict is Status.HOLDS:
        return f"It keeps {names}: no read and no write of it contradicts that.", kept
    if verdict is Status.UNKNOWN:
        return f"Whether it keeps {names} cannot be told: {levels[0][1]}.", kept
    anomalies = named(checked)
    if anomalies:
        name, _, text = anomalies[0]
        return f"It does not keep {names}: {text} ({name}).", kept
    lines = [line.text for each in explanations(checked, minimised=False) for line in each.lines]
    return f"It does not keep {names}: {'; '.join(lines[:2]) or levels[0][1]}.", kept


def _named(name: str) -> str:
    """Returns a level with what it is called."""
    level = BY_NAME.get(name)
    return name if level is None else f"{name} ({LEVELS[level].meaning.partition(':')[0]})"
