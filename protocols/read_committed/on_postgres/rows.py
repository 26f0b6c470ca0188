"""Which row and which version stands behind a place in PostgreSQL's files, and what a snapshot sees.

A trigger reports every change of a row with its place (`ctid`) before and after. A place is used again only
after what it held is dead for everybody, so the newest report of a place is right.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dvs_model.histories.draft import Name
from protocols.read_committed.recording import TableView
from protocols.read_committed.rows import Evaluator

MARK = "dvs "

FUNCTION = """
CREATE FUNCTION dvs_report() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE 'dvs %', json_build_object(
    'table', TG_TABLE_NAME,
    'old', CASE WHEN TG_OP <> 'INSERT' THEN OLD.ctid::text END,
    'new', CASE WHEN TG_OP <> 'DELETE' THEN NEW.ctid::text END,
    'row', CASE WHEN TG_OP <> 'DELETE' THEN to_json(NEW) END,
    'xid', pg_current_xact_id()::text);
  RETURN NULL;
END $$
"""
"""The text of a notice is MARK and this object. After the statement a row's new place is known."""

TRIGGER = """
CREATE TRIGGER dvs_report AFTER INSERT OR UPDATE OR DELETE ON "{table}"
FOR EACH ROW EXECUTE FUNCTION dvs_report()
"""


@dataclass(frozen=True, slots=True)
class Report:
    """A change of one row. `old`, `new`: its places; `values`: None for a delete; `xid`: who changed it."""

    table: str
    old: str | None
    new: str | None
    values: tuple[object, ...] | None
    xid: str


def report_of(text: str) -> Report | None:
    """Returns what a notice reports; None: it is not from the trigger."""
    if not text.startswith(MARK):
        return None
    found = json.loads(text.removeprefix(MARK))
    values = None if found["row"] is None else tuple(found["row"].values())
    return Report(found["table"], found["old"], found["new"], values, found["xid"])


@dataclass(frozen=True, slots=True)
class Deleted:
    """A deleted row: its dead version, and who deleted it."""

    version: Name
    xid: str
    txn: int


@dataclass(slots=True)
class Places:
    """What is known of the rows of all tables.

    `at`: by table and place the version there. `values`: of every version. `newest`: by row the version that
    the last commit has left. `deleted`: by table and row who deleted it, also if that was rolled back.
    """

    at: dict[tuple[str, str], Name] = field(default_factory=dict)
    values: dict[Name, tuple[object, ...]] = field(default_factory=dict)
    newest: dict[str, Name] = field(default_factory=dict)
    deleted: dict[str, dict[str, list[Deleted]]] = field(default_factory=dict)

    def view(
        self,
        evaluator: Evaluator,
        condition: str,
        table: str,
        seen: Sequence[str],
        gone: Mapping[str, Name],
        instead: Mapping[str, Name],
    ) -> TableView:
        """Returns what a statement saw of a table.

        `seen`: the places that its snapshot shows. `gone`: the dead versions that it shows, by row.
        `instead`: by row the version that the statement evaluated again after it had waited.
        """
        versions = {version.obj: version for version in (self.at[table, place] for place in seen)}
        versions |= gone
        versions |= {row: version for row, version in instead.items() if row in versions}
        alive = {str(each): each for each in versions.values() if each in self.values}
        rows = {key: self.values[version] for key, version in alive.items()}
        chosen = tuple(alive[key] for key in evaluator.matching(condition, table, rows))
        return TableView(table, condition, tuple(versions.values()), chosen)
