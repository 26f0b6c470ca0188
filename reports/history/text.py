"""A checked history in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dvs_model.check import Checked, Undecided
from dvs_model.definitions import DEFINITIONS
from dvs_model.names import Level
from dvs_model.verdict import Present, Unknown
from reports.history.account import (
    Account,
    Word,
    accounts,
    because,
    indented,
    lines,
    overall,
    stats,
    strongest_text,
    word,
)


def history_text(checked: Checked, asked: Sequence[Level], *, minimised: bool, explain: bool) -> str:
    """What holds, what does not and why, and a smaller history that shows it."""
    return "\n".join(_text(checked, asked, minimised, explain))


def headline(checked: Checked, asked: Sequence[Level]) -> str:
    """One line: the history and the verdict on what was asked."""
    verdict = overall(checked, asked)
    names = [level.value for level in asked if word(checked.levels[level]) is verdict]
    return f"{checked.original.name or 'history'}: {', '.join(names)} {verdict.value}"


def _text(checked: Checked, asked: Sequence[Level], minimised: bool, explain: bool) -> Iterator[str]:
    yield headline(checked, asked)
    yield f"  {', '.join(f'{count} {name}' for name, count in stats(checked).items())}; {checked.reading}"
    yield f"  strongest that hold: {strongest_text(checked)}"
    for account in accounts(checked, minimised=minimised):
        yield from _account(account)
    undecided = [level for level in asked if isinstance(checked.levels[level], Undecided)]
    for level in undecided:
        yield f"  {level.value} is unknown: {because(checked.levels[level])}"
    if explain:
        yield from _everything(checked)


def _account(account: Account) -> Iterator[str]:
    yield ""
    yield f"  {account.title}: forbidden by {', '.join(level.value for level in account.levels)}"
    width = max(len(line.arrow) for line in account.lines)
    for line in account.lines:
        yield f"    {line.arrow:<{width}}  {line.text}".rstrip() if width else f"    {line.text}"
    if account.minimised is not None:
        yield "  the least that shows it:"
        yield indented(account.minimised)


def _everything(checked: Checked) -> Iterator[str]:
    yield ""
    yield "  phenomena:"
    for phenomenon, finding in checked.phenomena.items():
        definition = DEFINITIONS[phenomenon].text
        match finding:
            case Present(evidence):
                yield f"    {phenomenon.value}: present ({definition})"
                for item in evidence:
                    subject = f"for {item.subject}: " if item.subject else ""
                    yield f"      {subject}{'; '.join(line.text for line in lines(checked, item))}"
            case Unknown(reason):
                yield f"    {phenomenon.value}: unknown: {reason} ({definition})"
            case _:
                yield f"    {phenomenon.value}: absent ({definition})"
    yield "  levels:"
    for level, verdict in checked.levels.items():
        yield f"    {level.value}: {word(verdict).value}: {because(verdict)}"


def summary_line(counts: dict[Word, int], refused: int) -> str:
    """The last line over several histories."""
    parts = [f"{counts[w]} {w.value}" for w in Word if counts[w]]
    if refused:
        parts.append(f"{refused} could not be read")
    return f"{sum(counts.values()) + refused} histories: {', '.join(parts)}"
