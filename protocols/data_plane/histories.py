"""Resolved intents as a history that `dvs check` judges."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set

from dvs_model.graph.wellformed import well_formed
from dvs_model.histories.draft import Draft, DraftEvent, Name, Special
from dvs_model.histories.history import History
from protocols.data_plane.intents import Intent

PLAIN = re.compile(r"[A-Za-z]+")


def history_of(intents: Sequence[Intent], to_rollback: Set[int], name: str = "intents") -> History:
    """Returns the transactions in the order of their ids, those that are rolled back as aborted ones.

    A read becomes a predicate read of its key. It names the version whose value the transaction has read: the
    last committed one before it, for no value the unborn one, else one of a transaction rolled back or a
    later one. Ids must be greater than 0.
    """
    objects = _objects(intents)
    writers: dict[tuple[str, str | None], list[int]] = {}
    for intent in intents:
        for key, value in intent.writes.items():
            writers.setdefault((key, value), []).append(intent.id)
    by_id = {intent.id: intent for intent in intents}
    draft = Draft(name=name)
    for intent in intents:
        committed = intent.id not in to_rollback
        for key, value in intent.reads if committed else ():
            # A version comes before its readers here, and no transaction reads a key after writing it.
            able = [
                writer
                for writer in writers.get((key, value), ())
                if writer < intent.id or (value is not None and key not in dict(by_id[writer].reads))
            ]
            source = _writer(intent.id, value, able, to_rollback)
            version = Name(objects[key], source)
            matched = () if isinstance(source, Special) else (version,)
            draft.events.append(
                DraftEvent("R", intent.id, (version,), matched, predicate=f"key {objects[key]}")
            )
        for key, value in intent.writes.items():
            draft.events.append(
                DraftEvent("w", intent.id, (Name(objects[key], intent.id),), value=_plain(value))
            )
        draft.events.append(DraftEvent("c" if committed else "a", intent.id))
    return well_formed(_created_first(draft))


def _plain(value: str | None) -> str | None:
    """Returns a value without the characters that the notation uses itself."""
    return None if value is None else re.sub(r"[()\[\]:;,|]", " ", value)


def _writer(reader: int, value: str | None, writers: Sequence[int], to_rollback: Set[int]) -> int | Special:
    """Returns the transaction whose version a read has seen; INIT: the unborn version.

    `writers`: those that may have written it, in the order of their ids.
    """
    earlier = [writer for writer in writers if writer < reader]
    good = [writer for writer in earlier if writer not in to_rollback]
    if not good and value is None:
        return Special.INIT
    for choice in (good[-1:], earlier[-1:], writers[-1:]):
        if choice:
            return choice[0]
    return Special.INIT


def _created_first(draft: Draft) -> Draft:
    """Moves writes before the first read of their versions: a transaction may have read what came later."""
    written: set[Name] = set()
    events: list[DraftEvent] = []
    writes = {event.names[0]: event for event in draft.events if event.kind == "w"}
    for event in draft.events:
        for version in event.names if event.kind == "R" else ():
            if version in writes and version not in written:
                written.add(version)
                events.append(writes[version])
        if event.kind == "w" and event.names[0] in written:
            continue
        written.update(event.names if event.kind == "w" else ())
        events.append(event)
    draft.events = events
    return draft


def _objects(intents: Sequence[Intent]) -> Mapping[str, str]:
    """Returns a name for each key that the notation can write."""
    keys = dict.fromkeys(key for intent in intents for key in (*dict(intent.reads), *intent.writes))
    return {
        key: key if PLAIN.fullmatch(key) and key not in ("init", "dead") else f"key{number}"
        for number, key in enumerate(keys, start=1)
    }
