"""A checked history as text for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from dvs_model.analysis.verdict import Present, Unknown
from dvs_model.checking.anomalies import named
from dvs_model.checking.check import Checked, Seen, Undecided
from dvs_model.checking.explain import (
    Explanation,
    LevelStatus,
    because,
    choices,
    executing_name,
    explanations,
    lines,
    overall,
    requested_with,
    status,
)
from dvs_model.histories.history import History
from dvs_model.notation import render
from dvs_model.theory.definitions import DEFINITIONS
from dvs_model.theory.names import Level


def history_text(checked: Checked, requested: Sequence[Level], *, explain: bool) -> str:
    """Returns what holds, what is violated and why, and a smaller history that shows it.

    `explain`: with every phenomenon and every level.
    """
    return "\n".join(_text(checked, requested, explain))


def headline(checked: Checked, requested: Sequence[Level]) -> str:
    """Returns one line: the history and the verdict on the requested levels."""
    verdict = overall(checked, requested)
    names = [name for name, _ in requested_with(checked, requested, verdict)]
    return f"{checked.original.name or 'history'}: {', '.join(names)} {verdict.value}"


def short_text(checked: Checked, requested: Sequence[Level]) -> str:
    """Returns one line: the history, the verdict, and the choices that it depends on."""
    read = "; ".join(choices(checked))
    return headline(checked, requested) + (f" ({read})" if read else "")


def strongest_text(checked: Checked) -> str:
    """Returns the names of the strongest levels that hold."""
    if checked.strongest:
        return ", ".join(level.value for level in checked.strongest)
    violated = status(checked.levels[Level.PL_1]) is LevelStatus.VIOLATED
    return "none, not even PL-1" if violated else "none for certain"


def part_text(part: int) -> str:
    """Returns what a reader should know of a large history, of which some transactions are shown."""
    return f"{part:,} transactions show what is wrong; others may be wrong in the same ways"


def indented(history: History) -> str:
    """Returns a history in the text notation, indented by four spaces."""
    return "\n".join(f"    {line}" for line in render(history).splitlines())


def summary_line(counts: Mapping[LevelStatus, int], refused: int) -> str:
    """Returns the last line over several histories."""
    parts = [f"{counts[s]} {s.value}" for s in LevelStatus if counts[s]]
    if refused:
        parts.append(f"{refused} could not be read")
    return f"{sum(counts.values()) + refused} histories: {', '.join(parts)}"


def _text(checked: Checked, requested: Sequence[Level], explain: bool) -> Iterator[str]:
    yield headline(checked, requested)
    yield f"  {', '.join(f'{count} {name}' for name, count in checked.stats.items())}; {checked.reading}"
    yield from (f"  choice: {each}" for each in choices(checked) if each not in str(checked.reading))
    if checked.part is not None:
        yield f"  {part_text(checked.part)}"
    yield f"  strongest that hold: {strongest_text(checked)}"
    anomalies = named(checked)
    counts = Counter(name for name, _, _ in anomalies)
    first = {name: text for name, _, text in reversed(anomalies)}
    for name, count in counts.items():
        yield f"  {name}{f' ({count} times)' if count > 1 else ''}: {first[name]}"
    if checked.seen is not None:
        yield from _seen(checked.seen)
    for each in checked.executing:
        for level, words in each.words.items():
            yield from (f"  {executing_name(level)} of T{each.txn}: {text}" for text in words)
    if checked.mixed is not None:
        yield from (f"  mixed levels: {text}" for text in checked.mixed.words)
    for explanation in explanations(checked, minimised=True):
        yield from _explanation(explanation)
        yield from _places(explanation, checked)
    for level in requested:
        if isinstance(checked.levels[level], Undecided):
            yield f"  {level.value} is unknown: {because(checked.levels[level])}"
    if explain:
        yield from _everything(checked)


def _seen(seen: Seen) -> Iterator[str]:
    """Yields what was found in a history of clients besides."""
    for verdict in ("holds", "violated", "unknown"):
        levels = [level for level, (found, _) in seen.client.items() if found == verdict]
        if levels:
            yield f"  for clients {verdict}: {', '.join(levels)}"
    reasons = dict.fromkeys(reason for found, reason in seen.client.values() if found != "holds")
    yield from (f"    {reason}" for reason in reasons if reason)
    yield from (f"  note: {note}" for note in seen.notes)


def _explanation(explanation: Explanation) -> Iterator[str]:
    yield ""
    yield f"  {explanation.title}: forbidden by {', '.join(level.value for level in explanation.levels)}"
    width = max(len(line.arrow) for line in explanation.lines)
    for line in explanation.lines:
        yield f"    {line.arrow:<{width}}  {line.text}".rstrip() if width else f"    {line.text}"
    if explanation.minimised is not None:
        yield "  the smallest history found that shows it:"
        yield indented(explanation.minimised)


def _places(explanation: Explanation, checked: Checked) -> Iterator[str]:
    """Yields where the transactions of an explanation stand in the file, and which keys its objects are."""
    edges = [line.edge for line in explanation.lines if line.edge is not None]
    in_file = checked.in_file
    names: Mapping[str, str] = {} if checked.seen is None else checked.seen.names
    orders: Mapping[str, str] = {} if checked.seen is None else checked.seen.rules
    txns = dict.fromkeys(txn for edge in edges for txn in (edge.source, edge.target) if txn in in_file)
    places = [f"T{txn}: {in_file[txn]}" for txn in txns]
    objects = dict.fromkeys(edge.obj for edge in edges if edge.obj in names)
    places += [f"{obj}: key {names[obj]}" for obj in objects if obj != names[obj]]
    if places:
        yield f"  in the file: {'; '.join(places)}"
    rules = dict.fromkeys(orders[edge.obj] for edge in edges if edge.obj in orders)
    if rules:
        yield f"  the order of versions: {'; '.join(rules)}"


def _everything(checked: Checked) -> Iterator[str]:
    yield ""
    yield "  phenomena:"
    for phenomenon, judged in checked.phenomena.items():
        definition = DEFINITIONS[phenomenon].text
        match judged:
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
        yield f"    {level.value}: {status(verdict).value}: {because(verdict)}"
