"""The journal of a campaign: every judged scenario at once on disk, so that `dvs fuzz --resume` can continue.

A journal holds one JSON object per line. The first line, the head, says which scenarios the run has and how
they are judged; every other line is one judged scenario. If the process is killed while it writes, the last
line is incomplete: it is dropped when the journal is read, and its scenario is judged again.
"""

from __future__ import annotations

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
from campaign.lanes.spec import LaneSpec
from campaign.runs.plan import CampaignPlan, JudgedScenario
from generators.generate import scenario_name
from generators.profiles import GENERATOR_VERSION
from workload.codec import decode, encode
from workload.errors import WorkloadError

JOURNAL_FILE = "journal.jsonl"
PREVIOUS_FILE = "journal.previous.jsonl"
FORMAT = "dvs-journal"
VERSION = 3

MAY_DIFFER = ("scenarios", "budget", "started", "options")
"""Keys of the head that may differ when a run is resumed: they do not decide which scenarios the run has."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A judged scenario, and the seconds of campaign until then, earlier sessions included."""

    judged: JudgedScenario
    elapsed: float


@dataclass(frozen=True, slots=True)
class JournalContents:
    """A journal read from its file. `length`: the bytes of its complete lines."""

    head: Mapping[str, Any]
    entries: tuple[Entry, ...]
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """A journal that is open for writing.

    `file`: the file descriptor; None for a run without a folder, which writes nothing. `entries`: those of
    earlier sessions. `started`: ISO 8601 in UTC.
    """

    path: Path = Path()
    file: int | None = None
    started: str
    entries: tuple[Entry, ...] = ()

    @property
    def elapsed(self) -> float:
        """Seconds of campaign in earlier sessions."""
        return max((entry.elapsed for entry in self.entries), default=0.0)

    def add(self, judged: JudgedScenario, elapsed: float) -> None:
        """Writes the entry of one scenario. Raises CampaignError where it cannot, such as on a full disk."""
        if self.file is not None:
            self.write(self.file, encode(Entry(judged, round(elapsed, 3))))

    def write(self, file: int, content: Mapping[str, Any]) -> None:
        """Writes an object as one line to the open file. Raises CampaignError where it cannot."""
        line = json.dumps(content, separators=(",", ":")).encode() + b"\n"
        try:
            while line:
                # On a disk that gets full, the first write is short and only the next one raises.
                line = line[os.write(file, line) :]
        except OSError as error:
            raise CampaignError(
                f"cannot write {self.path}: {error.strerror}; the scenarios judged before are kept: "
                "free some space, then continue with --resume"
            ) from error


def head_of(plan: CampaignPlan, spec: LaneSpec, started: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the head of a journal: all that decides which scenarios a run has and how they are judged.

    `options`: the options of the command line, so that `--resume` need not repeat them.
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
        # The repr of a profile seeds its draws. What is drawn last is no part of it, nor are the floors.
        "profile_digest": digest(
            repr(
                (
                    plan.profile,
                    plan.profile.concurrent_percent,
                    plan.profile.styled_percent,
                    plan.profile.recreated_percent,
                    plan.profile.timed_percent,
                    plan.profile.documents,
                    *(() if plan.profile.given is None else (plan.profile.given,)),
                )
            )
        ),
        "floors_digest": digest(repr(sorted(plan.profile.floors.items()))),
        "options": dict(options),
        "lane": encode(spec),
    }


def digest(text: str) -> str:
    """Returns the first 16 hexadecimal digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@contextmanager
def opened(
    folder: Path,
    plan: CampaignPlan,
    spec: LaneSpec,
    started: str,
    *,
    resume: bool,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> Iterator[Journal]:
    """Opens the journal of a folder for writing; a new journal renames an older one to PREVIOUS_FILE.

    Raises CampaignError: there is no journal to resume, it is of another run, or a line cannot be read.
    """
    path = folder / JOURNAL_FILE
    head = head_of(plan, spec, started, options)
    earlier = resumable(path, head) if resume else None
    try:
        if earlier is None and path.exists():
            path.replace(folder / PREVIOUS_FILE)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    except OSError as error:
        raise CampaignError(f"cannot write {path}: {error.strerror}; choose another --out") from error
    try:
        if earlier is None:
            journal = Journal(path=path, file=file, started=started)
            journal.write(file, head)
        else:
            started = str(earlier.head["started"])
            journal = Journal(path=path, file=file, started=started, entries=earlier.entries)
            # Cuts off an incomplete last line, to which the next line would be added.
            os.ftruncate(file, earlier.length)
        yield journal
    finally:
        os.close(file)


def resumable(path: Path, head: Mapping[str, Any]) -> JournalContents:
    """Returns the contents of a journal. Raises CampaignError: its head or a line is of another run."""
    contents = read(path)
    for key, value in head.items():
        before = contents.head.get(key)
        if key not in MAY_DIFFER and value != before:
            raise CampaignError(
                f"{path} is of another run: its {key} is {before!r}, now it is {value!r}; "
                "give the same options as before, or choose another --out"
            )
    for entry in contents.entries:
        judged = entry.judged
        name = scenario_name(str(head["profile"]), int(head["seed"]), judged.index)
        if judged.index < int(head["first"]) or judged.outcome.scenario != name:
            raise CampaignError(
                f"{path} has a line of another run: scenario {judged.outcome.scenario} as number "
                f"{judged.index}; somebody changed the journal: start a new run in another --out"
            )
    return contents


def read_head(folder: Path) -> Mapping[str, Any]:
    """Returns the head of a folder's journal. Raises CampaignError: there is none, or of another version."""
    path = folder / JOURNAL_FILE
    try:
        with path.open(encoding="utf-8") as file:
            line = file.readline()
    except FileNotFoundError as error:
        raise CampaignError(
            f"nothing to resume: there is no {path}; start the run without --resume"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise CampaignError(f"cannot read {path}: {error}; choose another --out") from error
    try:
        head = json.loads(line)
    except ValueError:
        head = None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise CampaignError(
            f"{path} is no journal of a run; start a new run without --resume, or choose another --out"
        )
    for name, ours in (("version", VERSION), ("generator", GENERATOR_VERSION)):
        if head.get(name) != ours:
            raise CampaignError(
                f"{path} was written with {name} {head.get(name)!r}, this program has {ours}; "
                "start a new run in another --out"
            )
    return head


def read(path: Path) -> JournalContents:
    """Returns a journal with its complete lines; of two entries for one scenario the first counts.

    Raises CampaignError naming the first line that cannot be read.
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
    return JournalContents(head, tuple(entries.values()), length)


def _entry(path: Path, number: int, line: bytes) -> Entry:
    """Returns the entry in a line. Raises CampaignError naming the line's number."""
    try:
        entry: Entry = decode(json.loads(line), Entry, "entry")
    except (ValueError, WorkloadError) as error:
        raise CampaignError(
            f"{path}, line {number}: {error}; somebody changed the journal: start a new run in another --out"
        ) from error
    return entry
