"""What a campaign has judged, written down as it goes, so that an interrupted one can go on.

One JSON object a line: the head says which scenarios there are and how they are judged, each line after it
is one judged scenario. A line is written at once and whole; one that was torn by the end of the process is
dropped on reading, and its scenario is judged again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from campaign.errors import CampaignError
from campaign.lanes import LaneSpec
from campaign.runner import Judged, Plan
from generators.profiles import GENERATOR_VERSION
from workload.codec import decode, encode
from workload.errors import WorkloadError
from workload.results import Outcome

JOURNAL_FILE = "journal.jsonl"
PREVIOUS_FILE = "journal.previous.jsonl"
FORMAT = "dvs-journal"
VERSION = 2

EXTENT = ("scenarios", "budget", "started", "asked")
"""Parts of a head that may differ when a run goes on: how far it goes, not which scenarios there are."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A judged scenario, and the seconds of campaign until then, earlier sessions included."""

    judged: Judged
    elapsed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """An open journal: `entries` is what it held when it was opened; `started` as ISO 8601 in UTC."""

    path: Path
    file: int
    started: str
    entries: tuple[Entry, ...] = ()

    @property
    def elapsed(self) -> float:
        """Seconds that the entries took."""
        return max((entry.elapsed for entry in self.entries), default=0.0)

    def add(self, judged: Judged, elapsed: float) -> None:
        """Writes one entry. Raises CampaignError where it cannot, such as on a full disk."""
        self.write(
            {
                "index": judged.index,
                "elapsed": round(elapsed, 3),
                "coverage": dict(judged.coverage),
                "outcome": encode(judged.outcome),
            }
        )

    def write(self, content: Mapping[str, Any]) -> None:
        """Writes one line."""
        line = json.dumps(content, separators=(",", ":")).encode() + b"\n"
        try:
            while line:
                # A write that meets the end of the disk is short first, and fails when it is repeated.
                line = line[os.write(self.file, line) :]
        except OSError as error:
            raise CampaignError(
                f"cannot write {self.path}: {error.strerror}; what was judged before is kept: "
                "make room, then go on with --resume"
            ) from error


def head_of(plan: Plan, spec: LaneSpec, started: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The head of a journal: everything that decides which scenarios there are and how they are judged.

    `asked`: the words in which it was asked for, so that `--resume` need not repeat them.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "generator": GENERATOR_VERSION,
        "started": started,
        "seed": plan.seed,
        "first": plan.first,
        "scenarios": plan.scenarios,
        "budget": plan.budget,
        "profile": plan.profile.name,
        "profile_digest": digest(repr(plan.profile)),
        "floors_digest": digest(repr(sorted(plan.profile.floors.items()))),
        "asked": dict(asked),
        "lane": json.loads(json.dumps(dataclasses.asdict(spec), default=str)),
    }


def digest(text: str) -> str:
    """16 hexadecimal digits. Of a profile its text is what decides the draws; floors are no part of that."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@contextmanager
def opened(
    folder: Path,
    plan: Plan,
    spec: LaneSpec,
    started: str,
    *,
    resume: bool,
    asked: Mapping[str, Any] = MappingProxyType({}),
) -> Iterator[Journal]:
    """The journal of a folder, new or gone on with; a new one puts an older one aside.

    Raises CampaignError: there is nothing to go on with, the run is another one, or a line is broken.
    """
    path = folder / JOURNAL_FILE
    head, length = head_of(plan, spec, started, asked), 0
    entries: tuple[Entry, ...] = ()
    if resume:
        found, entries, length = read(path)
        differing = [key for key in head if key not in EXTENT and head[key] != found.get(key)]
        if differing:
            key = differing[0]
            raise CampaignError(
                f"{path} is of another run: its {key} is {found.get(key)!r}, now it is {head[key]!r}; "
                "ask for the same, or choose another --out"
            )
        started = str(found["started"])
    try:
        if not resume and path.exists():
            path.replace(folder / PREVIOUS_FILE)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    except OSError as error:
        raise CampaignError(f"cannot write {path}: {error.strerror}; choose another --out") from error
    try:
        journal = Journal(path=path, file=file, started=started, entries=entries)
        if resume:
            os.ftruncate(file, length)
        else:
            journal.write(head)
        yield journal
    finally:
        os.close(file)


def read_head(folder: Path) -> dict[str, Any]:
    """The head of a folder's journal. Raises CampaignError where there is none, or of another version."""
    path = folder / JOURNAL_FILE
    try:
        with path.open(encoding="utf-8") as file:
            return _head(path, file.readline())
    except FileNotFoundError as error:
        raise CampaignError(
            f"nothing to go on with: there is no {path}; start the run without --resume"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise CampaignError(f"cannot read {path}: {error}") from error


def read(path: Path) -> tuple[dict[str, Any], tuple[Entry, ...], int]:
    """Head, entries and the length in bytes of the whole lines. Each scenario is read once.

    Raises CampaignError naming the line that makes no sense, the last one aside.
    """
    head = read_head(path.parent)
    entries: dict[int, Entry] = {}
    length = 0
    for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
        if not line.endswith(b"\n"):
            break
        length += len(line)
        if number > 1:
            entry = _entry(path, number, line)
            entries.setdefault(entry.judged.index, entry)
    return head, tuple(entries.values()), length


def _head(path: Path, line: str) -> dict[str, Any]:
    try:
        head = json.loads(line)
    except ValueError:
        head = None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise CampaignError(
            f"{path} is no journal of a run; start anew without --resume, or in another --out"
        )
    for name, mine in (("version", VERSION), ("generator", GENERATOR_VERSION)):
        if head.get(name) != mine:
            raise CampaignError(
                f"{path} was written with {name} {head.get(name)!r}, this program has {mine}; "
                "start anew, in another --out"
            )
    return head


def _entry(path: Path, number: int, line: bytes) -> Entry:
    try:
        content = json.loads(line)
        judged = Judged(
            decode(content["index"], int, "index"),
            decode(content["outcome"], Outcome, "outcome"),
            decode(content["coverage"], Mapping[str, int], "coverage"),
        )
        return Entry(judged, float(content["elapsed"]))
    except (ValueError, KeyError, TypeError, WorkloadError) as error:
        raise CampaignError(
            f"{path}, line {number}: {error}; the journal was changed, start anew in another --out"
        ) from error
