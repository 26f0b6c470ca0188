"""The workload `views` on dynamic tables: readers of one, of two, and of tables see what is promised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from campaign.protocols import beside
from campaign.protocols.beside import recorded_beside
from campaign.verify.coherence import skewed
from dvs_model.analysis.verdict import Absent
from dvs_model.checking.check import check
from dvs_model.graph.reading import Derivations, Reading
from dvs_model.theory.names import Phenomenon
from engines.errors import EngineError
from engines.others.pg_ivm import PgIvm
from protocols.recording.clients import Load
from protocols.recording.database import RecordingError
from protocols.recording.derivations import history_of
from protocols.recording.views import READERS, VIEWS, Views

RUN = Load(workload=VIEWS, keys=3, transactions=200)


def held(views: Views) -> Mapping[str, bool]:
    """By kind of readers whether none of them saw one half of a transaction, derivations honoured."""
    return {kind: not skewed(history_of(views, [kind])) for kind in READERS}


@pytest.mark.parametrize(
    ("level", "together"), [("no-group", False), ("read-committed", False), ("repeatable-read", True)]
)
def test_an_account_promises_one_view_or_a_group(level: str, *, together: bool) -> None:
    views = recorded_beside("account", level, RUN)
    ignored = Reading(derivations=Derivations.IGNORE)
    assert isinstance(
        check(history_of(views), ignored, only=[Phenomenon.G_SINGLE]).phenomena[Phenomenon.G_SINGLE], Absent
    )
    seen = held(views)
    assert (seen["two views"], seen["a view and a table"], seen["two tables"]) == (together, False, True)
    alone = check(history_of(views, ["one view alone"], delayed=True), only=[Phenomenon.G_SIB])
    assert isinstance(alone.phenomena[Phenomenon.G_SIB], Absent)
    totals = {each.total for each in views.seen if each.kind == "two views"}
    assert (totals == {views.due}) == together


@pytest.mark.nightly
def test_pg_ivm_is_always_fresh() -> None:
    try:
        PgIvm.ready()
    except EngineError as missing:
        pytest.skip(str(missing))
    views = recorded_beside("pg_ivm", None, replace(RUN, transactions=60))
    assert set(held(views).values()) == {True}


def test_contents_that_no_refresh_has_left_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted mistake: readers of a dynamic table are shown its table."""
    rows = beside.InMemory.rows
    monkeypatch.setattr(beside.InMemory, "rows", lambda self, name: rows(self, name.removesuffix("_total")))
    with pytest.raises(RecordingError, match="that no refresh has left there"):
        recorded_beside("account", None, RUN)


def test_a_level_that_there_is_not_is_one_line() -> None:
    with pytest.raises(RecordingError, match="account has no isolation level chaos; take one of no-group"):
        recorded_beside("account", "chaos", RUN)
