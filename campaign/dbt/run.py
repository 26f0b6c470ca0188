"""The run of a trial: incremental runs, then a full refresh of the same sources; every model is compared."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from campaign.dbt.differences import Equal, NotJudged, RefreshDifference, Seen, Table, compare
from campaign.dbt.process import Dbt, DbtBroken, dbt_process, vars_at
from campaign.dbt.project import Model, Project
from campaign.dbt.rows import BASE, DAY, NEWEST
from campaign.dbt.snapshots import Versions, law
from campaign.dbt.trials import Contents, Round, Trial, load_statements
from campaign.errors import CampaignError


class Rejected(Exception):
    """Raised for a trial that shows nothing: its rows are refused, or a run ended before its disturbance."""


@dataclass(frozen=True, slots=True)
class Runner:
    """A runner of trials of a project in one dbt process. `ignored`: columns not compared, by model id.

    `base`: the day from which ticks are counted; `since`: the tick from which batches are made.
    """

    dbt: Dbt
    project: Project
    ignored: Mapping[str, frozenset[str]]
    base: dt.date = BASE
    since: int = NEWEST - DAY

    def run(self, trial: Trial, models: Iterable[str]) -> dict[str, Seen]:
        """Runs a trial, and returns by id what is seen of some models, and of those above them.

        Raises Rejected, and DbtBroken where dbt or the database failed otherwise.
        """
        return replace(self, since=trial.since).judged(trial, models)

    def judged(self, trial: Trial, models: Iterable[str]) -> dict[str, Seen]:
        """Runs a trial that has no row older than `since`; returns as `run`."""
        wanted = {each.id for model in models for each in self.project.above(model)}
        chosen = [model for id_, model in self.project.models.items() if id_ in wanted]
        sources = [source.id for source in self.project.sources_of(wanted)]
        contents = Contents()
        for put in trial.start:
            contents.apply(put)
        self.clear(chosen, snapshots=True)
        self.load(contents, sources)
        snapshots = {model.id: Versions() for model in chosen if model.is_snapshot}
        answer = self.build(chosen)
        self.note(snapshots, answer)
        notes = []
        for each in trial.rounds:
            changed = dict.fromkeys(change.source for change in each.changes)
            for change in each.changes:
                contents.apply(change)
            self.load(contents, [id_ for id_ in changed if id_ in sources])
            answer, note = self.run_round(each, chosen, contents, sources)
            self.note(snapshots, answer)
            notes.extend([note] if note else [])
        failed = failures(answer)
        found = self.contents(chosen)
        # A snapshot has no full refresh: it stays, and is compared with the versions that were noted.
        self.clear(chosen, snapshots=False)
        refused = failures(self.build(chosen, "--full-refresh", at=ended(trial)))
        expected = self.contents(chosen)
        seen: dict[str, Seen] = {}
        for model in chosen:
            if model.is_snapshot:
                seen[model.id] = law(model, snapshots[model.id], found.get(model.id), failed.get(model.id))
            else:
                seen[model.id] = self.compared(model, found, expected, failed, refused, seen, notes)
        return seen

    def compared(
        self,
        model: Model,
        found: Mapping[str, Table],
        expected: Mapping[str, Table],
        failed: Mapping[str, str],
        refused: Mapping[str, str],
        seen: Mapping[str, Seen],
        notes: Sequence[str],
    ) -> Seen:
        """Returns what is seen of one model.

        `found`, `failed`: the contents and the errors after the last incremental run. `expected`, `refused`:
        those of the full refresh. `seen`: what is seen of the models above it.
        """
        above = [each for each in self.project.above(model.id) if each.id != model.id]
        inherited = tuple(each.name for each in above if isinstance(seen.get(each.id), RefreshDifference))
        if model.left_out:
            return NotJudged(model.left_out)
        if model.id in refused or model.id not in expected:
            return NotJudged(f"its full refresh fails: {refused.get(model.id, 'it left no table')}")
        if model.id in failed or model.id not in found:
            return RefreshDifference(error=failed.get(model.id, "the run left no table"), inherited=inherited)
        difference = compare(found[model.id], expected[model.id], self.ignored.get(model.id, frozenset()))
        if difference is None:
            return Equal("; ".join(dict.fromkeys(notes)), bool(expected[model.id].rows))
        return RefreshDifference(
            difference.columns, difference.missing, difference.extra, difference.lost, difference.added,
            "; ".join(dict.fromkeys(notes)), inherited,
        )  # fmt: skip

    def run_round(
        self, each: Round, models: Sequence[Model], contents: Contents, sources: Sequence[str]
    ) -> tuple[dict[str, Any], str]:
        """Runs dbt once, or twice if the round has a disturbance. `contents`: of all `sources`.

        Returns the answer to the last run, and a note on what else happened. Raises Rejected: the run ended
        before the statement at which something should happen to it, so that it was a run like any other.
        """
        if each.stop_at is not None and each.beside is not None:
            for change in each.beside:
                contents.apply(change)
            changed = dict.fromkeys(change.source for change in each.beside)
            return self.run_twice(each, models, contents, [id_ for id_ in changed if id_ in sources])
        if each.stop_at is not None:
            stopped = self.build(models, stop_at=each.stop_at, at=each.at)
            if stopped["statements"] < each.stop_at:
                raise Rejected(f"the run ended before statement {each.stop_at}")
        return self.build(models, at=each.at), ""

    def run_twice(
        self, each: Round, models: Sequence[Model], contents: Contents, changed: list[str]
    ) -> tuple[dict[str, Any], str]:
        """Starts a second run when the first has reached a statement; the first then goes on to its end.

        `changed`: the sources that change before the second run, which `contents` has. A run that fails
        loudly does no harm, for whoever sees it runs it again: an adapter that pins the version it read lets
        that run fail which commits later.
        """
        answer = self.build(models, pause_at=each.stop_at, at=each.at)
        if not answer.get("paused"):
            raise Rejected(f"the run ended before statement {each.stop_at}")
        try:
            with dbt_process(self.dbt.target, self.dbt) as other:
                beside = replace(self, dbt=other)
                beside.load(contents, changed)
                late = next(iter(failures(beside.build(models, at=each.at)).values()), "")
        except (DbtBroken, CampaignError, Rejected) as error:
            late = str(error)
        first = self.dbt.go_on()
        early = next(iter(failures(first).values()), "")
        notes = [run_failed(name, error) for name, error in (("first", early), ("second", late)) if error]
        if not notes:
            return first, "both runs succeeded"
        self.load(contents, changed)
        return self.build(models, at=each.at), "; ".join(notes)

    def build(
        self,
        models: Sequence[Model],
        *arguments: str,
        at: int = NEWEST,
        stop_at: int | None = None,
        pause_at: int | None = None,
    ) -> dict[str, Any]:
        """Runs models and snapshots at a minute after the tick `at`, and returns the driver's answer.

        `stop_at`, `pause_at`: the number of the statement at which the run fails, or waits for `go_on`.
        """
        if any(model.is_snapshot for model in models):
            command = ["build", "--resource-type", "model", "--resource-type", "snapshot"]
        else:
            command = ["run"]
        select = [model.select for model in models if not model.left_out]
        # A folder may have the name of a model, and hold one that writes where it should not.
        exclude = [model.select for model in self.project.models.values() if model.left_out]
        request: dict[str, Any] = {
            "select": select,
            "exclude": exclude,
            "stop_at": stop_at,
            "pause_at": pause_at,
        }
        now, begin = time_of(self.base, at + 1), time_of(self.base, self.since)
        request |= {
            "now": now.isoformat(),
            "begin": begin.isoformat(),
            "vars": vars_at(self.dbt.target.vars, now),
        }
        return self.dbt.ask("run", command=[*command, *arguments], **request)

    def load(self, contents: Contents, sources: list[str]) -> None:
        """Replaces the rows of sources. Raises Rejected: the database refuses them."""
        try:
            self.dbt.execute(load_statements(self.project, contents, sources))
        except DbtBroken as error:
            raise Rejected(str(error)) from error

    def clear(self, models: Sequence[Model], *, snapshots: bool) -> None:
        """Drops the tables and views of models, so that the next run is their first one."""
        chosen = [model for model in models if model.relation and (snapshots or not model.is_snapshot)]
        database = self.project.database
        listed = []
        if database.listing is not None:
            answer = self.dbt.ask("rows", queries={"all": database.listing})["answers"]["all"]
            if "error" in answer:
                raise DbtBroken(answer["error"])
            listed = answer["rows"]
        # What reads others goes first: a database may keep a table to which a foreign key refers.
        relations = {model.relation: model.materialized for model in reversed(chosen)}
        self.dbt.execute(database.drop(relations, listed))

    def contents(self, models: Sequence[Model]) -> dict[str, Table]:
        """Returns by id the contents of the models that have a table."""
        return self.answers(
            {
                m.id: f"SELECT * FROM {m.relation}"
                for m in models
                if m.relation and m.materialized != "ephemeral"
            }
        )

    def answers(self, queries: Mapping[str, str]) -> dict[str, Table]:
        """Returns the tables that queries give, by the same keys; a query that fails has none."""
        answers = self.dbt.ask("rows", queries=dict(queries))["answers"]
        return {
            id_: Table(
                tuple(name.lower() for name in answer["columns"]), tuple(tuple(row) for row in answer["rows"])
            )
            for id_, answer in answers.items()
            if "error" not in answer
        }

    def note(self, snapshots: Mapping[str, Versions], answer: Mapping[str, Any]) -> None:
        """Notes the rows that the query of each snapshot gives now; `answer`: of the run just made."""
        compiled = {id_: answer["results"].get(id_, {}).get("compiled") for id_ in snapshots}
        found = self.answers({id_: text for id_, text in compiled.items() if text})
        for id_, table in found.items():
            snapshots[id_].states.append((table.columns, table.rows))
        ends = {m.id: m.current for m in self.project.models.values() if m.id in snapshots and m.current}
        texts = {id_: f"SELECT CAST(({end}) AS TIMESTAMP)" for id_, end in ends.items()}
        for id_, table in self.answers(texts).items() if texts else ():
            snapshots[id_].current = table.rows[0][0]


def time_of(base: dt.date, tick: int) -> dt.datetime:
    """Returns the time of a tick, in minutes after the day `base`."""
    return dt.datetime.combine(base, dt.time()) + dt.timedelta(minutes=tick)


def ended(trial: Trial) -> int:
    """Returns the tick of the newest row after the last round of a trial."""
    return trial.rounds[-1].at if trial.rounds else NEWEST


def run_failed(which: str, error: str) -> str:
    """Returns the note on a run that failed beside another one, without the paths and numbers in its error.

    >>> run_failed("second", 'IOException: IO Error: Could not set lock on file "a.duckdb"')
    'the second run failed: IO Error: Could not set lock on file'
    """
    message = re.sub(r"^\w+Exception: (?=[\w ]+ Error: )", "", error)
    return f"the {which} run failed: " + re.split(r"""["/(]""", message)[0].strip()


def failures(answer: Mapping[str, Any]) -> dict[str, str]:
    """Returns the error of each model that did not succeed. Raises DbtBroken: no model was run at all."""
    wrong = {
        id_: str(each["message"]) or each["status"]
        for id_, each in answer["results"].items()
        if each["status"] not in ("success", "pass", "partial success")
    }
    if not answer["results"] and answer["message"]:
        raise DbtBroken(answer["message"])
    return wrong
