"""What the driver spares each command of dbt: events nobody sees, and the comment on each statement."""

from __future__ import annotations

import gc
import sys
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from campaign.dbt.driver import Driver, Refused, spare_comments, spare_events


class Level(Enum):
    """The levels of dbt's events."""

    DEBUG = "debug"
    INFO = "info"
    WARN = "warn"


def module(monkeypatch: pytest.MonkeyPatch, name: str, **content: Any) -> None:
    """Puts a module in the place of one of dbt, which is not installed here."""
    made = ModuleType(name)
    vars(made).update(content)
    parts = name.split(".")
    for at in range(1, len(parts)):
        monkeypatch.setitem(sys.modules, ".".join(parts[:at]), ModuleType(parts[at - 1]))
    monkeypatch.setitem(sys.modules, name, made)


@pytest.mark.parametrize(
    ("loggers", "level", "of_event", "named", "fired"),
    [
        ([], None, Level.DEBUG, {}, False),
        ([], Level.INFO, Level.WARN, {}, False),
        ([], None, Level.WARN, {}, True),
        ([], Level.WARN, Level.DEBUG, {}, True),
        ([], None, Level.INFO, {"force_warn_or_error_handling": True}, True),
        ([], None, Level.INFO, {"force_warn_or_error_handling": False}, False),
        (["a log"], None, Level.DEBUG, {}, True),
    ],
)
def test_events_are_spared_that_nobody_sees(
    monkeypatch: pytest.MonkeyPatch,
    loggers: list[str],
    level: Level | None,
    of_event: Level,
    named: dict[str, bool],
    fired: bool,
) -> None:
    class EventManager:
        """As dbt's: `heard` is what it made a message of."""

        def __init__(self) -> None:
            self.loggers, self.heard = loggers, 0

        def fire_event(self, *_: Any, **__: Any) -> None:
            self.heard += 1

    module(monkeypatch, "dbt_common.events.event_manager", EventManager=EventManager)
    spare_events()
    manager = EventManager()
    manager.fire_event(SimpleNamespace(level_tag=lambda: of_event), level=level, **named)
    assert manager.heard == fired


def test_a_comment_of_the_project_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    class MacroQueryStringSetter:
        """As dbt's."""

        comment: str | None

        def _get_comment_macro(self) -> str | None:
            return self.comment

    module(monkeypatch, "dbt.adapters.base.query_headers", MacroQueryStringSetter=MacroQueryStringSetter)
    module(monkeypatch, "dbt.adapters.contracts.connection", DEFAULT_QUERY_COMMENT="of dbt")
    spare_comments()
    setter = MacroQueryStringSetter()
    for comment, rendered in (("of dbt", None), ("of the project", "of the project"), (None, None)):
        setter.comment = comment
        assert setter._get_comment_macro() == rendered


def test_garbage_is_looked_for_again_once_a_project_is_open_or_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_for: list[bool] = []

    def opened(*_: Any) -> None:
        looked_for.append(gc.isenabled())
        raise Refused("no project")

    monkeypatch.setattr(Driver, "opened", opened)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    with pytest.raises(Refused):
        Driver(str, print).open({})
    assert (looked_for, gc.isenabled()) == ([False], True)
