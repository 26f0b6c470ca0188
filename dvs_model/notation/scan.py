"""From text to a draft: what stands there, not yet whether it makes sense."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

from dvs_model.draft import Chain, Draft, DraftEvent, Matches, Name, Precedes, Session, Special
from dvs_model.errors import HistoryError

_VERSION = r"[A-Za-z][A-Za-z0-9_]*(?:\.[0-9]+)?"
_TOKEN = re.compile(
    rf"""
      (?P<end>[cabs])(?P<end_txn>[0-9]+)(?![0-9_(.])
    | (?P<item>[rw])(?P<item_txn>[0-9]+)\(\s*(?P<version>{_VERSION})\s*(?:,(?P<value>[^()\[\]:;,|]*))?\)
    | d(?P<derive>[0-9]+)\(\s*(?P<derived>{_VERSION})\s*\|(?P<sources>[^()\[\]:;|]*)\)
    | (?P<pred>[rw])(?P<pred_txn>[0-9]+)\(\s*(?P<name>[^()\[\]:;,|\s][^()\[\]:;,|]*):
          (?P<vset>[^()\[\]:;|]*)(?:;(?P<matched>[^()\[\]:;|]*))?\)
    | \[(?P<clause>[^\[\]]*)\]
    """,
    re.VERBOSE,
)
_SPACE = re.compile(r"(?:\s+|\#[^\n]*)*")
_PLAIN = re.compile(r"([A-Za-z]+)([0-9]+)(?:\.([0-9]+))?")
_MARKED = re.compile(r"([A-Za-z][A-Za-z0-9_]*)_(?:([0-9]+)(?:\.([0-9]+))?|(init|dead))")
_PRECEDES = re.compile(r"c([0-9]+)\s*<\s*[sb]([0-9]+)")
_MATCHES = re.compile(r"\smatches(?=\s|$)")
_DIGITS = re.compile(r"[0-9]{1,18}")
_OPENING = re.compile(r"(?:[rwd][0-9]+\s*\(|\[)")


def scan(text: str, name: str = "") -> Draft:
    """The events and clauses of a text. Raises HistoryError with line and column."""
    return Scanner(text, name).draft()


class Scanner:
    """One pass over a text. Names are read once and kept: histories repeat them."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.result = Draft(name, locate=locator(text))
        self.names: dict[str, Name] = {}

    def draft(self) -> Draft:
        """Reads everything."""
        text, events = self.text, self.result.events
        token, space = _TOKEN.match, _SPACE.match
        position, length = 0, len(text)
        while True:
            gap = space(text, position)
            position = position if gap is None else gap.end()
            if position >= length:
                return self.result
            found = token(text, position)
            if found is None:
                raise self.error(self.diagnosis(position), position)
            match found.lastgroup:
                case "end_txn":
                    kind = found["end"]
                    events.append(
                        DraftEvent(
                            "s" if kind == "b" else kind, self.number(found["end_txn"], position), at=position
                        )
                    )
                case "version" | "value":
                    version = self.version(found["version"], found.start("version"))
                    value = found["value"]
                    txn = self.number(found["item_txn"], position)
                    events.append(
                        DraftEvent(
                            found["item"],
                            txn,
                            (version,),
                            None,
                            "",
                            None if value is None else value.strip(),
                            position,
                        )
                    )
                case "sources":
                    derived = self.version(found["derived"], found.start("derived"))
                    sources = self.versions(found["sources"], found.start("sources"))
                    events.append(
                        DraftEvent(
                            "d", self.number(found["derive"], position), (derived,), sources, at=position
                        )
                    )
                case "vset" | "matched":
                    events.append(self.predicate(found, position))
                case _:
                    self.clause(found["clause"], found.start("clause"))
            position = found.end()

    def predicate(self, found: re.Match[str], position: int) -> DraftEvent:
        """A predicate read or write."""
        matched = found["matched"]
        return DraftEvent(
            found["pred"].upper(),
            self.number(found["pred_txn"], position),
            self.versions(found["vset"], found.start("vset")),
            None if matched is None else self.versions(matched, found.start("matched")),
            found["name"].rstrip(),
            None,
            position,
        )

    def clause(self, inside: str, at: int) -> None:
        """What stands between square brackets."""
        text = inside.strip()
        place = at + len(inside) - len(inside.lstrip())
        words = list(_MATCHES.finditer(text))
        if re.match(r"session\s", text):
            self.session(text, place)
        elif words:
            word = words[-1]
            predicate = text[: word.start()].strip()
            if not predicate or any(mark in predicate for mark in ":;,|"):
                raise self.error(f"{_shown(predicate)} is no name of a predicate", place)
            names = self.versions(text[word.end() :], place + word.end())
            self.result.matches.append(Matches(predicate, names, at))
        else:
            position = 0
            for part in re.split("[,;]", inside):
                self.item(part, at + position)
                position += len(part) + 1

    def session(self, text: str, at: int) -> None:
        """`session NAME: T, T`."""
        head, colon, tail = text.partition(":")
        name = head[len("session") :].strip()
        if not colon or not name or any(mark in name for mark in ";,|"):
            raise self.error(f"{_shown(text)} is no session; write [session a: 1, 2]", at)
        numbers = [self.number(part.strip(), at + len(head) + 1) for part in tail.split(",")]
        self.result.sessions.append(Session(name, tuple(numbers), at))

    def item(self, part: str, at: int) -> None:
        """A version order or a time-precedes item."""
        at += len(part) - len(part.lstrip())
        part = part.strip()
        precedes = _PRECEDES.fullmatch(part)
        if precedes is not None:
            self.result.precedes.append(
                Precedes(self.number(precedes[1], at), self.number(precedes[2], at), at)
            )
        elif not part:
            raise self.error("an empty item in [..]; write a version order such as x1 << x2", at)
        else:
            names = tuple(self.version(name.strip(), at) for name in part.split("<<"))
            self.result.chains.append(Chain(names, at))

    def versions(self, inside: str, at: int) -> tuple[Name, ...]:
        """A version set."""
        if not inside or inside.isspace():
            return ()
        position, names = 0, []
        for part in inside.split(","):
            names.append(self.version(part.strip(), at + position + len(part) - len(part.lstrip())))
            position += len(part) + 1
        return tuple(names)

    def version(self, text: str, at: int) -> Name:
        """A version's name."""
        known = self.names.get(text)
        if known is not None:
            return known
        plain = _PLAIN.fullmatch(text)
        marked = None if plain is not None else _MARKED.fullmatch(text)
        if plain is not None:
            number = None if plain[3] is None else self.number(plain[3], at)
            name = Name(plain[1], self.number(plain[2], at), number)
        elif marked is not None and marked[4] is not None:
            name = Name(marked[1], Special(marked[4]))
        elif marked is not None:
            number = None if marked[3] is None else self.number(marked[3], at)
            name = Name(marked[1], self.number(marked[2], at), number)
        else:
            hint = "write object and transaction, such as x1, x1.2, x_init, or my_table_1"
            raise self.error(f"{_shown(text)} is no version; {hint}", at)
        self.names[text] = name
        return name

    def number(self, text: str, at: int) -> int:
        """The number of a transaction or modification."""
        if _DIGITS.fullmatch(text) is None:
            raise self.error(f"{_shown(text)} is no transaction number", at)
        return int(text)

    def diagnosis(self, position: int) -> str:
        """Why no event and no clause starts here."""
        text = self.text
        opening = _OPENING.match(text, position)
        if opening is not None:
            close = "]" if opening[0] == "[" else ")"
            end = text.find(close, position)
            if end < 0 or any(mark in text[opening.end() : end] for mark in "()[]"):
                return f"the bracket in {_shown(text[position : position + 24])} is not closed"
            inside = text[position : end + 1]
            if inside[0] == "d":
                return f"{_shown(inside)} is no derivation; write d1(x1 | y2, z3)"
            return f"{_shown(inside)} is no event; write w1(x1), r2(x1), or r2(P: x1, y0; x1)"
        word = re.match(r"\S{1,24}", text[position : position + 24])
        found = _shown(word[0] if word else text[position : position + 24])
        return f"{found} is neither an event, as w1(x1), d3(y3 | x1), c1, nor a clause, as [x1 << x2]"

    def error(self, fact: str, at: int) -> HistoryError:
        """An error that names its place."""
        return HistoryError(fact, *self.result.locate(at))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def locator(text: str) -> Callable[[int], tuple[int | None, int | None]]:
    """From an offset to line and column, both from 1. The line starts are found when first asked for."""
    starts: list[int] = []

    def locate(at: int) -> tuple[int | None, int | None]:
        if at < 0:
            return None, None
        if not starts:
            starts.append(0)
            starts.extend(found.end() for found in re.finditer("\n", text))
        line = bisect_right(starts, at)
        return line, at - starts[line - 1] + 1

    return locate
